"""Every row of the tables of token formats is proven by tokens that no other rule masks."""

from __future__ import annotations

import random
import re
import string

import pytest

from reasoning.redaction import redact_text
from reasoning.redaction.secrets import DISTINCT_PREFIXES, SHAPES, SHORT_PREFIXES

# Issuer: prefixes. The body behind them is too short or too plain for a rule that doesn't know the prefix.
DISTINCT = {
    "OpenAI": "sk-proj- sk-svcacct- sk-admin- sk-None-",
    "Anthropic": "sk-ant-",
    "OpenRouter": "sk-or-",
    "LiteLLM, Langfuse, Helicone": "sk-live- sk-test- sk-lf- sk-helicone-",
    "Stripe": "sk_live_ rk_live_ pk_live_ sk_test_ rk_test_ pk_test_ whsec_",
    "GitHub": "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
    "GitLab": "glpat- glptt- gldt- glrt- glcbt- glft- glsoat- glimt- glagent- gloas-",
    "Slack": "xoxa- xoxb- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp-",
    "Google": "AIza ya29. GOCSPX-",
    "npm": "npm_",
    "PyPI": "pypi-",
    "RubyGems": "rubygems_",
    "Clojars": "CLOJARS_",
    "Docker": "dckr_pat_ dckr_oat_",
    "NVIDIA": "nvapi-",
    "Groq": "gsk_",
    "Perplexity": "pplx-",
    "Together": "tgp_v1_",
    "LangSmith": "lsv2_pt_ lsv2_sk_",
    "Pinecone": "pcsk_",
    "Tailscale": "tskey-",
    "Brevo": "xkeysib- xsmtpsib-",
    "Plaid": "access-sandbox- access-development- access-production-",
    "Shopify": "shpat_ shpca_ shppa_ shpss_ shptka_",
    "SendGrid": "SG.",
    "Atlassian": "ATATT3 ATCTT3",
    "Figma": "figd_",
    "Postman": "PMAK-",
    "Grafana": "glc_ glsa_",
    "New Relic": "NRAK- NRII- NRJS-",
    "Sentry": "sntrys_ sntryu_",
    "Supabase": "sbp_ sb_secret_ sb_publishable_",
    "PlanetScale": "pscale_tkn_ pscale_pw_ pscale_oauth_",
    "DigitalOcean": "doo_v1_ dop_v1_ dor_v1_",
    "Square": "sq0atp- sq0csp-",
    "Linear": "lin_api_ lin_oauth_",
    "Notion": "ntn_",
    "HashiCorp Vault": "hvb. hvs. hvr.",
    "Doppler": "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.",
    "age": "AGE-SECRET-KEY-1",
    "Django": "django-insecure-",
    "Legible": "lgb_",
}
SHORT = {
    "generic sk": "sk_ sk-",
    "generic": "re_ key- live_ test_ sess- mcp_ tok_ rt_ at_ secret_ patch_",
    "Slack workflow": "xwfp-",
    "Google refresh": "1//0",
    "Hugging Face": "hf_ api_org_",
    "xAI": "xai-",
    "Replicate": "r8_",
    "Fireworks": "fw_ fpk_",
    "Cerebras": "csk-",
    "Anyscale": "esecret_",
    "Cohere": "cohere_",
    "Mistral": "mist_",
    "Moonshot": "moonshot-",
    "Volcengine": "ark-",
    "Modal": "ak-",
    "Jina": "jina_",
    "Tavily": "tvly-",
    "Firecrawl": "fc-",
    "Exa": "exa_",
    "LlamaCloud": "llx-",
    "E2B": "e2b_",
    "Browserbase": "bb_live_ bb_test_",
    "Apify": "apify_api_",
    "PostHog": "phc_ phx_",
    "Sourcegraph": "sgp_",
    "Contentful": "CFPAT-",
    "Frame.io": "fio-u-",
    "Typeform": "tfp_",
    "Adobe": "p8e-",
    "Dynatrace": "dt0c01. dt0s02.",
    "Artifactory": "AKC",
    "SonarQube": "squ_ sqa_ sqp_",
    "CircleCI": "CCIPAT_ CCIPRJ_",
    "Buildkite": "bkua_",
    "1Password": "ops_ey A3-",
    "Duffel": "duffel_live_ duffel_test_",
    "Prefect": "pnu_",
    "ReadMe": "rdme_",
    "Scalingo": "tk-us-",
    "Shippo": "shippo_live_ shippo_test_",
    "Bitbucket": "ATBB",
    "crates.io": "cio",
    "NuGet": "oy2",
    "Databricks": "dapi",
    "Grafana (old)": "eyJrIjoi",
    "Neon": "napi_",
    "Netlify": "nfp_",
    "Fly.io": "fo1_ fm1_ fm2_",
    "Render": "rnd_",
    "Heroku": "HRKU-",
    "Alibaba": "LTAI",
    "Tencent": "AKID",
    "Yandex": "AQVN y0_",
    "Square, Facebook": "EAAA EAAC",
    "Pulumi": "pul-",
    "Vercel": "vcp_ vck_ vci_ vca_ vcr_",
    "Cloudflare": "cfut_ cfat_ cfk_",
    "Doppler (old)": "doppler_",
    "Bluesky": "bsky-",
    "Dropbox": "sl.",
    "EasyPost": "EZAK EZTK",
    "Flutterwave": "FLWSECK FLWPUBK",
}
# Layouts: h, d, u, a with a length stand for hex, digits, capitals, and letters from g on with digits.
SHAPED = {
    "OpenAI (old)": "sk-{z24}",
    "AWS": "AKIA{u16} ASIA{u16} ABIA{u16} ACCA{u16} AGPA{u16} AIDA{u16} AROA{u16} AIPA{u16} ANPA{u16} ANVA{u16}"
    " A3TX{u16}",
    "Twilio": "SK{h32} AC{h32}",
    "JWT": "eyJ{a12}.{a12}.{a12}",
    "JWT, one part": "eyJ{a26}",
    "Mapbox": "pk.eyJ{a24} sk.eyJ{a24}",
    "Discord": "M{a24}.{a6}.{a27} N{a24}.{a6}.{a27} O{a24}.{a6}.{a27}",
    "Telegram": "{d9}:AA{z24}",
    "Firebase": "AAAA{a7}:APA91b{z24}",
    "Terraform Cloud": "{a14}.atlasv1.{z24}",
    "Airtable": "pat{a14}.{h24}",
    "Mailchimp": "{h32}-us7",
    "Zhipu": "{h32}.{a16}",
    "LaunchDarkly, HubSpot": "sdk-{uuid} mob-{uuid} pat-na1-{uuid} secret-{uuid} token-{uuid}",
    "Cloudflare origin": "v1.0-{h24}-{h64}",
    "Asana": "1/{d16}:{h32}",
    "Expo": "EXO{h24}",
    "Braintree": "access_token$production${a16} access_token$sandbox${a16}",
    "crypt": "$apr1${a20} $2${a20} $2a${a20} $2b${a20} $2x${a20} $2y${a20} $1${a20} $5${a20} $6${a20} $7${a20}"
    " $y${a20}",
    "PHC hash": "$argon2id${a20} $argon2i${a20} $argon2d${a20} $scrypt${a20} $pbkdf2-sha256${a20} $bcrypt-sha256${a20}",
    "Django hash": "pbkdf2_sha1${a20} pbkdf2_sha256${a20} pbkdf2_sha512${a20} bcrypt_sha256${a20} argon2${a20}"
    " scrypt${a20} md5${a20} sha1${a20}",
    "Werkzeug hash": "scrypt:32768:8:1${a20}",
    "LDAP hash": "{{SSHA}}{a16} {{SHA}}{a16} {{CRYPT}}{a16} {{SMD5}}{a16} {{PBKDF2}}{a16}",
}
ALPHABETS = {
    "h": string.hexdigits[:16],
    "d": string.digits,
    "u": string.ascii_uppercase,
    "a": string.ascii_lowercase[6:] + "234567",
    "z": string.ascii_lowercase[6:],
}


def filled(layout: str, seed: int) -> str:
    chance = random.Random(seed)  # noqa: S311 - the same in every run

    def fill(slot: re.Match[str]) -> str:
        return "".join(chance.choices(ALPHABETS[slot[1]], k=int(slot[2])))

    layout = layout.replace("{uuid}", "{h8}-{h4}-{h4}-{h4}-{h12}")
    return re.sub(r"\{([hduaz])(\d+)\}", fill, layout).replace("{{", "{").replace("}}", "}")


def issued() -> list[tuple[str, str]]:
    """Return pairs of an issuer's row and a token of it."""
    tokens = []
    for table, body in ((DISTINCT, "{z11}4{z1}"), (SHORT, "{z1}4{z1}7{z1}2{z1}6{z1}3{z1}5{z1}8{z1}9")):
        tokens += [(name, prefix + body) for name, prefixes in table.items() for prefix in prefixes.split()]
    tokens += [(name, layout) for name, layouts in SHAPED.items() for layout in layouts.split()]
    return [(name, filled(layout, seed)) for seed, (name, layout) in enumerate(tokens)]


@pytest.mark.spec("004 redaction")
def test_token_of_every_issuer_is_masked_whole() -> None:
    missed = [
        f"{name}: {token}" for name, token in issued() if redact_text(f"see {token} there") != "see [redacted] there"
    ]

    assert not missed


def test_every_row_has_its_tokens() -> None:
    assert list(DISTINCT) == list(DISTINCT_PREFIXES)
    assert list(SHORT) == list(SHORT_PREFIXES)
    assert list(SHAPED) == list(SHAPES)


@pytest.mark.parametrize("prefix", ["sk-proj-", "ghp_", "AKIA", "xoxb-", "eyJhbGciOi"])
def test_token_that_the_end_of_the_text_cuts_off_is_masked(prefix: str) -> None:
    assert redact_text(f"it is {prefix}a1b") == "it is [redacted]"


@pytest.mark.parametrize(
    "text", ["pip install pypi-server", "task-force, sk-learn", "live_data", "key-value", "commit " + "9f0c" * 10]
)
def test_word_that_begins_like_a_token_is_shown(text: str) -> None:
    assert redact_text(text) == text
