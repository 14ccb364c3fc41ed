"""Secrets where people really leave them: a fifth set, written after the rules were mended for the fourth.

``{}`` stands for the secret of its text. Prefixes are put together from parts, so that no file holds a secret.
"""

from __future__ import annotations

import base64
import string

from tests.reasoning.redaction_corpus import Case, noise

_ALNUM = string.ascii_letters + string.digits
_UPPER = string.ascii_uppercase + string.digits
_HEX = "0123456789abcdef"
_PICKED = ["Amber-Falls3", "frostyPine27", "Comet!901", "gl4cier.Bay", "Walnut_1976", "sn0wyOwl?", "Hafen%licht5"]


def _key(seed: int, length: int = 32, alphabet: str = _ALNUM) -> str:
    return noise(length, 70_000 + seed, alphabet)


def _uuid(seed: int) -> str:
    return "-".join(_key(seed + at, length, _HEX) for at, length in enumerate((8, 4, 4, 4, 12)))


# Texts whose secret is a password that somebody picked.
_WITH_PASSWORD = [
    "export DB_URL=postgres://shop:{}@pg.internal/shop\nexport DEBUG=1",
    "JENKINS_ADMIN_PASS: {}\nJENKINS_URL: http://ci.internal\n",
    "SPRING_DATASOURCE_PASSWORD={}",
    "docker run -d -e MARIADB_ROOT_PASSWORD={} mariadb:11",
    "elasticsearch.username: kibana\nelasticsearch.password: {}\n",
    "[mysqld]\n[client]\nuser = backup\npassword = {}\nhost = db\n",
    "rabbitmqctl change_password joe {}",
    "vault kv put secret/db username=app password={}",
    "redis-cli -h cache.internal --pass {} info",
    "psql postgresql://joe:{}@db/app -c 'select 1'",
    "aws rds create-db-instance --master-username admin --master-user-password {}",
    "az sql server create -n x -u joe -p {}",
    "gcloud sql users set-password root --host=% --instance=x --password={}",
    "createuser: CREATE ROLE joe LOGIN PASSWORD '{}';",
    "GRANT ALL ON *.* TO 'joe'@'%' IDENTIFIED BY '{}';",
    'curl -X POST https://x.example/login -d \'{"email":"j@x.example","password":"{}"}\'',
    "curl ftp://joe:{}@ftp.example.com/in/ -T a.csv",
    "sftp> login joe / {}",
    "DEBUG:paramiko:connecting joe@db with password={}",
    'ERROR [auth] bad password "{}" for user joe from 10.1.1.1',
    "ValueError: invalid login ('joe', password='{}')",
    'at Login.submit (pass = "{}", user = "joe")',
    "Traceback: db_config = {'user': 'joe', 'passwd': '{}', 'host': 'db'}",
    "User{id=7, name='joe', password='{}'}",
    "&{Host:db Port:5432 User:joe Password:{} SSL:off}",
    'output "db_password" {\n  value = "{}"\n}',
    'module.db.password: "" => "{}"',
    'admin_password           = "{}"\nadmin_username           = "joe"',
    "apiVersion: v1\nkind: Secret\nstringData:\n  password: {}\n",
    "helm install pg bitnami/postgresql --set auth.postgresPassword={}",
    "WIFI:T:WPA;S:attic;P:{};;",
    "nmcli dev wifi connect attic password {}",
    "The door code app wants the password {} on first start.",
    "Please log in with the user demo and the password {}.",
    "Use joe / {} for the test system.",
    "As agreed the new master password will be {} from Monday.",
    "FYI root pw on the NAS = {}",
    "pass phrase for the key file: {}",
    "Mein neues Passwort lautet übrigens {}.",
    "Zugang: Benutzer tom, Passwort {}",
    "Das WLAN heißt Dach, das Passwort dazu {}.",
    "Voici tes accès : tom / mot de passe {}",
    "Tu contraseña temporal es: {}",
    "La password dell'account è: {}",
    "Senha: {}",
    "Nowe hasło to: {}",
    "Nový heslo: {}",
    "Lösenord: {}",
    "Ny adgangskode: {}",
    "Временный пароль: {}",
    "Пароль: «{}»",
    "Κωδικός: {}",
    "临时密码：{}",
    "初期パスワードは「{}」です",
    "임시 비밀번호: {}",
    "| system | login | password |\n|---|---|---|\n| crm | tom | {} |\n| erp | eva | required |",
    '<connectionStrings><add connectionString="Server=x;User=sa;Password={};" /></connectionStrings>',
    '<bean><property name="password" value="{}"/></bean>',
    "requirepass {}",
    "ssh joe@host # password: {}",
]

# Texts whose secret a machine made; each has its own.
_WITH_KEY = [
    ("ENCRYPTION_KEY={}", _key(1, 64, _HEX)),
    ("JWT_SIGNING_SECRET={}", _key(2, 48)),
    ("OPENAI_KEY={}", "sk" + "-proj-" + _key(3, 120)),
    ("TELEGRAM_TOKEN={}", "6123456789:AAE" + _key(4, 32)),
    ("PUSHER_APP_SECRET={}", _key(5, 20, _HEX)),
    ("SENTRY_DSN=https://{}@o4501.ingest.sentry.io/450", _key(6, 32, _HEX)),
    ("cloudinary://123456789012345:{}@acme", _key(7, 27)),
    ("amqps://acme:{}@fish.rmq.cloudamqp.com/acme", _key(8, 32)),
    ("rediss://:{}@eu1-x.upstash.io:6379", _key(9, 48)),
    ("npm ERR! //registry.npmjs.org/:_authToken={}", "npm" + "_" + _key(10, 36)),
    ("pip: https://joe:{}@pkgs.dev.azure.com/acme/_packaging", _key(11, 52, string.ascii_lowercase + "234567")),
    ("[sentry]\ntoken = {}\n", "sntrys" + "_eyJ" + _key(12, 120)),
    ("hub: https://{}:x-oauth-basic@github.com/acme/x", "gh" + "o_" + _key(13, 36)),
    ("remote: Invalid token {}", "gl" + "pat-" + _key(14, 20)),
    ("security: found {} in HEAD~3", "github" + "_pat_11AB" + _key(15, 70)),
    ("slack says invalid_auth for {}", "xox" + "b-1234567890-" + _key(16, 24)),
    ("AWS: {}", "AK" + "IA" + _key(17, 16, _UPPER)),
    ("aws_session_token={}", "FwoGZXIvYXdzE" + _key(18, 180)),
    ('"SecretAccessKey": "{}"', _key(19, 40)),
    ("gcp: {}", "AI" + "za" + _key(20, 35)),
    ("oauth: {}", "ya29" + ".a0" + _key(21, 120)),
    ("GOOGLE_CLIENT_SECRET={}", "GOC" + "SPX-" + _key(22, 28)),
    ("azure storage: DefaultEndpointsProtocol=https;AccountName=x;AccountKey={}", _key(23, 86) + "=="),
    ("ibm cloud api key: {}", _key(24, 44)),
    ("oci fingerprint ok, pass_phrase={}", _key(25, 16)),
    ("huggingface {}", "hf" + "_" + _key(26, 34, string.ascii_letters)),
    ("anthropic {}", "sk" + "-ant-api03-" + _key(27, 93)),
    ("stripe {}", "rk" + "_live_51" + _key(28, 60)),
    ("shopify {}", "shp" + "pa_" + _key(29, 32, _HEX)),
    ("notion {}", "ntn" + "_" + _key(30, 46)),
    ("linear {}", "lin" + "_api_" + _key(31, 40)),
    ("asana 1/1201234567890123:{}", _key(32, 32, _HEX)),
    ("jira token {}", "ATATT" + "3xFfGF0" + _key(33, 180)),
    ("postman {}", "PMAK" + "-" + _key(34, 24, _HEX) + "-" + _key(35, 34, _HEX)),
    ("databricks {}", "dapi" + _key(36, 32, _HEX) + "-3"),
    ("grafana {}", "glsa" + "_" + _key(37, 32) + "_" + _key(38, 8, _HEX)),
    ("vault {}", "hvs" + "." + _key(39, 90)),
    ("docker {}", "dckr" + "_pat_" + _key(40, 27)),
    ("tailscale {}", "tskey" + "-auth-k" + _key(41, 11) + "-" + _key(42, 32)),
    ("mapbox {}", "sk" + ".eyJ1Ijoi" + _key(43, 60) + "." + _key(44, 22)),
    ("plaid {}", "access" + "-production-" + _uuid(45)),
    ("heroku api key is {}", _uuid(50)),
    ("x-api-key: {}", _uuid(55)),
    ("Subscription key {}", _key(60, 32, _HEX)),
    ("webhook signing secret: {}", "whsec" + "_" + _key(61, 32)),
    ("Cookie: __Secure-next-auth.session-token={}", "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0.." + _key(62, 90)),
    ("Set-Cookie: JSESSIONID={}; HttpOnly", _key(63, 32, _UPPER)),
    ("Authorization: Bearer {}\r\nHost: x", _key(64, 30)),
    ('authorization: OAuth oauth_token="{}", oauth_nonce="x"', _key(65, 50)),
    ("Authorization: Negotiate {}", "YII" + _key(66, 200)),
    ("'X-Auth-Token' => '{}'", _key(67, 64, _HEX)),
    ('req.headers["x-goog-api-key"] = "{}"', "AI" + "za" + _key(68, 35)),
    ("https://maps.example.com/tile?access_token={}", "pk" + ".eyJ1Ijoi" + _key(69, 60) + "." + _key(70, 22)),
    ("https://x.example/invite?t=1&signature={}", _key(71, 64, _HEX)),
    ("https://app.example/reset-password/{}", _key(72, 43)),
    ("token: !!binary |\n  {}", base64.b64encode(_key(73, 45).encode()).decode()),
    ("recovery codes:\n{}\n", f"{_key(74, 5, _HEX)}-{_key(75, 5, _HEX)}"),
    ("Your login code: {}", "482913"),
    ("Ihr Bestätigungscode lautet {}", "739154"),
    ("seed phrase: {}", "orbit lemon cradle fossil timber velvet anchor maple cousin ribbon hollow drift"),
]

SECRETS = [Case(text.replace("{}", _PICKED[at % 7]), (_PICKED[at % 7],)) for at, text in enumerate(_WITH_PASSWORD)]
SECRETS += [Case(text.replace("{}", secret), (secret,)) for text, secret in _WITH_KEY]
