"""Addresses of model services: which are usable, and their hosts as people may see them."""

from __future__ import annotations

import ipaddress
import re
from typing import Literal
from urllib.parse import SplitResult, urlsplit, urlunsplit

MAX_CHARS = 300
MAX_HOST_CHARS = 253
_NAME = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.?")
_DEFAULT_PORTS = {"http": 80, "https": 443}
AddressProblem = Literal["characters", "length", "scheme", "user", "query", "host", "port"]


class InvalidAddressError(ValueError):
    """An address that no request can be sent to, or that holds more than an address."""

    def __init__(self, problem: AddressProblem) -> None:
        super().__init__(problem)
        self.problem: AddressProblem = problem


def check_address(address: str) -> str:
    """Return an address without a slash at its end, its host in ASCII. Raises InvalidAddressError."""
    if len(address) > MAX_CHARS:
        raise InvalidAddressError("length")
    # urlsplit would remove line ends and tabs without a word.
    if not address.isprintable() or any(char.isspace() or char == "\\" for char in address):
        raise InvalidAddressError("characters")
    if not address.lower().startswith(("http://", "https://")):
        raise InvalidAddressError("scheme")
    if "@" in address.partition("://")[2].partition("/")[0]:
        raise InvalidAddressError("user")
    if "?" in address or "#" in address:
        raise InvalidAddressError("query")
    try:
        parts = urlsplit(address)
        host = check_host(parts.hostname or "")
    except ValueError:
        raise InvalidAddressError("host") from None
    try:
        if parts.port == 0 or parts.netloc.endswith(":"):
            raise ValueError
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        raise InvalidAddressError("port") from None
    return urlunsplit((parts.scheme, f"{in_brackets(host)}{port}", parts.path, "", "")).rstrip("/")


def check_host(host: str) -> str:
    """Return a host name in lower case and ASCII, or an IP address without brackets. Raises ValueError."""
    if ":" in host:
        if "%" in host:
            raise ValueError(host)
        return str(ipaddress.IPv6Address(host))
    name = host.lower() if host.isascii() else host.encode("idna").decode()
    if len(name) > MAX_HOST_CHARS or not _NAME.fullmatch(name):
        raise ValueError(host)
    if name.replace(".", "").isdigit():
        ipaddress.IPv4Address(name)
    return name


def in_brackets(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def host_of(address: str) -> str:
    """Return host and port, as people may see them; of an address that can't be read, nothing."""
    parts = split(address)
    port = port_of(address)
    is_named = bool(parts.hostname) and parts.netloc.rpartition("@")[2].endswith(f":{port}")
    return f"{in_brackets(parts.hostname or '')}{f':{port}' if is_named else ''}"


def port_of(address: str) -> int:
    """Return the port, or the one that the scheme implies; 0 where there is none."""
    parts = split(address)
    try:
        return parts.port or _DEFAULT_PORTS.get(parts.scheme, 0)
    except ValueError:
        return 0


def split(address: str) -> SplitResult:
    """Split any text; one that is no address has no parts."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")
