"""Tokens that need no label: by the prefix or the layout that their issuer gave them, or by their random appearance.

To add a token, add its prefix to one of the two tables: ``DISTINCT_PREFIXES`` if no word begins with it, else
``SHORT_PREFIXES``; the tests generate a case for each. A layout is a row of ``SHAPES``, with examples.
"""

from __future__ import annotations

import base64
import binascii
import re
from string import ascii_letters, digits
from urllib.parse import unquote

from reasoning.redaction.allowlist import is_harmless
from reasoning.redaction.classify import KeyKind, classify
from reasoning.redaction.rules import Span, Trigger, pattern_rule
from reasoning.redaction.values import (
    ESCAPED_BREAK,
    class_changes,
    is_in_arn,
    longest_piece,
    strip_punctuation,
    wordset,
)

# Prefixes that no word begins with: a body of 8 characters with a digit, or of 20 without one, is enough. They also
# count where a text is cut off within a token, which layouts don't.
DISTINCT_PREFIXES = sorted(
    wordset(
        r" sk-(?:proj|svcacct|admin|None)- sk-ant- sk-or-"  # OpenAI, Anthropic, OpenRouter
        r" sk-(?:live|test|lf|helicone)- (?:[srp]k|rzp)_(?:live|test)_ whsec_"  # Langfuse, Helicone, Stripe, Razorpay
        r" gh[pousr]_ github_pat_ gl(?:pat|ptt|dt|rtr?|cbt|ft|soat|imt|agent|oas|ffct|wt)- GR1348941"  # GitHub, GitLab
        r" xox[a-eoprs][-.] xapp- AIza ya29\. GOCSPX- npm_ pypi- rubygems_"  # Slack, Google, npm, PyPI, RubyGems
        r" CLOJARS_ dckr_(?:pat|oat)_ nvapi- gsk_ pplx-"  # Clojars, Docker, NVIDIA, Groq, Perplexity
        r" tgp_v1_ lsv2_(?:pt|sk)_ pcsk_ tskey-"  # Together, LangSmith, Pinecone, Tailscale
        r" xkeysib- xsmtpsib- access-(?:sandbox|development|production)-"  # Brevo, Plaid
        r" shp(?:at|ca|pa|ss|tka)_ SG\. AT[AC]TT3 figd_ PMAK-"  # Shopify, SendGrid, Atlassian, Figma, Postman
        r" gl(?:c|sa)_ NR(?:AK|II|JS)- sntry[su]_"  # Grafana, New Relic, Sentry
        r" sbp_ sb_(?:secret|publishable)_ pscale_(?:tkn|pw|oauth)_"  # Supabase, PlanetScale
        r" do[opr]_v1_ sq0[a-z]{3}- lin_(?:api|oauth)_ ntn_"  # DigitalOcean, Square, Linear, Notion
        r" hv[bsr]\. dp\.(?:pt|st|ct|sa|scim|audit)\. AGE-SECRET-KEY-1"  # HashiCorp Vault, Doppler, age
        r" django-insecure- lgb_ pnb_ sm_[aps]at_ api_live\."  # Django, Legible, Prefect, SettleMint, Onfido
        r" os_v2_(?:app|org)_ endr\+ dnkey- zpka_"  # OneSignal, Endor Labs, Defined Networking, Zuplo
        r" bb_live_ unkey_ pk_prod_ secret-(?:live|test)- AQ\.Ab"  # Browserbase, Unkey, Courier, Stytch, Gemini
        r" bitpat_ polar_[op]at_ pdl_(?:live|sdbx)_ testsk_ FLWSECK"  # Bitrise, Polar, Paddle, Svix, Flutterwave
    )
)
# Prefixes that words, names or fields begin with, too: the body must be dense.
SHORT_PREFIXES = sorted(
    wordset(
        r" sk[_-] re_ key- live_ test_ sess- mcp_ tok_ rt_ at_ secret_ patch_"  # generic sk, generic
        r" xwfp- 1//0 hf_ api_org_ xai- r8_"  # Slack workflow, Google refresh, Hugging Face, xAI, Replicate
        r" fw_ fpk_ csk- esecret_ cohere_ mist_"  # Fireworks, Cerebras, Anyscale, Cohere, Mistral
        r" moonshot- ark- ak- jina_ tvly- fc- exa_"  # Moonshot, Volcengine, Modal, Jina, Tavily, Firecrawl, Exa
        r" llx- e2b_ bb_test_ apify_api_ ph[cx]_"  # LlamaCloud, E2B, Browserbase, Apify, PostHog
        r" sgp_ CFPAT- fio-u- tfp_ p8e-"  # Sourcegraph, Contentful, Frame.io, Typeform, Adobe
        r" dt0[cs]\d{2}\. AKC sq[uap]_ CCIPAT_ CCIPRJ_"  # Dynatrace, Artifactory, SonarQube, CircleCI
        r" bkua_ ops_ey duffel_(?:live|test)_ pnu_ rdme_"  # Buildkite, 1Password, Duffel, Prefect, ReadMe
        r" tk-us- shippo_(?:live|test)_ ATBB cio oy2"  # Scalingo, Shippo, Bitbucket, crates.io, NuGet
        r" dapi eyJrIjoi napi_ nfp_ fo1_ fm[12]_ rnd_"  # Databricks, Grafana (old), Neon, Netlify, Fly.io, Render
        r" HRKU- LTAI AKID AQVN y0_ EAA[A-Z] pul-"  # Heroku, Alibaba, Tencent, Yandex, Square, Facebook, Pulumi
        r" vc[pkiar]_ cf(?:ut|at|k)_ doppler_ bsky- sl\."  # Vercel, Cloudflare, Doppler (old), Bluesky, Dropbox
        r" EZ[AT]K FLWPUBK hcai[kc]_ da2-"  # EasyPost, Flutterwave, Honeycomb, AWS AppSync
        r" tr_(?:dev|prod|stg)_ flb_(?:live|test)_ BSA retool_"  # Trigger.dev, Fleetbase, Brave, Retool
        r" mlsn\. md- dtn_ signkey-(?:prod|test)- s-s4t2(?:ud|af)-"  # MailerSend, Mandrill, Daytona, Inngest, 42 Intra
    )
)
# Tokens whose whole layout is known: pattern, examples. h, d, u, a, z with a length are hexadecimal digits, digits,
# capitals, and letters from g on with and without digits.
SHAPES = {
    "OpenAI (old)": (r"sk-[A-Za-z0-9]{20,}+(?![-_A-Za-z0-9])", "sk-{z24}"),
    "AWS": (
        r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{12,17}+(?![a-z0-9])",
        "AKIA{u16} ASIA{u16} ABIA{u16} ACCA{u16} A3TX{u16}",
    ),
    "Twilio": (r"(?:SK|AC)[0-9a-f]{32,}+", "SK{h32} AC{h32}"),
    "JWT": (r"eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+){1,4}+", "eyJ{a12}.{a12}.{a12}"),
    "JWT, one part": (r"(?<!;base64,)eyJ[A-Za-z0-9_-]{24,}+=*+", "eyJ{a26}"),
    "Mapbox": (r"[sp]k\.eyJ[\w.-]{20,}+", "pk.eyJ{a24} sk.eyJ{a24}"),
    "Discord": (
        r"[MNO][A-Za-z0-9_-]{23,27}\.[\w-]{5,7}\.[\w-]{20,}+",
        "M{a24}.{a6}.{a27} N{a24}.{a6}.{a27} O{a24}.{a6}.{a27}",
    ),
    "Telegram": (r"\d{8,10}:AA[\w-]{20,}+", "{d9}:AA{z24}"),
    "Firebase": (r"AAAA[\w-]{7}:APA91b[\w-]{20,}+", "AAAA{a7}:APA91b{z24}"),
    "Terraform Cloud": (r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{20,}+", "{a14}.atlasv1.{z24}"),
    "Airtable": (r"pat[A-Za-z0-9]{14}\.[a-f0-9]{20,}+", "pat{a14}.{h24}"),
    "Mailchimp": (r"[a-f0-9]{32}-us\d{1,2}", "{h32}-us7"),
    "Mailgun": (r"[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8}(?![\w-])", "{h32}-{h8}-{h8}"),
    "Zoho": (r"1000\.[a-z0-9]{32}\.[a-f0-9]{32}(?!\w)", "1000.{h32}.{h32}"),
    "New Relic": (r"NRBR-[a-f0-9]{19}(?!\w)|[a-f0-9x]{36}NRAL", "NRBR-{h19} {h36}NRAL"),
    "Ghost, fal, Stormglass": (
        r"[a-f0-9]{24}:[a-f0-9]{64}(?!\w)|[a-f0-9]{8}-(?:[a-f0-9]{4}-){3}[a-f0-9]{12}(?::[a-f0-9]{32}|-[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12})(?!\w)",
        "{h24}:{h64} {uuid}:{h32} {uuid}-{uuid}",
    ),
    "Mailgun (public), Spectral, LocationIQ, Webflow, Amazon, Scrapfly, W&B, CodeRabbit, Tatum": (
        r"(?:pubkey-|spu-|pk\.|ws-|amzn1\.oa2-cs\.v1\.|scp-(?:live|test)-|local-|cr-|t-[a-f0-9]{24}-(?=[a-f0-9]{24}(?!\w)))"
        r"(?:[a-f0-9]{32,}+|(?<=-)[a-f0-9]{24})(?![\w-])",
        "pubkey-{h32} spu-{h32} pk.{h32} ws-{h64} amzn1.oa2-cs.v1.{h64}"
        " scp-live-{h32} local-{h40} cr-{h58} t-{h24}-{h24}",
    ),
    "LinkedIn": (r"WPL_AP[01]\.[A-Za-z0-9]{16}\.[A-Za-z0-9+/]{6,8}={0,2}", "WPL_AP1.{a16}.{a6}=="),
    "ImageKit, PagerDuty, Yandex": (
        r"private_[A-Za-z0-9+/]{27}=|u\+(?=[\w\-]{0,17}\d)[\w\-]{18}(?![\w\-])|YC(?=[\w\-]{0,37}\d)[\w\-]{38}(?![\w\-])",
        "private_{a27}= u+{a17}7 YC{a37}7",
    ),
    "Facebook (app)": (r"\d{15,16}(?:\||%7C)[\w\-]{27}(?![\w\-])", "{d15}|{a27}"),
    "Infisical": (r"st\.[a-f0-9]{24}\.[a-f0-9]{32}[.\w]*+", "st.{h24}.{h32}.{h32}"),
    "Scaleway, Octopus, RapidAPI": (
        r"(?:SCW[A-Z0-9]{17}|API-[A-Z0-9]{26}|[a-z0-9]{10}msh[a-z0-9]{15}p1[a-z0-9]{6}jsn[a-z0-9]{12})(?![\w-])",
        "SCW{u17} API-{u26} {h10}msh{h15}p1{h6}jsn{h12}",
    ),
    "Azure AD": (r"[A-Za-z0-9_~.]{3}\dQ~[\w~.\-]{31,34}", "{a3}8Q~{a31}"),
    "OpenShift": (r"sha256~[\w\-]{43}(?![\w\-])", "sha256~{a43}"),
    "Voiceflow": (r"VF\.(?:[A-Z]{2,3}\.)?[a-f0-9]{24}\.[A-Za-z0-9]{16}(?!\w)", "VF.DM.{h24}.{a16}"),
    "Harness": (r"[ps]at\.[\w\-]{22}\.[a-f0-9]{24}\.[A-Za-z0-9]{20}(?!\w)", "pat.{a22}.{h24}.{a20}"),
    "Snyk": (r"snyk_[a-z]{3}\.[a-f0-9]{8}\.[\w.\-]{20,}+", "snyk_uat.{h8}.{z24}"),
    "Zhipu, Ollama": (r"[a-f0-9]{32}\.(?:[A-Za-z0-9]{16}|[\w\-]{24})(?![\w\-])", "{h32}.{a16} {h32}.{a24}"),
    "LaunchDarkly, HubSpot, Axiom, Amazon MWS": (
        r"(?:sdk-|mob-|api-|pat-[a-z]{2,4}\d?-|secret-|token-|xa[ap]t-|amzn\.mws\.|HRKU-|pk-lf-|[ps]ub-c-|public-[a-z]{7,12}-|\d{6}-)"
        r"[a-f0-9]{8}-(?:[a-f0-9]{4}-){3}[a-f0-9]{12}(?![\w-])",
        "sdk-{uuid} mob-{uuid} pat-na1-{uuid} secret-{uuid} token-{uuid} xaat-{uuid} amzn.mws.{uuid}"
        " api-{uuid} xapt-{uuid} HRKU-{uuid} pk-lf-{uuid} pub-c-{uuid} sub-c-{uuid} public-sandbox-{uuid} {d6}-{uuid}",
    ),
    "Cloudflare origin": (r"v1\.0-[a-f0-9]{24}-[a-f0-9]{64,}+", "v1.0-{h24}-{h64}"),
    "Asana": (r"[012]/\d{10,20}(?:/\d{10,20})?:[a-f0-9]{24,}+", "1/{d16}:{h32} 2/{d16}/{d16}:{h32}"),
    "1Password": (
        r"A3-[A-Z0-9]{6}(?:-[A-Z0-9]{11}(?:-[A-Z0-9]{5}){2,3}|(?:-[A-Z0-9]{5,6}){4,5})",
        "A3-{u6}-{u6}-{u5}-{u5}-{u5} A3-{u6}-{u5}-{u6}-{u5}-{u5}-{u5}",
    ),
    "Vault (old)": (  # not the member of a variable
        r"[sb]\.(?![A-Za-z]?[a-z]+(?:[A-Z][a-z]+)*(?![\w.]))[A-Za-z0-9]{24}(?![\w.])",
        "s.{a24} b.{a24}",
    ),
    "Product key": (r"(?=[A-Z\-]{0,28}\d)[A-Z0-9]{5}(?:-[A-Z0-9]{5}){4}(?![\w-])", "{u5}-{u5}-{u5}-{u5}-7{u4}"),
    "BitLocker": (r"\d{6}(?:-\d{6}){7}(?![\d-])", "{d6}-{d6}-{d6}-{d6}-{d6}-{d6}-{d6}-{d6}"),
    "Expo": (r"EXO[a-f0-9]{24}(?![A-Za-z0-9])", "EXO{h24}"),
    "Braintree": (
        r"access_token\$(?:production|sandbox)\$[\w$]{10,}+",
        "access_token$production${a16} access_token$sandbox${a16}",
    ),
    "crypt": (
        r"\$(?:apr1|2[abxy]?|[1567y])\$[^\s\"'`<>,;:]{16,}+",
        "$apr1${a20} $2${a20} $2a${a20} $2b${a20} $2x${a20} $2y${a20} $1${a20} $5${a20} $6${a20} $7${a20} $y${a20}",
    ),
    "PHC hash": (
        r"\$(?:argon2(?:id|i|d)|scrypt|pbkdf2[\w-]*|bcrypt[\w-]*)\$[^\s\"'`<>,;]{16,}+",
        "$argon2id${a20} $argon2i${a20} $argon2d${a20} $scrypt${a20} $pbkdf2-sha256${a20} $bcrypt-sha256${a20}",
    ),
    "Django hash": (
        r"(?:pbkdf2_sha(?:1|256|512)|bcrypt_sha256|argon2|scrypt|md5|sha1)\$[^\s\"'`<>,;]{16,}+",
        "pbkdf2_sha1${a20} pbkdf2_sha256${a20} pbkdf2_sha512${a20} bcrypt_sha256${a20} argon2${a20} scrypt${a20}"
        " md5${a20} sha1${a20}",
    ),
    "Werkzeug hash": (r"scrypt:\d+:\d+:\d+\$[^\s\"'`<>,;]{16,}+", "scrypt:32768:8:1${a20}"),
    "LDAP hash": (
        r"\{(?:SSHA|SHA|CRYPT|SMD5|PBKDF2)[\d-]*\}[^\s\"'`<>,;]{12,}+",
        "{{SSHA}}{a16} {{SHA}}{a16} {{CRYPT}}{a16} {{SMD5}}{a16} {{PBKDF2}}{a16}",
    ),
}
_BODY = r"(?P<body>(?=[A-Za-z0-9_\-+/.=~]{8})[A-Za-z0-9_\-+/]++(?:[.:/+=~][\w\-/+=]++)*+)"
_DISTINCT = "|".join(DISTINCT_PREFIXES)
_DISTINCT_TOKEN = re.compile(rf"(?<![A-Za-z0-9]){ESCAPED_BREAK}(?P<value>(?:{_DISTINCT}){_BODY})")
_SHORT_TOKEN = re.compile(rf"(?<![A-Za-z0-9]){ESCAPED_BREAK}(?P<value>(?:{'|'.join(SHORT_PREFIXES)}){_BODY})")
_SHAPED_TOKEN = re.compile(
    rf"(?<![A-Za-z0-9]){ESCAPED_BREAK}(?P<value>{'|'.join(pattern for pattern, _examples in SHAPES.values())})"
)
# A stopped stream or a truncated line can end inside a token, too short for its rule.
_CUT_TOKEN = re.compile(
    rf"(?<![A-Za-z0-9])(?:{_DISTINCT}|AKIA|ASIA|eyJhbGciOi)(?![a-z]{{3,}}[a-z_\-]*\Z)[\w\-./+=]++(?=[\"'`…]{{0,3}}\Z)"
)
# A key that no name announces. Digests, ids and paths are sorted out by is_unlabelled_key.
_DENSE_RUN = re.compile(
    rf"(?:(?<![A-Za-z0-9+/_\-%])|(?<=%[0-9A-Fa-f]{{2}})){ESCAPED_BREAK}(?P<value>(?:[A-Za-z0-9+/_\-]|%2[BFbf]){{20,}}+(?:=|%3[Dd]){{0,2}})"
    r"(?![A-Za-z0-9+/_\-])"
)
_WORDS = re.compile(r"[A-Za-z][a-z]{3,}")
_HEX = re.compile(r"[0-9a-fA-F\-]+")
# What stands before the hexadecimal digits of a key; before those of a digest or an id a word says what it is of.
_ISSUER = re.compile(
    r"(?i)(?!(?:\w*_)?(?:id|ids|uuid|guid|hash|sha|md5|sum|commit|rev|ref|file|files|image|img|build|cache|layer|tmp|node|asset"
    r"|chunk|object|obj|blob|version|trace|span|request|user|group|team|org|project|item|event|job|task|run|test|data|log|v\d*"
    r"|branch|page|table|index|doc|docs|backup|part|block|tx|device|session|order|message|thread|conversation)_)"
    r"[a-z0-9]{1,8}_(?:[a-z0-9]{1,4}_)?|(?:[a-z]{1,4}-)?api-"
)
# Ids of requests and objects are public, and needed to report a fault.
_PUBLIC_ID = re.compile(
    r"/?(?:[\w-]{1,30}/){0,4}(?:static|assets|chunks|dist)/|"  # files of a page
    # AAAA begins public keys of SSH; others pictures, documents and XML in Base64
    r"AAAA[BCE][0-9A-Za-z]|iVBORw0KGgo|/9j/4|R0lGOD[dl]h|LS0tLS1CRUdJTiBDRVJU|UklGR|JVBERi0|PHN2Zy|PD94bWwg"
    r"|/{0,2}(?:ipfs/)?Qm[1-9A-HJ-NP-Za-km-z]{44}(?![A-Za-z0-9])"  # the address of a file
    r"|PL[\w-]{32}(?![\w-])"  # a playlist
    r"|nonce-"  # of a page's policy
    r"|_Z[NTLS\d]"  # a mangled name of C++ or Rust
    r"|RW[QRST][A-Za-z0-9+/]{53}(?![A-Za-z0-9+/])"  # a public key of minisign
    r"|MIGfMA0GCSqGSIb3DQEBAQUAA|MII[BC]IjANBgkqhkiG9w0BAQEF|MFkwEwYHKoZIzj0CAQ|MCowBQYDK2V"  # public keys in Base64
    r"|(?:req|evt|msg(?:batch)?|in|ii|si|src|py|po|run|thread|resp|chatcmpl|call|toolu|item|cus|file|batch|step|pi|ch|pm|seti|txn|cs|price|prod|sub|acct|asst|org)[_-](?=\w)"
)
_NAMED_DIGEST = re.compile(r"[A-Z]{2,}(?:_[A-Z]+)*_[0-9a-f]+")
# A digest of a lock file, or data: of an address.
_DIGEST = re.compile(r"(?i)(?:(?<![a-z])(?:sha-?\d{1,3}|md5|integrity|h1)[-:=]|;base64,|=\?[\w-]{3,12}\?[BQ]\?)")
# Names of what anybody may read, directly before it; x, y and n are those of a public JSON Web Key.
_PUBLIC_NAME = re.compile(
    r"(?:(?i:pub(?:lic)?[ _-]?keys?|address|program|peer|fingerprint|thumbprint|sum|digest|cid|etag"
    r"|version[ _-]?id|cursor|(?<![a-z])(?:uid|cert(?:ificate)?)|credentials?[ _-]?id"
    r"|(?<![a-z])(?:at|c|s)_hash|build[ _-]?id|sec-websocket-(?:accept|key)"
    r"|(?<![\w?&])(?:p|bh?)(?==)"  # of DKIM
    r"|content-md5|message-id|amz-id-2|site-verification"
    r"|(?:next|page|continuation)[a-z_-]{0,12}token)[\"'`*]{0,3}|\\?[\"'](?:[nxy]|x5t(?:#S256)?|kid)\\?[\"']|ENC\[[\w,:+/=]{1,160},(?:data|iv|tag))"
    r"(?:\s{0,2}[:=]|\sis)?\s{0,2}(?:W/)?\\?[\"'`<>]{0,2}(?:(?:ed25519|secp256k1|rsa|ecdsa|x25519)[:-]|[\w.-]{3,60}:)?\Z"
)
_MAX_NAME_CHARS = 200
# What Base64 of a sentence becomes again.
_SENTENCE = re.compile(rb"[A-Za-z]+,?(?: [A-Za-z]+[,.!?]?)+\s*")


def is_distinct_body(found: re.Match[str], _value: str) -> bool:
    piece = longest_piece(found["body"])
    has_digit = any(map(str.isdigit, found["body"]))
    return (len(piece) >= 8 and has_digit) or len(piece) >= 20 or class_changes(found["body"]) >= 0.4


def is_dense_body(found: re.Match[str], _value: str) -> bool:
    piece = longest_piece(found["body"])
    count, changes = sum(map(str.isdigit, piece)), class_changes(piece)
    if len(piece) >= 14 and count >= 3 and (changes >= 0.25 or len(piece) >= 20):
        return True
    return (
        (len(piece) >= 16 and changes >= 0.4 and not has_words(piece))
        or (len(piece) >= 28 and changes >= 0.3)
        or is_random_body(found["body"])
    )


def is_random_body(body: str) -> bool:
    """True for many letters and digits, well mixed; hexadecimal digits may be a digest."""
    start = body[:128]
    count = sum(map(str.isdigit, start))
    return (
        len(start) >= (24 if start.islower() or start.isupper() else 20)
        and 3 <= count <= len(start) * 0.6
        and class_changes(start) >= (0.3 if len(start) < 32 else 0.2)
        and not _HEX.fullmatch(start)
        and not has_words(start)
    )


def has_words(run: str) -> bool:
    """True where much of the run is words: names in camel case, paths."""
    return 2 * sum(map(len, _WORDS.findall(run))) > len(run)


def is_unlabelled_key(found: re.Match[str], run: str) -> bool:
    """True where lower case, capitals and digits are well mixed. Digests, names and paths aren't."""
    start = run[:128]
    if start.islower() or class_changes(start) < (0.45 if len(run) < 28 else 0.4):
        return False
    lower, upper, count = (sum(map(test, start)) for test in (str.islower, str.isupper, str.isdigit))
    if lower < 4 or upper < 4 or not 1 <= count <= len(start) * 0.45 or has_words(start):
        return False
    piece = longest_piece(start)
    if len(piece) < 16 or not any(map(str.isdigit, piece)) or _NAMED_DIGEST.fullmatch(run) or _PUBLIC_ID.match(run):
        return False
    return not (
        _DIGEST.search(found.string, max(found.start() - 12, 0), found.start() + 12)
        or is_named_public(found)
        or is_encoded_sentence(run)
        or is_in_path(found.string, found.start())
    )


def is_named_public(found: re.Match[str]) -> bool:
    text, start = found.string, found.start()
    return _PUBLIC_NAME.search(text, max(start - _MAX_NAME_CHARS, 0), start) is not None or is_in_arn(text, start)


def is_encoded_sentence(run: str) -> bool:
    try:
        return _SENTENCE.fullmatch(base64.b64decode(run, validate=True)) is not None
    except binascii.Error:
        return False


def is_in_path(text: str, place: int) -> bool:
    """True in the path of an address, where documents have their ids; secret paths are found by their host."""
    before = text[max(place - 200, 0) : place]
    word = before.split()[-1] if before and not before[-1].isspace() else ""
    return "://" in word and not any(sign in word.rpartition("://")[2] for sign in "?#=@\"'<>)")


def is_prefixed_key(found: re.Match[str], value: str) -> bool:
    if _PUBLIC_ID.match(value) or _DIGEST.search(found.string, max(found.start() - 12, 0), found.end("prefix")):
        return False
    if is_named_public(found):
        return False
    if _HEX.fullmatch(found["body"]):  # a digest, unless a name says that it's a secret
        return len(found["body"]) >= 30 and (
            classify(found["prefix"]) is not KeyKind.NONE or _ISSUER.fullmatch(found["prefix"]) is not None
        )
    piece = longest_piece(found["body"])
    return is_random_body(found["body"]) or (len(piece) >= 28 and class_changes(piece) >= 0.35 and not has_words(piece))


def is_encoded_token(found: re.Match[str], value: str) -> bool:
    """True for a token that its address has percent-encoded."""
    if "%" not in value:
        return False
    token = unquote(value)
    return any(
        (whole := pattern.fullmatch(token)) and accept(whole, token)
        for pattern, accept in (
            (_SHAPED_TOKEN, lambda *_: True),
            (_DISTINCT_TOKEN, is_distinct_body),
            (_SHORT_TOKEN, is_dense_body),
            (_DENSE_RUN, is_unlabelled_key),
        )
    )


def find_cut_token(text: str) -> Span | None:
    """Return the token that the end of the text cuts off behind its prefix, if there is one."""
    found = _CUT_TOKEN.search(text, max(len(text) - 600, 0))
    is_key = found and not is_harmless(found.group()) and not is_harmless(strip_punctuation(found.group()))
    return Span(*found.span()) if found and is_key else None


TRIGGERS = (
    Trigger(
        "run",  # letters, digits, dashes: 12 with a digit among them, or 20; not the time of a day
        marks=ascii_letters + digits,
        shape=r"(?<![A-Za-z0-9_\-])(?=[A-Za-z0-9_\-]{12})(?!(?:19|20)\d\d-[01]\d-[0-3]\dT\d\d(?![\w\-]))(?:(?=[A-Za-z_\-]*+\d)|(?=[A-Za-z0-9_\-]{20}))"
        r"|(?<=\$)(?:apr1|2[abxy]?|[1567y])\$[^\s\"'`<>,;:]{16}",  # what crypt() returns
    ),
)
RULES = (
    pattern_rule(
        "token with a distinct prefix",
        "run",
        ("it is sk-proj-{key} now", "pip install pypi-server"),
        _DISTINCT_TOKEN.pattern,
        accept=is_distinct_body,
    ),
    pattern_rule(
        "token with a short prefix",
        "run",
        ("it is hf_{key} now", "task-force, sk-learn, live_data"),
        _SHORT_TOKEN.pattern,
        accept=is_dense_body,
    ),
    pattern_rule(
        "token with a known layout",
        "run",
        ("asana 1/1201234567890123:{hex}", "commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904 (HEAD -> main)"),
        _SHAPED_TOKEN.pattern,
        accept=lambda found, value: "." in value or not is_named_public(found),
    ),
    pattern_rule(
        "random run",
        "run",
        ("REMOTE={key}", "https://docs.google.com/document/d/1YpPRirULPQZwLZy-7__OQuc6ScyzMWGycB5BORe29TTl/edit"),
        _DENSE_RUN.pattern,
        accept=is_unlabelled_key,
        needs="[A-Z]",
    ),
    pattern_rule(
        "random run behind a prefix",
        "run",
        ("zq_{hex}", "layer_9f0c4d7e2b8a1635c0d9e4f7a2b8c1d69f0c4d7e2b8a1635c0d9e4f7a2b8c1d6"),
        # A few letters, a joint, a long random run: a token of an issuer that no table names.
        rf"(?<![A-Za-z0-9_\-./]){ESCAPED_BREAK}(?P<value>(?P<prefix>[A-Za-z][A-Za-z0-9]{{0,11}}(?:[_-][a-z0-9]{{1,8}}){{0,2}}[_.-])"
        r"(?P<body>(?:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[A-Za-z0-9]{20,}+(?:[_.-][A-Za-z0-9_\-]{8,}+)*+))(?![./]?\w))",
        accept=is_prefixed_key,
        needs=r"[_.\-][A-Za-z0-9]{8}",
    ),
    pattern_rule(
        "percent-encoded token",
        "run",
        ("x.org/?ref=1%2F1204567890123456%3A{hex}", "x.org/?q=caf%C3%A9%20au%20lait%20et%20croissants"),
        r"(?<![\w%.\-])(?P<value>(?:[\w.\-~]|%[0-9A-Fa-f]{2}){20,512}+)",
        accept=is_encoded_token,
        needs="%",
    ),
)
