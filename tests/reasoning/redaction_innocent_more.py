"""A second set of innocent texts, thought up after the rules were mended for the first."""

from __future__ import annotations

from tests.reasoning.redaction_contexts import lines

_INNOCENT = r"""
Your password was changed yesterday.
The password must contain a number and a symbol.
Please reset my password.
She lost the password to the archive.
Password reset link sent.
Password strength: weak
password length: 12
Password: required
Password (min. 8 characters)
password1 and password2 must match
Two passwords were entered.
Enter PIN at the terminal.
The PIN has four digits.
Ihr Passwort läuft in 14 Tagen ab.
Das Passwort wird verschlüsselt gespeichert.
Passwort: mindestens 8 Zeichen
Passwort zurücksetzen
Neues Passwort vergeben
Der Schlüssel liegt unter der Matte.
Schlüsselpersonal und Schlüsselkunden
Geheimnis des Erfolgs: Geduld
Zugangsdaten: siehe Wiki
mot de passe oublié
La contraseña es obligatoria
PASSWORD=
PASSWORD=changeme_please
PASSWORD="${PASSWORD}"
password: "{{ lookup('env', 'DB_PASSWORD') }}"
password = os.getenv("PASSWORD")
password = getpass()
password = form.cleaned_data["password"]
password=self.password,
user.check_password(password)
setPassword(password)
login(request, user)
auth = (user, password)
auth=HTTPBasicAuth(user, password)
token = parser.next_token()
tokens = tokenizer.encode(text)
token_type: bearer
"token_type": "Bearer"
num_tokens=512, tokens_per_second=31.5
next_page_token: null
key = f"{company}:{year}"
keys = list(data.keys())
sort(key=len)
map.get(key)
cache_key = "summary:v2"
primary key (id), foreign key (owner_id)
public-key cryptography
Press any key to continue.
API keys are listed under Settings.
The API key is missing.
Invalid API key provided.
Create a secret in the console.
No secrets were found.
auth: none
auth required: yes
Authorization: Basic <credentials>
Authorization header is missing
curl -H "X-Api-Key: $API_KEY" https://example.org
curl -u $USER https://example.org
mysql -u root -p
mysql -h db -u app -p reports
zip -r out.zip dir
login -f root
docker run -p 8080:80 nginx
mkdir -p build/out
ssh -p 2222 host
psql -h db -p 5432 -U app
tar -xzf pkg-1.2.3.tar.gz
https://example.org/login?next=/account
https://example.org/?page=2&sort=date&key=name
https://example.org:8443/path
postgres://db.example.org/app
git@example.org:team/repo.git
2026-01-05T10:00:00Z INFO started in 1.2s
trace 7f3a9c21 span 09be
commit 1f2e3d4c5b6a79880716253443526170a9b8c7d6
digest sha256:0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0
crc32 0x1a2b3c4d
uuid 6f1c2d3e-4b5a-4978-8877-665544332211
build 20260105-rc2
v2.14.0-beta.3+build.77
ISBN 978-3-16-148410-0
ISIN DE0007164600
CIK 0001318605
accession no. 0001628280-26-012345
File No. 333-123456
Form 10-K for FY2025, Item 9A
$1,234.56 and €99.00
gross margin 46.2% vs 45.9%
5.125% Senior Notes due 2033
EPS of $1.64 beat by $0.03
Q3'25 vs Q3'24: +8%
2.5x-3.0x net debt/EBITDA
The secret sauce is scale.
Key man insurance: $5m
key terms: price, volume, tenor
Key ratios: 1.31x, 5.12x
key performance indicators (KPIs)
The tokenized fund holds $500m.
session length: 45 min
cookie policy updated 2025-12-01
Basic materials: -2.1%
bearer of bad news
credential inflation
credentials verified by Moody's
login attempts: 3 of 5
login page, user page, account page
user guide, password policy, and login help
account: receivable
| Metric | Value |\n|---|---|\n| Tokens | 4,096 |
| Setting | Key |\n|---|---|\n| Undo | Ctrl+Z |
| Option | Password |\n|---|---|\n| length | 12 |
| Field | Token type |\n|---|---|\n| a | word |
| Password | Meaning |\n|---|---|\n| required | must be set |
key,count\nalpha1,7
token,frequency\nthe,1204
user,login\nbob,yes
name;key\nC major;natural
pass,fail\n98,2
compass, trespass and bypass
passenger revenue: $4.1bn
passive funds 52%
secretary: J. Doe
tokenomics 101
monkey1, turkey2, donkey3
code: 200, message: OK
verification code expired
zip code: 10001
error code E42 in module K7
hash map with 16 buckets
salted caramel 250g
signature algorithm RS256
seed round, series A
license plate B-AB 1234
nonce must be unique
state: NY
-----BEGIN PUBLIC KEY-----
=== BEGIN KEY FINDINGS ===
"""
INNOCENT = lines(_INNOCENT)
