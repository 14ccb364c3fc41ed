"""Texts with secrets, for the tests of redaction.

Secrets are put together from parts and from seeded noise, so that no file of the project holds one.
"""

from __future__ import annotations

import base64
import random
import string
from typing import NamedTuple

_ALNUM = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"


class Case(NamedTuple):
    text: str
    private: tuple[str, ...]  # none of these may be seen


def noise(length: int, seed: int, alphabet: str = _ALNUM) -> str:
    made = "".join(random.Random(seed).choices(alphabet, k=length))  # noqa: S311 - the same in every run
    return made if any(char.isdigit() for char in made) else made[:-1] + "7"


def _jwt(seed: int) -> str:
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    return f"{head}.{noise(60, seed)}.{noise(43, seed + 1)}"


# (prefix, body length, alphabet)
_ISSUED = [
    ("sk" + "-", 48, _ALNUM),
    ("sk" + "-proj-", 64, _ALNUM),
    ("sk" + "-ant-api03-", 90, _ALNUM + "_-"),
    ("sk" + "-or-v1-", 64, _HEX),
    ("sk" + "-", 32, _HEX),
    ("gh" + "p_", 36, _ALNUM),
    ("gh" + "s_", 36, _ALNUM),
    ("github" + "_pat_11ABC", 60, _ALNUM),
    ("gl" + "pat-", 20, _ALNUM),
    ("xox" + "b-123456789012-", 36, _ALNUM),
    ("xapp" + "-1-A0", 50, _ALNUM),
    ("AK" + "IA", 16, string.ascii_uppercase + "234567"),
    ("AS" + "IA", 16, string.ascii_uppercase + "234567"),
    ("AI" + "za", 35, _ALNUM),
    ("ya" + "29.", 80, _ALNUM),
    ("GOC" + "SPX-", 28, _ALNUM),
    ("sk" + "_live_", 24, _ALNUM),
    ("rk" + "_test_", 24, _ALNUM),
    ("whsec" + "_", 32, _ALNUM),
    ("SG" + ".", 22, _ALNUM),
    ("npm" + "_", 36, _ALNUM),
    ("pypi" + "-AgEIcHlwaS5vcmc", 60, _ALNUM),
    ("dckr" + "_pat_", 27, _ALNUM),
    ("hf" + "_", 34, string.ascii_letters),
    ("nvapi" + "-", 64, _ALNUM),
    ("gsk" + "_", 52, _ALNUM),
    ("xai" + "-", 60, _ALNUM),
    ("pplx" + "-", 48, _ALNUM),
    ("r8" + "_", 37, _ALNUM),
    ("tgp" + "_v1_", 43, _ALNUM),
    ("shp" + "at_", 32, _HEX),
    ("ATATT" + "3xFfGF0", 60, _ALNUM),
    ("figd" + "_", 40, _ALNUM),
    ("PMAK" + "-", 48, _HEX),
    ("glsa" + "_", 32, _ALNUM),
    ("NRAK" + "-", 27, string.ascii_uppercase + string.digits),
    ("sntrys" + "_", 60, _ALNUM),
    ("sbp" + "_", 40, _HEX),
    ("dop" + "_v1_", 64, _HEX),
    ("lin" + "_api_", 40, _ALNUM),
    ("ntn" + "_", 46, _ALNUM),
    ("hvs" + ".", 90, _ALNUM),
    ("dp" + ".pt.", 43, _ALNUM),
    ("pscale" + "_tkn_", 43, _ALNUM),
    ("key" + "-", 32, _HEX),
    ("SK", 32, _HEX),
    ("dapi", 32, _HEX),
    ("lgb" + "_", 43, _ALNUM + "_-"),
    ("AGE-SECRET" + "-KEY-1", 58, string.ascii_uppercase + string.digits),
    ("tskey" + "-auth-", 30, _ALNUM),
    ("lsv2" + "_pt_", 42, _HEX),
    ("jina" + "_", 60, _ALNUM),
    ("tvly" + "-", 32, _ALNUM),
    ("pcsk" + "_", 60, _ALNUM),
]
_CARRIERS = [
    "{}",
    "I set it to {} yesterday.",
    "Error 401: Incorrect API key provided: {}. Check your account.",
    "curl -H 'Authorization: Bearer {}' https://api.example.com/v1/models",
    '{{"config": {{"value": "{}", "retries": 3}}}}',
    "export SERVICE_CREDENTIAL={}\nmake run",
    "Use `{}` when the client asks.",
    "https://api.example.com/v1?session={}&page=2",
    "- token: {}\n- page: 4",
    "The log says ({}) and then stops.",
]


def _issued() -> list[Case]:
    cases = []
    for number, (prefix, length, alphabet) in enumerate(_ISSUED):
        secret = prefix + noise(length, number, alphabet)
        for step in (0, 3):
            carrier = _CARRIERS[(number + step) % len(_CARRIERS)]
            cases.append(Case(carrier.format(secret), (secret, secret[len(prefix) :])))
    return cases


_PASSWORDS = ["hunter2!", "Tr0ub4dor&3", "S3cr3t-Pa55", "correcthorse9", "qW7#zLp0", "Summer2024!", "x9$kLm2@pQ"]
_PASSWORD_CARRIERS = [
    "password={}",
    "password: {}",
    "Password: {}\nThen click on Sign in.",
    "DB_PASSWORD={}",
    'db_password = "{}"',
    "'password' => '{}',",
    '{{"user": "bob", "password": "{}"}}',
    '{{\\"password\\": \\"{}\\"}}',
    "my password is {} please keep it",
    "The password for the admin account is {}.",
    "The password for bob in the staging database is `{}`",
    "passwd {}",
    "**Password:** {}",
    "| Password | {} |",
    "postgres://app:{}@db.internal:5432/app",
    "Server=db;User Id=sa;Password={};Encrypt=yes",
    "login bob password {}",
    "username: alice, password: {}",
    "user alice / password {}",
    "--password {} --host db",
    "--password={}",
    "curl -u alice:{} https://example.com/",
    "PGPASSWORD={} psql -h db",
    "<password>{}</password>",
    '<input type="password" name="p" value="{}">',
    "passphrase: {}",
    "pwd={}",
    'password: str = "{}"',
    "Passwort: {}",
    "mot de passe : {}",
    "contraseña: {}",
    "пароль: {}",
    "密码是{}",
    "new password set to {}",
    "The password is:\n\n`{}`",
    "machine example.com login alice password {}",
    "mysql -u root -p{} app",
    "sshpass -p '{}' ssh alice@host",
    '- name: DB_PASSWORD\n  value: "{}"',
    '<add key="DbPassword" value="{}" />',
    '["password", "{}"]',
    "{} is my password",
    "use {} as the password",
    "credentials: alice/{}",
    "set PASSWORD to {}",
    "root password is now {}",
]


def _passwords() -> list[Case]:
    cases = []
    for number, carrier in enumerate(_PASSWORD_CARRIERS):
        secret = _PASSWORDS[number % len(_PASSWORDS)]
        if "\\" in carrier or "://" in carrier or "<" in carrier:
            secret = _PASSWORDS[3]
        cases.append(Case(carrier.format(secret), (secret,)))
    return cases


_PLAIN, _HEXED = noise(24, 901), noise(32, 902, _HEX)
# Texts whose secret is a run of letters and digits.
_WITH_PLAIN = [
    "API key: {}",
    "apiKey: '{}'",
    '"client_secret": "{}"',
    "client_secret={}&grant_type=client_credentials",
    "Authorization: {}",
    '"authorization": "Bearer {}"',
    "Bearer {}",
    "Cookie: sessionid={}; theme=dark",
    "Set-Cookie: sid={}; Path=/; HttpOnly",
    "csrftoken={}",
    "https://example.com/cb?code={}&state=abc",
    "https://example.com/?access_token={}",
    "https://example.com/?api%5Fkey={}",
    "https://acct.blob.core.windows.net/c?sv=2022&sig={}",
    "the secret key is {}",
    "the API key for the billing service is {}",
    "your access token is {}, valid for an hour",
    "secret = {}",
    "Use {} as the API key.",
    "session_id: {}",
    "token: {}",
    "refresh_token: '{}'",
    'headers = {{"X-API-KEY": "{}"}}',
    "{{'Authorization': 'Bearer {}'}}",
    "(b'authorization', b'Bearer {}')",
    "https://oauth2:{}@gitlab.com/a/b.git",
    "client secret = {}",
    "--api-key {}",
    "OPENAI_API_KEY={}",
    "set OPENAI_API_KEY to {}",
    "API_KEY:\n  {}",
    "api key → {}",
]
# Texts whose secret is a hexadecimal number.
_WITH_HEX = [
    "api_key={}",
    "X-Api-Key: {}",
    "x-auth-token: {}",
    "token {}",
    "encryption_key: {}",
    "private_key={}",
    "apikey={}",
    "webhook secret: {}",
    "-H 'X-Auth: {}'",
    "--token={}",
]
# Texts with a secret of their own.
_WITH_OWN = [
    ("AWS_SECRET_ACCESS_KEY={}", noise(38, 903) + "/+"),
    ("aws_secret_access_key = {}", noise(40, 904)),
    ("Authorization: Token {}", noise(40, 905, _HEX)),
    ("Proxy-Authorization: Basic {}", base64.b64encode(b"alice:hunter2").decode()),
    ("Basic {}", base64.b64encode(b"alice:wonderland").decode()),
    ("bearer {}", _jwt(906)),
    ("{}", _jwt(907)),
    ("https://b.s3.amazonaws.com/k?X-Amz-Signature={}", noise(64, 908, _HEX)),
    ("DefaultEndpointsProtocol=https;AccountName=a;AccountKey={};EndpointSuffix=core", _PLAIN + "=="),
    ("Endpoint=sb://x/;SharedAccessKeyName=Root;SharedAccessKey={}", _PLAIN + "="),
    ("SECRET_KEY = '{}'", "django-" + "insecure-" + noise(40, 909)),
    ("hooks at https://hooks.slack.com/services/{}", "T0AB12CD3/B0AB12CD3/" + _PLAIN),
    ("https://discord.com/api/webhooks/{}", "123456789012345678/" + _PLAIN),
    ("bot {}", "123456789:AA" + noise(33, 910)),
    ("hash {}", "$2b$12$" + noise(53, 911)),
    ("hash {}", "$argon2id$v=19$m=65536,t=3,p=4$" + noise(22, 912) + "$" + noise(43, 913)),
    ("stored as {}", "pbkdf2_sha256$600000$" + noise(22, 914) + "$" + noise(43, 915) + "="),
    ("OTP: {}", "493817"),
    ("Your verification code is {}.", "493817"),
    ("my PIN is {}", "4821"),
    ("the unlabelled {} leaked", noise(44, 916) + "x7Q"),
    ("jwt={}", _jwt(917)),
    ("recovery phrase: {}", "ladder ozone tiger pistol unveil marble copper gospel velvet window sudden arctic"),
    ("passphrase: {}", "correct horse battery staple"),
    ("password: {}", "correct horse battery staple"),
    ("redis://:{}@cache:6379/0", "hunter22x"),
    ("amqp://guest:{}@mq/", "gu3stpass"),
    ("ftp://alice:{}@host/file", "p/a/ss9"),
]


def _labelled() -> list[Case]:
    pairs = [*((text, _PLAIN) for text in _WITH_PLAIN), *((text, _HEXED) for text in _WITH_HEX), *_WITH_OWN]
    return [Case(text.format(secret), (secret,)) for text, secret in pairs]


def _pem() -> list[Case]:
    body = "\n".join(noise(64, 950 + line, _ALNUM + "+/") for line in range(6))
    dashes = "-" * 5
    whole = f"{dashes}BEGIN RSA PRIVATE KEY{dashes}\n{body}\n{dashes}END RSA PRIVATE KEY{dashes}"
    lines = tuple(body.split("\n"))
    return [
        Case(f"The key:\n{whole}\nkeep it", lines),
        Case(whole[:200], (lines[0], lines[1])),
        Case('{"private_key": "' + whole.replace("\n", "\\n") + '"}', lines),
        Case(whole.replace("RSA PRIVATE", "OPENSSH PRIVATE"), lines),
        Case("<REDACTED>Bob Stone, room 12</REDACTED> said so", ("Bob Stone", "room 12")),
        Case("seen by <REDACTED>Bob Stone and nobody else", ("Bob Stone",)),
        Case("cut off: sk" + "-proj-" + noise(5, 960), (noise(5, 960),)),
    ]


SECRETS = [*_issued(), *_passwords(), *_labelled(), *_pem()]
