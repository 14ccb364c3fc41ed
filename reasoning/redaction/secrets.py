"""Secrets that programs write: issued tokens, headers, URLs, command lines, assignments, tables.

Prefixes and layouts of issued tokens are data. All repeats are bounded or possessive, so that no
text costs more than linear time.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from itertools import takewhile
from urllib.parse import unquote

from reasoning.redaction.classify import KeyKind, classify
from reasoning.redaction.prose import (
    FOR_SOMETHING,
    PASSWORD_NAME,
    QUALIFIERS,
    accepts_digits,
    find_word_passphrase,
)
from reasoning.redaction.rules import (
    ESCAPED_BREAK,
    Rule,
    Span,
    Trigger,
    class_changes,
    is_address,
    is_expression,
    is_inert,
    is_mixed,
    is_number_like,
    is_random,
    is_word,
    pattern_rule,
    strip_punctuation,
    wordset,
)

# --- Tokens that their issuers made recognisable -----------------------------------------------------------------

# Prefixes that no word begins with: eight characters with a digit are enough of a body.
DISTINCT_PREFIXES = sorted(
    wordset(
        r" sk-(?:proj|svcacct|admin|None)- sk-ant- sk-or-"  # OpenAI, Anthropic, OpenRouter
        r" sk-(?:live|test|lf|helicone)- [srp]k_(?:live|test)_ whsec_"  # LiteLLM, Langfuse, Helicone, Stripe
        r" gh[pousr]_ github_pat_ gl(?:pat|ptt|dt|rt|cbt|ft|soat|imt|agent|oas)-"  # GitHub, GitLab
        r" xox[abeoprs][-.] xapp- AIza ya29\. GOCSPX- npm_ pypi- rubygems_"  # Slack, Google, npm, PyPI, RubyGems
        r" CLOJARS_ dckr_(?:pat|oat)_ nvapi- gsk_ pplx-"  # Clojars, Docker, NVIDIA, Groq, Perplexity
        r" tgp_v1_ lsv2_(?:pt|sk)_ pcsk_ tskey-"  # Together, LangSmith, Pinecone, Tailscale
        r" xkeysib- xsmtpsib- access-(?:sandbox|development|production)-"  # Brevo, Plaid
        r" shp(?:at|ca|pa|ss|tka)_ SG\. AT[AC]TT3 figd_ PMAK-"  # Shopify, SendGrid, Atlassian, Figma, Postman
        r" gl(?:c|sa)_ NR(?:AK|II|JS)- sntry[su]_"  # Grafana, New Relic, Sentry
        r" sbp_ sb_(?:secret|publishable)_ pscale_(?:tkn|pw|oauth)_"  # Supabase, PlanetScale
        r" do[opr]_v1_ sq0[a-z]{3}- lin_(?:api|oauth)_ ntn_"  # DigitalOcean, Square, Linear, Notion
        r" hv[bsr]\. dp\.(?:pt|st|ct|sa|scim|audit)\. AGE-SECRET-KEY-1"  # HashiCorp Vault, Doppler, age
        r" django-insecure- lgb_"  # Django, Legible
    )
)
# Prefixes that words, names or fields begin with, too: the body must be dense.
SHORT_PREFIXES = sorted(
    wordset(
        r" sk[_-] re_ key- live_ test_ sess- mcp_ tok_ rt_ at_ secret_ patch_"  # generic sk, generic
        r" xwfp- 1//0 hf_ api_org_ xai- r8_"  # Slack workflow, Google refresh, Hugging Face, xAI, Replicate
        r" fw_ fpk_ csk- esecret_ cohere_ mist_"  # Fireworks, Cerebras, Anyscale, Cohere, Mistral
        r" moonshot- ark- ak- jina_ tvly- fc- exa_"  # Moonshot, Volcengine, Modal, Jina, Tavily, Firecrawl, Exa
        r" llx- e2b_ bb_(?:live|test)_ apify_api_ ph[cx]_"  # LlamaCloud, E2B, Browserbase, Apify, PostHog
        r" sgp_ CFPAT- fio-u- tfp_ p8e-"  # Sourcegraph, Contentful, Frame.io, Typeform, Adobe
        r" dt0[cs]\d{2}\. AKC sq[uap]_ CCIPAT_ CCIPRJ_"  # Dynatrace, Artifactory, SonarQube, CircleCI
        r" bkua_ ops_ey A3- duffel_(?:live|test)_ pnu_ rdme_"  # Buildkite, 1Password, Duffel, Prefect, ReadMe
        r" tk-us- shippo_(?:live|test)_ ATBB cio oy2"  # Scalingo, Shippo, Bitbucket, crates.io, NuGet
        r" dapi eyJrIjoi napi_ nfp_ fo1_ fm[12]_ rnd_"  # Databricks, Grafana (old), Neon, Netlify, Fly.io, Render
        r" HRKU- LTAI AKID AQVN y0_ EAA[AC] pul-"  # Heroku, Alibaba, Tencent, Yandex, Square, Facebook, Pulumi
        r" vc[pkiar]_ cf(?:ut|at|k)_ doppler_ bsky- sl\."  # Vercel, Cloudflare, Doppler (old), Bluesky, Dropbox
        r" EZ[AT]K FLWSECK FLWPUBK"  # EasyPost, Flutterwave
    )
)
# Tokens whose whole layout is known.
SHAPES = {
    "OpenAI (old)": r"sk-[A-Za-z0-9]{20,}+(?![-_A-Za-z0-9])",
    "AWS": r"(?:AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA|A3T[A-Z0-9])[A-Z0-9]{12,17}+(?![a-z0-9])",
    "Twilio": r"(?:SK|AC)[0-9a-f]{32,}+",
    "JWT": r"eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+){1,4}+",
    "JWT, one part": r"eyJ[A-Za-z0-9_-]{24,}+=*+",
    "Mapbox": r"[sp]k\.eyJ[\w.-]{20,}+",
    "Discord": r"[MNO][A-Za-z0-9_-]{23,27}\.[\w-]{5,7}\.[\w-]{20,}+",
    "Telegram": r"\d{8,10}:AA[\w-]{20,}+",
    "Firebase": r"AAAA[\w-]{7}:APA91b[\w-]{20,}+",
    "Terraform Cloud": r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{20,}+",
    "Airtable": r"pat[A-Za-z0-9]{14}\.[a-f0-9]{20,}+",
    "Mailchimp": r"[a-f0-9]{32}-us\d{1,2}",
    "Zhipu": r"[a-f0-9]{32}\.[A-Za-z0-9]{16}(?![A-Za-z0-9])",
    "LaunchDarkly, HubSpot": r"(?:sdk|mob|pat-[a-z]{2,4}\d?|secret|token)"
    r"-[a-f0-9]{8}-(?:[a-f0-9]{4}-){3}[a-f0-9]{12}(?![\w-])",
    "Cloudflare origin": r"v1\.0-[a-f0-9]{24}-[a-f0-9]{64,}+",
    "Asana": r"[012]/\d{10,20}:[a-f0-9]{24,}+",
    "Expo": r"EXO[a-f0-9]{24}(?![A-Za-z0-9])",
    "Braintree": r"access_token\$(?:production|sandbox)\$[\w$]{10,}+",
    "crypt": r"\$(?:apr1|2[abxy]?|[1567y])\$[^\s\"'`<>,;:]{16,}+",
    "PHC hash": r"\$(?:argon2(?:id|i|d)|scrypt|pbkdf2[\w-]*|bcrypt[\w-]*)\$[^\s\"'`<>,;]{16,}+",
    "Django hash": r"(?:pbkdf2_sha(?:1|256|512)|bcrypt_sha256|argon2|scrypt|md5|sha1)\$[^\s\"'`<>,;]{16,}+",
    "Werkzeug hash": r"scrypt:\d+:\d+:\d+\$[^\s\"'`<>,;]{16,}+",
    "LDAP hash": r"\{(?:SSHA|SHA|CRYPT|SMD5|PBKDF2)[\d-]*\}[^\s\"'`<>,;]{12,}+",
}
_BODY = r"(?P<body>[A-Za-z0-9_\-]{8,}+(?:[.:/+=~][\w\-/+=]++)*+)"
_DISTINCT = "|".join(DISTINCT_PREFIXES)
_DISTINCT_TOKEN = re.compile(rf"(?<![A-Za-z0-9]){ESCAPED_BREAK}(?P<value>(?:{_DISTINCT}){_BODY})")
_SHORT_TOKEN = re.compile(rf"(?<![A-Za-z0-9]){ESCAPED_BREAK}(?P<value>(?:{'|'.join(SHORT_PREFIXES)}){_BODY})")
_SHAPED_TOKEN = re.compile(rf"(?<![A-Za-z0-9]){ESCAPED_BREAK}(?P<value>{'|'.join(SHAPES.values())})")
# A stopped stream or a truncated line can end inside a token, too short for its rule.
_CUT_TOKEN = re.compile(
    rf"(?<![A-Za-z0-9])(?:{_DISTINCT}|AKIA|ASIA|eyJhbGciOi)(?![a-z]{{3,}}[a-z_\-]*\Z)[\w\-./+=]++[\"'`.…]{{0,3}}\Z"
)
# A key that no name announces. Digests, ids and paths are sorted out by is_unlabelled_key.
_DENSE_RUN = re.compile(
    rf"(?<![A-Za-z0-9+/=_\-]){ESCAPED_BREAK}(?P<value>[A-Za-z0-9+/_\-]{{28,}}+={{0,2}})(?![A-Za-z0-9+/_\-])"
)
# Ids of requests and objects are public, and needed to report a fault.
_PUBLIC_ID = re.compile(  # AAAA begins public keys of SSH
    r"AAAA[BCE][0-9A-Za-z]"
    r"|(?:req|evt|msg|run|thread|resp|chatcmpl|call|toolu|item|cus|file|batch|step|price|prod|sub|acct|asst|org)[_-](?=\w)"
)
# A digest of a lock file, or data: of an address.
_DIGEST = re.compile(r"(?i)(?:(?<![a-z])(?:sha-?\d{1,3}|md5|integrity|h1)[-:=]|;base64,)")


def longest_piece(run: str) -> str:
    """Return the longest part without a separator: long in what machines make, short in names and paths."""
    return max(re.split(r"[^A-Za-z0-9]", run[:512]), key=len)


def is_distinct_body(found: re.Match[str], _value: str) -> bool:
    piece = longest_piece(found["body"])
    has_digit = any(map(str.isdigit, found["body"]))
    return (len(piece) >= 8 and has_digit) or len(piece) >= 20 or class_changes(found["body"]) >= 0.4


def is_dense_body(found: re.Match[str], _value: str) -> bool:
    piece = longest_piece(found["body"])
    digits, changes = sum(map(str.isdigit, piece)), class_changes(piece)
    return (len(piece) >= 14 and digits >= 3 and (changes >= 0.25 or len(piece) >= 20)) or (
        len(piece) >= 16 and changes >= 0.4
    )


def is_unlabelled_key(found: re.Match[str], run: str) -> bool:
    """True where lower case, capitals and digits are well mixed. Digests, names and paths aren't."""
    if _PUBLIC_ID.match(run) or _DIGEST.search(found.string, max(found.start() - 12, 0), found.start() + 12):
        return False
    start = run[:128]
    lower, upper, digits = (sum(map(test, start)) for test in (str.islower, str.isupper, str.isdigit))
    if lower < 4 or upper < 4 or not 1 <= digits <= len(start) * 0.45:
        return False
    piece = longest_piece(start)
    return len(piece) >= 16 and any(map(str.isdigit, piece)) and class_changes(start) >= 0.4


def find_cut_token(text: str) -> Span | None:
    """Return the token that the end of the text cuts off behind its prefix, if there is one."""
    found = _CUT_TOKEN.search(text, max(len(text) - 600, 0))
    return Span(found.start(), len(text)) if found and not is_inert(strip_punctuation(found.group())) else None


# Sections that are removed from their opener to their end, or to the end of the text.
_REDACTED = r"(?i:<REDACTED(?:\s[^<>]{0,150})?>)"  # it may have attributes
BLOCK_START = re.compile(
    rf"(?P<redacted>{_REDACTED})"
    r"|(?P<pem>-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"|PuTTY-User-Key-File-\d:)"
)
BLOCK_END = {
    "redacted": re.compile(rf"(?P<nested>{_REDACTED})|(?i:</REDACTED\s{{0,8}}>)"),
    "pem": re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|Private-MAC: [0-9a-f]{20,128}+"),
}

# --- URLs, headers, command lines --------------------------------------------------------------------------------

_PARAMETER = r"\w{1,24}=\\?[\"'](?=[\w/+])"  # of a scheme such as Digest, whose line holds quotes
# scheme://user:password@host, or a long token in place of both; host:port is no password.
_USERINFO = re.compile(
    r"://(?P<value>[^\s/?#\"'<>@:]{0,128}:(?!\d{1,5}(?:[/?#]|\Z))(?P<secret>[^\s\"'<>]{1,256})|[^\s/?#\"'<>@:]{12,256})@"
)
# The same without a scheme: domain/user:password@host.
_BARE_USERINFO = re.compile(
    r"(?<![\w:/@.\-])[\w.\-]{1,64}(?:/[\w.\-]{1,64})?:(?P<value>[^\s:@/\"'<>]{5,128})@(?!sha\d)(?=[\w.\-]{3})"
)
# The path of a webhook is its password.
_WEBHOOK = re.compile(
    r"(?i)(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/(?:v\d+/)?webhooks"
    r"|[\w-]+\.webhook\.office\.com/webhookb2|api\.telegram\.org/bot|hooks\.zapier\.com/hooks/catch"
    r"|chat\.googleapis\.com/v1/spaces|maker\.ifttt\.com/(?:use|trigger/\w+/with/key))(?P<value>/?[^\s\"'`<>)\]]{6,512})"
)
# The text of a Wi-Fi QR code.
_WIFI = re.compile(r"WIFI:(?:[^\n\s]{0,80};)?P:(?P<value>[^;\s\[]{1,64}+)")
# user/password@host, as Oracle's tools and JDBC's thin driver write it.
_ORACLE = re.compile(
    r"(?:\:thin:|(?<![\w-])(?:sqlplus|sqlldr|expdp|impdp|rman)\b(?:[ ]-\w{1,12}){0,4}[ ]{1,4}(?:target[ ])?[\"']?)"
    r"[\w$#]{1,64}/(?P<value>[^@\s\"']{1,128}+)@"
)
_COOKIE = re.compile(
    r"(?i)(?<![\w-])(?:set-)?cookie[\"'\\]{0,4}\s{0,3}[:=](?!=)\s{0,3}[\"'\\]{0,4}(?P<value>[^\n\r\"']{3,4096}+)"
)
_AUTHORIZATION = re.compile(
    r"(?i)(?<![a-z])(?:proxy-)?authorization[\"'`*\\]{0,4}[ \t]{0,4}(?:[:=,]|=>){1,2}[ \t]{0,4}"
    r"(?:b(?=[\"'])|[\"'`*\\]){0,5}(?P<value>(?P<first>[^\s\"',\\]{1,4096}+)(?:[ \t]{1,4}"
    rf"(?P<rest>{_PARAMETER}[^\n\r]{{1,4096}}+|[^\n\r\"'`\\]{{1,4096}}+))?)"
)
# Authentication schemes, behind which the credential follows as a second word.
_SCHEMES = wordset("bearer basic token apikey digest negotiate aws4-hmac-sha256 hawk oauth ntlm key splunk")
_SCHEME = re.compile(
    r"(?i)(?<![a-z])(?P<scheme>bearer|basic|token|session|apikey|api-key)[\"'`*\\]{0,4}(?:\s{1,4}|[:=]\s{0,2}|%20)[\"'`*\\]{0,4}"
    r"(?P<value>[A-Za-z0-9._~+/=:\-]{6,4096}+)"
)
# curl -u user:password, smbclient -U domain\user%password.
_USER_FLAG = re.compile(
    r"(?<![\w-])(?:-u|--user|--proxy-user|-U)[ =]{0,4}[\"']?"
    r"(?P<value>[^\s:\"'`/\\%]{1,64}(?:\\[^\s:\"'`/\\%]{1,64})?[:%](?P<secret>[\"']?[^\s\"'`]{1,256}+))"
)
_ACCOUNT_FLAGS = (
    re.compile(r"(?<![\w-])(?:-a|-u|--auth)[ =]{1,4}[\"']?(?P<value>[\w.@\-]{1,64}[:,](?P<secret>[^\s\"'`/]{5,256}+))"),
    re.compile(r"(?<![\w-])[-/][uU][: ]?[^\s\"']{1,64}[ ]{1,2}[-/][pP][: ]?[\"']?(?P<value>[^\s\"']{5,256}+)"),
)
_COMMANDS = (
    re.compile(r"(?<![\w-])-p(?P<value>(?=[^\s\"'=:]{0,64}[A-Za-z])(?=[^\s\"'=:]{0,64}\d)[^\s\"'=:\-]{6,64}+)(?!\S)"),
    re.compile(  # with a space behind -p, these ask for the password, and a database's name follows
        r"(?<![\w-])(?:mysql\w*|mariadb\w*)\b[^\n|]{0,160}?[ \t]-p[\"']?(?P<value>[^\s\"'\-][^\s\"']{2,256}+)"
    ),
    re.compile(
        r"(?<![\w-])(?:sshpass|redis-cli|mongo\w*|ldap\w+|zip|7z|unzip|smbclient|login)\b[^\n|]{0,160}?[ \t]"
        r"(?:-p|-a|-w|-P)[ =]?[\"']?(?P<value>[^\s\"'\-][^\s\"']{2,256}+)"
    ),
    re.compile(r"(?i)(?:r[ow]community6?|snmp[\w-]{0,12}[ ]{1,4}community)[ ]{1,4}(?P<value>[^\s\"']{3,64}+)"),
    # what is piped into a command that asks for a secret
    re.compile(
        r"(?:echo|printf)[ ](?:-\w[ ])?[\"']?(?P<value>(?:[\w.\-]{1,64}:)?[^\s\"':|]{4,256})[\"']?\s{0,2}\|"
        r"[^\n|]{0,80}?(?:passw|sudo -S|login|secret|-stdin)"
    ),
    re.compile(r"(?:passw|login|secret|-stdin)[^\n|<]{0,80}<<<[ ]?[\"']?(?P<value>[^\s\"']{4,256}+)"),
    re.compile(r"runas[ ](?:\S{1,128}[ ]){1,3}(?P<value>(?=\S{0,64}\d)[^\s/\\\"']{5,128}+)"),
    re.compile(r"htpasswd[ ]-\w{0,6}b\w{0,6}[ ]\S{1,128}[ ]\S{1,64}[ ][\"']?(?P<value>[^\s\"']{4,256}+)"),
)
# requests.get(url, auth=("user", "password")), connect("host", "user", "password"), hmac.new(b"key", …).
_CALL = re.compile(
    r"(?i)(?:(?:auth|credentials?|login|connect|user|pdo)[\w.:>-]{0,24}[\"']?\s{0,2}[=:(]{1,2}[ ]?[(\[]?"
    r"(?:[\"'][^\"'\n]{0,100}[\"'],\s{0,4}){1,3}?"
    r"|(?P<key>hmac|jwt|sign|encrypt|cipher|fernet)[\w.:>-]{0,24}\("
    r"(?:[\w.]{1,40},\s{0,4}|\{[^{}\n]{0,100}\},\s{0,4}){0,2}?)"
    r"b?[\"'](?P<value>(?=[^\"'\n]{0,64}\d)(?=[^\"'\n]{0,64}[A-Za-z])[^\"'\n]{5,256}+)[\"']"
)
# CREATE USER … IDENTIFIED BY '…' of SQL.
_IDENTIFIED_BY = re.compile(
    r"(?i)identified\s{1,4}(?:with\s{1,4}\S{1,64}\s{1,4})?by\s{1,4}[\"'](?P<value>[^\"'\n]{1,256}+)"
)
# PostgreSQL's .pgpass: host:port:database:user:password.
_PASSWORD_FILE = re.compile(
    r"(?<!\S)[\w.\-*]{1,128}:(?:\d{2,5}|\*):[\w.\-*]{1,64}:[\w.@\-*]{1,64}:(?P<value>[^\s:]{5,128}+)"
)


def is_call_argument(found: re.Match[str], value: str) -> bool:
    if found["key"]:
        return is_random(value)
    return " " not in value and is_mixed(value) and not is_address(value)


def is_authorization(found: re.Match[str], _value: str) -> bool:
    first, rest = found["first"], found["rest"] or ""
    second = rest.split(" ")[0]
    if is_inert(first) or (rest and (is_inert(second.partition(":")[0]) or is_expression(rest))):
        return False
    return bool(rest and first.lower() in _SCHEMES) or is_mixed(first) or is_random(first) or is_random(second)


def is_scheme_value(found: re.Match[str], value: str) -> bool:
    match found["scheme"].lower():
        case "basic":
            try:
                return b":" in base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
            except (binascii.Error, ValueError):
                return is_random(value, min_chars=20)
        case "bearer":
            return is_mixed(value) or (len(value) >= 20 and not is_word(value))
    return is_random(value, min_chars=12)


# --- Assignments -------------------------------------------------------------------------------------------------

# Everything between a name and its value: operators of many languages, typed assignments, HTML entities, quotes.
_SEPARATOR = (
    r"(?:=>|:=|->|→|===?|=|:[ ]?(?:str|string|String|SecretStr|Final|bytes"
    r"|&'static[ ]str|Optional\[str\]|str[ ]\|[ ]None|&str|any|object)[ ]?="
    r"|!==?|\?=|\|\|=|[\"']>|\((?=[\"'])|::|:(?!/)|：|＝|\||&[#]61;|&[#]58;|%3[aAdD]|&quot;:|,(?=[ ]?[\"'])"
    r"|[-–—](?=\s|\Z)|>?(?:</?[A-Za-z]{1,8}>\s{0,40}){1,6}|\.\w{1,24}\((?=[\"']))"
)
_CLOSERS = r"(?:[\"'`*_\\\])}]|&quot;){0,6}"
# SecretStr("…"), Some("…"), b64decode("…"): the value is the argument.
_CONSTRUCTOR = (
    r"(?:(?:Secret|Some|Just|String|Zeroizing|Redacted|Sensitive)\w{0,8}(?:::(?:new|from))?|(?:bytes\.)?fromhex"
    r"|(?:base64\.)?b64decode|Buffer\.from)\((?=[\"'])"
)
_OPENERS = (  # also block scalars and anchors of YAML
    r"(?:\\[nrt]|[\"'`*_\\(\s]|&quot;|\[(?=[\"'\[\d-]|true|false|null)"
    rf"|[->|][+-]?(?=\s|\Z)|&\w{{1,20}}(?=\s)|[bruf@](?=[\"'])|{_CONSTRUCTOR}){{0,12}}"
)
_LEAD = re.compile(
    rf"(?<![\w.\-]){ESCAPED_BREAK}(?P<name>(?:[A-Za-z]{{2,14}}[ ]){{0,2}}[\w.\-]{{1,80}}+){_CLOSERS}"
    rf"(?:[ \t]|\.(?=[ .:])){{0,40}}(?P<sep>{_SEPARATOR})(?P<open>{_OPENERS})"
)
_SEPARATES = re.compile(r"[=:|→：＝&%\"',>–—-]")
_VALUE = re.compile(r"[^\s\"'`<>\\]{1,512}+")
_WEAK_VALUE = re.compile(r"[^\s\"'`<>\\=]{1,512}+={0,3}")
_OPEN_QUOTE = re.compile(r"\\{0,3}([\"'`])\s*\Z")
# A value ends where the next name, a closing bracket or the sentence follows.
_VALUE_END = re.compile(r"[,;&](?=\s|\Z|[\w.\-]{1,40}[=:]|[\"'{}\[\]])|[)\]}](?=[,;)\]}\s.]|\Z)")
# Parameters of addresses, of fragments and of forms.
_QUERY = re.compile(r"[?&;#](?:amp;)?(?P<name>[^\s=&#?;\"'<>]{1,64})=(?P<value>[^\s&#\"'<>\\]{1,2048}+)")
# export NAME value: commands that need no sign between name and value.
_SET = re.compile(
    r"(?i)(?<![\w-])(?:(?:proxy_)?set(?:x|env|_header)?|env|arg|read|define)(?:[ ]-\w{1,3})?[ \t]{1,3}"
    r"(?P<name>[\w.\-]{2,64})[ \t]{1,4}(?:<<<[ ]?)?(?P<quote>[\"']?)(?P<value>[^\s\"'=<>][^\s\"'<>]{3,512}+)"
)
_FLAG = re.compile(
    r"(?<![\w-])--?(?P<name>[A-Za-z][\w\-]{0,40})(?:[ ]{1,4}|=)[\"']?(?P<value>[^\s\"'\-][^\s\"']{2,512}+)"
)
# <password>…</password>, with attributes or a namespace.
_XML = re.compile(
    r"<(?P<name>[A-Za-z][\w.\-:]{0,60}+)(?:\s[^<>]{0,80})?>\s{0,8}(?P<value>[^<\s][^<\n]{0,256})(?P<end></)?"
)
# Where labels separate name and value: ``name: x value: y``, ``"x": {"default": "y"}``, XML children, diffs.
_NAME_AND_VALUE = re.compile(
    r"(?P<name>(?<![\w.\-])[\w.\-]{2,64}+)[\"']?,?(?:\s{1,4}\w{1,12}=[\"'][^\"'<>\n]{0,40}[\"']){0,3}"
    r"\s{1,24}-{0,2}\s{0,4}[\"']?(?:[Vv]alue|val|content|data|body)[\"']?"
    r"(?:\s{0,3}[=:]\s{0,3}|(?<=--body|-value)\s)[\"']?(?P<value>[^\s\"'<>][^\"'<>\n]{1,256})"
)
_BLOCK_WITH_VALUE = re.compile(
    r"[\"'](?P<name>[\w.\-]{2,64}+)[\"']\s{0,3}(?:[:=]\s{0,3})?\{[^{}]{0,300}?(?<![\w-])[\"']?(?:default|value|content|data)[\"']?"
    r"\s{0,8}[:=]\s{0,3}[\"'](?P<value>[^\"'<>\n]{2,256})"
)
# A diff: password: "old" -> "new".
_CHANGED = re.compile(
    r"(?P<name>(?<![\w.\-])[\w.\-]{2,64}+)[\"']?\s{0,8}[:=]\s{0,3}[\"'][^\"'\n]{0,128}[\"']\s{0,3}[-=]>\s{0,3}"
    r"[\"'](?P<value>[^\"'\n]{2,256})"
)
_DOTTED_PATH = re.compile(r"[a-z_]+(?:\.[A-Za-z_]\w{0,40}){2,10}")  # django.contrib.auth.hashers.X
_ATTRIBUTE = re.compile(r"(?:self|this|[A-Z]\w*[a-z]\w*)\.")
_SIGNS = re.compile(r"[\W_]+")
_NEXT_WORD = re.compile(r" [A-Za-z]")
_VERSION = re.compile(r"v?\d{1,4}(?:\.\d{1,4}){1,2}")
_COMPOUND = re.compile(r"[a-z][A-Z]|[_\-.]")
_WEAK_MIN_CHARS = 12  # of a value that alone makes a weak name a secret's
_LONG_VALUE = re.compile(rf"[^\s\"'`<>\\]{{{_WEAK_MIN_CHARS}}}")
# Behind these a value follows, not a sentence.
_STRONG_SEPARATORS = ("=", "=>", ":=", "%3D", "%3d", "&#61;")


def find_assignments(text: str) -> Iterator[Span]:
    start = 0
    while _SEPARATES.search(text, start) and (lead := _LEAD.search(text, start)):
        start = lead.end()
        kind = classify(lead["name"])
        if kind is KeyKind.NONE:  # "config.api_key" is a key, "config_key" is not
            kind = classify(lead["name"].rpartition(".")[2])
        if kind in (KeyKind.SECRET, KeyKind.WEAK) and not lead["name"].lower().endswith("authorization"):
            span = assigned_value(text, lead, kind)
            if span:
                start = max(start, span.end)
                yield span


def assigned_value(text: str, lead: re.Match[str], kind: KeyKind) -> Span | None:
    start = lead.end()
    quote = _OPEN_QUOTE.search(lead["open"])
    # The next line of a table is judged by find_in_tables.
    if lead["sep"] == "|" and ("\n" in lead["open"] or "\\n" in lead["open"]):
        return None
    if quote:
        # ("?token=" + token): the quote closes what was opened before the name. A docstring is no value.
        if (quote[0][-1].isspace() and text[start : start + 1] in tuple("+).,;&|?:}]")) or re.search(
            r"\n\s*\"{3}", lead["open"]
        ):
            return None
        # `name=` where the quote ends what was opened before the name
        before = text[lead.start() - 1 : lead.start()]
        if before == quote[1] and quote[1] not in text[lead.end("name") : lead.end("sep")]:
            return None
        value = until_quote(text, start, quote[1], escaped=quote[0].startswith("\\"))
    else:
        if kind is KeyKind.WEAK and not _LONG_VALUE.match(text, start):
            return None
        if PASSWORD_NAME.search(lead["name"]) and (phrase := find_word_passphrase(text, start)):
            return phrase
        found = (_VALUE if kind is KeyKind.SECRET else _WEAK_VALUE).match(text, start)
        if not found or (found.group()[-1] == ":" and "\n" in text[max(start - 8, 0) : start]):
            return None  # nothing, or the next name, on a line of its own
        end = _VALUE_END.search(found.group())
        value = strip_punctuation(found.group()[: end.start()] if end else found.group())
    if is_inert(value) or not is_secret_value(lead, kind, value, quoted=quote[1] if quote else ""):
        return None
    return Span(start, start + len(value))


def until_quote(text: str, start: int, quote: str, *, escaped: bool) -> str:
    """Return the text up to the closing quote; without one, the rest of the line."""
    line_end = text.find("\n", start, start + 512)
    limit = line_end if line_end >= 0 else min(len(text), start + 512)
    end = text.find(quote, start, limit)
    while not escaped and end > start and text[end - 1] == "\\":
        end = text.find(quote, end + 1, limit)
    return text[start : end if end >= 0 else limit].rstrip("\\")


def is_secret_value(lead: re.Match[str], kind: KeyKind, value: str, *, quoted: str) -> bool:
    name, separator = lead["name"], lead["sep"]
    if separator[-1] == ",":  # ["password", "…"], setopt(USERPWD, "…")
        is_named = kind is KeyKind.SECRET and (lead[0][len(name)] in "\"'" or name.isupper())
        return is_named and bool(quoted) and is_secret_in_prose(name, value)
    if kind is KeyKind.WEAK:
        return is_random(value, min_chars=_WEAK_MIN_CHARS) and not is_expression(value)
    # Comparing with a literal reveals it; comparing with a variable doesn't.
    if separator[:2] in ("==", "!="):
        return bool(quoted) and len(value) > 3
    if separator[-1] == "(":
        return is_mixed(value)
    if separator[0] in "|-–—→\"'<" or separator[:2] == "><":
        return is_secret_in_prose(name, value)
    if _VERSION.fullmatch(value):
        return False
    if quoted:
        is_command = quoted == "`" and " " in value  # TOKEN=`pass show token`
        # the name of a variable, or of the secret itself: csrfToken = "csrf-token"
        is_name = value.isupper() and is_variable(value)
        is_name |= _SIGNS.sub("", value.lower()) in _SIGNS.sub("", name.lower())
        return not (is_command or is_name or _DOTTED_PATH.fullmatch(value)) and (not is_word(value) or name.isupper())
    if is_code(name, value) or len(value) < (4 if value.isdigit() else 3):
        return False
    if (
        separator == ":"
        and value.isalpha()
        and not PASSWORD_NAME.search(name)
        and _NEXT_WORD.match(lead.string, lead.end() + len(value))
    ):
        return False  # a sentence
    if separator in _STRONG_SEPARATORS or _COMPOUND.search(name) or lead[0][len(name) :][:1] in "\"'":
        return name.isupper() or not is_word(value)
    return is_secret_in_prose(name, value)


def is_code(name: str, value: str) -> bool:
    """True for a variable or a call on the right side: ``password=user_password``, ``token = tokens[0]``."""
    if is_expression(value):
        return True
    low = value.lower()
    if not low.replace("_", "").isalpha():
        return False
    # password=password, token=self.token: the value is a variable.
    if low.rstrip("s") in (name.lower().rstrip("s"), "self") or _ATTRIBUTE.match(name):
        return True
    return ("_" in low or not name.isupper()) and is_variable(value)


def is_variable(value: str) -> bool:
    """True for ``csrfToken`` or ``DB_PASSWORD``: letters that name a secret themselves."""
    return (
        value.replace("_", "").isalpha() and _COMPOUND.search(value) is not None and classify(value) is KeyKind.SECRET
    )


def is_secret_in_prose(name: str, value: str) -> bool:
    """Judge a value behind a colon, where a sentence may follow as well."""
    if value.isdigit():
        return len(value) >= 3 and accepts_digits(name)
    if is_word(value) or is_number_like(value):
        return False
    if PASSWORD_NAME.search(name):
        return len(value) >= 3
    return (is_mixed(value) and len(value) >= 6) or is_random(value) or (len(value) >= 16 and not value.islower())


def names_secret(name: str, *, looks_secret: bool) -> bool:
    """Judge by the name alone, or by name and value where the name is weak."""
    kind = classify(name)
    return kind is KeyKind.SECRET or (kind is KeyKind.WEAK and looks_secret)


def is_labelled_secret(found: re.Match[str], value: str) -> bool:
    return classify(found["name"]) is KeyKind.SECRET and not is_word(value.partition(" ")[0])


# --- Tables: Markdown, CSV, INSERT statements --------------------------------------------------------------------

_RULE_LINE = re.compile(r"\s{0,8}[|:+=-][|:+= \t-]{2,400}+(?=\n|\Z)")  # below the heading of a Markdown table
_LINE = re.compile(r"[^\n]++")
_COLUMN_NAME = re.compile(r"[^\W\d][\w.\-]{0,30}+")
_MARKDOWN_COLUMN_NAME = re.compile(r"[^|:=\[\]]{0,40}")
# INSERT INTO users (name, password) VALUES (…): values are matched to columns from the right.
_INSERT = re.compile(r"(?i)\)\s{0,4}VALUES?\s{0,4}(?P<rows>(?:\([^()]{1,400}(?:\),?\s{0,4})?){1,40})")
_INSERT_ROW = re.compile(r"\([^()]{1,400}")
_LITERAL = re.compile(r"'((?:[^']|'')*+)'?|([^\s',]++)")
_CELL_MARKUP = " \t\r\"'`*_"
_MAX_HEADING_CHARS = 400
_MAX_COLUMNS = 32

Cell = tuple[int, str]  # place in the line, text


def find_in_tables(
    text: str, kind_of_column: Callable[[str], str], is_private: Callable[..., bool]
) -> Iterator[tuple[int, int, str]]:
    """Find the private values of columns by their headings, and yield them with the kind of the column, "" for none.

    ``is_private(value, kind, is_framed=…)`` judges a cell; a Markdown table is framed, for an INSERT it is None. The
    heading may be held only from that name on, so columns are counted from the right.
    """
    columns: dict[int, str] = {}
    delimiter = ""
    for line in _LINE.finditer(text):
        if columns and _RULE_LINE.fullmatch(line.group()):
            continue
        cells, own_delimiter = split_cells(line.group())
        if columns and own_delimiter and delimiter in ("", own_delimiter):
            delimiter = own_delimiter
            for number, kind in columns.items():
                place, cell = cells[number] if number < len(cells) else (0, "")
                value = cell.strip(_CELL_MARKUP)
                if not is_inert(value) and is_private(value, kind, is_framed=delimiter == "|"):
                    start = line.start() + place + cell.index(value)
                    yield start, start + len(value), kind
        else:
            columns, delimiter = private_columns(cells, own_delimiter, kind_of_column), own_delimiter
            if delimiter == "|" and not _RULE_LINE.match(text, line.end()):
                columns = {}
    for found in _INSERT.finditer(text):
        names = text[max(found.start() - _MAX_HEADING_CHARS, 0) : found.start()].rpartition("(")[2].split(",")
        kinds = [kind_of_column(name.strip(_CELL_MARKUP)) for name in reversed(names)]
        for row in _INSERT_ROW.finditer(text, found.start("rows"), found.end()):
            values = [one.span(one.lastindex or 0) for one in _LITERAL.finditer(text, row.start() + 1, row.end())]
            for kind, (start, end) in zip(kinds, reversed(values), strict=False):
                value = text[start:end]
                if kind and not is_inert(value) and is_private(value, kind, is_framed=None):
                    yield start, end, kind


def split_cells(line: str) -> tuple[list[Cell], str]:
    """Return the cells of a line, the last first, and their delimiter."""
    bare = line.strip()
    start = line.find(bare)
    delimiter = next((char for char in "|\t;," if char in bare), "")
    if not delimiter:
        return [(0, line)], ""
    cells = []
    for cell in bare.split(delimiter)[:_MAX_COLUMNS]:
        cells.append((start, cell))
        start += len(cell) + 1
    return [cell for cell in reversed(cells) if cell[1] or delimiter != "|"], delimiter


def private_columns(cells: list[Cell], delimiter: str, kind_of_column: Callable[[str], str]) -> dict[int, str]:
    # A mask, and what is left of it, doesn't count: a second redaction would begin behind it.
    names = [name.strip(_CELL_MARKUP) for _, name in takewhile(lambda cell: "[redacted" not in cell[1], cells)]
    pattern = _MARKDOWN_COLUMN_NAME if delimiter == "|" else _COLUMN_NAME
    # A line with anything but names is no heading.
    if not all(map(pattern.fullmatch, names)):
        return {}
    return {number: kind for number, name in enumerate(names) if (kind := kind_of_column(name))}


def find_secret_cells(text: str) -> Iterator[Span]:
    def kind_of_column(name: str) -> str:
        kind = classify(name)
        return kind if kind in (KeyKind.SECRET, KeyKind.WEAK) else ""

    return (Span(start, end) for start, end, _kind in find_in_tables(text, kind_of_column, is_secret_cell))


def is_secret_cell(value: str, kind: KeyKind, *, is_framed: bool | None) -> bool:
    if is_framed is None:
        return kind is KeyKind.SECRET
    if " " in value or "[redacted" in value:
        return False
    if is_word(value) or is_number_like(value) or is_expression(value):
        return False
    if kind is KeyKind.WEAK:
        return is_random(value, min_chars=_WEAK_MIN_CHARS)
    return is_mixed(value) or (is_framed and len(value) >= 8)


# --- Triggers and rules ------------------------------------------------------------------------------------------

# Whole words that may name a secret, deliberately more than ``classify`` calls one.
_NAME_WORDS = wordset(
    "pw pat auth oauth authorization authentication creds cred session sid pin otp totp cvv cvc csc csrf"
    " xsrf jwt bearer sig signature mnemonic phrase dsn code codes senha wachtwoord passe nonce salt"
    " verifier identified wpa"
    " tan"
)
# Anywhere in a word in lower case: "pgpassword", "clientSecret", "apikey".
_NAME_STEMS = (
    r"pass(?:[wpck]|(?![a-z]))|pwd|psk|secret|token|credential|keys?(?![a-z])|sess(?:ion)?_?id"
    r"|cookie|contrase|kennwort|пароль|ключ|conn_?str|schlüssel|geheimnis|zugangsdaten|anmeldedaten|basicauth"
    r"|securestring|p/w(?![a-z])|answer(?=[\"'*]{0,3}[:=])|code(?<=[a-zäöüß]{3}code)(?![a-z])"
)
# Headings of columns; names in other places have more forms.
_TABLE_WORDS = wordset(
    "password passwords passwort kennwort passwd pwd pw pass passphrase passcode pin secret token key apikey credential"
    " contraseña senha wachtwoord"
)
# Programs that accept a password on their command line.
_COMMAND_WORDS = wordset(
    "mysql mysqldump mysqladmin mariadb sshpass smbclient ldapsearch redis mongo mongosh mongodump zip unzip login"
    " sqlplus sqlldr expdp impdp rman rocommunity rwcommunity snmp htpasswd runas"
)
# Words that may come between a name and its value in a sentence; prose.py has the rules.
_FILLER = (
    r"(?:is|was|are|will|be|being|becomes?|became|remains|equals|should|must|set|changed|reset|updated|rotated|now|still"
    r"|to|use|used|enter|type|try|as|follows|just|simply|currently|the|following|value|field|called|ist|lautet|est|es|è|é|here|here's|of|has|been|by|wurde|auf|jetzt|nun|heißt"
    r"|übrigens|derzeit|aktuell|weiterhin)"
)
_INSERT_ROWS = r"(?:(?i:VALUES?)\s{0,4}(?:\([^()]{0,400}(?:\),?\s{0,4})?){0,40})"
_INSERT_CONTINUATION = rf"(?:,\s?[\"`]?\w{{1,40}}[\"`]?){{0,20}},?(?:\s?\)\s{{0,4}}{_INSERT_ROWS}?)?"
# What may follow a name before its value: one branch for each family of rules above and in prose.py.
_NAME_CONTINUATION = re.compile(
    rf"""(?ix)
    [\w.\-]{{0,64}}+ {_CLOSERS} ,? (?:[ ]\([^()\n]{{0,30}}\)?)?
    (?:
      {FOR_SOMETHING} (?:\s{{1,4}}{_FILLER}){{0,6}} (?:\s{{0,8}}|[ \t]{{9,40}}) (?:{_SEPARATOR}|[>])?
      (?:\s{{1,8}}(?:-{{0,2}}(?:value|body)|val|data|content)["']?)?
      {_SEPARATOR}? {_OPENERS} (?:&?str|string|SecretStr|bytes)? \s?
    | (?:\s{{1,4}}{_FILLER}){{0,4}} \s{{0,8}} {_SEPARATOR}? [\s(]{{0,8}} [\"'`][^\n]{{0,200}}
    | \s{{0,8}} {_SEPARATOR} {_OPENERS} [a-z]{{3,12}}(?:[ ][a-z]{{3,12}}){{0,7}}[ ]?
    | (?:\s{{1,4}}(?:is|was))? \s{{0,3}} [:=]? \s{{1,4}} ["'`*]{{0,3}} \d{{3}}
    | > [^<\n]{{0,200}}
    | (?:["'][^<>\n]{{0,60}}>|</key>|>) \s{{0,40}} (?:<[a-z]{{0,8}}>?)? [^<\n]{{0,200}}
    | {_INSERT_CONTINUATION}
    | ["'] \s{{0,3}} (?:[:=]\s{{0,3}})? \{{ [^{{}}]{{0,300}}
    )"""
)
# A header's value may contain blanks, so the whole line is held.
_HEADER_CONTINUATION = re.compile(
    r"[\"'`*\\]{0,4}[ \t]{0,4}(?:[:=,]|=>){0,2}[ \t]{0,4}[b\"'\\]{0,5}|[\"'\\]{0,4}[ ]?[:=][^\n\r\"'\\]{0,4096}"
    rf"|[ ]?[:=][ ]?[\w-]{{1,24}}[ ]{_PARAMETER}[^\n\r]{{0,4096}}"
)
# Behind a column's name: the rest of the heading, and the rows.
TABLE_CONTINUATION = re.compile(
    rf"""(?x)
    [\w\#.°]{{0,12}} (?: {_INSERT_CONTINUATION} | (?:[ ][\w\#.°]{{1,16}}){{0,2}}["'`*]{{0,3}}
    (?: (?:[ \t]{{0,40}}\|[^\n]{{0,400}}|(?=\n[ \t|:\-]{{3}})) (?:\n(?!\n)[^\n|]{{0,40}}(?:\|[^\n]{{0,400}})?){{0,40}}+
      | (?:[,;\t]["']?[\w.\-]{{0,40}}["']?){{0,20}} (?:\r?\n(?!\n)[^\s,;]{{0,80}}(?:[,;\t][^\n]{{0,400}})?){{0,40}}+
    ))\s?"""
)
TRIGGERS = (
    Trigger(
        "name",
        _NAME_WORDS,
        stems=_NAME_STEMS,
        shape="[\u0370-\u04ff](?:(?<=[A-Za-z].)|(?=[A-Za-z]))",  # look-alike letters in a Latin word
        continuation=_NAME_CONTINUATION,
    ),
    Trigger(
        "pem",
        shape=r"(?=[-:])(?:-----BEGIN|:(?<=PuTTY-User-Key-File-\d:))",
        continuation=re.compile(r"[A-Z0-9 ]{0,60}-{0,5}"),
    ),
    Trigger("redacted", shape=r"<(?i:REDACTED)(?![\w-])", continuation=re.compile(r"(?:\s[^<>]{0,150})?")),
    Trigger("qualifier", QUALIFIERS, continuation=re.compile(r"[\s\-]{0,3}")),
    Trigger("header", wordset("cookie authorization"), continuation=_HEADER_CONTINUATION),
    Trigger("scheme", wordset("basic apikey api"), continuation=re.compile(r"(?i)(?:-key)?[\"'`*\\]{0,4}[\s:=]{0,4}")),
    Trigger("table", _TABLE_WORDS, continuation=TABLE_CONTINUATION),
    Trigger(
        "command",
        _COMMAND_WORDS,
        continuation=re.compile(r"(?:-\w{1,12})?(?:\s{1,2}-\S{1,40}(?:\s[^\s\-]\S{0,40})?){0,6}(?: \S{1,64}){0,3}\s?"),
    ),
    Trigger("command", wordset("echo printf"), continuation=re.compile(r"[^\n|]{0,260}(?:\|[^\n|]{0,90})?")),
    Trigger(
        "call",
        wordset("auth credentials credential login connect user superuser pdo hmac jwt sign encrypt cipher fernet"),
        continuation=re.compile(
            r"[\w.:>-]{0,24}[\"']?\s{0,2}[=:(]{1,2}[ ]?[(\[]?"
            r"(?:(?:b?[\"'][^\"'\n]{0,100}[\"']|[\w.]{1,40}|\{[^{}\n]{0,100}\}),\s{0,4}){0,3}b?[\"']?[^\"'\n]{0,100}"
        ),
    ),
    Trigger(
        "set",
        wordset("set setx setenv env arg read define"),
        continuation=re.compile(
            r"(?:_header)?(?:[ ]-\w{1,3})?(?:[ \t]{1,3}[\w.\-]{1,64}[ \t]{0,4}(?:<<<[ ]?)?[\"']?)?"
        ),
    ),
    Trigger(
        "hash", wordset("argon scrypt sha md pbkdf bcrypt"), shape=r"(?=[${])(?:\$(?:2[abxy]?|apr1|y|[1567])\$|\{(?=S))"
    ),
    Trigger("url", wordset("wifi jdbc"), shape="://"),
    Trigger("query", shape=r"[?&;#][^\s=&#?;]{1,64}="),
    Trigger(
        "flag",
        shape=r"(?<![\w-])(?:--?(?:[uabU]|user|auth|cookie|proxy-user)(?![\w-])|-[uU]\w{1,32}[:%]|-p(?=\S{5}))|(?<!\S)/[uU]:",
        continuation=re.compile(r"[ =]{0,4}(?:[\"'][^\n\"']{0,1024}|[^\s\"']{1,64}(?:[ ]{1,2}(?:-[pP]?[ ]?)?)?)?"),
    ),
    Trigger(
        "run",  # letters, digits, dashes: 12 with a digit among them, or 20
        shape=r"(?<![A-Za-z0-9_\-])(?=[A-Za-z0-9_\-]{12})(?:(?=[A-Za-z_\-]*+\d)|(?=[A-Za-z0-9_\-]{20}))",
    ),
)
RULES = (
    pattern_rule("run", _DISTINCT_TOKEN, accept=is_distinct_body),
    pattern_rule("run", _SHORT_TOKEN, accept=is_dense_body),
    pattern_rule("run hash", _SHAPED_TOKEN),
    pattern_rule("run", _DENSE_RUN, accept=is_unlabelled_key),
    pattern_rule(
        "url",
        _USERINFO,
        accept=lambda found, value: ":" in found["value"] or is_mixed(value),
        needs="@",
    ),
    pattern_rule("odd", _BARE_USERINFO, accept=lambda _found, value: is_mixed(value), needs="@"),
    pattern_rule("url", _WEBHOOK, accept=lambda _found, value: "[redacted" not in value),
    pattern_rule("url command", _WIFI, _ORACLE),
    pattern_rule("header", _COOKIE, accept=lambda _found, value: "=" in value),
    pattern_rule("header", _AUTHORIZATION, accept=is_authorization),
    pattern_rule("name scheme", _SCHEME, accept=is_scheme_value, strip=True),
    pattern_rule(
        "flag command", _USER_FLAG, *_COMMANDS, accept=lambda found, _value: not is_number_like(found["value"])
    ),
    pattern_rule("flag command", *_ACCOUNT_FLAGS, accept=lambda _found, value: is_mixed(value)),
    pattern_rule("call", _CALL, accept=is_call_argument),
    pattern_rule("name login", _IDENTIFIED_BY),
    pattern_rule("odd", _PASSWORD_FILE, accept=lambda _found, value: is_mixed(value)),
    Rule(frozenset({"name"}), find_assignments),
    pattern_rule(
        "query",
        _QUERY,
        accept=lambda found, value: names_secret(
            unquote(found["name"]), looks_secret=is_mixed(value) and len(value) >= 8
        ),
    ),
    pattern_rule(
        "name",
        _FLAG,
        accept=lambda found, value: classify(found["name"]) is KeyKind.SECRET and not is_expression(value),
    ),
    pattern_rule(
        "set",
        _SET,
        accept=lambda found, value: (
            classify(found["name"]) is KeyKind.SECRET and (is_mixed(value) or (found["quote"] and not is_word(value)))
        ),
    ),
    pattern_rule(
        "name",
        _XML,
        accept=lambda found, value: (
            # A placeholder such as <password> has a sentence behind it.
            (found["end"] or (" " not in value and value[0].isalnum() and is_mixed(value)))
            and names_secret(found["name"].rpartition(":")[2], looks_secret=is_random(value, min_chars=_WEAK_MIN_CHARS))
        ),
    ),
    pattern_rule("name", _NAME_AND_VALUE, accept=is_labelled_secret),
    pattern_rule("name", _BLOCK_WITH_VALUE, accept=is_labelled_secret, needs="{"),
    pattern_rule("name", _CHANGED, accept=is_labelled_secret, needs=">"),
    Rule(frozenset({"table", "name"}), find_secret_cells),
)
