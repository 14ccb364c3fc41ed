"""Tests for what looks like a secret value: each reads a bounded number of characters.

A rule that finds a name such as ``password`` asks here whether the value is worth hiding: "password is required" is a
sentence, "password is hunter2" is a leak.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# In JSON text a line's first word stands behind the n of an escaped line break.
ESCAPED_BREAK = r"(?:(?<=\\)[nrt])?"


def wordset(text: str) -> frozenset[str]:
    """Return the words of ``text``."""
    return frozenset(text.split())


# Words end at white space; ideographs are written without it, so each is a word.
IDEOGRAPHS = "\u2e80-\ua4cf\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff"


def lower_case(text: str) -> str:
    """Return ``text`` in lower case, each letter at its place."""
    return text.replace("İ", "I").lower()  # no other letter changes its length


WEAK_MIN_CHARS = 12  # of a value that alone makes a weak name a secret's

# What other programs write in place of a secret.
OPEN_MASK = "[redacted"
# How a masked value begins, and a shortened one: a known beginning, and stars or dots for the rest.
_MASKED = re.compile(
    r"[\"'`*\\ ,;_]*+(?:\[(?:redacted|unavailable|vector|base64|text)|redacted\]|•{4}|x{4}|X{4})"
    r"|[A-Za-z]{0,8}(?:[-_][A-Za-z]{1,8}){0,2}[-_]?(?:\*{3}|\.{3}|…)"
)
# Values that tutorials and default settings share: whoever reads one learns nothing of a person's.
_SAMPLES = wordset(
    """
    admin root guest test demo user username postgres postgresql mysql mariadb mongo redis rabbitmq bitnami minioadmin
    toor ollama lm-studio vllm llamacpp llama.cpp same-origin omit include abc123 abcdef123456 token123 secret123
    foo bar baz foobar abc def ghi xyz
    latest alpha beta canary stable nightly wjalrxutnfemi/k7mdeng/bpxrficyexamplekey dxnlcjpwyxnz dxnlcjpwyxnzd29yza==
    dxnlcm5hbwu6cgfzc3dvcmq= ywrtaw46ywrtaw4= qwxhzgrpbjpvcgvuihnlc2ftzq== b64enc b64dec nopasswd nopass
    """
)


class Allowed(NamedTuple):
    """A shape of values that are no secret, whatever their name is: ``stays`` has it, ``masked`` nearly has it."""

    name: str
    pattern: str  # of the whole value, without the underscores before it
    stays: str
    masked: str


_NOUNS = "password|passphrase|passwd|secret|token|(?:api-?)?key|credentials?"
ALLOWLIST = (
    # What documentation and code write where a secret belongs.
    Allowed("angle brackets", r"<[^>]*>?[\])}.:`]*", "<access-token>", "<ann>Maple77"),
    Allowed(
        "brackets",
        r"[\[(](?:[A-Z][A-Za-z _-]*|(?i:your|insert|enter)[\w -]{2,40})[\])]?",
        "[your-password]",
        "[Maple77]",
    ),
    Allowed("template", r"(?:#\{|-?\${1,2}[({]|\{[#{]).*", "${{ secrets.TOKEN2 }}", "$Maple{77}"),
    Allowed("field of a template", r"\{\s?[\w.|-]*\s?\}?(?: /)?", "{ vault_password }", "{Maple!77}"),
    Allowed("rest of a template", r"[})]+[@/:,;.].*", "}}@github.com/a", "}maple77"),
    Allowed("format", r"%(?:\(\w+\)s|[sdvqxT@])", "%(password)s", "%(maple)77"),
    Allowed("name between marks", r"(?P<mark>[#@%]{1,2})[A-Z_][A-Z_\d]+(?P=mark)", "##TOKEN##", "##MAPLE77"),
    Allowed("variable in capitals", r"\$[A-Z][A-Z_]*", "$DOCKER_USER", "$MAPLE_77"),
    Allowed("variable of words", r"\$(?:[a-z]{1,4}|[a-z]+(?:_[a-z\d]+)+)", "$request_uri", "$maple77"),
    Allowed("member of a variable", r"\$[a-z]\w*(?:(?:\.\w+)+|-|\[)", "$row.sessionToken3", "$maple77!"),
    Allowed("joined variables", r"\$[a-z_]+(?:(?:://|[/.])?\$[a-z_]+)+", "$scheme://$host$uri", "$maple$77"),
    Allowed(
        "variable of a secret",
        rf"\$[A-Za-z_]{{0,24}}(?i:{_NOUNS}|pass|pwd|pw|auth|creds?)",
        "$dbPassword",
        "$dbPassword77",
    ),
    Allowed("parameter", r"[$:]\d{1,2}", "$2", "$4711"),
    Allowed("symbol or role", r":[a-z]+:?", ":password", ":maple77"),
    Allowed(
        "scheme and template",
        r"(?i:bearer|basic|token) (?:%s|\{\w*\}|<[^<>]*>|\$\{?\w{1,40}\}?|\$\{\{.*|\.{3}|…)",
        "Bearer %s",
        "Bearer maple77",
    ),
    Allowed("field and template", r"[\w-]{1,24}=(?:\.{3}|…|%s)", "nc=%s", "nc=maple77"),
    Allowed(
        "request to fill in",
        r"(?i:[a-z]{2,6}[-_])?(?i:your|insert|replace|change|enter|example|sample|dummy|fake|mock|placeholder)"
        r"(?i:[-_ ]?(?:[a-z]{2,12}|(?:32|64|128|256|512)[-_ ]?(?:bit|char|byte)s?)){0,5}",
        "your-256-bit-secret",
        "your-257-maples",
    ),
    Allowed(
        "place of a secret",
        r"(?i:(?!my|your)[a-z]{2,16}(?:[-_][a-z]{2,16}){0,4}[-_]here)",
        "hashed-secret-here",
        "maple77-here",
    ),
    Allowed("numbered example", r"(?i:example[-_]?\d{1,3})", "example_123", "example_maple77"),
    Allowed("EXAMPLE", r"[A-Za-z0-9/+_-]{0,40}EXAMPLE(?:KEY|TOKEN)?", "AKIAIOSFODNN7EXAMPLE", "EXAMPLE7maple"),
    Allowed("changeme", r"(?i:change[-_ ]?(?:me|this|it)[-_]?(?:123\d?|\d)!?)", "changeme123", "changeme77"),
    Allowed("the password", r"(?i:p[a@4][s$5]{2}w[o0]rd)(?:12?3?4?|2)?!?", "Passw0rd!", "Passw0rd77"),
    Allowed(
        "no secret needed",
        r"(?i:(?:not?|none)[-_ ](?:needed|required|used|set|real|key|token|secret|password|auth)"
        r"(?:[-_ ](?:needed|required|used|set|here))?)",
        "no-key-required",
        "no-maple77",
    ),
    Allowed(
        "my secret",
        r"(?i:(?:my|some|the|top|super|dev|development|test|default)(?:[-_ ]?(?:own|new|strong|secure|long|random"
        r"|secret|api|access|auth|registry|cookie|key|token|password|passwd|pwd|pass|pw|value|here)){1,4}\d?)",
        "my-auth-value-here",
        "my-secret-maple77",
    ),
    Allowed(
        "name of a secret",
        rf"(?i:(?:[a-z]{{1,12}}\d?[-_]){{1,4}}(?:{_NOUNS})(?:[-_]id|[-_]?v?\d)?)(?:@[a-z].*)?",
        "s3_secret_access_key",
        "s3_maple77",
    ),
    Allowed(
        "variable for tokens",
        r"[a-z]{0,16}(?:[tT]oken|[cC]redential|[sS]ession)s?(?:[A-Z][a-z]{1,12}){1,4}|[a-z]{2,16}(?:Tokens|Credentials|Sessions)",
        "tokensOrError",
        "tokensOrMaple77",
    ),
    Allowed(
        "class about secrets",
        r"(?:[a-z]\w{0,20}\.)?[a-z]{0,12}(?=[A-Za-z\d]*(?:Password|Token|OAuth|Credential|Session|Cookie))(?:[A-Z][a-z]{1,15}\d?|[A-Z]{2,6}\d?(?=[A-Z]|\Z)|O){3,}(?:\.[A-Z][a-z]+\()?",
        "OAuth2PasswordRequestForm",
        "OAuth2PasswordMaple77",
    ),
    Allowed("type of a secret", r"[A-Za-z]{2,16}(?:Token|Secret|Key|Credentials?)\d?", "RefreshToken2", "MapleToken77"),
    Allowed(
        "name of a variable",  # or of the next one
        r"[A-Z]{2,}\d?(?:_(?:[A-Z]+\d{0,2}[A-Z]{0,2}|\d{1,2})){1,8}_{0,2}=?",
        "AUTH0_ISSUER=",
        "MAPLE_tree77",
    ),
    # Samples whose characters follow a rule.
    Allowed("alphabet", r"(?i:abcdefgh[a-z]{4,}\d{0,24})", "abcdefghijklmnop1234", "abcdefgh7maple"),
    Allowed("counted digits", r"(?:[a-z]{2,6}[-_])+1234(?:5(?:6(?:7(?:8(?:90?)?)?)?)?)?", "sk-12345", "sk-12347"),
    Allowed("counted bytes", r"[0-9a-f]{0,4}0203040506070809[0-9a-f]*", "0102030405060708090a", "0102030405060709"),
    Allowed("hexadecimal words", r"(?i:dead(?:beef|cafe|bad)+)", "deadbeefcafebad", "deadbeef77"),
    Allowed("repeated letter", r"(?i:(?P<letter>[a-z])(?P=letter){2,})", "YYYYY", "YYYYY7"),
    Allowed(
        "x for each character",
        r"(?i:[a-z]{0,8}(?:[-_][a-z]{1,8}){0,2}[-_]?x{4,}[x_.-]*)",
        "sk-xxxxxxxx",
        "sk-xxxxmaple77",
    ),
    Allowed("beginning of a token", r"(?i:[a-z]{2,6}[-_](?:(?:live|test|proj|ant)[-_]?)?)\.*", "sk_test_", "sk_maple7"),
    Allowed(
        "shortened token",
        r"(?:eyJ[A-Za-z0-9]{0,20}|dXNlcj[A-Za-z0-9]{0,12}|[a-z]{2,8}-[a-z]{2,10}-)(?:\.{3}|…)",
        "eyJhbGciOi...",
        "eyJhbGciOi77",
    ),
    # Code, commands and settings.
    Allowed(
        "object of code",
        r"!?(?:os\.|local\.|var\.|module\.|process\.|env\.|import\.meta|getenv|settings\.|config\.|self\.|this\.|request\."
        r"|std::|env\().*",
        "process.env.API_TOKEN",
        "processmaple77",
    ),
    Allowed("constant of a class", r"[A-Z]\w{1,40}\.[A-Z][A-Z_\d]+", "BuildConfig.API_TOKEN2", "Maple.77TREE"),
    Allowed(
        "operand",
        r"&(?:mut|self|value|val|token|key|secret|[a-z][a-z\d]*(?:[A-Z][a-z]+){2,})|\+[A-Za-z_.]+\(?|\+[a-z]\w*(?:\.\w+)+\(?",
        "+fmt.Sprintf(",
        "&maple77",
    ),
    Allowed("variable of a rule", r"\?[A-Za-z_]*\}?", "?Variable", "?maple77"),
    Allowed("literal of Ruby", r"%[wWiIqQ][\[({].*", "%i[d3].freeze", "%image7"),
    Allowed("regular expression", r".{0,80}(?:\(\?[:!=<]|\[[\w\\^ -]{1,20}\][?*+{]).*", "[a-f0-9]{8}", "[a-f0-9]77"),
    Allowed("next option", r"--?[a-z][a-z-]{1,40}=?", "--new-password", "-maple77"),
    Allowed(
        "rules of validation",
        r"[a-z_]{3,20}:(?:\d{1,3}|[a-z]{2,12})|[a-z_]{3,20}(?::[\w,]{1,40})?(?:\|[a-z_]{2,20}(?::[\w,]{1,40})?){1,8}",
        "required|min:8|confirmed",
        "maple|77",
    ),
    Allowed(
        "names of fields",
        r"[A-Za-z]{2,30}=[A-Za-z]{2,20}(?:,[A-Za-z]{2,30}=[A-Za-z]{2,20})*",
        "uid=user",
        "maple=tree77",
    ),
    Allowed(
        "fields of an option",
        r"(?:[\w-]{1,40},)?(?:id|src|source|target|type|env|file|name)=[^,\s=]{1,80}(?:,[a-z]{1,12}=[^,\s=]{1,80})*",
        "id=npmrc,src=$HOME/.npmrc",
        "maple=77",
    ),
    Allowed(
        "command",
        r"(?:npm|npx|yarn|pnpm|node|bash|python3?) [a-z./-].{1,160}",
        "bash scripts/rotate2.sh",
        "maple scripts77",
    ),
    Allowed(
        "reference to a store",
        r"(?:op|vault|ssm|arn|urn|file|keyring|classpath|workspace|catalog):.*|[a-z]{2,10}:/(?!/)[\w./-]+|ENC\[[A-Z].*|@Microsoft\..*",
        "op://vault/item/password",
        "maple:item77",
    ),
    Allowed(
        "tag of YAML",
        r"!(?:vault|secret|env|ENV|Ref|Sub|GetAtt|Join|ImportValue|FindInMap|include|file|reference)\b.*",
        "!vault db2",
        "!vault77",
    ),
    Allowed(
        "fields of a line",
        rf"(?:[a-z]{{2,12}}:){{2,6}}(?:{_NOUNS}|pass)",
        "host:port:user:password",
        "host:port:maple77",
    ),
    Allowed(
        "beginning of keys", r"[a-z]{2,20}(?::[a-z_-]{2,20}){1,4}:(?:v\d{1,2}:?)?", "store:cache:v8", "store:maple77"
    ),
    Allowed("heading of CSV", r"(?:[a-z_]{1,30},){2,}[a-z_]{1,30}", "user_id,tokens,total", "maple,tree,77"),
    # What anybody may read. Addresses with a password have rules of their own.
    Allowed("address", r"https?://[^\s@]*|[a-z][a-z\d+]{2,16}://[^\s@?]*", "sqlite:///./store9.db", "x://maple@77"),
    Allowed("link of Markdown", r"(?s:\S*\][(\[].*)", "vaults](https://example.org/1", "vaults]maple77"),
    Allowed("annotation", r"@[a-z][A-Za-z]{2,20}", "@example", "@maple77"),
    Allowed("name of a package", r"@[a-z][\w-]*/[\w.-]+", "@next-auth/prisma2", "@maple77"),
    Allowed(
        "number of a standard",
        r"(?:CVE-\d{4}-\d{4,7}|CWE-\d{1,5}|GHSA(?:-[a-z0-9]{4}){3}|(?:RFC|PEP|ISO|EIP|BIP)[- ]?\d{1,5})\W*",
        "GHSA-mp22-3v4p-j68x",
        "GHSA-maple77",
    ),
    Allowed(
        "algorithm",
        r"(?:RSA(?:SSA|ES)?|ECDSA|ECDH|EdDSA|AES|HMAC|SHA|PBKDF2|HKDF|PKCS|TLS|SCRAM)"
        r"(?:[-_/](?:[A-Z]{1,12}\d{0,4}|v?\d{1,4}(?:_\d)?)){1,5}(?:\(.*|\W*)"
        r"|(?:ECDH-ES|RSA-OAEP|PBES2|(?:A(?:128|192|256)|HS(?:256|384|512))(?=[A-Z-]))"  # those of JOSE
        r"(?:[-+]?(?:KW|GCM|CBC|HS\d{3}|A\d{3}|256))*",
        "ECDH-ES+A128KW",
        "RSASSA-maple77",
    ),
    Allowed(
        "sentence without blanks",
        rf"(?:[A-Za-z]{{1,20}}(?:\*\*|(?=（)))?[{IDEOGRAPHS}](?s:.*)",
        "Grant**，简称",
        "Grant77**，简称",
    ),
    Allowed(
        "port",
        r"(?:https?|tcp|udp|ssh|ftps?)/\d{1,5}\W*|[a-z][a-z\d-]*(?:\.[a-z][a-z\d-]*)+:\d{2,5}",
        "proxy1.internal:4180",
        "proxy1:maple77",
    ),
    Allowed(
        "line of a file",
        r"[\w./-]{1,80}\.[a-z]{1,4}:\d{1,5}(?::\d{1,4})?\W*",
        "internal/bootstrap/node.js:332:15",
        "node.js:maple77",
    ),
    Allowed(
        "path from a root",
        r"(?:/[a-z][a-z\d._-]{1,30}){2,}/?|/[a-z-]{2,30}/?|(?:~|\.\.?)/[\w./-]{1,160}(?:#[\w-]{1,80})?",
        "/etc/ssl/redis2.pem",
        "/Maple77",
    ),
    Allowed(
        "relative path",
        r"(?:[\w.-]{1,40}/){1,12}[\w-]{1,60}(?:\.[a-z]\w{1,7}){1,2}|(?:[a-z][a-z\d.-]{1,30}/){2,}[a-z][a-z-]{1,30}\d{0,2}"
        r"|[a-z]{2,20}(?:-[a-z]{2,20}){0,4}/[a-z]{2,20}(?:-[a-z]{2,20}){1,5}",  # a name in a namespace
        "logs/2024/05/app-7f9c4d.log.gz",
        "logs/Maple77",
    ),
    Allowed(
        "name of a file",
        r"[a-z\d][\w-]{1,60}\.(?:json|ya?ml|csv|txt|xml|html?|md|log|png|jpe?g|svg|pdf|zip|gz|sql|db|sh|py|js|ts|php|rb|go"
        r"|java|conf|cfg|ini|pem|key|crt|jks)",
        "report-1243-2025-10-23.json",
        "report.maple77",
    ),
    Allowed(
        "file with the value",
        r"@[\w./-]{1,80}\.(?:txt|json|pem|key|ya?ml|env|crt|cfg|conf)",
        "@password.txt",
        "@password.77",
    ),
    Allowed(
        "files of a pattern", r"(?=[^*]*\*)(?:[\w.{},*-]{1,40}/){1,8}[\w.{},*-]{1,40}", "src/**/*.py", "src*maple77"
    ),
    Allowed("object identifier", r"\d(?:\.\d{1,6}){4,20}", "1.3.6.1.4.1.4203.1.11.1", "1.3.6.1maple"),
    Allowed("fingerprint", r"(?:[0-9A-F]{2}:){7,}[0-9A-F]{2}", "51:C4:0C:6D:7E:A5:6C:D8", "51:C4:0C:6D"),
    Allowed("digest", r"(?:sha-?\d{1,3}|md5)[:=-][0-9a-f]{32,128}", f"sha1:{'b2' * 20}", "sha1:maple77"),
    Allowed(
        "words of a form", r"[A-Za-z]{2,16}(?:\+[a-z]{2,16}){2,12}", "Invalid+name+or+password", "Maple+77+password"
    ),
    Allowed(
        "media type",
        r"(?:application|text|image|audio|video|multipart|font)/[a-z][\w.+-]*(?:;.*)?",
        "application/json;v=2",
        "application/77",
    ),
    Allowed("identifier of Windows", r"S-1(?:-\d{1,12}){2,15}", "S-1-5-21-3623811015", "S-1-5-maple77"),
    Allowed(
        "version", r"v?\d{1,4}(?:\.(?!0\d)\d{1,4}){2}(?:[-+][\w.+-]{1,40})?", "v6.2.1-beta.3+build.5", "v6.2.1maple"
    ),
    Allowed(
        "duration",
        r"\d{1,4} ?(?:ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?|months?|y|years?)",
        "2 days",
        "2 maples",
    ),
    Allowed(
        "range of versions",
        r"(?:[~^]>?|[<>]=?|[~=]=|~>) ?v?\d{1,4}(?:\.(?:\d{1,5}|[x*])){0,3}(?:-[a-z]{2,5}[.\d]{0,4})?",
        ">=6.0.11",
        ">=6maple",
    ),
    Allowed(
        "combination of keys",
        r"(?i:ctrl|control|alt|shift|cmd|command|option|meta|super|win|fn)\+.*",
        "Ctrl+Shift+9",
        "Maple+Shift+9",
    ),
)
_ALLOWED = re.compile(f"_*(?:{'|'.join(row.pattern for row in ALLOWLIST)})")
# Names of types and of empty values, as in schemas and forms.
_TYPES = wordset(
    """
    str string text bytes bytearray int integer bool boolean float number any object none null nil undefined true
    false typeof keyof readonly dev non-default cannot
    optional required char varchar secretstr uuid void type var let const hidden password file example impl
    dyn ref range new await async make func function struct class email date array list dict map default empty blank
    unset off on yes no read write n/a tbd todo
    """
)
# Words with which a sentence about a password continues.
_SENTENCE_WORDS = wordset(
    """
    anders korrekt richtig zurückgesetzt geändert verschlüsselt scaduta scaduto errata corretta richiesta
    obbligatoria cambiata expiré expirée incorrecte oublié modifié nécessaire caducada caducado olvidada expirada
    vencida inválida erforderlich falsch nicht ungültig gespeichert geheim abgelaufen obligatoire requis obligatoria
    incorrecta requerida return pass raise elif match break continue print assert lambda a able about above
    mindestens muss müssen soll sollte darf kann wird wurde sind siehe bitte eingeben benötigt läuft liegt
    zurücksetzen vergessen ändern neu neues neue wurden policy policies rule rules manager page pages help guide
    link strength length hint hints accurate across after again against all allow allows already also always am an
    and another appropriate are as ask at back bad be because been before below best better between beyond big both
    but by can cannot case check choose click come common complex confidential contact correct could create critical
    crucial dead different difficult do does don't done down each easy either else enough enter essential even ever
    every few field find fine first for forgotten found from full get give given go good great had hard has have he
    held her here his how however i if important in incorrect inside instead into invalid is it its just keep kept
    key kind known lack last later least left less like local long longer lost low made main mandatory many may me
    mean meant might minimum more most much must my necessary need needs never next not now of often ok okay old
    once one only or other our out over own part passwords per perhaps please poor private provide public put quite
    rather reset right safe same see seem sent separate set several shall she short should shown similar simple
    since so some soon still store strong subject such sure take than that the their them then there these they this
    those through thus tied time to together token tokens too top under unique unknown unlike unsafe until up upon
    us use used user users uses valid value very via vital want was way we weak well were what when where whether
    which while who whose why will with within without worth would wrong yet you your strings numbers
    um uma uns umas un una une uno unos unas os las los lo les des du de do dos das da le la el il gli een het der die
    das den dem ein eine einer einem einen eines ett och na por para pour per con com mit von vom zu zum zur auf für
    bei nach über unter als ohne aus durch oder und hat haben sein verwenden verwendet benutzt certains certaines
    algunos algunas alguns algumas cette cet ces este esta estas essa questo questa deze dit bir ve için ile bu sonraki
    que qui quando cuando quand como comme più mais mas pero però auch nur noch schon jest lub oraz dla nie
    """
)
_WORD_ENDINGS = ("ed", "ing", "able", "ible", "ly", "ful", "less", "ous", "tion", "ment", "ness", "ity", "ive", "ance")
# Amounts, dates, quarters and algorithms look like passwords: letters and digits together.
_NUMBER_LIKE = re.compile(
    r"""(?xi)
      [$€£¥+\-~≈]?\d[\d,.:/%x\-]*(?:%|k|m|b|bn|x|s|ms|st|nd|rd|th|am|pm|gb|mb|kb|bit|bits|px|characters)?
    | 0x[\da-f]{1,16} | \d{1,6}/(?:s|sec|min|h|hour|d|day|week|month|user|req)
    | (?:\d{1,4}(?:ms|[dhms])){2,4}
    | (?:FY|Q[1-4]|H[12]|CY)[-'\ ]?\d{2,4}(?:[-/]?(?:Q[1-4]|\d{2,4}))?
    | (?:ssh-)?(?:ed|aes|sha|rsa|md|tls|ssl|hs|rs|es|ps|dh|ecdsa|hmac|utf|base|pkcs|pbkdf|oauth|saml|v|http|ipv)
      [-_/]?\d[\d.\-]*(?:(?<=-)[a-z]{4,}|url)?  # also "Base64-encoded"
    | argon2(?:id?|d)?
    """
)
_EXPRESSION = re.compile(
    r"(?:[A-Z]\w*::)+\w.*|[a-z_\-]{1,16}=(?:\{.*|\[?(?:/?[A-Za-z][\w.\-]*(?:/[\w.\-]+)*|\d[\d\-.:hms]{0,12})(?:[/&][a-z_\-]{1,16}=\w{1,24})*)|[A-Za-z_][\w.:-]{2,}(?:!?\(.*|\[(?!redacted\b).*|\{)|[A-Za-z_]\w*(?:[?!]?\.[A-Za-z_]+)+(?:\(|\{.*)?|[A-Za-z_]\w*(?:[?!]?\.[A-Za-z_]\w*){2,}"
    r"|[a-z]\w*\.(?:[A-Z][a-z]*\d*){3,}|[A-Za-z_]\w*[?!]\.[\w\[(].*|[A-Za-z_][\w.]*\.\w+!|[a-z]\w+\{[A-Z]\w*|[a-z]{2}\("
    r"|(?:New|Get|Set|Read|Convert(?:To|From)?|Import|Export|Add|Invoke|Out|Select)-[A-Z][A-Za-z]{2,40}"
)
# How often neighbours change their class separates random strings from words and numbers.
_RUN_OF_CLASS = re.compile("[0-9]++|[a-zß-öø-ÿ]++|[A-ZÀ-ÖØ-Þ]++|[^0-9a-zA-ZÀ-ÖØ-öø-ÿ]++")
MIXED_SIGN = re.compile(r"[^\W_a-zA-ZÀ-ÿ]|[!@#$%^&*+=~?]")  # what ``is_mixed`` asks for
_INNER_SYMBOL = re.compile(r"[!@#$%^&*+=~?](?!\Z)")
_ADDRESS = re.compile(r"[a-z][a-z0-9._-]{2,64}@[a-z][\w.-]{1,100}")
# Behind the language of a block of code, and behind a value that has a line of its own.
_FENCE_REST = re.compile(r"[ \t]{0,4}(?:\{[^\n]{0,80})?\r?(?:\n|\\n|\Z)")
_LINE_REST = re.compile(r"[\"'`*_\\,;.)\]}]{0,6}[ \t]{0,8}(?:\r?\n|\\[nr]|\Z|[<\"'(#])")
# The name of a resource is public, whatever its parts look like.
ARN = re.compile(r"(?<![a-z])(?:arn|urn):[\w:/.*\-]*\Z")
MAX_ARN_CHARS = 200
NEXT_NAME = re.compile(r"[A-Za-z_][\w.\-]{0,40}(?:=(?!=|\Z)|:)")
_HEX = re.compile(r"[0-9a-fA-F]++")
_ISSUED = re.compile(r"[A-Za-z0-9]{16}|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_MORE_OF_SENTENCE = re.compile(
    r" (?:[a-z]{1,3} )?\d{1,3} [^\W\d_]{4,}|<(?:[A-Z{]|\s*\n)| \| (?:None|null|undefined|str|string)(?!\w)"
    r"| (?:&&|\|\||\?\?|[+?]|as) [\w\"'(\[!{]"
)
# Names, and what is no secret behind them: ports of a chip, schemes, ids of tokens, ids of keys of GnuPG (half a
# fingerprint or all of it).
_PUBLIC_BESIDE = (
    (re.compile(r"(?i)(?:(?<![a-z])|_)pin(?:_[a-z]{1,8})?\Z"), re.compile(r"(?:GPIO(?:_NUM)?|P[A-K]|[AD])_?\d{1,2}")),
    (re.compile(r"(?i)auth\Z"), re.compile(r"(?i)basic|bearer|digest|negotiate|ntlm|certificate|kerberos")),
    (re.compile(r"(?i)token[ _-]?id\Z"), re.compile(r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")),
    (
        re.compile(r"(?i)(?:\A|(?:rsa|dsa|gpg|pgp)[ _])key\Z|signingkey\Z"),
        re.compile(r"[0-9A-F]{16}(?:[0-9A-F]{24})?"),
    ),
)
_CODE_NAME = re.compile(r"[a-z]{5,}[A-Z_/.-][a-z]{4,}")
_LONG_PIECE = re.compile(r"[A-Za-z0-9]{20}")
# row_id_49, bert-base-3b, SO-2024-00917, user1SessionEnded, user:755186:cart, order#2026-01-31
JOINED_NAMES = re.compile(
    r"[a-z]+(?:[_-](?:[a-z]+|\d{1,4}[a-z]?))+|[A-Z]{1,5}(?:-(?:\d{1,8}|[A-Z]{1,3}))+"
    r"|[a-z]{2,12}\d{0,2}(?:[A-Z][a-z]{2,12}\d{0,2}){0,6}[A-Z][a-z]{2,12}|[a-z]+(?:[:#_-](?:[a-z]+|v?\d{1,9}(?![a-z\d])|\{\w{1,24}\}|\*))+[:#]?"
)


def is_inert(value: str) -> bool:
    """True for a mask, a placeholder, the name of a type, or nothing."""
    marked = value.strip("\"'`*\\ ,;")
    bare = marked.strip("_")
    return (
        not any(map(str.isalnum, bare[:64]))
        or bare.rstrip("!?").lower() in _TYPES
        or marked.lower() in _SAMPLES
        or _MASKED.match(value) is not None
        or _ALLOWED.fullmatch(marked[:200]) is not None
    )


def is_on_next_line(text: str, gap_start: int, start: int, end: int, value: str) -> bool:
    """True where a line break is between a name and ``text[start:end]``, and that line isn't a value alone.

    An empty value is followed by the next name, a block of code by its language.
    """
    gap = text[gap_start:start]
    if gap.endswith(("```", "~~~")) and _FENCE_REST.match(text, end):
        return True
    if "\n" not in gap and "\\n" not in gap:
        return False
    if NEXT_NAME.match(value):
        return True
    line = gap[gap.rfind("\n") + 1 :] if "\n" in gap else gap[gap.rfind("\\n") + 2 :]
    is_marked = bool(line.strip()) and not line.strip().startswith("- ")
    return not (_LINE_REST.match(text, end) and (is_marked or is_mixed(value) or is_random(value)))


def is_number_like(value: str) -> bool:
    """True for numbers, dates, quarters and names of algorithms."""
    return _NUMBER_LIKE.fullmatch(value) is not None


def is_mixed(value: str) -> bool:
    """True for letters with digits or symbols, as in passwords; words have neither."""
    if len(value) < 5 or value.isalpha() or is_number_like(value):
        return False
    letters = any(map(str.isalpha, value))
    digits = any(map(str.isdigit, value))
    return (letters and digits) or (_INNER_SYMBOL.search(value) is not None and (letters or digits))


def is_mixed_value(_found: re.Match[str], value: str) -> bool:
    return is_mixed(value)


def is_random(value: str, *, min_chars: int = 16) -> bool:
    """True for a run of characters that no person would have chosen: an unlabelled key."""
    if len(value) < min_chars or value.isalpha() or is_number_like(value) or JOINED_NAMES.fullmatch(value[:128]):
        return False
    # A bounded part is enough to judge a value of any length.
    start = value[:128]
    digits = sum(map(str.isdigit, start))
    if not digits or digits == len(start):
        return False
    if digits >= 2 and _LONG_PIECE.search(start):
        return True
    return class_changes(start) >= 0.3 or _HEX.fullmatch(start) is not None


def is_issued(value: str) -> bool:
    """True for a run of 16 letters and digits or more, or a UUID: what a service gives out as a key."""
    found = _ISSUED.search(value[:256])
    return found is not None and sum(map(str.isdigit, found[0])) >= 2 and not _CODE_NAME.search(value[:256])


def class_changes(value: str) -> float:
    """Return the share of neighbours of different class (lower case, capital, digit, other), 0 to 1."""
    start = value[:256]
    return max(len(_RUN_OF_CLASS.findall(start)) - 1, 0) / max(len(start) - 1, 1)


def longest_piece(run: str) -> str:
    """Return the longest part without a separator: long in what machines make, short in names and paths."""
    return max(re.split(r"[^A-Za-z0-9]", run[:512]), key=len)


def is_word(value: str) -> bool:
    """True for a word with which a sentence continues, such as "required" or "stored"."""
    low = value.lower().strip("'’")
    if "/" in low.strip("/"):
        return all(map(is_word, low.split("/")))  # "reset/changed"
    return low in _SENTENCE_WORDS or low in _TYPES or (low.isalpha() and len(low) > 4 and low.endswith(_WORD_ENDINGS))


def is_address(value: str) -> bool:
    """True for ``name@host``."""
    return _ADDRESS.fullmatch(value) is not None


def is_expression(value: str) -> bool:
    """True for code: a call, an index, a dotted name, an argument with its name."""
    return _EXPRESSION.fullmatch(value[:200].lstrip("[({]*&!@")) is not None


def is_public_beside(name: str, value: str) -> bool:
    """True for what anybody may read behind such a name: GPIO14 of a pin, the id of a token."""
    return any(names.search(name) and values.fullmatch(value) for names, values in _PUBLIC_BESIDE)


def continues_sentence(text: str, start: int, end: int) -> bool:
    """True where ``text[start:end]`` is a word, no value: "mínimo 8 caracteres"; the type in ``Promise<User>``."""
    return text[start:end].replace("_", "").isalpha() and _MORE_OF_SENTENCE.match(text, end) is not None


def strip_punctuation(value: str) -> str:
    """Return the value without the punctuation of the sentence behind it."""
    return value.rstrip(".,;:)]}\"'`*>").rstrip("\\")
