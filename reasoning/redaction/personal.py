"""Personal data in text: e-mail addresses, cards, social-security and other identity numbers, phones, accounts.

Filings are full of numbers that look like these, so each rule asks for what only the real thing has: an issuer's range
and a check digit, a layout, or a word before it. Ten bare digits are a CIK, ``dd-ddddddd`` is an EIN, and neither is
touched. Spec 004 redaction.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from string import ascii_uppercase

from reasoning.redaction.policy import EmailMask, IpInText, RedactionPolicy
from reasoning.redaction.spans import Rule, Span
from reasoning.redaction.words import wordset

_EMAIL = re.compile(
    r"(?P<local>(?<![\w.+%'-])\w(?:(?!%40)[\w.+%'-]){0,63}+)(?:@|&#64;|&#x40;|&commat;|%40|＠|\[at\]|\(at\))"
    r"(?P<domain>(?:[\w-]{1,63}(?:\.|\[dot\]|\(dot\))){1,8}(?P<tld>[^\W\d_]{2,24}))(?![\w-])"
)
_NO_TLD = frozenset(["png", "jpg", "jpeg", "gif", "svg", "webp", "css", "js", "ts", "html", "json", "py"])
_ROLES = frozenset(["git", "hg", "svn"])  # user names of an address such as git@host:path
_CARD = re.compile(
    r"(?<![\d.,\-/])(?:\d{4}([ \-]?)\d{4}\1\d{4}\1\d{4}(?:\1\d{1,3})?|\d{4}([ \-]?)\d{6}\2\d{4,5})(?![\d\-]|[.,]\d)"
)
_ISSUER = re.compile(
    r"4\d{15}(?:\d{3})?|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}|6011\d{12}"
    r"|64[4-9]\d{13}|65\d{14}|35(?:2[89]|[3-8]\d)\d{12}|3(?:0[0-5]|[68]\d)\d{11}|62\d{14,17}"
)
_SSN = re.compile(r"(?<![\d\-])(?!000|666)\d{3}([\-‑–])(?!00)\d{2}\1(?!0000)\d{4}(?![\d\-])")
_NINO = re.compile(r"(?<![A-Za-z0-9])[A-CEGHJ-NP-TW-Z]{2}( ?)\d{2}\1\d{2}\1\d{2}\1[A-D](?![A-Za-z0-9])")
_CPF = re.compile(r"(?<![\d.])\d{3}\.\d{3}\.\d{3}-\d{2}(?![\d\-])")
_IDENTITY = re.compile(
    r"(?:(?i:(?<![a-z])(?:ssn|itin|social security|national insurance"
    r"|nino|aadhaar|passport|driv(?:er'?s?|ing) licen[cs]e"
    r"|nhs|medicare|patient id|mrn|dni|nie|nif|cpf|cnh|codice fiscale|personnummer|bsn|steuer-?id|taxpayer id|sozial\w*"
    r"|national id|identity card|id card|tax file number|sin number))|(?<![A-Za-z])(?:SIN|PAN|TIN|TFN|NIR|DL))"
    r"(?:[^\d\n\[]{0,24}?)(?<![A-Za-z0-9])(?P<id>(?=[A-Z\-. ]{0,6}\d)[A-Z0-9](?:[ \-./]?[A-Z0-9]){4,20})(?![A-Za-z0-9])"
)
_PHONES = (
    re.compile(
        r"(?<![\w+.\-/])\+(?:\d{8,15}(?!\d)|\d{1,3}(?:[ .\-\xa0]?\(\d{1,4}\))?(?:[ .\-/\xa0]?\d{1,4}){2,6}(?!\d))"
    ),
    re.compile(
        r"(?<![\w.\-/$€£])(?:\+?1[ .\-])?(?:\([2-9]\d{2}\) ?[2-9]\d{2}[ .\-]"
        r"|[2-9]\d{2}([.\-])[2-9]\d{2}\1)\d{4}(?![\w\-]|\.\d)"
    ),
    re.compile(r"(?<![\w.\-/])0[1-9](?:[ .]\d{2}){4}(?![\w.\-]\d)(?!\d)"),
    re.compile(r"(?<![\w.\-/])(?:07\d{3} ?\d{3} ?\d{3}|020 ?\d{4} ?\d{4}|\(0\d{2,4}\) ?\d{3,4} ?\d{3,4})(?![\w\-])"),
)
_CALLED = re.compile(
    r"(?i)(?<![a-z])(?:phones?|telephone|tel|mobile|cell(?:phone)?|fax|call|sms|text|whatsapp|dial|ring|reach|contact|telefon"
    r"|handy|tél|teléfono|电话|phone number)(?![a-z])[^\d\n+(\[]{0,24}"
    r"(?P<id>[+(]{0,2}\d(?:[\s.\-/()]{0,2}\d){6,14})(?![\d\-]|\.\d|,\d|%)"
)
_ACCOUNT = re.compile(
    r"(?i)(?<![a-z])(?:(?:bank )?acc(?:oun)?t(?:\.| number| no\.?| #|#)|routing(?: number| no\.?| transit number)?|aba"
    r"|sort[ -]code|bsb|card number|card ending|credit card"
    r"|debit card)[^\d\n\[]{0,16}(?P<id>\d(?:[ \-]?\d){4,18})(?![\d.,]\d)"
)
_BIRTH = re.compile(
    r"(?i)(?<![a-z])(?:dob|d\.o\.b\.?|date of birth|birth ?date|born on|born|birthday|geboren am|né le)[^\d\n\[]{0,16}"
    r"(?P<id>\d{1,4}[\-/.]\d{1,2}[\-/.]\d{1,4}|\d{1,2}(?:st|nd|rd|th)?\.? [A-Za-zäéû]{3,9}\.?,? \d{4})"
)
_BORN_MONTH = re.compile(
    r"(?i)(?<![a-z])(?:dob|date of birth|birth ?date|born on|born|birthday)[^\d\n\[]{0,8}?"
    r"(?P<id>(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.? \d{1,2},? \d{4})"
)
_IBAN = re.compile(r"(?<![A-Za-z0-9])(?P<land>[A-Z]{2})\d{2}")
_IBANS = wordset(
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29"
    " ES24 FI18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20"
    " LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25"
    " QA29 RO24 RS22 SA24 SC31 SD18 SE24 SI19 SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20"
)
_AS_NUMBERS = str.maketrans({letter: str(10 + place) for place, letter in enumerate(ascii_uppercase)})
_IBAN_LENGTHS = {code[:2]: int(code[2:]) for code in _IBANS}
_DIGIT = re.compile(r"\d")
_IP = (
    r"(?P<ip>(?<![\d.\w])(?:\d{1,3}\.){3}\d{1,3}(?![\d.]\d|\d)"
    r"|(?<![\w:])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{1,4}(?![\w:]))"
)
_PART_OF_IP = re.compile(r"\d\.\d|:[0-9A-Fa-f:]")
_ADDRESS = re.compile(_IP)
_ADDRESSED = re.compile(
    r"(?i)(?<![a-z])(?:ip(?:v[46])?(?:[ _\-]?addr(?:ess)?(?:es)?)?|client"
    r"|remote(?:[ _]addr(?:ess)?)?|x-forwarded-for|x-real-ip"
    r"|visitor|peer|(?:connect|request|log(?:ged|in|s)?(?: in)?|sign(?:ed)?[ -]?in"
    r"|access|visit|session|came|hit)\w*(?: \w+)? from)"
    rf"[^\w\n]{{0,6}}(?:(?:is|was|of|ip|address|at|addr)[^\w\n]{{1,3}}){{0,2}}(?i:{_IP})"
)
_LOCAL = ("127.", "0.0.0.0", "255.255.255.255", "::1")  # noqa: S104 - compared with, never bound to
_HOME = re.compile(
    r"(?:(?:(?<=file://)|(?<![\w.\-/:]))(?:/home|/Users|/var/home)/|(?<![A-Za-z])[A-Za-z]:(?:\\{1,4}"
    r"|/)(?i:users|documents and settings)(?:\\{1,4}|/))"
    r"(?P<id>[^/\\\s\"'`<>:|,;()\[\]]{1,64}+)(?![\]])"
)
_SHARED_HOMES = frozenset(["Shared", "Public", "Default", "user", "username", "$USER", "you", "runner", "~", "All"])


def rules(policy: RedactionPolicy) -> tuple[Rule, ...]:
    """Return the rules of personal data that the policy asks for, none if it asks for secrets alone."""
    if not policy.personal:
        return ()
    finders: list[tuple[frozenset[str], Callable[[str], Iterator[Span]]]] = [
        (frozenset({"at"}), lambda text: _emails(text, policy.email_mask)),
        (frozenset({"digit"}), _cards),
        (frozenset({"digit"}), _ssns),
        (frozenset({"digit"}), _plain_phones),
        (frozenset({"person"}), _labelled),
        (frozenset({"iban"}), _ibans),
        (frozenset({"nino"}), lambda text: _all(_NINO, text, "id_number")),
        (frozenset({"path"}), _homes),
    ]
    if policy.ip_in_text is not IpInText.NEVER:
        pattern = _ADDRESSED if policy.ip_in_text is IpInText.CONTEXT_ONLY else _ADDRESS
        finders.append((frozenset({"person", "digit"}), lambda text: _ips(text, pattern)))
    return tuple(Rule(triggers, find) for triggers, find in finders)


def _emails(text: str, mask: EmailMask) -> Iterator[Span]:
    for found in _EMAIL.finditer(text):
        if found["tld"].lower() in _NO_TLD or found["local"].lower() in _ROLES:
            continue
        shown = f"{found['local'][0]}***@{found['domain']}" if mask is EmailMask.FIRST_LETTER else ""
        yield Span(found.start(), found.end(), shown, "email")


def _all(pattern: re.Pattern[str], text: str, kind: str) -> Iterator[Span]:
    for found in pattern.finditer(text):
        yield Span(found.start(), found.end(), "", kind)


def _cards(text: str) -> Iterator[Span]:
    for found in _CARD.finditer(text):
        digits = re.sub(r"\D", "", found.group())
        if _ISSUER.fullmatch(digits) and passes_luhn(digits):
            yield Span(found.start(), found.end(), "", "card")


def passes_luhn(digits: str) -> bool:
    """Tell whether the last digit checks the others, as on payment cards."""
    total = 0
    for place, char in enumerate(reversed(digits)):
        value = int(char) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def _ssns(text: str) -> Iterator[Span]:
    yield from _all(_SSN, text, "ssn")
    yield from _all(_CPF, text, "id_number")


def _plain_phones(text: str) -> Iterator[Span]:
    for pattern in _PHONES:
        for found in pattern.finditer(text):
            if 8 <= sum(char.isdigit() for char in found.group()) <= 15:
                yield Span(found.start(), found.end(), "", "phone")


def _labelled(text: str) -> Iterator[Span]:
    if not _DIGIT.search(text):
        return
    for pattern, kind, least in (
        (_IDENTITY, "id_number", 5),
        (_CALLED, "phone", 7),
        (_ACCOUNT, "account", 5),
        (_BIRTH, "birth", 4),
        (_BORN_MONTH, "birth", 4),
    ):
        for found in pattern.finditer(text):
            if sum(char.isdigit() for char in found["id"]) >= least and (
                kind == "birth" or not _is_public(found["id"])
            ):
                yield Span(found.start("id"), found.end("id"), "", kind)


def _is_public(number: str) -> bool:
    """Tell employer numbers, dates, CIKs and years apart from what belongs to a person."""
    return (
        re.fullmatch(r"\d{2}-\d{7}|0{3}\d{7}|(?:19|20)\d\d-\d\d-\d\d|(?:19|20)\d\d[-–](?:19|20)\d\d", number)
        is not None
    )


def _ibans(text: str) -> Iterator[Span]:
    for found in _IBAN.finditer(text):
        length = _IBAN_LENGTHS.get(found["land"])
        whole = length and _iban(length).match(text, found.start())
        if whole and _checks_mod_97(re.sub(r"[ \-\xa0]", "", whole.group())):
            yield Span(whole.start(), whole.end(), "", "iban")


@cache
def _iban(length: int) -> re.Pattern[str]:
    """Return the pattern of that many letters and digits, with only spaces and dashes between them."""
    return re.compile(rf"(?:[A-Za-z0-9][ \-\xa0]*+){{{length - 1}}}[A-Za-z0-9](?![^\W_])")


def _checks_mod_97(iban: str) -> bool:
    return int((iban[4:] + iban[:4]).upper().translate(_AS_NUMBERS)) % 97 == 1


def _ips(text: str, pattern: re.Pattern[str]) -> Iterator[Span]:
    if not _PART_OF_IP.search(text):
        return
    for found in pattern.finditer(text):
        address = found["ip"]
        parts = address.split(".")
        if address.startswith(_LOCAL) or (len(parts) == 4 and any(int(part) > 255 for part in parts)):
            continue
        if len(parts) == 4 or sum(char.isalnum() for char in address) >= 4:
            yield Span(found.start("ip"), found.end("ip"), "", "ip")


def _homes(text: str) -> Iterator[Span]:
    for found in _HOME.finditer(text):
        if found["id"] not in _SHARED_HOMES and not found["id"].startswith(("[redacted", "{", "<", "$", "%")):
            yield Span(found.start("id"), found.end("id"), "", "home")
