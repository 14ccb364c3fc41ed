"""Secrets in the contexts that people paste, thought up after the rules were.

``{}`` is the secret of its line; a line without its own secret gets noise of the kind that the group says.
"""

from __future__ import annotations

import base64
import json
import string
from itertools import count

from tests.reasoning.redaction_corpus import Case, noise

_ALNUM = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_PICKED = ["Maple!77tree", "gr33nTurtle", "Zx81-Spectrum", "R0senstolz#", "blueHeron42", "k4ffeeTasse!", "pl0verNest"]
_seeds = count(3_000)

# A password that somebody picked.
_WITH_PASSWORD = r"""
POSTGRES_PASSWORD={}
MYSQL_ROOT_PASSWORD: {}
SMTP_PASS="{}"
export PGPASSWORD='{}'
ENV ADMIN_PWD {}
set -x DB_PASS {}
$env:SQL_PASSWORD = "{}"
spring.datasource.password={}
    password: "{}"  # staging
  - name: REDIS_PASSWORD\n    value: "{}"
ldap_bind_pw = {}
"smtpPassword": "{}",
{{"login": "anna", "pass": "{}"}}
[client]\nuser=root\npassword={}
machine git.example.org login anna password {}
db.example.org:5432:app:anna:{}
postgresql://anna:{}@10.0.0.5/app?sslmode=require
mysql+pymysql://root:{}@localhost/shop
mongodb+srv://svc:{}@cluster0.example.net/prod
redis://default:{}@cache.example.org:6379
smb://anna:{}@nas/share
jdbc:oracle:thin:anna/{}@//db:1521/XE
jdbc:sqlserver://db;databaseName=x;user=sa;password={};encrypt=true
Data Source=db;Initial Catalog=x;User ID=sa;Pwd={};
curl -u anna:{} https://api.example.com/v1/me
curl --user 'anna:{}' -X POST https://api.example.com
wget --http-user=anna --http-password={} https://example.com/a.zip
sshpass -p '{}' ssh anna@host
mysql -uroot -p{} shop
psql "host=db user=anna password={} dbname=x"
docker login -u anna -p {} registry.example.com
az login -u anna@example.com -p {}
net use Z: \\\\nas\\share /user:anna {}
echo "{}" | sudo -S apt update
openssl enc -aes-256-cbc -pass pass:{} -in a -out b
gpg --batch --passphrase {} -d a.gpg
zip -P {} out.zip a.txt
2026-01-05 12:00:01 DEBUG auth: user=anna password={} ip=local
WARN Failed login for user 'anna' with password '{}'
login attempt: anna / {}
params: {{"email"=>"x", "password"=>"{}", "commit"=>"Log in"}}
username=anna&password={}&submit=1
<input type="password" name="pw" value="{}">
<property name="connection.password">{}</property>
<add key="AdminPassword" value="{}" />
My Wi-Fi password is {}, the network is called attic.
hey, the wifi pw is {}
the pw for the staging box: {}
p/w: {}
PW: {}
user: anna pw: {}
anna's password was changed to {} this morning
please use the password "{}" for the archive
I reset it, the new password is now {}
temporary password: {}
Your one-time password is {}
The passphrase of the key is {}.
Das Passwort lautet {}.
Passwort: {}
Das WLAN-Passwort ist {}
das neue Kennwort ist {}
Das Passwort für den Server ist {}
Mein Passwort ist „{}“.
Benutzer: anna, Passwort: {}
Zugangsdaten: anna / {}
Benutzername anna Kennwort {}
Mit dem Passwort {} kannst du dich anmelden
PIN-Code und Passwort: 4711 und {}
| user | password |\n|---|---|\n| anna | x1 |\n| bob | {} |
| Host | Login | Passwort |\n|------|-------|----------|\n| db1 | anna | {} |
| password | user |\n|---|---|\n| {} | anna |
user,password\nanna,{}
name;passwort;rolle\nanna;{};admin
user\tpassword\nanna\t{}
root / {} (please change)
creds: admin:{}
credentials are admin / {}
log in with anna and {}
password=\n{}
Password\n{}
**Password**: `{}`
* password -> {}
password is: {}
password == "{}"
if pwd != "{}": raise
auth=("anna", "{}")
requests.get(url, auth=HTTPBasicAuth("anna", "{}"))
connect(host="db", user="anna", passwd="{}")
new SqlConnection("Server=db;Uid=sa;Password={}")
setPassword("{}")
user.set_password('{}')
User.objects.create_user("anna", "a", "{}")
:password "{}"
password := "{}"
const PASSWORD: &str = "{}";
define('DB_PASSWORD', '{}');
"""

# A key that a machine made: letters and digits.
_WITH_KEY = r"""
SECRET_KEY={}
STRIPE_SECRET={}
AWS_SECRET_ACCESS_KEY="{}"
aws_session_token = {}
azure_client_secret: {}
client_secret = "{}"
"apiKey":"{}"
'api-key': '{}',
x-api-key: {}
X-Auth-Token: {}
-H "X-Vault-Token: {}"
-H 'PRIVATE-TOKEN: {}'
--header "apikey: {}"
Authorization: Bearer {}
authorization: token {}
Authorization: ApiKey {}
"Authorization": "Splunk {}"
curl -H "Authorization: Bearer {}" https://example.com
http POST example.com Authorization:"Bearer {}"
https://example.com/cb#access_token={}&token_type=bearer
https://maps.example.com/js?key={}&v=3
https://example.com/reset?token={}
wss://example.com/socket?auth={}
https://{}@git.example.com/a/b.git
https://x-access-token:{}@git.example.com/a/b.git
https://sentry:{}@sentry.example.com/2
Set-Cookie: session={}; Path=/; Secure
Cookie: theme=dark; sid={}
document.cookie = "auth_token={}"
curl -b "sessionid={}" https://example.com
//registry.example.com/:_authToken={}
_auth = {}
token: {}
  bearer_token: {}
oauth_token_secret={}
refresh_token={}
id_token: {}
csrf_token: {}
"private_key_id": "{}"
signing_key: {}
encryption.key={}
JWT_SECRET={}
HMAC_KEY={}
webhook_secret = "{}"
slack_signing_secret: {}
license_key: {}
Your API key is {}. Keep it safe.
our api key for maps: {}
here is the token: {}
the token is {}
Der API-Schlüssel lautet {}.
API-Schlüssel: {}
Der Zugriffsschlüssel ist {}
Das Token ist {}
Geheimnis: {}
SharedAccessSignature sr=x&sig={}&se=1
AccountKey={};EndpointSuffix=core.example.net
terraform apply -var 'db_token={}'
helm install x --set auth.token={}
kubectl create secret generic x --from-literal=token={}
vault login {}
gh auth login --with-token {}
docker run -e API_TOKEN={} image
INFO token={} expires=3600
ERROR 401 invalid api key {}
ValueError: bad credentials: {}
| key | value |\n|---|---|\n| API_TOKEN | {} |
| Service | API key |\n|---|---|\n| maps | {} |
service,api_key\nmaps,{}
api_keys:\n  - {}
api_keys = ["{}"]
tokens:\n  maps: {}
[auth]\ntoken = "{}"
api_key: |\n  {}
openai.api_key = "{}"
client = Client(token="{}")
os.environ["API_TOKEN"] = "{}"
headers["X-Api-Key"] = "{}"
.setHeader("Authorization", "Bearer {}")
"""


def lines(block: str) -> list[str]:
    return [
        line.replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\") for line in block.strip("\n").split("\n")
    ]


def filled(line: str, secret: str) -> Case:
    return Case(line.replace("{{", "{").replace("}}", "}").replace("{}", secret), (secret,))


def _issued() -> list[Case]:
    def token(prefix: str, length: int, alphabet: str = _ALNUM) -> str:
        return prefix + noise(length, next(_seeds), alphabet)

    head = base64.urlsafe_b64encode(json.dumps({"alg": "RS256", "kid": "k1"}).encode()).decode().rstrip("=")
    pairs = [
        ("id_token {} was rejected", f"{head}.{noise(80, 1)}.{noise(86, 2)}"),
        ("a key like {} in the log", token("AK" + "IA", 16, string.ascii_uppercase + "234567")),
        ("pushed with {}", token("gh" + "o_", 36)),
        ("{} leaked on Friday", token("sk" + "-ant-api03-", 80)),
        ("({})", token("xox" + "p-", 48)),
        ("hook: https://hooks.slack.com/services/{}", "T01/B02/" + noise(24, next(_seeds))),
        ("dsn https://{}@o1.ingest.example.io/5", noise(32, next(_seeds), _HEX)),
        ("basic {}", base64.b64encode(b"anna:blueHeron42").decode()),
        ("Authorization: Basic {}", base64.b64encode(b"anna:pl0verNest").decode()),
        ("Schlüssel {} gefunden", token("AI" + "za", 35)),
    ]
    return [Case(text.replace("{}", secret), (secret,)) for text, secret in pairs]


def _key_blocks() -> list[Case]:
    dashes = "-" * 5
    body = "\n".join(noise(64, next(_seeds), _ALNUM + "+/") for _ in range(3))
    lines = tuple(body.split("\n"))
    kinds = ("EC PRIVATE KEY", "PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "PGP PRIVATE KEY BLOCK", "DSA PRIVATE KEY")
    blocks = [f"{dashes}BEGIN {kind}{dashes}\n{body}\n{dashes}END {kind}{dashes}" for kind in kinds]
    indented = "key: |\n" + "\n".join("  " + line for line in blocks[0].split("\n"))
    return [Case(text, lines) for text in (*blocks, indented, json.dumps({"k": blocks[1]}).replace("\\n", "\\\\n"))]


def picked(number: int) -> str:
    """Return a password that somebody picked."""
    return _PICKED[number % len(_PICKED)]


def made(number: int) -> str:
    """Return a key that a machine made."""
    return noise(32, 4_000 + number, _HEX if number % 3 == 0 else _ALNUM)


SECRETS = [*(filled(line, picked(at)) for at, line in enumerate(lines(_WITH_PASSWORD)))]
SECRETS += [filled(line, made(at)) for at, line in enumerate(lines(_WITH_KEY))]
SECRETS += [*_issued(), *_key_blocks()]
