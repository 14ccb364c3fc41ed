"""Which addresses of the web may be fetched. Everything here is pure: names and IP addresses in, verdicts out."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Literal, TypeAlias
from urllib.parse import unquote, urljoin

from chat.html import check_url
from chat.providers.address import check_host

MAX_HOSTS = 50  # each is named in the description of the tool, which every request contains
AddressProblem = Literal["address", "scheme", "number", "port", "dots"]
_PORTS = {"http": 80, "https": 443}
_WILDCARD = "*."
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052: the last 32 bits are an address of IPv4
IPAddress: TypeAlias = IPv4Address | IPv6Address


class InvalidPageAddressError(ValueError):
    """An address that no page is fetched from, whatever hosts are allowed."""

    def __init__(self, problem: AddressProblem) -> None:
        super().__init__(problem)
        self.problem: AddressProblem = problem


@dataclass(frozen=True, slots=True)
class PageAddress:
    """An address that passed the check, in ASCII. ``fragment`` is never sent."""

    scheme: str
    host: str
    port: int
    path: str  # with the query
    fragment: str = ""

    @property
    def origin(self) -> str:
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{self.host}{port}"

    @property
    def url(self) -> str:
        return f"{self.origin}{self.path}"

    def join(self, location: str) -> PageAddress:
        """Return where a redirect leads, never from https to http. Raises InvalidPageAddressError."""
        try:
            joined = read_address(urljoin(self.url, location))
        except ValueError:  # also that of an address that isn't fetched
            raise InvalidPageAddressError("address") from None
        if self.scheme == "https" and joined.scheme != "https":
            raise InvalidPageAddressError("scheme")
        return joined


def read_address(raw: str) -> PageAddress:
    """Read an address as strictly as the link guard does, so that each page that is read can be linked to.

    Raises InvalidPageAddressError. The guard refuses a user name, white space, and what two parsers may read
    differently.
    """
    address = check_url(raw)
    if address is None:
        raise InvalidPageAddressError("address")
    if not address.is_web:
        raise InvalidPageAddressError("scheme")
    if ends_in_number(address.host):
        raise InvalidPageAddressError("number")
    port = int(address.port or _PORTS[address.scheme])
    if port not in _PORTS.values():
        raise InvalidPageAddressError("port")
    rest, _, fragment = address.rest.partition("#")
    path = rest if rest.startswith("/") else f"/{rest}"
    # A server would resolve them, and so serve another path than the one that robots.txt was asked about.
    if not {".", ".."}.isdisjoint(unquote(path.partition("?")[0]).split("/")):
        raise InvalidPageAddressError("dots")
    return PageAddress(address.scheme, address.host, port, path, fragment)


def ends_in_number(host: str) -> bool:
    """Whether some program may read a host as an IP address: ``127.1``, ``0x7f000001``, ``[::1]``."""
    last = host.removesuffix(".").rpartition(".")[2]
    return host.startswith("[") or last.startswith("0x") or last.isdigit()


def read_hosts(text: str) -> tuple[str, ...]:
    """Return the hosts that a setting allows, one a line; a line that is none allows nothing."""
    hosts = (host_pattern(line) for line in _lines(text))
    return tuple(dict.fromkeys(host for host in hosts if host))[:MAX_HOSTS]


def invalid_hosts(text: str) -> list[str]:
    """Return the lines of a setting that are no hosts."""
    return [line for line in _lines(text) if not host_pattern(line)]


def host_pattern(line: str) -> str:
    """Return a host in ASCII, ``*.`` before it for its subdomains; an empty text for what is no host."""
    name = line.removeprefix(_WILDCARD)
    try:
        host = check_host(name).removesuffix(".")
    except ValueError:
        return ""
    wildcard = line[: len(line) - len(name)]
    return "" if ":" in host or ends_in_number(host) else wildcard + host


def is_allowed(host: str, hosts: Collection[str]) -> bool:
    """Whether a host is one of these. ``*.example.org`` has the subdomains of example.org, not itself."""
    parents = host.split(".")[1:]
    above = (".".join(parents[start:]) for start in range(len(parents)))
    return host in hosts or any(f"{_WILDCARD}{parent}" in hosts for parent in above)


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public internet, and so is the IPv4 address that it may contain."""
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    return _is_public(ip)


def _is_public(ip: IPAddress) -> bool:
    if isinstance(ip, IPv4Address):
        return ip.is_global and not ip.is_multicast and not ip.is_reserved
    embedded = ip.ipv4_mapped or ip.sixtofour
    if ip in _NAT64:
        embedded = IPv4Address(int(ip) & 0xFFFF_FFFF)
    if embedded is not None:
        return _is_public(embedded)
    # Any other network is local, reserved, or multicast; documentation and tunnels within it are not global.
    return ip in _GLOBAL_UNICAST and ip.is_global


def _lines(text: str) -> Iterator[str]:
    return (line.strip().lower() for line in text.splitlines() if line.strip())
