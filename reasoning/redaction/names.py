"""How secrets are named in running text: "API key", ``DB_PASSWORD``, "the passphrase for the backup".

The words are what triggers a look; each ``…_GOES_ON`` is the text behind such a word that may still lead to a value.
The rules find nothing longer, so a value is never shown before its name was understood.
"""

from __future__ import annotations

import re

from reasoning.redaction.words import wordset

# Whole runs of letters, in small letters. Deliberately more than ``keys`` calls secret.
NAME_WORDS = wordset(
    "pass pw pat key keys auth oauth authorization authentication creds cred session sid pin otp totp cvv cvc csc csrf"
    " xsrf jwt bearer sig signature mnemonic phrase dsn code codes kennwort passwort senha wachtwoord passe nonce salt"
    " verifier connstr passkey identified wpa"
    " bestätigungscode sicherheitscode zugangscode anmeldecode einmalcode verifizierungscode freischaltcode tan"
)
# Anywhere in a word, in small letters: "pgpassword", "clientSecret", "apikey".
NAME_STEMS = (
    r"pass(?:[wpck]|(?![a-z]))|pwd|psk|secret|token|credential|keys?(?![a-z])|sess(?:ion)?_?id"
    r"|cookie|contrase|kennwort|пароль|ключ|conn_?str|schlüssel|geheimnis|zugangsdaten|anmeldedaten|basicauth|securestring|p/w(?![a-z])"
)
QUALIFIERS = wordset(
    "api access private client signing encryption auth security verification"
    " recovery seed time refresh master connection"
    " app deploy your license webhook backup shared service account admin mot ssh pass"
)
PHRASE_WORDS = wordset("passphrase mnemonic seed recovery backup secret")
LOGIN_WORDS = wordset(
    "login log user username userid account credential credentials creds machine benutzer benutzername"
    " zugangsdaten anmeldedaten"
)
SCHEME_WORDS = wordset("basic apikey api")
HASH_WORDS = wordset("argon scrypt sha md pbkdf bcrypt")
COMMAND_WORDS = wordset(
    "mysql mysqldump mysqladmin mariadb sshpass smbclient ldapsearch redis mongo mongosh mongodump zip unzip login"
    " sqlplus sqlldr expdp impdp rman"
)
TABLE_WORDS = wordset(
    "password passwords passwort kennwort passwd pwd pw pass passphrase passcode pin secret token key apikey credential"
    " contraseña senha wachtwoord"
)

_FILL = (
    r"(?:is|was|are|will|be|being|becomes?|became|remains|equals|should|must|set|changed|reset|updated|rotated|now|still"
    r"|to|use|used|enter|type|try|as|follows|just|simply|currently|the|following|value|field|called|ist|lautet|est|es|è|é|here|here's|of|has|been|by|wurde|auf|jetzt|nun|heißt"
    r"|übrigens|derzeit|aktuell|weiterhin)"
)
SEPARATOR = (
    r"(?:=>|:=|->|→|===?|=|:[ ]?(?:str|string|String|SecretStr|Final|bytes"
    r"|&'static[ ]str|Optional\[str\]|str[ ]\|[ ]None|&str|any|object)[ ]?="
    r"|!==?|\?=|\|\|=|[\"']>|\((?=[\"'])|::|:(?!/)|：|＝|\||&[#]61;|&[#]58;|%3[aAdD]|&quot;:|[\"'],|[-–—](?=\s|\Z))"
)
CLOSERS = r"(?:[\"'`*_\\\])}]|&quot;){0,6}"
_MADE_BY = (
    r"(?:(?:Secret|Some|Just|String|Zeroizing|Redacted|Sensitive)\w{0,8}(?:::(?:new|from))?|(?:bytes\.)?fromhex"
    r"|(?:base64\.)?b64decode|Buffer\.from)\((?=[\"'])"
)
OPENERS = rf"(?:[\"'`*_\\(\s]|&quot;|\[(?=[\"'])|-(?=\s|\Z)|[bruf](?=[\"'])|{_MADE_BY}){{0,12}}"
_QUOTED_PART = r"[\"'`][^\n]{0,200}"
_WORDS_PART = r"[a-z]{3,12}(?:[ ][a-z]{3,12}){0,7}[ ]?"
_FOR = r"(?:for|of|to|on|in|at|from|für|von|vom|des|der|zum|zur|im|am|pour|de|para|del|della|dell['’]\w{1,20}|van|voor)"
GAP = rf"(?:\s{{1,4}}{_FOR}(?:\s{{1,4}}\S{{0,59}}[^\s.!?;:=]){{0,5}}?)?"

_VALUES = r"(?:VALUES?\s{0,4}(?:\([^()]{0,400}(?:\),?\s{0,4})?){0,40})"

NAME_GOES_ON = re.compile(
    rf"""(?ix)
    [\w.\-]{{0,64}}+ {CLOSERS} ,? (?:[ ]\([^()\n]{{0,30}}\)?)?
    (?:
      {GAP} (?:\s{{1,4}}{_FILL}){{0,6}} (?:\s{{0,8}}|[ \t]{{9,40}}) (?:{SEPARATOR}|[>])?
      (?:\s{{1,8}}(?:-{{0,2}}(?:value|body)|val|data|content)["']?)?
      {SEPARATOR}? {OPENERS} (?:&?str|string|SecretStr|bytes)? \s?
    | (?:\s{{1,4}}{_FILL}){{0,4}} \s{{0,8}} {SEPARATOR}? [\s(]{{0,8}} {_QUOTED_PART}
    | \s{{0,8}} {SEPARATOR} {OPENERS} {_WORDS_PART}
    | (?:\s{{1,4}}(?:is|was))? \s{{0,3}} [:=]? \s{{1,4}} ["'`*]{{0,3}} \d{{3}}
    | > [^<\n]{{0,200}}
    | (?:["'][^<>\n]{{0,60}}>|</key>) \s{{0,40}} (?:<[a-z]{{0,8}}>?)? [^<\n]{{0,200}}
    | (?:,\s?["`]?\w{{1,40}}["`]?){{0,20}},? (?:\s?\) \s{{0,4}} {_VALUES}?)?
    | ["'] \s{{0,3}} (?:[:=]\s{{0,3}})? \{{ [^{{}}]{{0,300}}
    )"""
)
QUALIFIER_GOES_ON = re.compile(r"[\s\-]{0,3}")
PHRASE_GOES_ON = re.compile(
    r"(?i)(?:\s{0,2}(?:phrase|words?|key|code))?[\"'`*]{0,4}(?:\s{1,4}(?:is|was|are))?\s{0,4}[:=]?[\s\"'`*(]{0,6}"
    r"(?:(?:\d{1,2}[.)]\s?)?[a-z]{2,12}+(?![a-z])[\s,\-]{0,3}+){0,26}+"
)
LOGIN_GOES_ON = re.compile(
    r"(?i)[\"'`*]{0,4}(?:\s{1,4}in)?(?:\s{1,4}(?:is|are|as|with|using|mit|als|attempt|details?|data|info))?\s{0,4}[:=]?\s{0,4}\S{0,64}[,;/\s]{0,4}(?:(?:and|und)\s{0,4})?(?:with\s{0,4})?"
    r"(?:login\s{1,4}\S{1,64}\s{1,4})?(?:(?:password|passwort|kennwort|pass|pwd|pw)[\"'`*]{0,4}\s{0,4}[:=]?\s{0,4})?"
)
SCHEME_GOES_ON = re.compile(r"(?:-key)?[\"'`*\\]{0,4}[\s:=]{0,4}", re.IGNORECASE)
COMMAND_GOES_ON = re.compile(r"(?:-cli)?(?:\s{1,2}-\S{1,40}(?:\s[^\s\-]\S{0,40})?){0,6}\s?")
HEADER_WORDS = wordset("cookie authorization")
PARAMETER = r"\w{1,24}=\\?[\"']"  # of a scheme such as Digest, whose line holds quotes
HEADER_GOES_ON = re.compile(
    r"[\"'`*\\]{0,4}[ \t]{0,4}(?:[:=,]|=>){0,2}[ \t]{0,4}[b\"'\\]{0,5}|[\"'\\]{0,4}[ ]?[:=][^\n\r\"'\\]{0,4096}"
    rf"|[ ]?[:=][ ]?[\w-]{{1,24}}[ ]{PARAMETER}[^\n\r]{{0,4096}}"
)
# Behind a column's name: the rest of the heading, and the rows.
TABLE_GOES_ON = re.compile(
    r"""(?x)
    \w{0,12}["'`*]{0,3}
    (?: (?:[ \t]{0,40}\|[^\n]{0,400}|(?=\n[ \t|:\-]{3})) (?:\n(?!\n)[^\n|]{0,40}(?:\|[^\n]{0,400})?){0,40}+
      | (?:[,;\t]["']?[\w.\-]{0,40}["']?){0,20} (?:\r?\n(?!\n)[^\s,;]{0,80}(?:[,;\t][^\n]{0,400})?){0,40}+
    )\s?"""
)
