"""What a key's name says of its value: ``classify("clientSecret")`` is ``KeyKind.SECRET``.

Names are folded first (compatibility forms, invisible characters, look-alike letters), then split into words, so that
``api_key``, ``apiKey``, ``API-KEY`` and ``арi.key`` are one name. Words of measure (``max_tokens``, ``token_count``)
and of bookkeeping (``nextToken``, ``primary_key``) take a name out again. Spec 004 redaction.
"""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from typing import Final

from reasoning.redaction.rules.providers import PROVIDERS
from reasoning.redaction.values import wordset


class KeyKind(StrEnum):
    """The kind of value under a key."""

    SECRET = "secret"  # noqa: S105 - a kind, no password
    WEAK = "weak"  # secret only if the value looks it
    SERVICE = "service"  # secret only if the value is one that a service issues
    EMAIL = "email"
    PII = "pii"
    VECTOR = "vector"
    NONE = "none"


_MEASURES = wordset(
    "count counts counter max maximum min minimum est estimated cost costs usd total num per has is no requires seconds"
    " minutes hours days spend sum avg average diff delta existing fingerprint digest checksum sha ms lifetime timeout"
    " interval expiration expiry ttl lifespan kb mb gb bytes bits skew millis milis live"
)
_MEASURED_TOKENS = wordset(
    "budget prompt completion input output reasoning cached used remaining audio thinking context write read creation"
)
_ABOUT = wordset(  # at the end of a name: it describes the secret, and isn't one
    "limit limits estimate type types name names required length len size number used usage remaining budget ttl expiry"
    " expires expired expiration expire age version policy format algorithm algo alg strategy field label placeholder"
    " column position status enabled description title help url uri endpoint path file filename directory dir folder"
    " namespace"
    " ratio rate window price kind mode provider model valid validity optional supported created updated rotated"
    " rotation strength rules rule at in"
    " on stdin domain domains expire refresh secure signin headers prompt manager hint reset hashing"
    " framework frameworks library libraries identifier identifiers command arn host source realm scope ref refs"
    " filter filters delay message method header class site scheme params parameters py js ts go java rb php rs md"
    " sh html css txt log store helper helpers cache backend engine encryption expression schedule duration samesite"
    " httponly issuer audience validator exception error exchange exp plugin owner group identity"
    " ändern zurücksetzen vergessen"
    " username user id region location level account config configuration settings options customs via"
    " form request response input box button element selector widget interface handler extractor hasher factory builder"
    " resolver history found question questions kid alias set changed compatible"
)
_BOOKKEEPING = wordset("pagination next page continuation previous prev cursor start starting resume sync")
_KEY_BOOKKEEPING = wordset(
    "primary foreign sort partition cache composite unique candidate natural surrogate range hash dict object row group"
    " join index idempotency translation config map lookup routing registry public sorting cluster bucket s3 locale"
    " answer json dictionary hot short arrow shift ctrl socket"
)
_NO_KEYS = ("pubkey", "publickey", "monkey", "donkey", "turkey", "hockey", "jockey", "whiskey", "hotkey", "keykey")
# Whose code is public: an errorCode, a countryCode.
_CODE_OWNERS = wordset(
    "error status exit return http country currency language postal zip area source event reason product project isin"
)
_PASSING = wordset("bypass brennerpass gebirgspass reisepass compass encompass overpass surpass trespass underpass")
# Words for a password by language, in the forms that precede a value.
FOREIGN_PASSWORD_WORDS: Final = wordset(
    """
    passwort kennwort losung wachtwoord passe mdp contraseña contrasena contrasenya clave senha parola hasło hasła
    hasłem haslo heslo hesla heslem geslo ww lösenord lösenordet losenord adgangskode adgangskoden passord passordet
    salasana salasanan salasanani salasõna parool parolă jelszó jelszava jelszavam jelszo şifre şifresi şifreniz
    şifrem sifre sifrem parolası parolam slaptažodis пароль пароля паролем лозинка лозинку lozinka lozinku парола
    κωδικός κωδικο סיסמה הסיסמה סיסמת סיסמא المرور سر السر khẩu sandi sandinya
    """
)
SECRET_WORDS = (FOREIGN_PASSWORD_WORDS - {"clave", "khẩu", "sandi"}) | wordset(
    "password passwd passphrase passcode pwd psw pw secret credential cred creds apikey authorization auth bearer"
    " cookie jwt csrf xsrf csrftoken otp totp mnemonic privatekey accesskey secretkey masterkey authtoken"
    " accesstoken refreshtoken sessionid sessid phpsessid jsessionid zugriffsschlüssel zugangsschlüssel"
    " geheimschlüssel lizenzschlüssel produktschlüssel aktivierungsschlüssel wiederherstellungsschlüssel"
    " zugangscode dsn connstr pin cvv cvc csc token passkey pgpassword authkey encryptionkey signingkey"
    " sas hmackey pat psk masterauth puk jeton"
)
_WITH_PLURALS = SECRET_WORDS | {"key", "phone", "code", "license", "cookie"}
_SECRET_ENDINGS = tuple(
    wordset("password passwort kennwort passwd passphrase secret apikey appkey tokenkey token pwd passcode sessionid")
)
_WEAK_WORDS = wordset(
    "key tokens keys code nonce signature sig sid salt session license challenge verifier ticket assertion saml hmac"
    " seed otpauth state wpa crumb"
)
SECRET_PAIRS = frozenset(
    {(word, "key") for word in wordset(
        "api access secret private encryption encrypt signing sign master account shared session service auth ssh rsa"
        " dsa deploy storage subscription function hmac aes crypto cipher decryption webhook consumer client app admin"
        " application root security server vapid fernet content symmetric wallet license product activation recovery"
        " host user wifi wlan integration project org team license gpg pgp tls ssl jwt cookie token login"
    )}
    | {(word, "code") for word in wordset("verification auth authorization security access backup recovery mfa reset"
        " unlock door gate alarm entry lock safe sms")}
    | {(word, "phrase") for word in wordset("seed recovery backup pass mnemonic secret")}
    | {("seed", "words"), ("recovery", "words"), ("connection", "string"), ("session", "id"), ("secret", "id")}
    | {("key", "material"), ("honeycomb", "team"), ("art", "api"), ("app", "token")}
    | {("api", "sign"), ("bapi", "sign"), ("access", "sign")}
    | {("access", "signature"), ("conn", "str"), ("pass", "word"), ("pass", "code"), ("security", "answer")}
)  # fmt: skip
# Whatever their value is: of a social security number the last four digits are private as well. Other identity numbers
# are masked where the value has their form (``personal_data.is_labelled``).
_PII_WORDS = wordset(
    "ssn itin phone mobile telephone cellphone fax dob birthdate birthday passport iban cardnumber surname phonenumber"
    " firstname lastname fullname msisdn whatsapp remoteaddr ip"
)
_PII_PAIRS = frozenset(
    {(word, "name") for word in wordset("first last middle full maiden family given")}
    | {
        (word, "address")
        for word in wordset("home street postal mailing billing shipping ip residential remote client")
    }
    | {(word, "number") for word in wordset("card account routing phone mobile passport")}
    | {
        ("remote", "addr"),
        ("birth", "date"),
        ("of", "birth"),
        ("bank", "account"),
        ("credit", "card"),
        ("debit", "card"),
        ("social", "security"),
        ("security", "number"),
    }
)
_EMAIL_WORDS = wordset("email emails mail emailaddress recipient recipients")
_EMAIL_VETO = wordset("template subject body verified server")
_VECTOR_WORDS = wordset("embedding embeddings vector vectors emb embeds logits logprobs weights tensor activations")
_VECTOR_VETO = wordset("dimension dimensions dim dims store id db search")

# German names are written with these words; other languages use the password words of prose.py.
_ALIASES = {"schlüssel": "key", "geheimnis": "secret", "zugangsdaten": "credential", "anmeldedaten": "credential"}
# Cyrillic and Greek letters that look Latin, in the order of the Latin ones.
_LOOK_ALIKES = str.maketrans(
    "аеорсухіјѕԁһԛԝкмтвнАВЕКМНОРСТУХІЈЅαεικνορτυχΑΒΕΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxijsdhqwkmtbhABEKMHOPCTYXIJSaeiknoptuxABEHIKMNOPTYX",
)
_WORD = re.compile(r"[A-Z]++(?![a-z])|[A-Z]?[a-zß-ɏ\u1e00-\u1eff]++|[^\W\d_A-Za-z]++|\d++")
_MAX_NAME_CHARS = 200


def classify(name: str) -> KeyKind:
    """Return the kind of value that a key's name announces."""
    return kind_of(name[:_MAX_NAME_CHARS])  # names come from models: a cache of long ones could fill the memory


def names_secret(name: str, *, looks_secret: bool) -> bool:
    """Judge by the name alone, or by name and value where the name is weak."""
    kind = classify(name)
    return kind is KeyKind.SECRET or (kind is KeyKind.WEAK and looks_secret)


@lru_cache(maxsize=4_096)
def kind_of(name: str) -> KeyKind:
    given = name_words(name)
    if not given:
        return KeyKind.NONE
    words = tuple(map(singular, given))
    present, pairs = set(words), set(pairwise(words))
    # Order matters: what is only about a secret is decided before what sounds like one.
    is_person = bool(pairs & _PII_PAIRS)  # in "first_name" a word of measure belongs to the name itself
    if not is_person and is_about_secret(words, present, given[-1]):
        return KeyKind.NONE
    if words[-1] in _EMAIL_WORDS and not present & _EMAIL_VETO:
        return KeyKind.EMAIL
    is_bookkeeping = bool(present & _KEY_BOOKKEEPING)
    if not (words[-1] == "key" and is_bookkeeping) and (
        pairs & SECRET_PAIRS
        or words[-1] in ("pass", "auth")  # "AUTH_REGION" and "authMode" are no secrets
        or any(map(is_secret_word, set(words) - {"auth"}))
    ):
        # `tokens` alone is as often a number of them as a list of credentials.
        return KeyKind.WEAK if given == ("tokens",) else KeyKind.SECRET
    if present & _WEAK_WORDS or is_joined_key(words[-1]):
        return KeyKind.NONE if is_bookkeeping else KeyKind.WEAK
    if len(words) <= 3 and "".join(words) in PROVIDERS:  # "api2cart" is three words
        return KeyKind.SERVICE
    if present & _EMAIL_WORDS or words[:2] == ("e", "mail"):
        return KeyKind.NONE if present & _EMAIL_VETO else KeyKind.EMAIL
    if is_person or present & _PII_WORDS or words in {("tel",), ("cell",)}:
        return KeyKind.PII
    if present & _VECTOR_WORDS and not present & _VECTOR_VETO:
        return KeyKind.VECTOR
    return KeyKind.NONE


def name_words(name: str) -> tuple[str, ...]:
    """Return the lower-case words of a name, look-alike letters folded."""
    folded = unicodedata.normalize("NFKC", name)
    if not folded.isascii():
        shown = "".join(char for char in folded if unicodedata.category(char) != "Cf")
        latin = shown.translate(_LOOK_ALIKES)
        folded = latin if latin.isascii() else shown  # wholly Cyrillic or Greek names retain their letters
    split_humps = re.sub(r"([A-Z])([A-Z][a-z])", r"\1 \2", folded)
    return tuple(word.lower() for word in _WORD.findall(split_humps))


def singular(word: str) -> str:
    word = _ALIASES.get(word, word)
    return word[:-1] if word.endswith("s") and word[:-1] in _WITH_PLURALS else word


def is_about_secret(words: tuple[str, ...], present: set[str], last: str) -> bool:
    """True for measures (``max_tokens``), pagination (``nextToken``) and descriptions (``password_policy``)."""
    if present & _BOOKKEEPING and words[-1] in {"token", "key", "tokens"}:
        return True
    if last == "tokens" and present & _MEASURED_TOKENS:
        return True
    if words[-3:] == ("public", "key", "token") or words[-2:] in (("cert", "hash"), ("token", "ids")):
        return True
    if last == "code" and not _CODE_OWNERS.isdisjoint(words[-2:-1]):
        return True
    if words[-2:] in (("credential", "id"), ("key", "id"), ("to", "pass")) and "access" not in present:
        return True
    # "password policy v2.9" ends with its version
    noun = next((word for word in reversed(words) if not word.isdigit() and word != "v"), "")
    if words[-2:] in SECRET_PAIRS or (noun == "id" and "access" in present):  # "session id"
        return False
    return bool(present & _MEASURES) or noun in _ABOUT or noun.removesuffix("s") in _ABOUT


def is_joined_key(word: str) -> bool:
    """True for ``writekey``, which is written without a sign between its words; not for ``monkey`` and ``pubkey``."""
    return word.endswith("key") and not word.endswith(_NO_KEYS) and word.removesuffix("key") not in _KEY_BOOKKEEPING


def is_secret_word(word: str) -> bool:
    return (
        word in SECRET_WORDS
        or (word.endswith(_SECRET_ENDINGS) and not word.startswith(("next", "page", "contin")))
        or (word.endswith("pass") and word not in _PASSING)
    )
