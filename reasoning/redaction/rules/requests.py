"""Secrets of requests: in addresses, headers and the arguments of calls.

All repeats are bounded or possessive, so that no text costs more than linear time.
"""

from __future__ import annotations

import base64
import binascii
import re
from urllib.parse import unquote

from reasoning.redaction.allowlist import is_expression, is_harmless
from reasoning.redaction.classify import KeyKind, classify, names_secret
from reasoning.redaction.rules import Trigger, next_words, pattern_rule
from reasoning.redaction.rules.prose import (
    is_label,
)
from reasoning.redaction.values import (
    is_address,
    is_issued,
    is_mixed,
    is_mixed_value,
    is_number_like,
    is_public_beside,
    is_random,
    is_word,
    longest_piece,
    wordset,
)

_PARAMETER = r"\w{1,24}=\\?[\"'](?=[\w/+])"  # of a scheme such as Digest, whose line holds quotes
_SIGNATURE = re.compile(r"(?i)(?:signature|response)=\"?([^\s\",]{1,200})")  # what is secret of such a scheme
_EXAMPLE_USER = re.compile(
    r"(?i)(?:[a-z\d]{1,3}:[a-z\d]{1,3}|(?:my)?user(?:name)?:(?:my)?pass(?:word|wd)?|\[[a-z]{2,10}\[?:\[?[a-z]{2,12}\]?)"
)
_COOKIE_ATTRIBUTES = wordset("path domain max-age expires samesite priority version comment")
_KEY_PARAMETERS = wordset("appid ak sk")  # of addresses; elsewhere an id, or anything
# Authentication schemes, behind which the credential follows as a second word.
_SCHEMES = wordset("bearer basic token apikey digest negotiate aws4-hmac-sha256 hawk oauth ntlm key splunk")


def is_call_argument(found: re.Match[str], value: str) -> bool:
    if found["key"]:
        return is_random(value)
    return " " not in value and is_mixed(value) and not is_address(value)


def is_authorization(found: re.Match[str], _value: str) -> bool:
    first, rest = found["first"], found["rest"] or ""
    second = rest.split(" ")[0]
    if is_harmless(first) or (rest and (is_harmless(second.partition(":")[0]) or is_expression(rest))):
        return False
    signature = _SIGNATURE.search(rest)
    if signature and is_harmless(signature[1]):
        return False
    return bool(rest and first.lower() in _SCHEMES) or is_mixed(first) or is_random(first) or is_random(second)


def has_cookie(_found: re.Match[str], value: str) -> bool:
    """True for a line of cookies with a value that is neither a placeholder nor, under an ordinary name, a word."""
    pairs = [(name, shown.strip()) for name, sign, shown in (part.partition("=") for part in value.split(";")) if sign]
    return any(
        not is_harmless(shown)
        and not (
            classify(name.strip()) is KeyKind.NONE
            and (
                shown.isalpha() or len(shown) < 8 or is_number_like(shown) or name.strip().lower() in _COOKIE_ATTRIBUTES
            )
        )
        for name, shown in pairs
    )


def is_scheme_value(found: re.Match[str], value: str) -> bool:
    match found["scheme"].lower():
        case "basic":
            try:
                pair = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
                return b":" in pair and pair.decode().isprintable()
            except (UnicodeDecodeError, binascii.Error, ValueError):
                return is_random(value, min_chars=20)
        case "bearer":
            return is_mixed(value) or (len(value) >= 20 and not is_word(value))
    return is_random(value, min_chars=12)


_HEADER_WINDOW = re.compile(r"[\"'`*\\]{0,4}+[ \t]{0,4}+(?:(?:[:=]|(?<=[\"'])[ ]?,)[^\n]{0,4096}+)?+")
TRIGGERS = (
    Trigger("header", wordset("cookie authorization"), window=_HEADER_WINDOW, max_chars=4_096),
    Trigger("scheme", wordset("basic apikey api"), window=next_words(2), needs=re.compile("(?i)basic|api-?key")),
    Trigger(
        "call",
        wordset(
            "auth credentials credential login connect getconnection user superuser pdo mysqli hmac jwt sign"
            " encrypt cipher fernet wifi ftp bind sequelize authenticate hash crypt bcrypt argon hashpw checkpw btoa"
            " encode"
        ),
        window=re.compile(r"[\w.:>-]{0,24}+[\"']?+\s{0,2}+(?:[=:(][^\n]{0,240}+)?+"),
        needs=re.compile(r"[\"'],\s{0,4}b?[\"']|\("),
    ),
    Trigger(
        "url",
        wordset("wifi jdbc"),
        marks=":",
        # with an @, a port or no path, or one of the words of a webhook
        shape=r"://(?=[^/?#]*(?:\Z|:(?!\d{1,5}(?:[/?#]|\Z)))|\S{0,400}?(?i:@|hook|/bot|chat\.google|ifttt))|w(?i:ifi:)|W(?i:ifi:)",
        needs=re.compile(r"(?i)@|hook|/bot|chat\.google|ifttt|wifi:"),
    ),
    Trigger("query", marks="=", shape=r"[?&;#][^\s=&#?;]{1,64}="),
)
RULES = (
    pattern_rule(
        "user of a URL",
        "url",
        ("postgres://app:{password}@db.internal:5432/app", "postgresql://user:${PASSWORD}@db/app"),
        # scheme://user:password@host, or a long token in place of both; host:port is no password.
        r"://(?!\[)(?P<value>[^\s/?#\"'<>@:]{0,128}:(?!\d{1,5}(?:[/?#]|\Z))(?P<secret>[^\s\"'<>]{1,256})|[^\s/?#\"'<>@:]{12,256})@",
        accept=lambda found, value: (
            not _EXAMPLE_USER.fullmatch(found["value"]) and (":" in found["value"] or is_mixed(value))
        ),
        needs="@",
    ),
    pattern_rule(
        "user without a scheme",
        "odd",
        ("psexec acme/ann:{password}@10.1.2.3", "image: ghcr.io/org/app:v12@sha256:9b2a1f0c7d6e5b4a"),
        # The same without a scheme: domain/user:password@host.
        r"(?<![\w:/@.\-])(?!mailto:)[\w.\-]{1,64}(?:/[\w.\-]{1,64})?:(?P<value>[^\s:@/\"'<>]{5,128})@(?!sha\d)(?=[\w.\-]{3})",
        accept=is_mixed_value,
        needs="@",
    ),
    pattern_rule(
        "mail account",
        "odd",
        (
            "[smtp.example.org]:587 anna@example.org:{password}",
            "scp app2.tar deploy@host2:/srv/app2",
        ),
        r"(?<![\w/:@.+\-])[\w.+\-]{1,64}@[\w.\-]{3,128}\.[a-z]{2,10}(?::|[ ](?:->|→|/)[ ])"
        r"(?P<value>[^\s:@/\"'<>]{6,128}+)(?![/:@])",
        accept=is_mixed_value,
        strip=True,
        needs="@",
    ),
    pattern_rule(
        "webhook of a known host",
        "url",
        ("hooks at https://hooks.slack.com/services/{}\tT0AB/B0AB/k7a2b9", "https://discord.com/api/v10/gateway"),
        # The path of a webhook is its password.
        r"(?i)(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/(?:v\d+/)?webhooks"
        r"|[\w-]+\.webhook\.office\.com/webhookb2|api\.telegram\.org/bot|hooks\.zapier\.com/hooks/catch"
        r"|hook\.[\w.]{2,12}\.make\.com|chat\.googleapis\.com/v1/spaces|maker\.ifttt\.com/(?:use|trigger/\w+/with/key))(?P<value>/?[^\s\"'`<>)\]]{6,512})",
        accept=lambda _found, value: "[redacted" not in value and not is_harmless(value.rstrip("/").rpartition("/")[2]),
        needs=r"hooks?|/bot|google|ifttt",
    ),
    pattern_rule(
        "path of a webhook",
        "url",
        ("https://a.tines.com/webhook/{hex}/run", "https://docs.example.org/webhooks/verify-signatures"),
        # Others are known by the word, and by the random part behind it.
        r"://(?:hooks?\.[\w.\-]{3,128}/|[\w.\-]{3,128}(?::\d{1,5})?/(?:[\w\-]{1,32}/){0,3}?(?:web)?hooks?(?:-test|/catch|/incoming)?/)(?P<value>[\w\-/@]{12,256}+)",
        accept=lambda _found, value: is_random(longest_piece(value)) or is_issued(value),
    ),
    pattern_rule(
        "Wi-Fi code",
        "url",
        ("WIFI:T:WPA;S:attic;P:{password};;", "WIFI:T:nopass;S:attic;;"),
        # The text of a Wi-Fi QR code.
        r"WIFI:(?:[^\n\s]{0,80};)?P:(?P<value>[^;\s\[]{1,64}+)",
    ),
    pattern_rule(
        "cookie",
        "header",
        ("Set-Cookie: sid={key}; Path=/; HttpOnly", "Set-Cookie headers are described in RFC 6265."),
        r"(?i)(?<![\w-])(?:set-)?cookie[\"'\\]{0,4}\s{0,3}[:=](?!=)\s{0,3}[\"'\\]{0,4}(?P<value>[^\n\r\"']{3,4096}+)",
        accept=has_cookie,
    ),
    pattern_rule(
        "authorization header",
        "header",
        ("Authorization: Splunk {key}", "Authorization: Basic <credentials>"),
        r"(?i)(?<![a-z])(?:proxy-)?authorization[\"'`*\\]{0,4}[ \t]{0,4}"
        r"(?:(?:[:=]|=>){1,2}|(?<=[\"'`]),|(?<=[\"'`] ),)[ \t]{0,4}"
        r"(?:[bruf](?=[\"'])|[\"'`*\\]){0,5}(?P<value>(?P<first>[^\s\"',\\]{1,4096}+)(?:[ \t]{1,4}"
        rf"(?P<rest>{_PARAMETER}[^\n\r]{{1,4096}}+|[^\n\r\"'`\\]{{1,4096}}+))?)",
        accept=is_authorization,
    ),
    pattern_rule(
        "authentication scheme",
        "name scheme",
        ("Bearer {key}", "Basic earnings per share were 6.11; diluted 6.08."),
        # It begins with the letters to which a search can skip.
        r"(?P<scheme>[AaBbSsTt](?<![A-Za-z].)(?i:(?<=b)earer|(?<=b)(?<!-b)asic|(?<=t)oken|(?<=s)ession|(?<=a)pi-?key))[\"'`*\\]{0,4}"
        r"(?:[ \t]{1,4}|[:=][ \t]{0,2}|%20)[\"'`*\\]{0,4}(?:[ ]?[+.&][ ]?[\"'])?"
        r"(?P<value>[A-Za-z0-9._~+/=:\-]{6,4096}+)",
        accept=is_scheme_value,
        strip=True,
    ),
    pattern_rule(
        "argument of a call",
        "call",
        ('auth=("anna", "{password}")', "auth = (user, password)"),
        # requests.get(url, auth=("user", "password")), connect("host", "user", "password"), hmac.new(b"key", …).
        r"(?i)(?:(?:auth|credentials?|login|connect|user|simple_bind|pdo|mysqli|sequelize|wifi|ftp)[\w.:>-]{0,24}[\"']?\s{0,2}[=:(]{1,2}"
        r"[ ]?[(\[]?(?:\$?\w{1,40},\s{0,4})?(?:[\"'][^\"'\n]{0,100}[\"'],\s{0,4}){1,3}?"
        r"|(?P<key>hmac|jwt|sign|encrypt|cipher|fernet)[\w.:>-]{0,24}\("
        r"(?:[\w.]{1,40},\s{0,4}|\{[^{}\n]{0,100}\},\s{0,4}){0,2}?)"
        r"(?:b|Some\()?[\"'](?P<value>(?=[^\"'\n]{0,64}\d)(?=[^\"'\n]{0,64}[A-Za-z])[^\"'\n]{5,256}+)[\"']",
        accept=is_call_argument,
    ),
    pattern_rule(
        "password of a call",
        "name",
        ('keyring.set_password("svc", "ann", "{password}")', 'set_password("svc", "ann", phrase)'),
        r"(?i)set_?password\((?:[\"'][^\"'\n]{0,100}[\"'],[ ]?){1,3}[\"'](?P<value>[^\"'\n]{4,256}+)[\"']",
        accept=is_mixed_value,
        needs=r"\([\"']",
    ),
    pattern_rule(
        "password to hash or encode",
        "call",
        ('bcrypt.hash("{password}", 10)', 'bcrypt.hash(phrase, 10); btoa("sha256-k7a2b9")'),
        # crypt('…', gen_salt('bf')) of PostgreSQL; btoa("user:…"), of which Basic credentials are made.
        r"(?i)(?:(?:b?crypt(?:\.\w{1,20})?|argon2?\.\w{1,20}|hashpw|checkpw|hash::make)\(b?[\"']"
        r"|(?:btoa|b64encode)\(b?[\"'][\w.@\-]{1,64}:)(?P<value>[^\"'\s]{5,128}+)[\"']",
        accept=is_mixed_value,
    ),
    pattern_rule(
        "IDENTIFIED BY",
        "name login user",
        ("CREATE USER bob IDENTIFIED BY {password};", "Each user is identified by its id, user1 by k7a2b9."),
        # CREATE USER … IDENTIFIED BY '…' of SQL, without quotes in Oracle's; ConvertTo-SecureString "…" of PowerShell.
        r"(?i)(?P<user>user\s{1,4}\S{1,64}\s{1,4})?"
        r"(?:identified\s{1,4}(?:with\s{1,4}\S{1,64}\s{1,4})?by(?:\s{1,4}values)?"
        r"|(?P<secure>to-securestring(?:[ ]-string)?))"
        r"\s{1,4}(?:N?(?P<quote>[\"']))?(?P<value>(?(quote)[^\"'\n]{1,256}+|[^\s\"'<>,;]{5,128}+))",
        accept=lambda found, value: (
            found["quote"] or ((found["user"] or found["secure"]) and is_mixed(value) and value[0] not in "$(")
        ),
        needs=r"[dD]\s{1,4}(?:[bB][yY]|[wW][iI])|[sS](?:ecure)?[sS]tring",
    ),
    pattern_rule(
        "password file",
        "odd",
        ("db.example.org:5432:app:anna:{password}", "db.example.org:5432:app:anna:${PGPASSWORD}"),
        # PostgreSQL's .pgpass: host:port:database:user:password.
        r"(?<!\S)[\w.\-*]{1,128}:(?:\d{2,5}|\*):[\w.\-*]{1,64}:[\w.@\-*]{1,64}:(?P<value>[^\s:]{5,128}+)",
        accept=is_mixed_value,
    ),
    pattern_rule(
        "query parameter",
        "query",
        ("https://example.com/?access_token={key}", "https://example.org/?page=2&sort=date&key=name"),
        # Parameters of addresses, of fragments and of forms.
        r"[?&;#](?:amp;)?(?P<name>[^\s=&#?;\"'<>]{1,64})=(?!=)(?P<value>[^\s&#\"'`<>\\]{1,2048}+)",
        accept=lambda found, value: (
            not is_label(value)
            and not is_public_beside(found["name"], value)
            and (
                names_secret(unquote(found["name"]), looks_secret=is_mixed(value) and len(value) >= 8)
                or (found["name"].lower() in _KEY_PARAMETERS and is_issued(value))
            )
        ),
    ),
)
