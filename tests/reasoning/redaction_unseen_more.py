"""Secrets where people really leave them: a fourth set, written after the rules were mended for the third.

``{}`` stands for the secret of its text. Prefixes are put together from parts, so that no file holds a secret.
"""

from __future__ import annotations

import base64
import string

from tests.reasoning.redaction_corpus import Case, noise

_ALNUM = string.ascii_letters + string.digits
_UPPER = string.ascii_uppercase + string.digits
_HEX = "0123456789abcdef"
_PICKED = ["Gr4nite-Otter", "silverBirch19", "Lagoon!75", "m0untain.Goat", "Kestrel_2204", "qu1etRiver#", "Feuer*werk8"]


def _key(seed: int, length: int = 32, alphabet: str = _ALNUM) -> str:
    return noise(length, 60_000 + seed, alphabet)


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _jwt(seed: int) -> str:
    head = _b64('{"alg":"PS256","kid":"2"}').rstrip("=")
    return f"{head}.eyJpc3MiOiJ{_key(seed, 50)}.{_key(seed + 1, 342)}"


# Texts whose secret is a password that somebody picked.
_WITH_PASSWORD = [
    "# .env.staging\nREDIS_HOST=cache\nREDIS_PASS={}\nREDIS_DB=0\n",
    "KEYCLOAK_ADMIN=admin\nKEYCLOAK_ADMIN_PASSWORD={}",
    "HTTP_PROXY=http://joe:{}@proxy.corp.example:3128",
    "grafana:\n  adminUser: admin\n  adminPassword: {}\n",
    "smtp:\n  host: mail.example.com\n  auth: {user: relay, pass: '{}'}\n",
    "services:\n  db:\n    environment:\n      POSTGRES_PASSWORD: {}\n",
    "win_domain_membership:\n    domain_admin_user: joe\n    domain_admin_password: {}\n",
    '{"username": "joe", "password": "{}", "remember": true}',
    '{"connectionString": "Server=db;Database=crm;User Id=app;Password={};"}',
    '{"level":"debug","msg":"login","user":"joe","pwd":"{}"}',
    "curl -sS --user joe:'{}' https://files.example.com/export.csv",
    "curl --data 'user=joe&pass={}' https://example.com/session",
    "curl -H 'X-Password: {}' https://example.com",
    "wget --user=joe --password='{}' https://example.com/x.iso",
    "mariadb -h db -u root --password={} -e 'select 1'",
    "mongodb://svc:{}@db-a:27017,db-b:27017/app?replicaSet=rs0",
    "oracle+cx_oracle://app:{}@db.example.com:1521/?service_name=ORCL",
    "clickhouse://default:{}@ch.internal:9000/events",
    "ldap://cn=admin,dc=example,dc=com:{}@ldap.example.com",
    "Driver={PostgreSQL Unicode};Server=db;Uid=app;Pwd={};",
    "INFO: running ansible with ANSIBLE_VAULT_PASSWORD={}",
    "> Task :deploy\n  using sonar.password={}\n  BUILD FAILED",
    "error: authentication failed for joe with password '{}' on db-1",
    'resource "azurerm_sql_server" "x" {\n  administrator_login_password = "{}"\n}',
    'locals {\n  db_user = "app"\n  db_pass = "{}"\n}',
    '  - master_password = "Old" -> "{}"',
    "java.sql.SQLException: Access denied (url=jdbc:mariadb://db/crm?user=app&password={})",
    "sqlalchemy.exc.OperationalError: (postgresql+psycopg://app:{}@db/crm) timeout",
    "KeyError at /login: POST={'username': 'joe', 'password': '{}'}",
    "Config(host='db', user='app', password='{}', port=5432)",
    '#<Mail::Settings user_name="relay" password="{}">',
    'array(2) { ["user"]=> "joe" ["password"]=> "{}" }',
    "struct Login { name: joe, password: {} }",
    "Hi Tom, the VPN password is {} until Friday, then it changes.",
    "Your temporary password for the portal: {}",
    "Login: joe@example.com\nPassword: {}\nURL: https://portal.example.com",
    "I changed the root password on db-2 to {}.",
    "if it asks for a passphrase, use {}",
    "user joe, pass {}, port 2222",
    "The zip is encrypted, password {}.",
    "(pw: {})",
    "Passwort fürs Gäste-WLAN: {}",
    "Das Kennwort von Tom lautet {}, bitte danach ändern.",
    "Tom hat als Kennwort {} gesetzt.",
    "Le mot de passe administrateur est {}.",
    "Identifiant : tom / mot de passe : {}",
    "La contraseña del servidor es {}",
    "usuario: tom, contraseña: {}",
    "La password del database è {}",
    "A palavra-passe é {}",
    "Wachtwoord voor de server: {}",
    "Hasło: {}",
    "Пароль для входа: {}",
    "Логин tom, пароль {}",
    "Salasana: {}",
    "Jelszó: {}",
    "密码为{}，请勿外传。",
    "パスワード：{}",
    "Parola contului este {}",
    "Kullanıcı adı tom, şifre {}",
    "kubectl create secret generic smtp --from-literal=smtp-password={}",
    "htpasswd -bc .htpasswd joe {}",
    "echo 'joe:{}' | chpasswd",
    "net user joe {} /add",
    'New-LocalUser joe -Password (ConvertTo-SecureString "{}" -AsPlainText -Force)',
    "openssl pkcs12 -export -out a.p12 -passout pass:{}",
    '<wsse:Password Type="PasswordText">{}</wsse:Password>',
    "<Setting name='AdminPwd'><Value>{}</Value></Setting>",
    "spring.mail.username=relay\nspring.mail.password={}\n",
    "wifi: ssid=attic wpa-psk {}",
]

# Texts whose secret a machine made; each has its own.
_WITH_KEY = [
    ("DJANGO_SECRET={}", _key(1, 50)),
    ("SESSION_SECRET='{}'", _key(2, 44)),
    ("NEXTAUTH_SECRET={}\nNEXTAUTH_URL=https://example.com", _key(3, 43) + "="),
    ("ALGOLIA_ADMIN={}", _key(4, 32, _HEX)),
    ("MAPBOX={}", "sk" + ".eyJ1IjoiYWNtZSIsImEiOi" + _key(5, 22) + "." + _key(6, 22)),
    ("data:\n  token: {}\nkind: Secret\n", _b64("sess-4711-qwert-nine")),
    ("imagePullSecrets:\n- auth: {}\n", _b64("ci:Gr4nite-Otter")),
    ("users:\n- name: admin\n  user:\n    client-key-data: {}\n", "LS0tLS1CRUdJTiBSU0Eg" + _key(7, 200)),
    ("users:\n- name: dev\n  user:\n    token: {}\n", _key(8, 64)),
    ('{"type":"service_account","private_key_id":"{}"}', _key(9, 40, _HEX)),
    ('{"refresh_token":"{}","scope":"openid"}', "1//0g" + _key(10, 80)),
    ('{"name":"STRIPE_KEY","value":"{}"}', "sk" + "_live_51" + _key(11, 90)),
    ('{"headers":[["authorization","Bearer {}"]]}', _key(12, 64)),
    ("curl -H 'Authorization: GenieKey {}' https://api.opsgenie.com/v2/alerts", _key(13, 36)),
    ("curl -H 'X-Figma-Token: {}' https://api.figma.com/v1/me", "figd" + "_" + _key(14, 40)),
    ("curl -u {}: https://api.stripe.com/v1/charges", "sk" + "_test_" + _key(15, 24)),
    ("curl https://api.example.com/v2?apikey={}", _key(16, 32, _HEX)),
    ("curl -H 'Cookie: auth_session={}' https://example.com", _key(17, 40)),
    ('curl -X POST -d \'{"client_secret":"{}"}\' https://id.example.com', _key(18, 40)),
    ("Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=r;SharedAccessKey={}", _key(19, 43) + "="),
    ("https://acme.blob.core.windows.net/b?sv=2023-01-03&sp=r&sig={}", _key(20, 43) + "%3D"),
    ("https://storage.googleapis.com/b/o?X-Goog-Signature={}", _key(21, 256, _HEX)),
    (
        "https://hooks.slack.com/services/{}",
        "T0" + _key(22, 8, _UPPER) + "/B0" + _key(23, 8, _UPPER) + "/" + _key(24, 24),
    ),
    (
        "https://acme.webhook.office.com/webhookb2/{}",
        _key(25, 36) + "@" + _key(26, 36) + "/IncomingWebhook/" + _key(27),
    ),
    ("https://discord.com/api/webhooks/{}", "1122334455667788990/" + _key(28, 68)),
    ("##vso[task.setvariable variable=TOKEN]{}", _key(29, 52)),
    ("Run npm config set //npm.pkg.github.com/:_authToken={}", "gh" + "p_" + _key(30, 36)),
    ("Cloning into 'app'... remote https://x-token-auth:{}@bitbucket.org/acme/app", "ATCTT3" + _key(31, 60)),
    ("  TWINE_PASSWORD: {}", "pypi" + "-AgEIcHlwaS5vcmc" + _key(32, 80)),
    ("::set-output name=jwt::{}", _jwt(33)),
    ("WebSocket handshake Sec-WebSocket-Protocol: bearer, {}", _jwt(35)),
    ("Set-Cookie: token={}; Max-Age=3600", _jwt(37)),
    ("decoded from {} (expired)", _jwt(39)),
    ("Cookie: _ga=GA1.2.3; laravel_session={}", _b64('{"iv":"x","value":"' + _key(41, 60) + '"}')),
    ("Cookie: ASP.NET_SessionId={}", _key(42, 24, string.ascii_lowercase + string.digits)),
    ("csrftoken={}; Path=/", _key(43, 64)),
    ("Authorization: Basic {}", _b64("joe:silverBirch19")),
    ("proxy-authorization: Basic {}", _b64("corp\\joe:Lagoon!75")),
    ("joe:{}:1001:1001::/home/x:/bin/sh", "$y$j9T$" + _key(44, 22) + "$" + _key(45, 43)),
    ("admin:{}", "{SSHA}" + _key(46, 36) + "=="),
    (
        "pg_authid rolpassword {}",
        "SCRAM-SHA-256$4096:" + _key(47, 22) + "==$" + _key(48, 43) + "=:" + _key(49, 43) + "=",
    ),
    ("WPA: {}", _key(50, 64, _HEX)),
    ('{"kty":"oct","k":"{}"}', _key(51, 43)),
    ("TOTP seed otpauth://totp/acme:joe?secret={}&issuer=acme", _key(52, 32, string.ascii_uppercase + "234567")),
    ('provider "aws" {\n  secret_key = "{}"\n}', _key(53, 40)),
    ('data.vault_generic_secret.x.data["api_token"] = "{}"', _key(54, 40)),
    ("requests.exceptions.HTTPError: 401 for url: https://x.example/api?access_token={}", _key(55, 48)),
    ("AxiosError { config: { headers: { 'x-api-key': '{}' } } }", _key(56, 40)),
    ("grpc: metadata {authorization:[Bearer {}]}", _key(57, 60)),
    ("botocore: credentials ReadOnlyCredentials(access_key='x', secret_key='{}', token=None)", _key(58, 40)),
    ("new relic {}", "NRAK" + "-" + _key(59, 27, _UPPER)),
    ("datadog api key {}", _key(60, 32, _HEX)),
    ("twilio auth token {}", _key(61, 32, _HEX)),
    ("sendgrid: {}", "SG" + "." + _key(62, 22) + "." + _key(63, 43)),
    ("mailgun {}", "key" + "-" + _key(64, 32, _HEX)),
    ("digitalocean {}", "dop" + "_v1_" + _key(65, 64, _HEX)),
    ("linode token {}", _key(66, 64, _HEX)),
    ("cloudflare: {}", "v1.0-" + _key(67, 24, _HEX) + "-" + _key(68, 146, _HEX)),
    ("hetzner cloud token: {}", _key(69, 64)),
    (
        "scaleway secret {}",
        f"{_key(70, 8, _HEX)}-{_key(71, 4, _HEX)}-4{_key(72, 3, _HEX)}-8{_key(73, 3, _HEX)}-{_key(74, 12, _HEX)}",
    ),
    ("okta {}", "00" + _key(75, 40)),
    ("typeform {}", "tfp" + "_" + _key(76, 44)),
    ("planetscale {}", "pscale" + "_pw_" + _key(77, 43)),
    ("neon {}", "napi" + "_" + _key(78, 60)),
    ("vercel {}", "vcp" + "_" + _key(79, 56)),
    ("render {}", "rnd" + "_" + _key(80, 28)),
    ("posthog {}", "phx" + "_" + _key(81, 43)),
    (
        "langfuse {}",
        "sk"
        + "-lf-"
        + _key(82, 8, _HEX)
        + "-"
        + _key(83, 4, _HEX)
        + "-"
        + _key(84, 4, _HEX)
        + "-"
        + _key(85, 12, _HEX),
    ),
    ("groq {}", "gsk" + "_" + _key(86, 52)),
    ("perplexity {}", "pplx" + "-" + _key(87, 48)),
    ("elevenlabs {}", "sk" + "_" + _key(88, 48, _HEX)),
    ("exoscale {}", "EXO" + _key(89, 24, _HEX)),
    ("nuget {}", "oy2" + _key(90, 43, string.ascii_lowercase + string.digits)),
    ("terraform cloud {}", _key(91, 14) + ".atlas" + "v1." + _key(92, 67)),
    ("age key {}", "AGE-SECRET" + "-KEY-1" + _key(93, 58, _UPPER)),
    (
        "snyk token: {}",
        f"{_key(94, 8, _HEX)}-{_key(95, 4, _HEX)}-4{_key(96, 3, _HEX)}-9{_key(97, 3, _HEX)}-{_key(98, 12, _HEX)}",
    ),
    ("jenkins api token is {}", "11" + _key(99, 32, _HEX)),
    ("Der Zugangstoken für das Wiki ist {}", _key(100, 40)),
    ("Il token API è {}", _key(101, 40)),
    ("La clave API es {}", _key(102, 40)),
    ("clé secrète : {}", _key(103, 40)),
    ("APIキー：{}", _key(104, 40)),
]

_BODY = [noise(64, 61_000 + line, _ALNUM + "+/") for line in range(4)]
_RULE = "-" * 5


def _pem(kind: str, newline: str = "\n", start: str = "") -> str:
    return newline.join(start + line for line in (f"{_RULE}BEGIN {kind}{_RULE}", *_BODY, f"{_RULE}END {kind}{_RULE}"))


_KEY_BLOCKS = [
    '"private_key": "' + _pem("PRIVATE KEY", "\\\\n") + '"',
    "  key: |\n" + _pem("RSA PRIVATE KEY", "\n", "    "),
    _pem("DSA PRIVATE KEY", "\n", "+"),
    _pem("ENCRYPTED PRIVATE KEY", "%0A"),
    _pem("PGP PRIVATE KEY BLOCK", "\n\n"),
    "// " + _pem("EC PRIVATE KEY", "\n// "),
    _pem("RSA PRIVATE KEY", "\n").replace(f"{_RULE}END", "cut"),
    "<key>\n" + _pem("PRIVATE KEY") + "\n</key>\n<tls-auth>",
]

SECRETS = [Case(text.replace("{}", _PICKED[at % 7]), (_PICKED[at % 7],)) for at, text in enumerate(_WITH_PASSWORD)]
SECRETS += [Case(text.replace("{}", secret), (secret,)) for text, secret in _WITH_KEY]
SECRETS += [Case(text, tuple(_BODY)) for text in _KEY_BLOCKS]
