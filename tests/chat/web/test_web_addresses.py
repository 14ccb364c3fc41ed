"""Which hosts and IP addresses pages are read from, and what a robots.txt allows: the rules alone."""

import re
from ipaddress import IPv4Network, IPv6Address, IPv6Network
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.html import check_url
from chat.web import robots
from chat.web.addresses import InvalidPageAddressError, invalid_hosts, is_allowed, is_public, read_address, read_hosts

# Of IANA's registries: what is not globally reachable, and what is multicast or reserved.
NOT_PUBLIC = [
    *map(
        IPv4Network,
        "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.2.0/24 192.168.0.0/16 "
        "198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4".split(),
    ),
    *map(IPv6Network, "::/128 ::1/128 ::/96 100::/64 2001:db8::/32 fc00::/7 fe80::/10 fec0::/10 ff00::/8".split()),
]
PRIVATE_V4 = [network for network in NOT_PUBLIC if isinstance(network, IPv4Network)]


def inside(network):
    return st.integers(int(network[0]), int(network[-1])).map(type(network[0]))


@given(st.sampled_from(NOT_PUBLIC).flatmap(inside))
def test_address_of_a_network_that_is_not_public_is_refused(address):
    assert not is_public(str(address))


@given(st.sampled_from(PRIVATE_V4).flatmap(inside), st.integers(0, 2**80 - 1))
def test_address_within_another_is_refused_with_it(inner, rest):
    number = int(inner)
    for outer in (
        IPv6Address((0xFFFF << 32) | number),  # mapped
        IPv6Address(number),  # compatible
        IPv6Address((0x64FF9B << 96) | number),  # NAT64
        IPv6Address((0x2002 << 112) | (number << 80) | rest),  # 6to4
        IPv6Address((0x20010000 << 96) | (rest << 16) & (2**96 - 1)),  # Teredo
        IPv6Address((0x64FF9B0001 << 80) | rest),  # NAT64 of a network of its own
    ):
        assert not is_public(str(outer)), outer


@given(st.ip_addresses(v=4))
def test_address_of_ipv4_is_as_public_in_ipv6(address):
    assert is_public(f"::ffff:{address}") == is_public(f"64:ff9b::{address}") == is_public(str(address))


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "64:ff9b::5db8:d70e"])
def test_public_address_is_one(address):
    assert is_public(address)


@pytest.mark.parametrize("address", ["", "example.org", "fe80::1%eth0", "010.0.0.1", "1", "::ffff:127.0.0.1"])
def test_what_is_no_public_address_is_none(address):
    assert not is_public(address)


ODD = st.text(alphabet="abcexample.org:/@?#[]%\\ \t\n0127x.&=ü。－", max_size=60)


@given(
    st.one_of(
        st.text(max_size=60), ODD.map(lambda text: f"http://{text}"), ODD.map(lambda text: f"https://a.org{text}")
    )
)
def test_address_that_is_read_is_read_alike_by_others(raw):
    try:
        address = read_address(raw)
    except InvalidPageAddressError:
        return

    parts = urlsplit(address.url)
    assert address.url.isascii()
    assert (parts.scheme, parts.hostname, parts.username) == (address.scheme, address.host, None)
    assert (parts.port or address.port) == address.port
    assert address.port in (80, 443)
    assert re.search("[a-z]", address.host.rpartition(".")[2]) or "_" in address.host or "-" in address.host
    assert check_url(address.url) is not None
    assert read_address(address.url).url == address.url


@pytest.mark.parametrize(
    "host",
    [
        "127.1",
        "2130706433",
        "0x7f.1",
        "0x7f000001",
        "1.2.3.4",
        "[::ffff:1.2.3.4]",
        "１２７.0.0.1",
        "a.1",
        "0177.0.0.1.",
    ],
)
def test_number_is_no_host(host):
    with pytest.raises(InvalidPageAddressError):
        read_address(f"http://{host}/")


LABEL = st.from_regex(r"[a-z][a-z0-9]{0,5}", fullmatch=True)
NAME = st.lists(LABEL, min_size=2, max_size=4).map(".".join)


@given(NAME, NAME, LABEL)
def test_only_named_hosts_and_subdomains_of_wildcards_are_allowed(allowed, other, label):
    exact, below = read_hosts(allowed), read_hosts(f"*.{allowed}")

    assert is_allowed(allowed, exact)
    assert is_allowed(f"{label}.{allowed}", below)
    assert not is_allowed(allowed, below)
    assert not is_allowed(f"{label}.{allowed}", exact)
    assert not is_allowed(f"{label}{allowed}", exact + below)
    assert not is_allowed(f"{allowed}.{other}", (*exact, *below)) or f"{allowed}.{other}".endswith(f".{allowed}")
    assert is_allowed(other, exact) == (other == allowed)


@pytest.mark.parametrize(
    "line",
    [
        "*",
        "*.",
        "*.*.org",
        "https://a.org",
        "a.org/x",
        "a.org:80",
        "1.2.3.4",
        "::1",
        "[::1]",
        "a b.org",
        "*a.org",
        "*.1",
    ],
)
def test_line_that_is_no_host_allows_nothing(line):
    assert read_hosts(line) == ()
    assert invalid_hosts(f"a.org\n{line}") == [line]


RULES = """
# A group of two names.
User-agent: first
User-agent: *
Crawl-delay: 10
Disallow: /closed
Allow: /closed/open
Disallow: /*.php$
Disallow: /b%c3%bccher
Disallow:

Sitemap: https://example.org/sitemap.xml
User-agent: second
Disallow: /
"""


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/", True),
        ("/closed", False),
        ("/closed/more", False),
        ("/closed/open/more", True),
        ("/CLOSED", True),
        ("/a.php", False),
        ("/a.php?x=1", True),
        ("/a.phpx", True),
        ("/%63losed", False),
        ("/b%C3%BCcher/1", False),
        ("/bücher", False),
    ],
)
def test_rules_for_everybody(path, allowed):
    assert robots.allows(robots.parse(RULES), path) == allowed


def test_rules_that_name_this_server_are_the_only_ones():
    text = RULES + "\nUser-Agent: LEGIBLE\nDisallow: /mine # ours\n"

    assert robots.allows(robots.parse(text), "/closed")
    assert not robots.allows(robots.parse(text), "/mine")
    assert robots.allows(robots.parse(RULES + "\nUser-agent: legible\nDisallow:\n"), "/closed")


@given(st.text(alphabet="ab/*$", max_size=8), st.text(alphabet="ab/", max_size=10))
def test_pattern_matches_as_its_regular_expression(pattern, path):
    body = pattern.removesuffix("$")
    expression = "".join(".*" if char == "*" else re.escape(char) for char in body)
    expected = re.match(expression + (r"\Z" if pattern.endswith("$") else ""), path)

    assert robots.PathRule(False, pattern).matches(path) == (expected is not None)


@given(st.text(max_size=300))
def test_any_text_is_a_robots_txt(text):
    robots.allows(robots.parse(text), "/a")


def test_hostile_patterns_take_no_power_of_their_length():
    rules = robots.parse("User-agent: *\n" + f"Disallow: /{'*a' * 1_000}b$\n" * 200)

    assert robots.allows(rules, "/" + "a" * 2_000)


def test_redirect_stays_encrypted():
    page = read_address("https://example.org/a")

    assert page.join("/b").url == "https://example.org/b"
    assert read_address("http://example.org/").join("https://example.org/b").scheme == "https"
    with pytest.raises(InvalidPageAddressError) as refused:
        page.join("http://example.org/b")
    assert refused.value.problem == "scheme"
