"""Innocent texts that look like secrets, thought up after the rules were."""

from __future__ import annotations

from tests.reasoning.redaction_contexts import lines

_INNOCENT = r"""
The password field is empty.
Passwords expire after 90 days.
I forgot my password again.
Change your password regularly.
What is the password policy?
The password for the admin account is stored in the vault.
Das Passwort ist falsch.
Das Passwort muss mindestens acht Zeichen haben.
Bitte ändern Sie Ihr Passwort.
Passwort vergessen?
Das Kennwort wurde nicht gefunden.
Der Schlüssel zum Erfolg ist Geduld.
Die Schlüsselzahlen: Umsatz 4,5 Mrd. €
Das Geheimnis ist keines.
password: ********
password: <hidden>
password: ${DB_PASSWORD}
password: !vault |
password: {{ vault_password }}
PASSWORD=$PASSWORD
DB_PASSWORD=${DB_PASSWORD:?missing}
password=%(password)s
password = config.get("password")
password = input("Password: ")
password: Optional[str] = None
def reset_password(self, token: str) -> None:
if not password: raise ValueError("password missing")
passwords = [user.password for user in users]
assert password is not None
self.password = password
token = request.headers.get("Authorization")
token_count = 4096
max_tokens: 1024
tokens per second: 118.4
const key = Object.keys(map)[0];
for key in sorted(table): print(key)
key = (row["cik"], row["date"])
KeyError: 'password'
api_key: str = Field(..., description="The key")
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
-H "Authorization: Bearer ${TOKEN}"
curl -u "$USER:$PASS" https://example.com
curl https://api.example.com/v1/items?page=2&limit=50
https://example.com/?q=password+manager
https://example.com/docs/tokens#refresh
postgresql://localhost:5432/app
postgresql://user:${PASSWORD}@db/app
redis://localhost:6379/0
See http://example.com:8080/a@b for more.
ssh -i ~/.ssh/id_ed25519 host
mysql -u root -p shop
docker run -p 5432:5432 postgres:16
git commit -m "Rotate keys"
commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904 (HEAD -> main)
Merge 1a2b3c4d into main
sha512-abc is not a digest
md5: 9e107d9d372bb6826bd81d3542a419d6
sha1 = 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12
ETag: "33a64df551425fcc55e4d42a148795d9f25f89d4"
uuid: 123e4567-e89b-12d3-a456-426614174000
trace_id=4bf92f3577b34da6a3ce929d0e0e4736
request id req_011CSHoEeqs5C35K2UUqR7Fy
build-2026.01.05+sha.5114f85
image: ghcr.io/org/app@sha256:9b2a1f0c7d6e5b4a39281706f5e4d3c2b1a0998877665544332211ffeeddccbb
AAPL260116C00250000 expires in January
CUSIP 594918104, ISIN US5949181045
0001628280-26-003942
EIN 91-1144442
Net sales: $416,161 and $391,035
10-K405/A filed 1999-03-31
Notes due 2032, 4.750%, CUSIP 00206RKG6
LEI 549300HNTLEMJCL7QE54 reported
Total assets 364,980 352,583
EBITDA margin 33.4% (2024: 32.8%)
The key covenant is the leverage ratio: 3.5x.
Key figures: revenue, EBIT, cash flow
Key: A = audited, U = unaudited
key takeaways: margins widened
Keywords: tokens, keys, secrets
The secret ballot was held on May 4, 2026.
trade secrets and know-how are protected
Trade Secret: none registered
non-fungible tokens (NFTs) fell 40%
token sale raised $2.5m in 2021
The token is a unit of text.
session 3: Capital allocation
session: Q4-2025 earnings call
Session ID column is hidden by default
The access token expires after 3600 seconds.
Access tokens are rotated daily by our systems.
Access code: required
code: E1234
error code: 0x80070005
status code 404, exit code 137
zip code 98052-6399
promo code SPRING is over
PIN diodes sold well in 2025
OTP bank reported H1-2025 results
credentials: see the wiki
Credentials are stored encrypted at rest.
login: anna
user: anna role: admin
username and password are required
Enter your username and password below.
| user | password policy |\n|---|---|\n| anna | strict |
| Token | Price |\n|---|---|\n| BTC | 97,000 |
| Key | Value |\n|---|---|\n| Revenue | 416,161 |
| key | meaning |\n|---|---|\n| A1 | first column |
| Password rule | Value |\n|---|---|\n| length | 12 |
| user | password |\n|---|---|\n| anna | required |
key,value\nrevenue,416161\nebit,123216
token,price\nBTC,97000
The cookie business grew; cookies and crackers were 12% of sales.
Set-Cookie headers are described in RFC 6265.
Basic and diluted shares: 15,004,697
basic 6.11, diluted 6.08
Bearer shares were abolished in 2019.
Private key infrastructure is discussed in Note 9.
BEGIN PRIVATE PLACEMENT MEMORANDUM
-----BEGIN CERTIFICATE REQUEST-----
public_key = "ssh-ed25519"
license: MIT
License key features include audit logs.
seed funding of $4.2m
seed = 42
salt: 5 g per day
signature: /s/ Jane Doe
Signature page to the Credit Agreement
nonce: none
state=CA&zip=94105
hash functions such as SHA-256 and MD5
Passcode lock screens are sold separately.
We passed the test: 98 of 100.
pass@1 was 67.2 and pass@10 was 81.0
passport renewals rose 14%
Compass Group: revenue 46.1bn
bypass valve 3/4 inch
monkey: 3 keyboard: 101 turkey=2
hockey sticks and turkeys
pwd prints the working directory
cd $(pwd) && ls
uses of auth: see section 4.2
The author: Jane, 2026
Authority: SEC Rule 10b-5
Authorization dated 2025-11-03 for 2,000,000 shares
"""
INNOCENT = lines(_INNOCENT)
