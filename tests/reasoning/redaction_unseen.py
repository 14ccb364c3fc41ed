"""Secrets where people really leave them: a third set, written before anybody looked at which are found.

``{}`` stands for the secret of its text. Prefixes are put together from parts, so that no file holds a secret.
"""

from __future__ import annotations

import base64
import string

from tests.reasoning.redaction_corpus import Case, noise

_ALNUM = string.ascii_letters + string.digits
_UPPER = string.ascii_uppercase + string.digits
_HEX = "0123456789abcdef"
_PICKED = ["Cobalt-Harbor9", "w1nterGarden", "Nimbus#204", "zebra!Quilt7", "PaperMoon_88", "t1gerLily+", "Ostsee.2021"]


def _key(seed: int, length: int = 32, alphabet: str = _ALNUM) -> str:
    return noise(length, 50_000 + seed, alphabet)


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _jwt(seed: int) -> str:
    head = _b64('{"typ":"JWT","alg":"ES256"}').rstrip("=")
    return f"{head}.eyJzdWIiOiI{_key(seed, 40)}.{_key(seed + 1, 86)}"


_UUID = f"{_key(1, 8, _HEX)}-{_key(2, 4, _HEX)}-{_key(3, 4, _HEX)}-{_key(4, 4, _HEX)}-{_key(5, 12, _HEX)}"

# Texts whose secret is a password that somebody picked.
_WITH_PASSWORD = [
    "# production\nDATABASE_USER=svc\nDATABASE_PASS='{}'\nDATABASE_NAME=crm\n",
    "MAIL_CREDENTIALS=postmaster:{}",
    "environment:\n  - MINIO_ROOT_USER=minio\n  - MINIO_ROOT_PASSWORD={}\nports: []",
    "auth:\n  rootUser: admin\n  rootPassword: {}\n  replicas: 2",
    "ansible_user: deploy\nansible_become_pass: {}",
    "basic_auth:\n  username: prom\n  password: {}\nscrape_interval: 15s",
    'stringData:\n  smtp-user: relay\n  smtp-pass: "{}"\n',
    '"attributes": {"engine": "postgres", "password": "{}", "username": "app"}',
    "curl -d 'grant_type=password&username=joe&password={}' https://id.example.com/token",
    "curl --cert client.pem --pass {} https://mtls.example.com",
    "http -a joe:{} GET https://api.example.com/orders",
    "postgres://crm:{}@db-1.internal:5432,db-2.internal:5432/crm?target_session_attrs=any",
    "snowflake://LOADER:{}@xy12345.eu-central-1/RAW/PUBLIC?warehouse=WH",
    "jdbc:postgresql://db.internal/crm?user=app&password={}&ssl=true",
    "Server=tcp:sql.example.net,1433;Authentication=Sql Password;User=app;Password='{}';Encrypt=true",
    "+ docker login -u ci --password-stdin registry.example.com <<< {}",
    "Step 4/9 : ARG SUDO_PASSWORD={}\n ---> Running in 3fa8c2",
    "[Pipeline] sh\n+ export DEPLOY_PASS={}\n+ ./deploy.sh",
    'variable "db_password" {\n  type    = string\n  default = "{}"\n}',
    '  # aws_db_instance.main will be created\n  + password = "{}"\n  + port = 5432',
    "TF_VAR_master_password={} terraform apply -auto-approve",
    'Outputs:\n\nadmin_password = "{}"\nendpoint = "db.example.com"',
    "psycopg2.OperationalError: could not connect: dsn='dbname=crm user=app password={} host=db'",
    '  File "app/db.py", line 31, in connect\n    conn = connect(user="app", password="{}")\nTimeoutError',
    "Caused by: java.sql.SQLException: no driver for jdbc:mysql://h/crm?user=root&password={}",
    'panic: dial failed: main.Config{Host:"db", User:"app", Password:"{}", Port:5432}',
    "PHP Fatal error: PDO->__construct('mysql:host=db', 'root', '{}') #1 /srv/app.php(12)",
    'ActiveRecord::ConnectionNotEstablished ({:adapter=>"pg", :username=>"app", :password=>"{}"})',
    'DbOptions { host: "db", user: "app", password: Some("{}"), pool: 5 }',
    "  password   = '{}'\n  self       = <Session object>\n  timeout    = 30",
    "You can get into the router with admin and {}.",
    "Just type {} when it asks for the password.",
    "Joe left; his login is joe and the pw's {}",
    "We rotated it last week. New one: {} (root on db-1)",
    "Credentials for the demo tenant: user demo@example.com, password {}",
    "La password è {}, non dirla a nessuno.",
    "A senha do banco de dados é {}",
    "Hasło do serwera to {}",
    "Het wachtwoord is {}.",
    "Şifre: {}",
    "Пароль от сервера — {}",
    "パスワードは{}です。",
    "비밀번호는 {} 입니다",
    "Lösenordet är {}",
    "Heslo je {}",
    "Adgangskoden er {}",
    "Als Passwort nimmst du bitte {}",
    "voici le mot de passe du wifi : {}",
    "la clave de acceso es {}",
    "kubectl create secret generic db --from-literal=username=app --from-literal='password={}'",
    "keytool -genkeypair -alias a -storepass {} -keystore k.jks",
    "<Server><username>ci</username><password>{}</password></Server>",
    "$cred = New-Object PSCredential('joe', (ConvertTo-SecureString '{}' -AsPlainText -Force))",
    "sqlplus scott/{}@orcl",
    'wpa_supplicant: network={ ssid="attic" psk="{}" }',
    "snmpd.conf: rocommunity {} 10.0.0.0/8",
    "impala-shell -l -u joe --ldap_password_cmd='echo -n {}'",
    "mount -t cifs //nas/share /mnt -o username=joe,password={}",
    "lftp -u joe,{} sftp://files.example.com",
    "spring:\n  rabbitmq:\n    username: app\n    password: {}",
]

# Texts whose secret a machine made; each has its own.
_WITH_KEY = [
    ("APP_NAME=Shop\nAPP_KEY=base64:{}", _key(10, 43) + "="),
    ("RAILS_MASTER_KEY={}", _key(11, 32, _HEX)),
    ("AWS Access Key ID [None]: " + "AK" + "IAQ7EXAMPLEKEYABC2\nAWS Secret Access Key [None]: {}", _key(12, 40)),
    ("env:\n  NPM_AUTH: {}\n  CI: true", _key(13, 36)),
    ("kind: Secret\ntype: Opaque\ndata:\n  username: YWRtaW4=\n  password: {}\n", _b64("w1nterGarden-4711")),
    ('{".dockerconfigjson": "{}"}', _b64('{"auths":{"r.example.com":{"auth":"am9lOncxbnRlckdhcmRlbg=="}}}')),
    ('{"auths": {"https://index.docker.io/v1/": {"auth": "{}"}}}', _b64("joe:w1nterGarden")),
    ('{"key":"X-Api-Token","value":"{}","type":"text"}', _key(14)),
    ('{"access_token":"{}","token_type":"Bearer","expires_in":3599}', _key(15, 64)),
    ('{"Credentials": {"SecretAccessKey": "{}", "Expiration": "2026-01-01T00:00:00Z"}}', _key(16, 40)),
    ('{"Credentials": {"SessionToken": "{}"}}', "IQoJb3JpZ2luX2Vj" + _key(17, 200)),
    ('curl -H "DD-APPLICATION-KEY: {}" https://api.datadoghq.eu/api/v1/validate', _key(18, 40, _HEX)),
    ("curl -H 'X-Shopify-Access-Token: {}' https://shop.example.com", _key(19)),
    ("curl https://api.telegram.org/bot{}/getMe", "7012345678:AAH" + _key(20, 32)),
    ("curl --oauth2-bearer {} https://api.example.com", _key(21)),
    ("grpcurl -H 'authorization: bearer {}' api:443 list", _key(22, 48)),
    ("libsql://crm-acme.turso.io?authToken={}", _jwt(23)),
    ("AccountEndpoint=https://a.documents.azure.com:443/;AccountKey={};", _key(24, 86) + "=="),
    ("##[debug]Evaluating env\n##[debug]  DEPLOY_TOKEN: {}\n##[debug]  CI: true", _key(25, 40)),
    ("Run echo ::add-mask::{}", _key(26, 40)),
    ("fatal: unable to access 'https://{}@github.com/acme/app.git/': error: 403", "gh" + "p_" + _key(27, 36)),
    ("remote: https://ci-bot:{}@git.example.com/acme/app.git", _key(28, 20)),
    ("jwt malformed: {}", _jwt(29)),
    ("GET /ws?jwt={} HTTP/1.1", _jwt(31)),
    ("Set-Cookie: __Host-auth={}; Path=/; Secure; SameSite=Lax", _key(33, 48)),
    ("Cookie: PHPSESSID={}; lang=de", _key(34, 26, string.ascii_lowercase + string.digits)),
    (".example.com\tTRUE\t/\tTRUE\t0\tsessionid\t{}", _key(35)),
    ("connect.sid=s%3A{}", _key(36, 32) + "." + _key(37, 43)),
    ("htpasswd: joe:{}", "$apr1$" + _key(38, 8) + "$" + _key(39, 22)),
    ("root:{}:19800:0:99999:7:::", "$6$" + _key(40, 16) + "$" + _key(41, 86)),
    ('Authorization: Digest username="joe", nonce="x", response="{}"', _key(42, 32, _HEX)),
    ("Authorization: AWS4-HMAC-SHA256 Credential=x/20260101/eu, Signature={}", _key(43, 64, _HEX)),
    ("Error: Request failed with 401\n  headers: { Authorization: 'Bearer {}', Accept: '*/*' }", _key(44, 40)),
    ("[Interface]\nPrivateKey = {}\nAddress = 10.8.0.2/32", _key(45, 43) + "="),
    ("[Peer]\nPresharedKey = {}\nEndpoint = vpn.example.com:51820", _key(46, 43) + "="),
    ('{"kty":"EC","crv":"P-256","x":"abc","d":"{}"}', _key(47, 43)),
    ("terraform login printed {}", _key(48, 14) + ".atlas" + "v1." + _key(49, 60)),
    ("azure says client secret value {}", _key(50, 3) + "8Q~" + _key(51, 34)),
    ("in the ticket somebody pasted {}", _key(52, 3) + "7Q~" + _key(53, 34)),
    ("alibaba id {} was in git", "LTAI" + "5t" + _key(54, 18)),
    ("Tencent: {}", "AK" + "ID" + _key(55, 32)),
    ("old heroku key {}", "HRKU" + "-" + _UUID),
    ("the droplet job uses {}", "doo" + "_v1_" + _key(56, 64, _HEX)),
    ("square prod {}", "sq0" + "atp-" + _key(57, 22)),
    ("mailchimp {}", _key(58, 32, _HEX) + "-us14"),
    ("pushed {} by mistake", "shp" + "ss_" + _key(59, 32, _HEX)),
    ("airtable {}", "pat" + _key(60, 14) + "." + _key(61, 64, _HEX)),
    ("doppler {}", "dp.st.prd." + _key(62, 40)),
    ("pulumi {}", "pul" + "-" + _key(63, 40, _HEX)),
    ("gem push with {}", "rubygems" + "_" + _key(64, 48, _HEX)),
    ("grafana cloud {}", "glc" + "_eyJ" + _key(65, 90)),
    ("sentry {}", "sntryu" + "_" + _key(66, 64, _HEX)),
    ("contentful {}", "CFPAT" + "-" + _key(67, 43)),
    ("dynatrace {}", "dt0c01" + "." + _key(68, 24, _UPPER) + "." + _key(69, 64, _UPPER)),
    ("brevo {}", "xkeysib" + "-" + _key(70, 64, _HEX) + "-" + _key(71, 16)),
    ("supabase {}", "sb" + "_secret_" + _key(72, 31)),
    ("fly.io {}", "Fly" + "V1 fm2_" + _key(73, 120)),
    ("netlify {}", "nfp" + "_" + _key(74, 36)),
    ("launchdarkly {}", "sdk" + "-" + _UUID),
    ("hubspot {}", "pat" + "-na1-" + _UUID),
    ("circle {}", "CCIPAT" + "_" + _key(75, 22) + "_" + _key(76, 40, _HEX)),
    ("sourcegraph {}", "sgp" + "_" + _key(77, 40, _HEX)),
    ("discord {}", "MTE" + _key(78, 23) + ".G" + _key(79, 5) + "." + _key(80, 38)),
    ("resend {}", "re" + "_" + _key(81, 8) + "_" + _key(82, 24)),
    ("yandex {}", "AQVN" + _key(83, 36)),
    ("1password {}", "ops" + "_eyJ" + _key(84, 200)),
    ("bitbucket {}", "ATBB" + _key(85, 32)),
    ("artifactory {}", "AKCp" + "8" + _key(86, 68)),
    ("Wert von SECRET_KEY_BASE: {}", _key(87, 128, _HEX)),
    ("Der Schlüssel für die Karten-API: {}", _key(88, 39)),
]

_BODY = [noise(64, 51_000 + line, _ALNUM + "+/") for line in range(4)]


def _pem(kind: str, newline: str = "\n", start: str = "", dashes: str = "-" * 5) -> str:
    lines = [f"{dashes}BEGIN {kind}{dashes}", *_BODY, f"{dashes}END {kind}{dashes}"]
    return newline.join(start + line for line in lines)


_KEY_BLOCKS = [
    _pem("OPENSSH PRIVATE KEY", "\\n"),
    _pem("PRIVATE KEY", "\r\n"),
    "> Bob wrote:\n" + _pem("RSA PRIVATE KEY", "\n", "> "),
    _pem("EC PRIVATE KEY", " "),
    _pem("SSH2 ENCRYPTED PRIVATE KEY", dashes="---- ").replace("KEY---- ", "KEY ----"),
    _pem("PRIVATE KEY", "<br>"),
    _pem("OpenVPN Static key V1"),
    "PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 4\n" + "\n".join(_BODY) + "\nPrivate-MAC: 5c",
    "tls.key: LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0t" + "".join(_BODY),
    "key = <<EOT\n" + _pem("RSA PRIVATE KEY") + "\nEOT",
]

SECRETS = [Case(text.replace("{}", _PICKED[at % 7]), (_PICKED[at % 7],)) for at, text in enumerate(_WITH_PASSWORD)]
SECRETS += [Case(text.replace("{}", secret), (secret,)) for text, secret in _WITH_KEY]
SECRETS += [Case(text, tuple(_BODY)) for text in _KEY_BLOCKS]
