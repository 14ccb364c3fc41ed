"""Secrets in sentences: "the password for the admin account is …", "log in as … with password …", seed phrases.

People write what they like, so each rule asks ``values`` whether the words after the name give something away or only
talk about it. What a rule may span is what ``names`` holds back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reasoning.redaction.names import GAP
from reasoning.redaction.spans import Rule, Span, secret
from reasoning.redaction.values import (
    is_expression,
    is_inert,
    is_mixed,
    is_number_like,
    is_random,
    is_word,
    trimmed,
)
from reasoning.redaction.words import GRAMMAR

_SEVERAL = re.compile(r"[a-z]{3,12}(?: [a-z]{3,12}){3,7}(?![\w'])")
_PROSE_NAME = (
    r"(?P<name>(?:[Pp]ass[ ]?(?:word|phrase|code)|PASSWORD|[Pp]/[Ww]|(?<=[A-Z]_)(?:PASS|PWD|PW|TOKEN|KEY|SECRET)"
    r"|(?:API-|Zu(?:griff|gang)s)?[Ss]chlüssel|Geheimnis|passwd|pwd|[Pp]asswort|[Kk]ennwort|[Cc]ontraseña|[Ss]enha"
    r"|(?:mot[ ]de[ ])?passe|SecureString|[Ww]achtwoord|[Пп]ароль|[Pp]w|(?:wpa-)?psk|PIN(?:[ ](?:code|number))?|OTP"
    r"|CVV|CVC|(?:require|master|store|key|user|db|smtp|mail|root|admin)pass|(?i:(?:api|access|secret|private|auth\w{0,12}|bearer|refresh|client|signing|encryption|session|security|account|app"
    r"|login|master|license|recovery|verification|one-time|2fa|mfa|reset|backup|admin|deploy|personal[ ]access|webhook"
    r"|ssh|service|user|new|temporary)[ _\-](?:key|token|secret|code|password|passphrase|pin|pass(?:code)?))"
    r"|[Tt]oken|[Ss]ecret|[Kk]ey|[Cc]redentials?))s?"
)
_IS = (
    r"(?:(?:has[ ]been[ ]|was[ ]|is[ ]|been[ ])?(?:changed|set|reset|updated|rotated)[ ]to|wurde[ ](?:auf|zu)"
    r"|is|was|are|will[ ]be|should[ ]be|must[ ]be|becomes?|became|remains|equals"
    r"|(?:ist|lautet|heißt)(?:[ ](?:jetzt|nun))?|est|es|è|é)"
)
_PROSE = re.compile(
    rf"(?<![A-Za-z_])(?:[A-Z][A-Z0-9_]{{0,40}}_)?{_PROSE_NAME}[\"'`*]{{0,4}}(?:[ ]\([^()\n]{{1,30}}\))?{GAP}"
    rf"(?:\s{{1,4}}{_IS}"
    rf"(?:\s{{1,4}}(?:now|still|übrigens|derzeit|aktuell|weiterhin"
    rf"|set[ ]to|currently|simply|just|as[ ]follows|the[ ]following|called))?[ ]?:?"
    rf"|[ ]?[:=])\s{{1,4}}(?P<open>[\"'`*(\[„“”]{{0,4}})(?P<value>[^\s\"'`<>\\]{{1,256}}+)"
)
_DIRECT = re.compile(
    rf"(?:(?<![A-Za-z_\-])|(?<=ConvertTo-))(?:[A-Z][A-Z0-9_]{{0,40}}_)?{_PROSE_NAME}(?:['’]s|[\"'`*]{{0,4}},?)(?:{GAP}\s{{1,4}}to)?\s{{1,4}}(?:(?:to|use|enter|type|try)\s{{1,4}})?(?P<open>[\"'`*(\[]{{0,4}})(?P<value>[^\s\"'`<>\\]{{3,256}}+)"
)
_LOGIN = re.compile(
    r"(?i)(?<![a-z])(?:login|user(?:name|id)?|account|benutzer(?:name)?)[\"'`*:]{0,4}\s{0,4}[:=]?\s{0,4}(?P<who>[^\s,;|]{1,64}+)[\s,;/]{1,4}"
    r"(?:and\s{1,4}|with\s{1,4}|und\s{1,4}){0,2}(?:password|passwort|kennwort|pass|pwd|pw)(?![a-z])[\"'`*]{0,4}\s{0,4}[:=]?\s{0,4}[\"'`*]{0,3}"
    r"(?P<value>[^\s\"'`<>]{2,256}+)"
)
_CREDENTIALS = re.compile(
    r"(?i)(?<![a-z])(?:credentials?|creds|login|log\s{1,4}in|zugangsdaten|anmeldedaten)[\"'`*]{0,4}"
    r"(?:\s{1,4}(?:are|is|with|as|using|mit|als|attempt|details?|data|info))?\s{0,4}[:=]?\s{1,4}"
    r"[\"'`*]{0,3}(?P<value>[\w.@\-]{2,64}(?:\s?[:/]\s?|\s(?:and|und)\s)(?P<second>[^\s\"'`<>/]{3,128}+))"
)
_CODE = re.compile(
    r"(?:(?i:(?:one-time|2fa|mfa|otp|verification|security|access|login|sms"
    r"|auth\w{0,12}|confirmation|your|pin)[ -](?:pass)?code)"
    r"|(?i:(?:bestätigungs|sicherheits|zugangs|anmelde|einmal|verifizierungs|freischalt)code)"
    r"|(?<![A-Za-z])(?:OTP|TAN|PIN(?: number)?))"
    r"[\"'`*]{0,3}(?:\s{1,4}(?:is|was|ist|lautet))?\s{0,3}[:=]?\s{1,4}[\"'`*]{0,3}"
    r"(?P<value>\d{3}[ -]\d{3,5}|\d{4,8})(?![\d%]|[.,\-]\d)"
)
_CODE_DIGITS = re.compile(r"\d{3}")
_AFTER = re.compile(
    r"(?P<quote>[\"'`]?)(?<![\w.\-/])(?P<value>[^\s\"'`<>,;()]{5,256}+)(?P=quote)\s{1,4}(?:is|as|for|was|(?:when|if)(?:\s{1,4}[a-z]{1,12}){1,4}\s{1,4}for)\s{1,4}"
    r"(?:(?:the|my|your|our|his|her|their|a|an)\s{1,4})?(?:\w{1,20}\s{1,4}){0,2}?"
    r"(?i:password|passphrase|passcode|api[ _-]?key|access[ _-]?(?:key"
    r"|token)|auth[ _-]?token|secret[ _-]?key|pin)(?![a-z])(?! (?:manager|polic|rule|hash|store|generator))"
)
_SAYS_AFTER = re.compile(r"(?i)\s(?:is|as|for|was|when|if)\s")
_SEED = re.compile(
    r"(?i)(?:passphrase|mnemonic|(?:seed|recovery|backup|secret)\s{1,2}(?:phrase|words?))[\"'`*]{0,4}(?:\s{1,4}(?:is|was|are))?"
    r"\s{0,4}[:=]?[\s\"'`*(]{0,6}(?P<value>(?:(?:\d{1,2}[.)]\s?)?[a-z]{3,10}[\s,\-]{1,3}){5,25}[a-z]{3,10})"
)
_CJK = re.compile(
    r"(?:密[码碼钥鑰匙]|口令|令牌|パスワード|비밀번호|암호)\s{0,2}(?:是|为|為|は|는|은|가)?\s{0,2}[:：=]?\s{0,2}"
    r"[\"'`「“]?(?P<value>[!-~]{4,64}+)"
)
FAMILY = re.compile(r"(?i)pass|pwd|kennwort|contrase|senha|wachtwoord|пароль|pw\Z")
_DIGITS_NAME = re.compile(r"(?i)pin|otp|cv[vc]|code|pass|pwd|2fa|mfa|kennwort")


def _seeds(text: str) -> Iterator[Span]:
    for found in _SEED.finditer(text):
        words = re.findall(r"[A-Za-z]+", found["value"])
        if len(words) >= 11 or (len(words) >= 6 and not any(is_word(word) for word in words)):
            yield secret(found)


def several(text: str, start: int) -> Span | None:
    """Find a passphrase of small words: "correct horse battery staple"."""
    found = _SEVERAL.match(text, start)
    if found and GRAMMAR.isdisjoint(found.group().split()):
        return Span(start, found.end(), "", "secret")
    return None


def _prose(text: str) -> Iterator[Span]:
    for found in _PROSE.finditer(text):
        value = trimmed(found["value"])
        if is_inert(value):
            continue
        if phrase := FAMILY.search(found["name"]) and several(text, found.start("value")):
            yield phrase
        elif _is_said(found["name"], value, quoted=bool(found["open"])):
            yield secret(found, length=len(value))


def _is_said(name: str, value: str, *, quoted: bool) -> bool:
    """Tell whether "the ``name`` is ``value``" gives the secret away, rather than saying something about it."""
    if value.isdigit():
        return len(value) >= 3 and says_digits(name)
    if _is_plain_name(name):
        return (is_random(value, least=10) and not is_expression(value)) or (
            quoted and is_mixed(value) and len(value) >= 8
        )
    if is_word(value) or is_number_like(value):
        return False
    if FAMILY.search(name):
        return len(value) >= 3 and not is_expression(value)
    return is_mixed(value) or (len(value) >= 12 and value.isascii() and not value.islower()) or is_random(value)


def _is_plain_name(name: str) -> bool:
    return name.lower().rstrip("s") in {"token", "secret", "key", "credential", "schlüssel", "geheimni"}


def says_digits(name: str) -> bool:
    """Tell names whose value may well be all digits: a PIN, a code, a password."""
    return _DIGITS_NAME.search(name) is not None


def _direct(text: str) -> Iterator[Span]:
    for found in _DIRECT.finditer(text):
        value = trimmed(found["value"])
        if is_inert(value) or value[0] in "=:|-(":
            continue
        if is_random(value, least=12) or (not _is_plain_name(found["name"]) and _is_blurted(value)):
            yield secret(found, length=len(value))


def _is_blurted(value: str) -> bool:
    return is_mixed(value) and not is_expression(value) and not value.startswith(("$", "#"))


def _logins(text: str) -> Iterator[Span]:
    for found in _LOGIN.finditer(text):
        value = trimmed(found["value"])
        if not is_inert(value) and not is_word(value) and not is_word(found["who"]):
            yield secret(found, length=len(value))
    for found in _CREDENTIALS.finditer(text):
        value = trimmed(found["second"])
        if not is_inert(value) and is_mixed(value):
            yield Span(found.start("value"), found.start("second") + len(value), "", "secret")


def _codes(text: str) -> Iterator[Span]:
    if not _CODE_DIGITS.search(text):
        return
    for found in _CODE.finditer(text):
        yield secret(found)


def _after(text: str) -> Iterator[Span]:
    if not _SAYS_AFTER.search(text):
        return
    for found in _AFTER.finditer(text):
        value = found["value"]
        if not is_inert(value) and is_mixed(value) and (len(value) >= 6 or found["quote"]) and "-" not in value[2:4]:
            yield secret(found)


def _cjk(text: str) -> Iterator[Span]:
    for found in _CJK.finditer(text):
        value = trimmed(found["value"])
        if not is_inert(value) and (is_mixed(value) or value.isdigit() or len(value) >= 8):
            yield secret(found, length=len(value))


RULES = (
    Rule(frozenset({"name"}), _prose),
    Rule(frozenset({"name"}), _direct),
    Rule(frozenset({"name"}), _codes),
    Rule(frozenset({"login"}), _logins),
    Rule(frozenset({"odd"}), _after),
    Rule(frozenset({"phrase"}), _seeds),
    Rule(frozenset({"cjk"}), _cjk),
)
