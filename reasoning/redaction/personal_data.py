"""Personal data in text: e-mail addresses, cards, identity numbers, phones, accounts, addresses, home folders.

Filings are full of numbers that look like these, so each rule asks for what only the real thing has: an issuer's range
and a check digit, a layout, or a label. Ten bare digits are a CIK and ``dd-ddddddd`` is an EIN: neither is masked.
Spec 004 redaction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from string import ascii_uppercase
from typing import Final

from reasoning.redaction.rules import Rule, Span, Trigger, wordset

# Also the ways in which people and HTML disguise the at sign.
_EMAIL = re.compile(
    r"(?P<local>(?<![\w.+%'-])\w(?:(?!%40)[\w.+%'-]){0,63}+)(?:@|&#64;|&#x40;|&commat;|%40|＠|\[at\]|\(at\))"
    r"(?P<domain>(?:[\w-]{1,63}(?:\.|\[dot\]|\(dot\))){1,8}(?P<tld>[^\W\d_]{2,24}))(?![\w-])"
)
_FILE_ENDINGS = frozenset(["png", "jpg", "jpeg", "gif", "svg", "webp", "css", "js", "ts", "html", "json", "py"])
# git@github.com is an address of a repository, not of a person.
_SERVICE_USERS = frozenset(["git", "hg", "svn"])  # of an address such as git@host:path
_CARD = re.compile(
    r"(?<![\d.,\-/])(?:\d{4}([ \-]?)\d{4}\1\d{4}\1\d{4}(?:\1\d{1,3})?|\d{4}([ \-]?)\d{6}\2\d{4,5})(?![\d\-]|[.,]\d)"
)
# Visa, Mastercard, American Express, Discover, JCB, Diners, UnionPay: nothing else passes for a card.
_CARD_ISSUER = re.compile(
    r"4\d{15}(?:\d{3})?|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}|6011\d{12}"
    r"|64[4-9]\d{13}|65\d{14}|35(?:2[89]|[3-8]\d)\d{12}|3(?:0[0-5]|[68]\d)\d{11}|62\d{14,17}"
)
# Numbers that the authority never issues (000, 666, 00, 0000) stay.
_SSN = re.compile(r"(?<![\d\-])(?P<value>(?!000|666)\d{3}([\-‑–])(?!00)\d{2}\2(?!0000)\d{4})(?![\d\-])")
_CPF = re.compile(r"(?<![\d.])(?P<value>\d{3}\.\d{3}\.\d{3}-\d{2})(?![\d\-])")
_NINO = re.compile(r"(?<![A-Za-z0-9])(?P<value>[A-CEGHJ-NP-TW-Z]{2}( ?)\d{2}\2\d{2}\2\d{2}\2[A-D])(?![A-Za-z0-9])")
_LABELLED_ID = re.compile(
    r"(?:(?i:(?<![a-z])(?:ssn|itin|social security|national insurance"
    r"|nino|aadhaar|passport|driv(?:er'?s?|ing) licen[cs]e"
    r"|nhs|medicare|patient id|mrn|dni|nie|nif|cpf|cnh|codice fiscale|personnummer|bsn|steuer-?id|taxpayer id|sozial\w*"
    r"|national id|identity card|id card|tax file number|sin number))|(?<![A-Za-z])(?:SIN|PAN|TIN|TFN|NIR|DL))"
    r"(?:[^\d\n\[]{0,24}?)(?<![A-Za-z0-9])"
    r"(?P<value>(?=[A-Z\-. ]{0,6}\d)[A-Z0-9](?:[ \-./]?[A-Z0-9]){4,20})(?![A-Za-z0-9])"
)
# International, North American, French, British layouts; others need a label.
_PHONES = (
    re.compile(
        r"(?<![\w+.\-/])"
        r"(?P<value>\+(?:\d{8,15}(?!\d)|\d{1,3}(?:[ .\-\xa0]?\(\d{1,4}\))?(?:[ .\-/\xa0]?\d{1,4}){2,6}(?!\d)))"
    ),
    re.compile(
        r"(?<![\w.\-/$€£])(?P<value>(?:\+?1[ .\-])?(?:\([2-9]\d{2}\) ?[2-9]\d{2}[ .\-]"
        r"|[2-9]\d{2}([.\-])[2-9]\d{2}\2)\d{4})(?![\w\-]|\.\d)"
    ),
    re.compile(r"(?<![\w.\-/])(?P<value>0[1-9](?:[ .]\d{2}){4})(?![\w.\-]\d)(?!\d)"),
    re.compile(
        r"(?<![\w.\-/])(?P<value>07\d{3} ?\d{3} ?\d{3}|020 ?\d{4} ?\d{4}|\(0\d{2,4}\) ?\d{3,4} ?\d{3,4})(?![\w\-])"
    ),
)
_LABELLED_PHONE = re.compile(
    r"(?i)(?<![a-z])(?:phones?|telephone|tel|mobile|cell(?:phone)?|fax|call|sms|text|whatsapp|dial|ring|reach|contact|telefon"
    r"|handy|tél|teléfono|电话|phone number)(?![a-z])[^\d\n+(\[]{0,24}"
    r"(?P<value>[+(]{0,2}\d(?:[\s.\-/()]{0,2}\d){6,14})(?![\d\-]|\.\d|,\d|%)"
)
_LABELLED_ACCOUNT = re.compile(
    r"(?i)(?<![a-z])(?:(?:bank )?acc(?:oun)?t(?:\.| number| no\.?| #|#)|routing(?: number| no\.?| transit number)?|aba"
    r"|sort[ -]code|bsb|card number|card ending|credit card"
    r"|debit card)[^\d\n\[]{0,16}(?P<value>\d(?:[ \-]?\d){4,18})(?![\d.,]\d)"
)
_BIRTH_DATES = (
    re.compile(
        r"(?i)(?<![a-z])(?:dob|d\.o\.b\.?|date of birth|birth ?date|born on|born|birthday|geboren am|né le)"
        r"[^\d\n\[]{0,16}"
        r"(?P<value>\d{1,4}[\-/.]\d{1,2}[\-/.]\d{1,4}|\d{1,2}(?:st|nd|rd|th)?\.? [A-Za-zäéû]{3,9}\.?,? \d{4})"
    ),
    re.compile(
        r"(?i)(?<![a-z])(?:dob|date of birth|birth ?date|born on|born|birthday)[^\d\n\[]{0,8}?"
        r"(?P<value>(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.? \d{1,2},? \d{4})"
    ),
)
_PUBLIC_NUMBER = re.compile(  # an EIN, a CIK, a date, a span of years
    r"\d{2}-\d{7}|0{3}\d{7}|(?:19|20)\d\d-\d\d-\d\d|(?:19|20)\d\d[-–](?:19|20)\d\d"
)
_IBAN_START = re.compile(r"(?<![A-Za-z0-9])(?P<country>[A-Z]{2})\d{2}")
_IBAN_LENGTHS = {
    code[:2]: int(code[2:])
    for code in wordset(
        "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29"
        " ES24 FI18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20"
        " LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25"
        " QA29 RO24 RS22 SA24 SC31 SD18 SE24 SI19 SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20"
    )
}
_LETTERS_AS_NUMBERS = str.maketrans({letter: str(10 + place) for place, letter in enumerate(ascii_uppercase)})
_IP = re.compile(  # only behind a word that says whose it is
    r"(?i)(?<![a-z])(?:ip(?:v[46])?(?:[ _\-]?addr(?:ess)?(?:es)?)?|client"
    r"|remote(?:[ _]addr(?:ess)?)?|x-forwarded-for|x-real-ip"
    r"|visitor|peer|(?:connect|request|log(?:ged|in|s)?(?: in)?|sign(?:ed)?[ -]?in"
    r"|access|visit|session|came|hit)\w*(?: \w+)? from)"
    r"[^\w\n]{0,6}(?:(?:is|was|of|ip|address|at|addr)[^\w\n]{1,3}){0,2}"
    r"(?P<value>(?<![\d.\w])(?:\d{1,3}\.){3}\d{1,3}(?![\d.]\d|\d)"
    r"|(?<![\w:])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{1,4}(?![\w:]))"
)
_IP_PART = re.compile(r"\d\.\d|:[0-9A-Fa-f:]")
_LOCAL_IPS = ("127.", "0.0.0.0", "255.255.255.255", "::1")  # noqa: S104 - compared with, never bound to
_HOME = re.compile(
    r"(?:(?:(?<=file://)|(?<![\w.\-/:]))(?:/home|/Users|/var/home)/|(?<![A-Za-z])[A-Za-z]:(?:\\{1,4}"
    r"|/)(?i:users|documents and settings)(?:\\{1,4}|/))"
    r"(?P<value>[^/\\\s\"'`<>:|,;()\[\]]{1,64}+)(?![\]])"
)
# These folders name nobody.
_SHARED_HOMES = frozenset(["Shared", "Public", "Default", "user", "username", "$USER", "you", "runner", "~", "All"])


def find_emails(text: str) -> Iterator[Span]:
    for found in _EMAIL.finditer(text):
        if found["tld"].lower() not in _FILE_ENDINGS and found["local"].lower() not in _SERVICE_USERS:
            yield Span(*found.span(), "email", f"{found['local'][0]}***@{found['domain']}")


def find_cards(text: str) -> Iterator[Span]:
    for found in _CARD.finditer(text):
        digits = re.sub(r"\D", "", found.group())
        if _CARD_ISSUER.fullmatch(digits) and passes_luhn(digits):
            yield Span(*found.span(), "card")


def passes_luhn(digits: str) -> bool:
    doubled = [int(char) * (1 + place % 2) for place, char in enumerate(reversed(digits))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def find_numbers(
    text: str, kind: str, pattern: re.Pattern[str], min_digits: int, max_digits: int = 99
) -> Iterator[Span]:
    for found in pattern.finditer(text):
        if min_digits <= sum(map(str.isdigit, found["value"])) <= max_digits:
            yield Span(*found.span("value"), kind)


def find_by_layout(text: str) -> Iterator[Span]:
    yield from find_numbers(text, "ssn", _SSN, 9)
    yield from find_numbers(text, "id_number", _CPF, 11)
    for pattern in _PHONES:
        yield from find_numbers(text, "phone", pattern, 8, 15)


def find_by_label(text: str) -> Iterator[Span]:
    if not any(map(str.isdigit, text)):
        return
    for pattern, kind, min_digits in (
        (_LABELLED_ID, "id_number", 5),
        (_LABELLED_PHONE, "phone", 7),
        (_LABELLED_ACCOUNT, "account", 5),
    ):
        for span in find_numbers(text, kind, pattern, min_digits):
            if not _PUBLIC_NUMBER.fullmatch(text, span.start, span.end):
                yield span
    for pattern in _BIRTH_DATES:
        yield from find_numbers(text, "birth", pattern, 4)


def find_ibans(text: str) -> Iterator[Span]:
    for found in _IBAN_START.finditer(text):
        length = _IBAN_LENGTHS.get(found["country"])
        whole = length and iban_pattern(length).match(text, found.start())
        if whole:
            iban = re.sub(r"[ \-\xa0]", "", whole.group()).upper()
            # ISO 7064: the country and check digits move to the end, letters become numbers.
            if int((iban[4:] + iban[:4]).translate(_LETTERS_AS_NUMBERS)) % 97 == 1:
                yield Span(*whole.span(), "iban")


@cache
def iban_pattern(length: int) -> re.Pattern[str]:
    return re.compile(rf"(?:[A-Za-z0-9][ \-\xa0]*+){{{length - 1}}}[A-Za-z0-9](?![^\W_])")


def find_ips(text: str) -> Iterator[Span]:
    if not _IP_PART.search(text):
        return
    for found in _IP.finditer(text):
        address = found["value"]
        is_v4 = address.count(".") == 3
        is_valid = max(map(int, address.split("."))) < 256 if is_v4 else sum(map(str.isalnum, address)) >= 4
        if is_valid and not address.startswith(_LOCAL_IPS):
            yield Span(*found.span("value"), "ip")


def find_homes(text: str) -> Iterator[Span]:
    for found in _HOME.finditer(text):
        name = found["value"]
        if name not in _SHARED_HOMES and not name.startswith(("[redacted", "{", "<", "$", "%")):
            yield Span(*found.span("value"), "home")


TRIGGERS: Final = (
    Trigger("at", shape=r"(?=[@&%\[(])(?:@|&#64;|&#x40;|&commat;|%40|\[at\]|\(at\))"),
    Trigger(
        "digit",
        shape=r"(?=[\d(+])(?:(?<!\d)(?!(?:19|20)\d\d(?!\d))\d{3}|\(?\+?(?<![\d.,])\d(?=\d?\))|\+\d"
        r"|(?<![\d.,])0[1-9](?![\d.,])|(?<![\d.])\d{1,2}\.\d{1,3}\.)",
        continuation=re.compile(r"[\d\s.\-/()+]{0,60}"),
    ),
    Trigger(
        "label",
        wordset(
            "ssn itin social national nino aadhaar passport driver drivers driving nhs medicare patient mrn dni nie nif"
            " cpf cnh codice personnummer bsn steuer taxpayer sozialversicherungsnummer identity id tax phone phones"
            " telephone tel mobile cell cellphone fax call sms text whatsapp dial ring reach contact telefon handy tél"
            " teléfono account acct acc routing aba sort bsb card credit debit dob date birth born birthday birthdate"
            " geboren né ip ipv client remote forwarded real visitor peer connect connected connection connections"
            " connecting request requests requested log logs logged login signed signin sign access accessed visit"
            " visited session sessions came hit hits sin pan tin tfn nir dl host address"
        ),
        continuation=re.compile(
            r"[^\d\n]{0,28}(?:[A-Z]{0,3}\d[A-Z0-9 \-./()+,:]{0,40}(?:[a-zäéû]{2,9}\.?,?(?:\s\d{0,4})?)?)?"
        ),
    ),
    Trigger("path", shape=r"/home/|/Users/|:(?:\\{1,4}|/)[Uu]sers"),
    Trigger(
        "iban",
        shape=r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?![a-z])",
        continuation=re.compile(r"[A-Z0-9 \-]{0,42}"),
    ),
    Trigger(
        "nino",
        shape=r"(?<![A-Za-z0-9])[A-CEGHJ-NP-TW-Z]{2}(?=\d|\s|\Z)",
        continuation=re.compile(r"[ \dA-D]{0,13}"),
    ),
)
RULES: Final = (
    Rule(frozenset({"at"}), find_emails),
    Rule(frozenset({"digit"}), find_cards),
    Rule(frozenset({"digit"}), find_by_layout),
    Rule(frozenset({"label"}), find_by_label),
    Rule(frozenset({"iban"}), find_ibans),
    Rule(frozenset({"nino"}), lambda text: find_numbers(text, "id_number", _NINO, 6)),
    Rule(frozenset({"path"}), find_homes),
    Rule(frozenset({"label", "digit"}), find_ips),
)
