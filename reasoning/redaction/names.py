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
    " verifier connstr passkey"
)
# Anywhere in a word, in small letters: "pgpassword", "clientSecret", "apikey".
NAME_STEMS = (
    r"pass[wpck]|pwd|secret|token|credential|keys?(?![a-z])|sess(?:ion)?_?id"
    r"|cookie|contrase|kennwort|пароль|ключ|conn_?str"
)
QUALIFIERS = wordset(
    "api access private client signing encryption auth security verification"
    " recovery seed time refresh master connection"
    " app deploy your license webhook backup shared service account admin mot ssh pass"
)
PHRASE_WORDS = wordset("passphrase mnemonic seed recovery backup secret")
LOGIN_WORDS = wordset("login log user username userid account credential credentials creds machine")
SCHEME_WORDS = wordset("basic apikey api")
HASH_WORDS = wordset("argon scrypt sha md pbkdf bcrypt")
COMMAND_WORDS = wordset("mysql mysqldump mysqladmin mariadb sshpass smbclient ldapsearch redis mongo mongosh mongodump")

_FILL = (
    r"(?:is|was|are|will|be|being|becomes?|became|remains|equals|should|must|set|changed|reset|updated|rotated|now|still"
    r"|to|use|used|as|follows|just|simply|currently|the|following|value|field|called|ist|lautet|est|es|è|é|here|here's|of|has|been)"
)
SEPARATOR = (
    r"(?:=>|:=|->|→|===?|=|:[ ]?(?:str|string|String|SecretStr|Final|bytes"
    r"|&'static[ ]str|Optional\[str\]|str[ ]\|[ ]None)[ ]?="
    r"|::|:(?!/)|：|＝|\||&[#]61;|&[#]58;|%3[aAdD]|&quot;:|[\"'],|[-–—](?=\s|\Z))"
)
CLOSERS = r"(?:[\"'`*_\\\])}]|&quot;){0,6}"
OPENERS = r"(?:[\"'`*_\\(\s]|&quot;|\[(?=[\"'])|[bruf](?=[\"'])|Secret(?:Str|Bytes)?\((?=[\"'])){0,12}"
_QUOTED_PART = r"[\"'`][^\n]{0,200}"
_WORDS_PART = r"[a-z]{3,12}(?:[ ][a-z]{3,12}){0,7}[ ]?"
GAP = r"(?:\s{1,4}(?:for|of|to|on|in|at|from)(?:\s{1,4}\S{0,59}[^\s.!?;:=]){0,5}?)?"

NAME_GOES_ON = re.compile(
    rf"""(?ix)
    [\w.\-]{{0,64}}+ {CLOSERS} ,?
    (?:
      {GAP} (?:\s{{1,4}}{_FILL}){{0,6}} \s{{0,8}} (?:{SEPARATOR}|[>])? (?:\s{{1,8}}(?:value|val|data|content)["']?)?
      {SEPARATOR}? {OPENERS} (?:str|string|SecretStr|bytes)? \s?
    | (?:\s{{1,4}}{_FILL}){{0,4}} \s{{0,8}} {SEPARATOR}? \s{{0,8}} {_QUOTED_PART}
    | \s{{0,8}} {SEPARATOR} {OPENERS} {_WORDS_PART}
    | (?:\s{{1,4}}(?:is|was))? \s{{0,3}} [:=]? \s{{1,4}} ["'`*]{{0,3}} \d{{3}}
    | > [^<\n]{{0,200}}
    )"""
)
QUALIFIER_GOES_ON = re.compile(r"[\s\-]{0,3}")
PHRASE_GOES_ON = re.compile(
    r"(?i)(?:\s{0,2}(?:phrase|words?|key|code))?[\"'`*]{0,4}(?:\s{1,4}(?:is|was|are))?\s{0,4}[:=]?[\s\"'`*(]{0,6}"
    r"(?:(?:\d{1,2}[.)]\s?)?[a-z]{2,12}+(?![a-z])[\s,\-]{0,3}+){0,26}+"
)
LOGIN_GOES_ON = re.compile(
    r"(?i)[\"'`*]{0,4}(?:\s{1,4}in)?(?:\s{1,4}(?:is|are|as|with|using))?\s{0,4}[:=]?\s{0,4}\S{0,64}[,;/\s]{0,4}(?:and\s{0,4})?(?:with\s{0,4})?"
    r"(?:login\s{1,4}\S{1,64}\s{1,4})?(?:(?:password|pass|pwd|pw)[\"'`*]{0,4}\s{0,4}[:=]?\s{0,4})?"
)
SCHEME_GOES_ON = re.compile(r"(?:-key)?[\"'`*\\]{0,4}[\s:=]{0,4}", re.IGNORECASE)
COMMAND_GOES_ON = re.compile(r"(?:-cli)?(?:\s{1,2}-\S{1,40}(?:\s[^\s\-]\S{0,40})?){0,6}\s?")
HEADER_WORDS = wordset("cookie authorization")
HEADER_GOES_ON = re.compile(
    r"[\"'`*\\]{0,4}[ \t]{0,4}(?:[:=,]|=>){0,2}[ \t]{0,4}[b\"'\\]{0,5}|[\"'\\]{0,4}[ ]?[:=][^\n\r\"'\\]{0,4096}"
)
