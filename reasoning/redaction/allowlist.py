"""What is no secret, whatever its name is: masks of other programs, placeholders, samples, names, code."""

from __future__ import annotations

import re
from typing import NamedTuple

from reasoning.redaction.values import IDEOGRAPHS, TYPES_AND_EMPTY_VALUES, wordset

# What other programs write in place of a secret.
OPEN_MASK = "[redacted"
# A masked value; and a shortened one: a known beginning, stars or dots for the rest, and at most four characters of it.
_MASKED = re.compile(
    r"[\"'`*\\ ,;_]*+(?:\[(?:redacted|unavailable|vector|base64|text).*|redacted\].*)"
    r"|[A-Za-z]{0,8}(?:[-_][A-Za-z]{1,8}){0,2}[-_]?(?:•{4,}|[xX]{4,}|\*{3,}|\.{3,}|…)[*•xX.…-]*[\w-]{0,5}\W*",
    re.DOTALL,
)
# Values that tutorials and default settings share: whoever reads one learns nothing of a person's.
_SAMPLES = wordset(
    """
    admin root guest test demo user username postgres postgresql mysql mariadb mongo redis rabbitmq bitnami minioadmin
    toor ollama lm-studio vllm llamacpp llama.cpp same-origin omit include abc123 abcdef123456 token123 secret123
    foo bar baz foobar abc def ghi xyz abcdef abcdefg abcdefgh cl100k_base o200k_base 1password pass token secret
    base64 base32
    latest alpha beta canary stable nightly wjalrxutnfemi/k7mdeng/bpxrficyexamplekey dxnlcjpwyxnz dxnlcjpwyxnzd29yza==
    dxnlcm5hbwu6cgfzc3dvcmq= ywrtaw46ywrtaw4= qwxhzgrpbjpvcgvuihnlc2ftzq== b64enc b64dec nopasswd nopass env stdin x00
    """
)


class Allowed(NamedTuple):
    """A shape of values that are no secret, whatever their name is. The ``counter_example`` only nearly has it."""

    name: str
    pattern: str  # of the whole value, without the underscores before it
    example: str
    counter_example: str


_NOUNS = "session[-_]?id|password|passphrase|passwd|secret|token|(?:api-?)?key|credentials?"
ALLOWLIST = (
    # What documentation and code write where a secret belongs.
    Allowed(
        "angle brackets", r"<[^>]*>?[\])}.:`]*|&lt;[^&]*(?:&gt;?)?[\])}.:`]*", "&lt;access-token&gt;", "<ann>Maple77"
    ),
    Allowed(
        "brackets",
        r"[\[(](?:[A-Z][A-Za-z _-]*|(?i:your|insert|enter)[\w -]{2,40}|hidden|masked|filtered|removed|omitted)[\])]?"
        r"|\[[a-zß-öø-ÿ]{2,20}",
        "[your-password]",
        "[Maple77]",
    ),
    Allowed("template", r"(?:#\{|-?\${1,2}[({]|\{[#{]).*", "${{ secrets.TOKEN2 }}", "$Maple{77}"),
    Allowed(
        "field of a template",
        r"[LC]?\{\s?[\w.|-]*\s?\}?(?: /)?|\{[a-z_][\w.]{2,40}[(\[].*",
        "{ vault_password }",
        "{Maple!77}",
    ),
    Allowed("rest of a template", r"[})]+[@/:,;.].*", "}}@github.com/a", "}maple77"),
    Allowed("format", r"%(?:\(\w+\)s|[sdvqxT@])", "%(password)s", "%(maple)77"),
    Allowed("name between marks", r"(?P<mark>[#@%]{1,2})[A-Z_][A-Z_\d]+(?P=mark)", "##TOKEN##", "##MAPLE77"),
    Allowed("parameter of a container", r"%[a-z][\w.]*(?:\([\w.:]{1,60}\))?%", "%env(APP_SECRET2)%", "%maple77"),
    Allowed("variable in capitals", r"\$[A-Z][A-Z_]*|\$[A-Z]+\d?(?:_[A-Z]+\d{0,2}){1,8}", "$KEY_B64", "$MAPLE_77"),
    Allowed("variable of words", r"\$(?:[a-z]{1,4}|[a-z]+(?:_[a-z\d]+)+)", "$request_uri", "$maple77"),
    Allowed(
        "reference of a template",
        r"\$[a-z]{2,16}(?:-[A-Za-z]{2,16}\d?){1,4}(?:[:.][A-Za-z][\w.-]{1,60})?",
        "$slack-token:oidc.clientSecret",
        "$maple-77",
    ),
    Allowed(
        "member of a variable",
        r"\$_?[A-Za-z]\w*(?:(?:\.\w+)+(?:\(.*)?|-|\[|\{[A-Za-z_]+\}?)",
        "$row.sessionToken3",
        "$maple77!",
    ),
    Allowed("joined variables", r"\$[a-z_]+(?:(?:://|[/.])?\$[a-z_]+)+", "$scheme://$host$uri", "$maple$77"),
    Allowed(
        "variable of a secret",
        rf"\$[A-Za-z_]{{0,24}}(?i:{_NOUNS}|pass|pwd|pw|auth|creds?)",
        "$dbPassword",
        "$dbPassword77",
    ),
    Allowed("parameter", r"[$:]\d{1,2}", "$2", "$4711"),
    Allowed("alternatives", r"[a-z]{2,12}(?:\|[a-z]{2,12}){1,6}", "true|false", "true|maple77"),
    Allowed("symbol or role", r":[a-z]+:?", ":password", ":maple77"),
    Allowed(
        "scheme and template",
        r"(?i:bearer|basic|token) (?:%s|\{\w*\}|<[^<>]*>|\$\{?\w{1,40}\}?|\$\{\{.*|\.{3}|…)(?:<br ?/?>.*)?",
        "Bearer %s",
        "Bearer maple77",
    ),
    Allowed(
        "field and template", r"[\w-]{1,24}(?:=(?:\.{3}|…|%s)|[=:]\$(?:\{\w.*|[A-Z_]{2,40}))", "nc=%s", "nc=maple77"
    ),
    Allowed(
        "request to fill in",
        r"(?i:[a-z]{2,6}[-_])?(?i:your|insert|replace|change|enter|example|sample|dummy|fake|mock|placeholder)"
        r"(?i:[-_ ]?(?:[a-z]{1,12}|(?:32|64|128|256|512)[-_ ]?(?:bit|char|byte)s?)){0,5}",
        "your-256-bit-secret",
        "your-257-maples",
    ),
    Allowed(
        "place of a secret",
        r"(?i:(?!my|your)[a-z]{1,16}(?:[-_][a-z]{2,16}){0,4}[-_]here)"
        r"|[A-Za-z\d._-]{0,40}(?:(?i:placeholder)[\w-]{0,20}|(?:TOKEN|KEY|SECRET|STRING|VALUE)_?HERE|(?:Token|Key|Secret|Value)Here)"
        r"|(?:[A-Z]{2,}(?:\d{2})?-){1,5}(?:TOKEN|KEY|SECRET|PASSWORD|VALUE)",
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
        rf"(?i:(?:[a-z]{{1,12}}\d?s?[-_]){{1,4}}(?:{_NOUNS})(?:[-_]id|[-_]?v?\d)?)(?:@[a-z].*)?",
        "s3_secret_access_key",
        "s3_maple77",
    ),
    Allowed(
        "variable for tokens",
        r"[a-z]{0,16}(?:[tT]oken|[cC]redential|[sS]ession|(?:[a-z]K|(?<![A-Za-z])k)ey|[sS]ecret|[pP]assword)s?(?:[A-Z][a-z]{1,12}){1,4}|[a-z]{2,16}(?:Tokens|Credentials|Sessions)",
        "tokensOrError",
        "tokensOrMaple77",
    ),
    Allowed(
        "class about secrets",
        r"(?:[a-z]\w{0,20}\.)?[a-z]{0,12}(?=[A-Za-z\d]*(?:Password|Token|OAuth|Secret|Credential|Session|Cookie))(?:[A-Z][a-z]{1,15}\d?|[A-Z]{2,6}\d?(?=[A-Z]|\Z)|O){3,}(?:\.[A-Z][a-z]+\()?",
        "OAuth2PasswordRequestForm",
        "OAuth2PasswordMaple77",
    ),
    Allowed("type of a secret", r"[A-Za-z]{2,16}(?:Token|Secret|Key|Credentials?)\d?", "RefreshToken2", "MapleToken77"),
    Allowed(
        "name of a variable",  # or of the next one
        r"(?:[A-Z]{2,}\d?|X509)(?:_(?:[A-Z]+\d{0,2}[A-Z]{0,2}|[A-Z]{0,3}(?:25519|448|128|256|384|512)|\d{1,2})){1,8}_{0,2}=?",
        "AUTH0_ISSUER=",
        "MAPLE_tree77",
    ),
    # Samples whose characters follow a rule.
    Allowed("alphabet", r"(?i:abcdefgh[a-z]{4,}\d{0,24})", "abcdefghijklmnop1234", "abcdefgh7maple"),
    Allowed("counted digits", r"(?:[a-z]{2,6}[-_])+1234(?:5(?:6(?:7(?:8(?:90?)?)?)?)?)?", "sk-12345", "sk-12347"),
    Allowed(
        "counted bytes",
        r"(?:0123456789abcdef)+|[0-9a-f]{0,4}0203040506070809[0-9a-f]*",
        "0102030405060708090a",
        "0102030405060709",
    ),
    Allowed("hexadecimal words", r"(?i:dead(?:beef|cafe|bad)+)", "deadbeefcafebad", "deadbeef77"),
    Allowed("repeated letter", r"(?i:(?P<letter>[a-z])(?P=letter){2,}|0{8,}[a-f]{0,4})", "YYYYY", "YYYYY7"),
    Allowed(
        "x for each character",
        r"(?i:[a-z]{0,8}(?:[-_][a-z]{1,8}){0,2}[-_]?x{4,}[x_.-]*|(?:[a-z]{1,8}[-_]){1,3}xxx|[\w.~-]{0,24}x{6,}[x_.~-]*)",
        "sk-xxxxxxxx",
        "sk-xxxxmaple77",
    ),
    Allowed(
        "beginning of a token",
        r"(?i:[a-z]{2,6}[-_](?:(?:live|test|proj|ant(?:-[a-z]{3,5}\d\d)?)[-_]?)?)\.*|[a-z]{2,20}(?:-[a-z]{2,20}){1,4}-|LS0tLS1CRUdJTi[A-Za-z0-9+/]{0,8}|\$2[aby]\$(?:\d\d\$)?\.*",
        "sk_test_",
        "sk_maple7",
    ),
    Allowed(
        "header of a JWT",
        r"eyJ(?:hbGciOi|0eXAiOi|raWQiOi)[A-Za-z0-9_-]{8,90}={0,2}",
        f"eyJhbGciOi{'JI' * 8}",
        "eyJhbGciOi",
    ),
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
    Allowed(
        "class of PHP",
        r"\\{0,2}(?:[A-Z]\w{1,40}\\{1,2}){1,8}[A-Z]\w{1,60}",
        r"App\Security\TokenHandler2",
        r"Maple\77Tree",
    ),
    Allowed("constant of a class", r"[A-Z]\w{1,40}\.[A-Z][A-Z_\d]+", "BuildConfig.API_TOKEN2", "Maple.77TREE"),
    Allowed(
        "operand",
        r"&(?:[A-Za-z_]+|[a-z]+\d(?:[A-Z][a-z]+){2,})|\+[A-Za-z_.]+\(?|\+[a-z]\w*(?:\.\w+)+\(?",
        "+fmt.Sprintf(",
        "&maple77",
    ),
    Allowed("attribute of a cookie", r"SameSite=[A-Z][a-z]{2,5}\W*", "SameSite=Strict", "SameSite=maple77"),
    Allowed("test of Go", r"Test(?:[A-Z][a-z]+){2}\w*(?:/[A-Za-z][\w.=#-]*)+", "TestRotateKey/rsa2048", "TestMaple77"),
    Allowed("variable of a rule", r"\?[A-Za-z_]*\}?", "?Variable", "?maple77"),
    Allowed("literal of Ruby", r"%[wWiIqQ][\[({].*", "%i[d3].freeze", "%image7"),
    Allowed("sample of HAProxy", r"%\[[a-z_.]+\(.*", "%[req.hdr(authorization)]", "%[maple77"),
    Allowed("action of Rails", r"(?:[a-z_]{2,30}/){0,4}[a-z_]{2,30}#[a-z_]{2,30}", "users/passwords#edit", "maple#77"),
    Allowed("joined text", r"\.\$[a-z].*|\+new [A-Z]\w+\(?.*", ".$config2[", ".maple77"),
    Allowed(
        "regular expression",
        r".{0,80}(?:\(\?[:!=<]|\[[\w\\^ -]{1,20}\][?*+{]).*|\^.{2,100}\$|\.[*+].*|/\^?[\[(].*",
        "[a-f0-9]{8}",
        "[a-f0-9]77",
    ),
    Allowed("next name", r"[a-z][a-z_]{1,30}=", "database=", "maple77="),
    Allowed("next option", r"--?[a-z][a-z-]{1,40}(?:=(?:\[.*)?)?", "--new-password", "-maple77"),
    Allowed(
        "rules of validation",
        r"(?:min|max|size|between|digits|same|unique|exists|current_password|confirmed|required|nullable|sometimes|string)"
        r"(?::[\w,]{1,40})?(?:\|[a-z_]{2,20}(?::[\w,]{1,40})?){0,8}",
        "required|min:8|confirmed",
        "maple|77",
    ),
    Allowed(
        "names of fields",
        r"[a-z]+(?:[A-Z][a-z]+)+=[a-z]{2,20}(?:,[A-Za-z]{2,30}=[A-Za-z]{2,20})*",
        "uniqueIdentifier=user",
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
        r"(?:op|vault|ssm|arn|urn|file|keyring|classpath|workspace|catalog|SecretString):.*|[a-z][a-z-]{1,24}:/(?!/)[\w./-]+|ENC\[[A-Z].*|@Microsoft\..*",
        "op://vault/item/password",
        "maple:item77",
    ),
    Allowed(
        "tag of YAML",
        r"!(?:vault|secret|env|env_var|ENV|Ref|Sub|GetAtt|Join|ImportValue|FindInMap|include|file|reference)\b.*",
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
        "beginning of keys",
        r"[a-z]{2,20}(?::[a-z_-]{2,20}){1,4}:(?:v\d{1,2}:?)?|[a-z]{2,20}(?::[a-z_-]{2,20}){0,3}:v\d{1,2}(?::[a-z_-]{2,20}){1,3}",
        "store:cache:v8",
        "store:maple77",
    ),
    Allowed("heading of CSV", r"(?:[a-z_]{1,30},){2,}[a-z_]{1,30}", "user_id,tokens,total", "maple,tree,77"),
    Allowed("repetition in a grammar", r"\d{0,2}\*\d{0,2}(?:[a-z]{2,16}|[A-Z]{2,16})", "1*tchar", "1*maple77"),
    # What anybody may read. Addresses with a password have rules of their own.
    Allowed("address", r"https?://[^\s@]*|[a-z][a-z\d+]{2,16}://[^\s@?]*", "sqlite:///./store9.db", "x://maple@77"),
    Allowed("link of Markdown", r"(?s:\S*\][(\[].*)", "vaults](https://example.org/1", "vaults]maple77"),
    Allowed("artifact of Maven", r"[a-z][\w.-]{1,40}[:-]\d{1,4}(?:\.\d{1,4}){1,3}", "jjwt-api:0.12.5", "jjwt:maple77"),
    Allowed("message of Objective-C", r"\[\[[A-Z][A-Za-z]{2,40}", "[[NSProcessInfo", "[[maple77"),
    Allowed("name of a package", r"@[a-z][\w-]*/[\w.-]+", "@next-auth/prisma2", "@maple77"),
    Allowed(
        "number of a standard",
        r"(?:CVE-\d{4}-\d{4,7}|CWE-\d{1,5}|GHSA(?:-[a-z0-9]{4}){3}|(?:RFC|PEP|ISO|EIP|BIP)[- ]?\d{1,5})\W*",
        "GHSA-mp22-3v4p-j68x",
        "GHSA-maple77",
    ),
    Allowed(
        "algorithm",
        r"(?:RSA(?:SSA|ES)?|ECDSA|ECDH|EdDSA|(?:EC)?DHE|PSK|AES(?:128|192|256)?|HMAC|SHA|PBKDF2|HKDF|PKCS|TLS|SCRAM)"
        r"(?:[-_/](?:[A-Z]{1,12}\d{0,4}|v?\d{1,4}(?:_\d)?)){1,5}(?:\(.*|\W*)"
        r"|(?i:(?:rsa|ecdsa|dsa|hmac)(?:[-_][a-z]{2,6}\d{0,4}[a-z]?\d?){0,3}[-_]sha\d{1,3})|[A-Z]{3,6}\d?With[A-Z][A-Za-z]{2,8}\d{0,3}"
        r"|(?:aes|camellia|des3?)\d{0,3}(?:-[a-z]{2,6}\d{0,3}){1,4}(?:-\d{2,3})?|X?OAUTH(?:2|BEARER)"
        r"|(?i:(?:(?:bcrypt|scrypt|argon2(?:id?|d)?|pbkdf2|md5|sha-?\d{1,3})[/+]?){2,4})|SHA\d{3}With(?:RSA|ECDSA)|(?:RSA|ECDSA)WithSHA\d{3}|(?:Pure)?Ed(?:25519|448)|PKCS#\d{1,2}"
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
        r"\$\{?[A-Z_]{2,20}\}?(?:/[\w.-]{1,60}){1,10}|(?:/\.?[a-z][a-z\d._-]{1,30}(?:@\d{1,3}(?:\.\d{1,3}){0,2})?){2,}/?|/[a-z-]{2,30}/?|(?:~|\.\.?)/[\w./-]{1,160}(?:#[\w./-]{1,80})?",
        "/etc/ssl/redis2.pem",
        "/Maple77",
    ),
    Allowed(
        "relative path",
        r"(?:[\w.-]{1,40}/){1,12}[\w-]{1,60}(?:\.[a-z]\w{1,7}){1,2}|\.[a-z]{2,20}/[a-z]{3,20}(?:[_.-][a-z]{2,20}){1,3}\d?|(?:[a-z][a-z\d.-]{1,30}/){2,}[a-z][a-z-]{1,30}\d{0,2}"
        r"|[a-z]{2,20}\d?(?:-[a-z]{2,20}){0,4}/[a-z]{2,20}(?:-[a-z]{2,20}){1,5}"  # a name in a namespace
        r"|(?:[a-z][a-z\d-]{1,30}\.){1,4}[a-z]{2,6}/[a-z][a-z-]{1,60}"
        r"|(?:[a-z][A-Za-z]{2,20}/[\w.-]{1,40}/){2,6}[\w./-]{1,80}",  # of a cloud
        "logs/2024/05/app-7f9c4d.log.gz",
        "logs/Maple77",
    ),
    Allowed(
        "name of a file",
        r"[a-z\d][\w-]{1,60}\.(?:json|ya?ml|csv|txt|xml|html?|md|log|png|jpe?g|svg|pdf|zip|gz|sql|db|sh|py|js|ts|php|rb|go"
        r"|java|conf|cfg|ini|pem|key|crt|jks|p12|pfx|p8|der|cer|kdbx)",
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
    Allowed("ISIN", r"(?:AT|CH|DE|ES|FR|GB|IE|IT|LU|NL|US)[A-Z\d]{9}\d", "DE0007164600", "MA0007164677"),
    Allowed("object identifier", r"\d(?:\.\d{1,6}){4,20}", "1.3.6.1.4.1.4203.1.11.1", "1.3.6.1maple"),
    Allowed("fingerprint", r"(?:[0-9A-F]{2}:){7,}[0-9A-F]{2}", "51:C4:0C:6D:7E:A5:6C:D8", "51:C4:0C:6D"),
    Allowed(
        "digest",
        r"(?:sha-?\d{1,3}|md5)[:=-][0-9a-f]{32,128}|SHA256:[A-Za-z0-9+/]{43}=?",
        f"sha1:{'b2' * 20}",
        "sha1:maple77",
    ),
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
    Allowed("anchor of a page", r"#[a-z]{1,24}(?:-(?:[a-z]{1,24}|\d{1,3}(?=-))){1,12}", "#oauth-20-flow", "#maple-77"),
    Allowed("names in capitals", r"[A-Z]{2,8}(?:/[A-Z]{2,8}\d{0,2}){1,6}", "EC/PKCS1/PKCS8", "EC/MAPLE777"),
    Allowed(
        "version of an API",
        r"(?:(?:[a-z][a-z\d-]{1,30}\.){0,5}[a-z]{2,6}/)?v\d{1,2}(?:(?:alpha|beta|rc)\d{1,2})?(?:\.[A-Z][A-Za-z]{2,40})?",
        "meta/v1.SecretKeySelector",
        "external-secrets.io/v1maple77",
    ),
    Allowed(
        "version",
        r"v?\d{1,4}(?:\.(?!0\d)\d{1,4}){2}(?:[-+][\w.+-]{1,40})?|\d{1,4}\.\d{1,4}-\d[\d.]{0,8}(?:[+~][\w.+~]{1,20})?",
        "v6.2.1-beta.3+build.5",
        "v6.2.1maple",
    ),
    Allowed(
        "time",
        r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?",
        "2024-12-31T23:59:59+01:00",
        "2024-12-31maple",
    ),
    Allowed(
        "length of CSS",
        r"\.?\d{1,4}(?:\.\d{1,3})?(?:r?em|px|pt|vh|vw|fr|deg|ch|cm|mm)",
        ".75rem",
        ".75maple",
    ),
    Allowed("color", r"#(?:[0-9a-fA-F]{3,4}){1,2}", "#ff8800", "#ff8800maple"),
    Allowed("columns of a database", r"[a-z]\w*(?:, \w+)*\)=\(.*", "user_id)=(512", "user_id)maple77"),
    Allowed("address of a contract", r"0x[0-9a-fA-F]{40}", f"0x{'A0b86991' * 5}", "0xA0b86991maple"),
    Allowed(
        "duration",
        r"\d{1,4} ?(?:ms|s|secs?|m|mins?|h|hrs?|d|w|y)|\d{1,4}[ .]?(?:second|minute|hour|day|week|month|year)s?",
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
        r"(?i:(?:ctrl|control|alt|shift|cmd|command|option|meta|mod\d?|super|win|fn)(?:\+(?:[a-z]{1,9}\d{0,2}|\d|\W))+)",
        "Ctrl+Shift+9",
        "Maple+Shift+9",
    ),
)
# Code. Quoted, or behind the name of a password, the same may be a secret.
EXPRESSIONS = (
    Allowed("name in a namespace", r"(?:[A-Z]\w*::)+\w.*", "Config::Token7", "config::maple77"),
    Allowed(
        "argument with its name",
        r"[a-z_:\-]{1,16}=(?:\{.*|[A-Z][a-z]\w*\(.*|\[?(?:/?[A-Za-z][\w.\-]*(?:/[\w.\-]+|:\d{1,4}[kmg])*|\d[\d\-.:hms]{0,12})"
        r"(?:[/&][a-z_\-]{1,16}=\w{1,24})*)",
        "timeout=30s",
        "timeout=!maple77",
    ),
    Allowed("call, index or block", r"[A-Za-z_][\w.:-]{2,}(?:!?\(.*|\[(?!redacted\b).*|\{)", "tokens[0]", "maple77"),
    Allowed("call of two letters", r"[a-z]{2}\(", "id(", "7("),
    # Names have few digits in their midst: s3Client, oauth2Client.
    Allowed(
        "member",
        r"[A-Za-z_]+(?:(?:(?<=s)3|2|64|256|509)[A-Za-z_]+)?\d{0,3}(?:\.[A-Za-z_]+)+(?:\(|\{.*)?",
        "account.refresh_token",
        "maple.77",
    ),
    Allowed(
        "member of a member",
        r"[A-Za-z_]\w*(?:\.(?:[A-Za-z_]\w*|\d{1,3}(?=\.))){2,}",
        "app.auth.token2",
        "maple.tree.77",
    ),
    Allowed(
        "member that may be missing",
        r"[a-z_]\w*(?:\.\w+)*(?:\?\.[A-Za-z_\[(]|!\.\w+\??[.(]).*",
        "cookies?.[name",
        "maple77?.!",
    ),
    Allowed(
        "member that isn't null",
        r"[a-z]\w*(?:\.[A-Za-z_]+)*\.[A-Za-z_]*(?i:token|key|secret)!",
        "result.session.accessToken!",
        "maple77!",
    ),
    Allowed(
        "constant of a package",
        r"[a-z]\w*\.(?=\w*[a-z]{4})(?:[A-Z][a-z]*\d*){3,}",
        "features.HTTP303Redirect",
        "maple.Tree77",
    ),
    Allowed("literal of Go", r"[a-z]\w+\{[A-Z]\w*", "keyPair{Cert", "maple{77"),
    Allowed(
        "command of PowerShell",
        r"(?:New|Get|Set|Read|Convert(?:To|From)?|Import|Export|Add|Invoke|Out|Select)-[A-Z][A-Za-z]{2,40}",
        "Get-Secret",
        "Maple-Tree77",
    ),
)
_EXPRESSION = re.compile("|".join(row.pattern for row in EXPRESSIONS))
_ALLOWED = re.compile(f"_*(?:{'|'.join(row.pattern for row in ALLOWLIST)})")


def is_harmless(value: str) -> bool:
    """True for what is no secret: nothing, a mask, a sample, the name of a type, what a row of the allowlist allows."""
    marked = value.strip("\"'`*\\ ,;")
    bare = marked.strip("_")
    return (
        (not any(map(str.isalnum, bare[:64])) and len(set(bare[:64])) < 8)
        or bare.rstrip("!?").lower() in TYPES_AND_EMPTY_VALUES
        or marked.lower() in _SAMPLES
        or _MASKED.fullmatch(value[:200]) is not None
        or _ALLOWED.fullmatch(marked[:200]) is not None
    )


def is_expression(value: str) -> bool:
    """True for code: a call, an index, a dotted name, an argument with its name."""
    return _EXPRESSION.fullmatch(value[:200].lstrip("[({]*&@.")) is not None
