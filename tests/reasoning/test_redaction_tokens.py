"""Every row of the tables of token formats masks tokens that no other rule masks."""

import random
import re
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reasoning.redaction import redact_text
from reasoning.redaction.tokens import DISTINCT_PREFIXES, SHAPES, SHORT_PREFIXES

# Layouts: h, d, u, a with a length are hex, digits, capitals, and letters from g on with digits.
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
    "Mailgun": "{h32}-{h8}-{h8}",
    "Zoho": "1000.{h32}.{h32}",
    "New Relic browser": "NRBR-{h19}",
    "Azure AD": "{a3}8Q~{a31}",
    "OpenShift": "sha256~{a43}",
    "Voiceflow": "VF.DM.{h24}.{a16}",
    "Harness": "pat.{a22}.{h24}.{a20}",
    "Snyk": "snyk_uat.{h8}.{z24}",
    "Zhipu": "{h32}.{a16}",
    "LaunchDarkly, HubSpot, Axiom, Amazon MWS": "sdk-{uuid} mob-{uuid} pat-na1-{uuid} secret-{uuid} token-{uuid}"
    " xaat-{uuid} amzn.mws.{uuid}",
    "Cloudflare origin": "v1.0-{h24}-{h64}",
    "Asana": "1/{d16}:{h32}",
    "1Password": "A3-{u6}-{u6}-{u5}-{u5}-{u5} A3-{u6}-{u5}-{u6}-{u5}-{u5}-{u5}",
    "Vault (old)": "s.{a24} b.{a24}",
    "Product key": "{u5}-{u5}-{u5}-{u5}-7{u4}",
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
ASCII = st.characters(codec="ascii")
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


@pytest.mark.spec("004 redaction")
@pytest.mark.parametrize("pattern", [*DISTINCT_PREFIXES, *SHORT_PREFIXES])
@settings(max_examples=5)
@given(data=st.data())
def test_token_with_a_known_prefix_is_masked_whole(pattern, data):
    # Behind the prefix is too little, or too plain a text, for a rule that doesn't know the prefix.
    body = "{z11}4{z1}" if pattern in DISTINCT_PREFIXES else "{z1}4{z1}7{z1}2{z1}6{z1}3{z1}5{z1}8{z1}9"
    prefix = data.draw(st.from_regex(pattern, fullmatch=True, alphabet=ASCII))

    assert redact_text(f"see {prefix}{filled(body, 1)} there") == "see [redacted] there"


@pytest.mark.spec("004 redaction")
def test_token_with_a_known_layout_is_masked_whole():
    tokens = [filled(layout, seed) for layouts in SHAPED.values() for seed, layout in enumerate(layouts.split())]

    assert list(SHAPED) == list(SHAPES)
    assert not [token for token in tokens if redact_text(f"see {token} there") != "see [redacted] there"]


@pytest.mark.parametrize("prefix", ["sk-proj-", "ghp_", "AKIA", "xoxb-", "eyJhbGciOi"])
def test_token_that_the_end_of_the_text_cuts_off_is_masked(prefix):
    assert redact_text(f"it is {prefix}a1b") == "it is [redacted]"
    assert redact_text(f'it is "{prefix}a1b"') == 'it is "[redacted]"'


@pytest.mark.parametrize(
    "text", ["pip install pypi-server", "task-force, sk-learn", "live_data", "key-value", "commit " + "9f0c" * 10]
)
def test_word_that_begins_like_a_token_is_shown(text):
    assert redact_text(text) == text
