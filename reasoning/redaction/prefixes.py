"""Secrets that their issuers made recognisable: provider tokens, signed tokens, password hashes, private webhooks.

Each pattern starts behind a character that can't belong to it and asks for few characters after the prefix, so that a
token that was cut short, or is still arriving, is found. One alternation by first letters keeps the search linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reasoning.redaction.spans import Rule, Span
from reasoning.redaction.values import changes

# Prefix, then at least twelve characters of a token. Prefixes with letters and digits of any issuer that we know.
_DISTINCT = (
    r"sk-(?:proj|ant|or|svcacct|admin|live|test|lf|helicone|None)-|sk_(?:live|test)_|rk_(?:live|test)_|pk_(?:live|test)_"
    r"|whsec_|gh[pousr]_|github_pat_|gl(?:pat|ptt|dt|rt|cbt|ft|soat|imt|agent|oas)-|xox[abeoprs](?:-|\.)|xapp-|xwfp-"
    r"|AIza|ya29\.|GOCSPX-|1//0|npm_|pypi-|dckr_(?:pat|oat)_|hf_|api_org_|nvapi-|gsk_|xai-|pplx-|r8_|tgp_v1_|fw_|fpk_"
    r"|csk-|esecret_|jina_|tvly-|lsv2_(?:pt|sk)_|pcsk_|llx-|e2b_|bb_(?:live|test)_|ph[cx]_|sgp_|CFPAT-|fio-u-|tfp_"
    r"|p8e-|dt0[cs]\d{2}\.|AKC|sq[uap]_|CCIPAT_|CCIPRJ_|bkua_|tskey-|ops_ey|A3-|duffel_(?:live|test)_|pnu_|rdme_|tk-us-"
    r"|shippo_(?:live|test)_|xkeysib-|xsmtpsib-|access-(?:sandbox|development|production)-|shp(?:at|ca|pa|ss|tka)_|SG\."
    r"|ATATT3|ATCTT3|ATBB|figd_|PMAK-|rubygems_|cio|oy2|CLOJARS_|dapi|glc_|glsa_|eyJrIjoi|NRAK-|NRII-|NRJS-|sntry[su]_"
    r"|sbp_|sb_(?:secret|publishable)_|pscale_(?:tkn|pw|oauth)_|napi_|nfp_|fo1_|fm[12]_|rnd_|HRKU-|do[opr]_v1_|LTAI|AKID"
    r"|AQVN|y0_|sq0[a-z]{3}-|EAAA|EAAC|lin_(?:api|oauth)_|ntn_|secret_|hv[bsr]\.|pul-|dp\.(?:pt|st|ct|sa|scim|audit)\."
    r"|AGE-SECRET-KEY-1|SK|AC|re_|key-|lgb_|patch_|vc[pkiar]_|cf(?:ut|at|k)_|django-insecure-|doppler_|bsky-|apify_api_"
    r"|sl\.|EZ[AT]K|FLWSECK|FLWPUBK|live_|test_|sess-|mcp_|cohere_|mist_|moonshot-|ark-|ak-|fc-|exa_|tok_|rt_|at_"
)
_TOKEN = re.compile(
    rf"(?<![A-Za-z0-9])(?P<prefix>{_DISTINCT}|sk[_-])(?P<body>[A-Za-z0-9_\-]{{8,}}+(?:[.:/+=~][\w\-/+=]++)*+)"
)
_SURE = re.compile(  # prefixes that no word has
    r"sk-\w[\w-]*-|[srp]k_(?:live|test)_|whsec_|gh[pousr]_|github_pat_|gl\w+-|xox..|xapp-|GOCSPX-|dckr_\w+|nvapi-|lsv2_\w+"
    r"|pcsk_|tskey-|xkeysib-|xsmtpsib-|access-\w+-|shp\w+|AT[AC]TT3|figd_|PMAK-|rubygems_|CLOJARS_|gl(?:c|sa)_|NR\w+-|sntry._"
    r"|sbp_|sb_\w+_|pscale_\w+|do._v1_|sq0\w+-|lin_\w+|ntn_|hv.\.|dp\.\w+\.|AGE-SECRET-KEY-1|lgb_|django-insecure-|ya29\."
    r"|AIza|tgp_v1_|npm_|pypi-|gsk_|pplx-|SG\."
)
_SHAPED = re.compile(
    r"""(?x)(?<![A-Za-z0-9])(?:
      (?:AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA|A3T[A-Z0-9])[A-Z0-9]{12,17}+(?![a-z0-9])
    | eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+){1,4}+
    | eyJ[A-Za-z0-9_-]{24,}+=*+
    | [MNO][A-Za-z0-9_-]{23,27}\.[\w-]{5,7}\.[\w-]{20,}+
    | \d{8,10}:AA[\w-]{20,}+
    | AAAA[\w-]{7}:APA91b[\w-]{20,}+
    | [A-Za-z0-9]{14}\.atlasv1\.[\w-]{20,}+
    | pat[A-Za-z0-9]{14}\.[a-f0-9]{20,}+
    | [a-f0-9]{32}-us\d{1,2}
    | [a-f0-9]{32}\.[A-Za-z0-9]{16}(?![A-Za-z0-9])
    | (?:sdk|mob|pat-[a-z]{2,4}\d?|secret|token)-[a-f0-9]{8}-(?:[a-f0-9]{4}-){3}[a-f0-9]{12}(?![\w-])
    | v1\.0-[a-f0-9]{24}-[a-f0-9]{64,}+ | [012]/\d{10,20}:[a-f0-9]{24,}+ | EXO[a-f0-9]{24}(?![A-Za-z0-9])
    | [sp]k\.eyJ[\w.-]{20,}+
    | access_token\$(?:production|sandbox)\$[\w$]{10,}+
    | \$(?:apr1|2[abxy]?|[156])\$[^\s"'`<>,;:]{16,}+
    | \$2[abxy]?\$\d\d\$[./A-Za-z0-9]{16,}+
    | \$(?:argon2(?:id|i|d)|scrypt|pbkdf2[\w-]*|y|7|[156]|bcrypt[\w-]*)\$[^\s"'`<>,;]{16,}+
    | (?:pbkdf2_sha(?:1|256|512)|bcrypt_sha256|argon2|scrypt|md5|sha1)\$[^\s"'`<>,;]{16,}+
    | scrypt:\d+:\d+:\d+\$[^\s"'`<>,;]{16,}+
    | \{(?:SSHA|SHA|CRYPT|SMD5|PBKDF2)[\d-]*\}[^\s"'`<>,;]{12,}+
    )"""
)
_WEBHOOK = re.compile(
    r"(?i)(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/(?:v\d+/)?webhooks"
    r"|[\w-]+\.webhook\.office\.com/webhookb2|api\.telegram\.org/bot|hooks\.zapier\.com/hooks/catch"
    r"|chat\.googleapis\.com/v1/spaces|maker\.ifttt\.com/(?:use|trigger/\w+/with/key))(?P<path>/?[^\s\"'`<>)\]]{6,512})"
)
_CUT = re.compile(
    r"(?<![A-Za-z0-9])(?:sk-(?:proj|ant|svcacct|admin|or-v1)-|sk_live_|rk_live_|whsec_|gh[pousr]_|github_pat_|glpat-"
    r"|xox[abeoprs]-|xapp-|AKIA|ASIA|AIza|ya29\.|GOCSPX-|npm_|pypi-AgE|dckr_pat_|nvapi-|gsk_|shpat_|SG\.|ATATT3|lgb_"
    r"|hvs\.|eyJhbGciOi)[\w\-./+=]{1,}+[\"'`.…]{0,3}\Z"
)
_RUN = re.compile(r"(?<![A-Za-z0-9+/=_\-])[A-Za-z0-9+/_\-]{28,}+={0,2}(?![A-Za-z0-9+/_\-])")
_PUBLIC = re.compile(r"(?:req|evt|msg|run|thread|resp|chatcmpl|call|toolu|item|cus|file|batch|step)[_-](?=[A-Za-z0-9])")
_DIGEST = re.compile(r"(?i)(?:sha(?:1|256|384|512)|md5|integrity)[-:=]\Z")


def _tokens(text: str) -> Iterator[Span]:
    for found in _TOKEN.finditer(text):
        if _is_token(found["prefix"], found["body"]):
            yield Span(found.start(), found.end(), "", "secret")


def _is_token(prefix: str, body: str) -> bool:
    """Ask more of a short prefix: words such as ``sk-learn`` and ``key-value`` start like tokens, too."""
    if prefix in ("SK", "AC"):
        return len(body) >= 32 and all(char in "0123456789abcdef" for char in body)
    piece = _longest_piece(body)
    mixed = changes(piece)
    if _SURE.fullmatch(prefix):
        return (len(piece) >= 8 and any(char.isdigit() for char in body)) or len(piece) >= 20 or changes(body) >= 0.4
    if prefix == "sk-" and piece == body and len(body) >= 20:
        return True
    digits = sum(char.isdigit() for char in piece)
    return (len(piece) >= 14 and digits >= 2 and mixed >= 0.25) or (len(piece) >= 16 and mixed >= 0.35)


def _longest_piece(run: str) -> str:
    """Return the longest part without a separator: long in what machines make, short in names and paths."""
    return max(re.split(r"[^A-Za-z0-9]", run[:512]), key=len)


def _shaped(text: str) -> Iterator[Span]:
    for found in _SHAPED.finditer(text):
        yield Span(found.start(), found.end(), "", "secret")


def _webhooks(text: str) -> Iterator[Span]:
    for found in _WEBHOOK.finditer(text):
        if "[redacted" not in found["path"]:
            yield Span(found.start("path"), found.end("path"), "", "secret")


def _runs(text: str) -> Iterator[Span]:
    for found in _RUN.finditer(text):
        is_known = _PUBLIC.match(found.group()) or _DIGEST.search(text, max(found.start() - 12, 0), found.start())
        if not is_known and _is_dense(found.group()):
            yield Span(found.start(), found.end(), "", "secret")


def _is_dense(run: str) -> bool:
    """Tell an unlabelled key: small letters, capitals and digits well mixed. Hashes, names and paths aren't."""
    start = run[:128]
    small = sum(char.islower() for char in start)
    capital = sum(char.isupper() for char in start)
    digits = sum(char.isdigit() for char in start)
    if small < 4 or capital < 4 or not 2 <= digits <= len(start) * 0.45:
        return False
    return len(_longest_piece(start)) >= 16 and changes(start) >= 0.4


def cut_token(text: str) -> Span | None:
    """Return the token that the end of the text cuts off after its prefix, if there is one."""
    found = _CUT.search(text, max(len(text) - 600, 0))
    return Span(found.start(), len(text), "", "secret") if found else None


RULES = (
    Rule(frozenset({"run"}), _tokens),
    Rule(frozenset({"run", "hash"}), _shaped),
    Rule(frozenset({"url"}), _webhooks),
    Rule(frozenset({"run"}), _runs),
)
