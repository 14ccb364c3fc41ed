"""A third set of innocent texts, thought up beside the rules for other languages, blocks of settings and programs."""

from __future__ import annotations

from tests.reasoning.redaction_contexts import lines

_INNOCENT = r"""
Das Passwort muss 8-stellig sein.
Das Passwort wird mit PBKDF2 gehasht.
Passwörter gelten für Windows11 und macOS15.
Das Kennwort für Office365 läuft ab.
Le mot de passe doit contenir 12 caractères.
Le mot de passe expire dans 30j.
mot de passe : 8 à 16 caractères
La contraseña debe tener 8-16 caracteres.
La clave es la paciencia.
Palabra clave: crecimiento
La clave del éxito es Q3-2025.
A senha expira em 90 dias.
Hasło musi mieć 12 znaków.
Hasło: minimum 12 znaków
Heslo je povinné.
Lösenordet är fel.
Adgangskoden er udløbet.
Salasana on vanhentunut.
Şifre gerekli.
Пароль не подходит.
Пароль: не менее 8 символов
Parola d'ordine: innovazione
Die Losung lautet Geduld.
En passe de devenir leader
The passe-partout costs $20.
bypass=true
compass: north
--bypass-cache yes
docker login --password-stdin registry.example.com
password-stdin: read from a pipe
$cred = Get-Credential
$cred = New-Object System.Object
password: Some(value)
password: None
let password = String::new();
password = Secret::new(env)
variable "db_password" { type = string }
variable "password_length" { default = 16 }
"password": {"type": "string", "minLength": 8}
"token": {"type": "integer", "default": 0}
Authorization: Digest
WWW-Authenticate: Digest realm="x"
docker run -a stdin -a stdout nginx
ls -a docs: 12 files
tar -u a.tar,b.tar
sqlplus / as sysdba
rsync -a host:backup .
sdk-version 3.2
pat-down searches rose
<string name="password">Password</string>
<key>Password</key><true/>
password_hint = "old" -> "new"
version = "1.2" -> "1.3"
wpa: supported
WPA2 and WPA3 are supported
psk: off
if it asks for a password, use the reset link
The password for the portal was sent to Tom.
Set the password to expire in 90 days.
He passed it to IR2025.
The password on file belongs to Tom.
if it asks for a token, use the console
users:\n- name: admin\n- role: reader
secrets:\n- name: db\n- name: mail
tokens:\n  total: 4096
sk_learn.pipeline and sk_build
pass: 12 fail: 3
Pass rate 98.2%
overpass, underpass and trespass
Net user growth was 8%.
EXO planets and EXOTIC fruit
auth: {type: none}
auth:\n  enabled: true
password managers such as 1Password and KeePass2
Use 1Password as the password manager.
OAuth2 replaces the password for API clients.
Type your name when asked for it.
Type 10-K when it asks for the form.
Enter Q3-2025 when it asks for the period.
A tan leather wallet costs $48.
TAN: a number for one transfer
Die TAN gilt 5 Minuten.
Der Zugangscode ist abgelaufen.
Sicherheitscode: 3-stellig
Das Passwort dazu fehlt noch.
Das Passwort dafür steht im Tresor.
Das Passwort lautet derzeit anders.
storepass is required
masterpass accepted at checkout
userpass auth method
ssh -u joe -p 2222 host
docker login -u joe -p
mysql -u root -p reports
psql -U app -p 5432 db
install -u root -p build
az login -u joe -p $PASSWORD
password                  = var.db_password
password_length           = 16
token_count               = 4096
key                       = value
La password dell'account è scaduta.
1/1 page, 2/3 done, 0/12 failed
1/2 oz: 14 g
Passwort derzeit nicht nötig
OTP Bank: 2025 results
code word: 4 letters
Bestätigungscode per SMS
"""
INNOCENT = lines(_INNOCENT)
