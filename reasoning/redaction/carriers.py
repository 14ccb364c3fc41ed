"""Secrets in what programs send: addresses with a password, headers, cookies, command lines, forms.

A rule finds the carrier and where its value begins; ``values`` decides whether what is there is a value. All repeats
are bounded or possessive, so that no text costs more than linear time.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from reasoning.redaction.names import PARAMETER
from reasoning.redaction.spans import Rule, Span, secret
from reasoning.redaction.values import is_inert, is_mixed, is_number_like, is_random, is_word, trimmed
from reasoning.redaction.words import wordset

_USERINFO = re.compile(
    r"://(?P<value>[^\s/?#\"'<>@:]{0,128}:(?!\d{1,5}(?:[/?#]|\Z))[^\s\"'<>]{1,256}|[^\s/?#\"'<>@:]{12,256})@"
)
_NETWORK = re.compile(r"WIFI:(?:[^\n\s]{0,80};)?P:(?P<value>[^;\s\[]{1,64}+)")
_COOKIE = re.compile(
    r"(?i)(?<![\w-])(?:set-)?cookie[\"'\\]{0,4}\s{0,3}[:=]\s{0,3}[\"'\\]{0,4}(?P<value>[^\n\r\"']{3,4096}+)"
)
_COOKIE_FLAG = re.compile(r"(?<![\w-])(?:--cookie|-b)[ =]{1,4}[\"']?(?P<value>[^\n\r\"']{3,4096}+)")
_AUTHORIZATION = re.compile(
    r"(?i)(?<![a-z])(?:proxy-)?authorization[\"'`*\\]{0,4}[ \t]{0,4}(?:[:=,]|=>){1,2}[ \t]{0,4}[b\"'`*\\]{0,5}"
    r"(?P<value>(?P<first>[^\s\"',\\]{1,4096}+)(?:[ \t]{1,4}"
    rf"(?P<rest>{PARAMETER}[^\n\r]{{1,4096}}+|[^\n\r\"'`\\]{{1,4096}}+))?)"
)
_SCHEMES = wordset("bearer basic token apikey digest negotiate aws4-hmac-sha256 hawk oauth ntlm key splunk")
_SCHEME = re.compile(
    r"(?i)(?<![a-z])(?P<scheme>bearer|basic|token|apikey|api-key)[\"'`*\\]{0,4}(?:\s{1,4}|[:=]\s{0,2}|%20)[\"'`*\\]{0,4}"
    r"(?P<value>[A-Za-z0-9._~+/=:\-]{6,4096}+)"
)
_USER_FLAG = re.compile(
    r"(?<![\w-])(?:-u|--user|--proxy-user|-U)[ =]{0,4}[\"']?"
    r"(?P<value>[^\s:\"'`/\\%]{1,64}(?:\\[^\s:\"'`/\\%]{1,64})?[:%][\"']?[^\s\"'`]{1,256}+)"
)
_ACCOUNT_FLAG = re.compile(  # also what other programs take: HTTPie, lftp
    r"(?<![\w-])(?:-a|-u|--auth)[ =]{1,4}[\"']?(?P<value>[\w.@\-]{1,64}[:,](?P<password>[^\s\"'`/]{5,256}+))"
)
_ACCOUNT_FLAGS = re.compile(
    r"(?<![\w-])-[uU][ ]?[^\s\"']{1,64}[ ]{1,2}-[pP][ ]?[\"']?(?P<value>(?P<password>[^\s\"']{5,256}+))"
)
_COMMANDS = (
    re.compile(  # with a space behind the flag, these ask for the password, and a database's name follows
        r"(?<![\w-])(?:mysql\w*|mariadb\w*)\b[^\n|]{0,160}?[ \t]-p[\"']?(?P<value>[^\s\"'\-][^\s\"']{2,256}+)"
    ),
    re.compile(
        r"(?<![\w-])(?:sshpass|redis-cli|mongo\w*|ldap\w+|zip|7z|unzip|smbclient|login)\b[^\n|]{0,160}?[ \t]"
        r"(?:-p|-a|-w|-P)[ =]?[\"']?(?P<value>[^\s\"'\-][^\s\"']{2,256}+)"
    ),
    re.compile(r"(?<![\w-])login[ \t]{1,4}(?P<value>(?=[^\s]{0,64}\d)[\w.\-]{16,256}+)"),
)
_AUTH_PAIR = re.compile(
    r"(?i)(?:auth|credentials?|login)[\"']?\s{0,2}[=:(]{1,2}[ ]?[(\[]?[\"'][^\"'\n]{1,64}[\"'],\s{0,4}"
    r"[\"'](?P<value>[^\"'\n]{3,256}+)"
)
_IDENTIFIED = re.compile(
    r"(?i)identified\s{1,4}(?:with\s{1,4}\S{1,64}\s{1,4})?by\s{1,4}[\"'](?P<value>[^\"'\n]{1,256}+)"
)
_CONNECTION = re.compile(
    r"(?:\:thin:|(?<![\w-])(?:sqlplus|sqlldr|expdp|impdp|rman)\b(?:[ ]-\w{1,12}){0,4}[ ]{1,4}(?:target[ ])?[\"']?)"
    r"[\w$#]{1,64}/(?P<value>[^@\s\"']{1,128}+)@"
)
_PASSFILE = re.compile(
    r"(?<!\S)[\w.\-*]{1,128}:(?:\d{2,5}|\*):[\w.\-*]{1,64}:[\w.@\-*]{1,64}:(?P<value>[^\s:]{5,128}+)"
)
_INPUT = re.compile(r"(?i)type=[\"']?password[\"']?[^<>]{0,120}?value=[\"']?(?P<value>[^\"'<>\s]{1,256}+)")


def _userinfo(text: str) -> Iterator[Span]:
    if "@" not in text:
        return
    for found in _USERINFO.finditer(text):
        value = found["value"]
        if not is_inert(value.partition(":")[2] or value) and (":" in value or is_mixed(value)):
            yield secret(found)


def _networks(text: str) -> Iterator[Span]:
    for pattern in (_NETWORK, _CONNECTION):
        for found in pattern.finditer(text):
            if not is_inert(found["value"]):
                yield secret(found)


def _cookies(text: str) -> Iterator[Span]:
    for pattern in (_COOKIE, _COOKIE_FLAG):
        for found in pattern.finditer(text):
            if "=" in found["value"] and not is_inert(found["value"]):
                yield secret(found)


def _authorizations(text: str) -> Iterator[Span]:
    for found in _AUTHORIZATION.finditer(text):
        first, rest = found["first"], found["rest"] or ""
        if is_inert(first) or (rest and is_inert(rest)):
            continue
        if (rest and first.lower() in _SCHEMES) or is_mixed(first) or len(trimmed(first)) >= 16:
            yield secret(found)


def _schemes(text: str) -> Iterator[Span]:
    for found in _SCHEME.finditer(text):
        value = trimmed(found["value"])
        if not is_inert(value) and _follows_scheme(found["scheme"].lower(), value):
            yield secret(found, length=len(value))


def _follows_scheme(scheme: str, value: str) -> bool:
    if scheme == "basic":
        return _is_basic(value)
    if scheme == "bearer":
        return is_mixed(value) or (len(value) >= 20 and not is_word(value))
    return is_random(value, least=12)


def _is_basic(value: str) -> bool:
    try:
        return b":" in base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return is_random(value, least=20)


def _flags(text: str) -> Iterator[Span]:
    for pattern in (_USER_FLAG, *_COMMANDS):
        for found in pattern.finditer(text):
            value = found["value"]
            if not (is_inert(value) or is_inert(value.partition(":")[2] or value) or is_number_like(value)):
                yield secret(found)
    for pattern in (_ACCOUNT_FLAG, _ACCOUNT_FLAGS):
        for found in pattern.finditer(text):
            if is_mixed(found["password"]) and not is_inert(found["password"]):
                yield secret(found)


def _pairs(text: str) -> Iterator[Span]:
    for found in _AUTH_PAIR.finditer(text):
        if is_mixed(found["value"]):
            yield secret(found)
    for found in _IDENTIFIED.finditer(text):
        if not is_inert(found["value"]):
            yield secret(found)


def _passfiles(text: str) -> Iterator[Span]:
    for found in _PASSFILE.finditer(text):
        if is_mixed(found["value"]):
            yield secret(found)


def _inputs(text: str) -> Iterator[Span]:
    for found in _INPUT.finditer(text):
        if not is_inert(found["value"]):
            yield secret(found)


RULES = (
    Rule(frozenset({"url"}), _userinfo),
    Rule(frozenset({"url", "command"}), _networks),
    Rule(frozenset({"header", "flag"}), _cookies),
    Rule(frozenset({"header"}), _authorizations),
    Rule(frozenset({"name", "scheme"}), _schemes),
    Rule(frozenset({"flag", "command"}), _flags),
    Rule(frozenset({"odd"}), _passfiles),
    Rule(frozenset({"name"}), _inputs),
    Rule(frozenset({"name", "login"}), _pairs),
)
