"""A second set of secrets in context thought up after the rules were mended for the first.

``{}`` is the secret of its line, filled in as in the first set.
"""

from __future__ import annotations

from tests.reasoning.redaction_contexts import filled, lines, made, picked

_WITH_PASSWORD = r"""
RABBITMQ_DEFAULT_PASS={}
FTP_PASSWORD='{}'
export LDAP_BIND_PASSWORD={}
set ORACLE_PWD={}
SPRING_MAIL_PASSWORD: "{}"
[smtp]\nhost = mail\nuser = bob\npass = {}
[database]\npassword = "{}"\nport = 5432
db:\n  user: bob\n  password: {}\n  host: db1
<password>{}</password>
<db user="bob" password="{}"/>
{{"db": {{"user": "bob", "pwd": "{}"}}}}
{{'passwd': '{}', 'port': 22}}
"passphrase" : "{}"
amqp://bob:{}@mq.example.org:5672/vh
ftp://bob:{}@ftp.example.org/in
https://bob:{}@example.org/private/
ssh://bob:{}@host:22
Server=tcp:x,1433;User ID=bob;Password={};
Driver={{ODBC}};UID=bob;PWD={};DATABASE=x
host=db port=5432 user=bob password={} sslmode=require
curl --proxy-user bob:{} https://example.org
curl -ubob:{} https://example.org
mysqldump -u bob -p{} shop > a.sql
mysql --user=bob --password={} shop
redis-cli -h cache -a {} ping
ldapsearch -x -D cn=bob -w {} -b dc=x
PGPASSWORD={} psql -U bob
mongosh -u bob -p {} --authenticationDatabase admin
smbclient //nas/share -U bob%{}
ansible-playbook x.yml -e "db_password={}"
7z a -p{} out.7z in/
rsync --password={} a b
kinit --password {}
docker run -e MYSQL_PASSWORD={} mysql
helm upgrade x --set postgres.password={}
INSERT INTO users (name, password) VALUES ('bob', '{}');
UPDATE users SET password = '{}' WHERE id = 7;
CREATE USER bob WITH PASSWORD '{}';
ALTER USER bob IDENTIFIED BY '{}';
IDENTIFIED BY "{}"
log in as bob with password {}
login: bob password: {}
username: bob\npassword: {}
Username bob / Password {}
user=bob;pass={}
bob's password is {}
Bob said the password was {}.
The root password: {}
The old password was {}, please rotate it
try {} as the password
its password is {}
pass: {}
Pass = {}
pwd is {}
the guest wifi password is: {}
Password for the VPN: {}
password (staging): {}
Password [{}]
new password -> {}
your temp password is {}
"Your password is {}"
set the password to {}
we use {} as password everywhere
Das Admin-Passwort ist {}
Passwort = {}
Passwort für die Datenbank: {}
Kennwort: {}
Dein Passwort: {}
Ihr neues Passwort lautet: {}
Das Passwort wurde auf {} geändert
mit Benutzer bob und Passwort {} anmelden
Login: bob, Kennwort: {}
WLAN-Schlüssel: {}
Le mot de passe est {}
La contraseña es {}
contraseña: {}
| Account | Password | Note |\n|---|---|---|\n| bob | {} | old |
| System | User | Kennwort |\n|:--|:--|:--|\n| crm | bob | `{}` |
| Name | PIN | Passphrase |\n|---|---|---|\n| a | none | required |\n| b | none | {} |
login,password,role\nbob,{},admin
host;user;password\nweb1;bob;{}
host\tpassword\nweb1\t{}
Exception: Access denied for user 'bob' (using password: {})
DEBUG login user=bob pass={} ok
POST /login user=bob&password={}
[INFO] connecting with password {}
auth failed password="{}" user="bob"
{{"event":"login","password":"{}"}}
password_hash_input: {}
var password = '{}';
let pwd = "{}"
private static final String PASSWORD = "{}";
password: str = "{}"
PASSWORD = r"{}"
conn.login("bob", "{}")
.password("{}")
withPassword('{}')
authenticate(user="bob", password="{}")
ConvertTo-SecureString "{}" -AsPlainText
os.environ["DB_PASSWORD"] = "{}"
process.env.DB_PASSWORD = '{}'
getenv("DB_PASSWORD", "{}")
password ?= {}
"""

_WITH_KEY = r"""
API_KEY={}
MAILGUN_API_KEY='{}'
export GITHUB_TOKEN={}
DD_API_KEY: {}
TWILIO_AUTH_TOKEN={}
algolia_admin_key: "{}"
"accessToken": "{}"
"secretKey": "{}",
"clientSecret" : "{}"
consumer_secret: '{}'
[default]\naws_secret_access_key = {}
api:\n  key: {}\n  url: https://example.org
auth_token = "{}"
access_key: {}
<apiKey>{}</apiKey>
<add key="ApiKey" value="{}"/>
Authorization: Bearer {}\nAccept: */*
authorization=Bearer {}
"Authorization": "Token {}"
Proxy-Authorization: Bearer {}
X-Access-Token: {}
X-CSRF-Token: {}
Api-Key: {}
Ocp-Apim-Subscription-Key: {}
Cookie: JSESSIONID={}
Set-Cookie: auth={}; HttpOnly
"cookie": "sid={}; lang=de"
https://example.org/x?api_key={}
https://example.org/x?a=1&auth_token={}
https://example.org/cb?code={}
https://example.org/file?X-Amz-Security-Token={}
https://storage.example.org/b/o?sig={}&se=2026
git clone https://oauth2:{}@gitlab.example.org/a/b
pip install --index-url https://__token__:{}@pypi.example.org/simple x
curl -H 'X-API-Key: {}' https://example.org
curl -H "Authorization: token {}" https://example.org
curl "https://example.org/v1?key={}"
wget --header="Authorization: Bearer {}" https://example.org
npm config set //registry.example.org/:_authToken {}
gh secret set API_KEY --body {}
aws configure set aws_secret_access_key {}
sentry-cli --auth-token {} releases list
deploy --token {} prod
heroku config:set SECRET_KEY_BASE={}
RuntimeError: request failed, api_key={}
401 Unauthorized: token {} expired
[warn] stale session_id={} dropped
auth: token={} user=7
api key: {}
The API key is {}
My key is {}, don't share it
use this token: {}
the secret is {}
here's our access key: {}
set the token to {}
my bearer token is {}
Der Schlüssel lautet {}
API-Key: {}
Zugriffstoken: {}
Dein Token: {}
Das Secret ist {}
La clé API est {}
| Name | Token |\n|---|---|\n| ci | {} |
| Env | API Key | Owner |\n|---|---|---|\n| prod | {} | bob |
name,token\nci,{}
API_KEY = os.getenv("API_KEY", "{}")
const token = "{}";
apiKey: '{}',
token := "{}"
private final String apiKey = "{}";
headers = {{"Authorization": "Bearer {}"}}
session.headers.update({{"X-Token": "{}"}})
Client(api_key="{}")
client.set_token("{}")
setApiKey('{}')
secrets:\n  - name: x\n    value: {}
tokens:\n  - {}
"keys": ["{}"]
jwt.sign(data, "{}")
app.secret_key = b"{}"
hmac_secret={}
encryption_key = bytes.fromhex("{}")
recovery code: {}
"""

SECRETS = [*(filled(line, picked(at)) for at, line in enumerate(lines(_WITH_PASSWORD)))]
SECRETS += [filled(line, made(at)) for at, line in enumerate(lines(_WITH_KEY))]
