"""Where a model's link may lead, what is shown beside it, and the page in between."""

from base64 import b32encode, b64encode, urlsafe_b64encode
from binascii import hexlify
from urllib.parse import quote

import pytest
from django.test import Client

from chat.html import check_url, render_markdown
from chat.html.link_check import EMPTY
from tests.chat.html_reader import read, words
from tests.chat.xss_urls import URLS

REL = "noopener noreferrer nofollow ugc"


def links(markdown, **kwargs):
    return [attrs for tag, attrs in read(render_markdown(markdown, **kwargs)) if tag == "a"]


@pytest.mark.parametrize(
    ("raw", "url", "host"),
    [
        ("https://www.sec.gov/x", "https://www.sec.gov/x", "www.sec.gov"),
        ("http://x.example:8080/?a=b#c", "http://x.example:8080/?a=b#c", "x.example"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/", "xn--bcher-kva.example"),
        ("https://ｓec.gov/", "https://sec.gov/", "sec.gov"),
        ("mailto:a.b+c@d.example", "mailto:a.b+c@d.example", "d.example"),
        ("#item-7", "#item-7", ""),
    ],
)
def test_address_is_read_as_a_browser_does(raw, url, host):
    address = check_url(raw)

    assert address is not None
    assert (address.url, address.host) == (url, host)


def test_allowed_host_is_linked_directly():
    url = "https://www.sec.gov/a"

    assert links(f"[x]({url})") == [{"href": url, "title": url, "rel": REL, "dir": "auto"}]


def test_other_host_leads_over_the_page_in_between():
    (link,) = links("[x](https://x.example/a?b=c&d)")

    assert link["href"] == "/leaving/?to=https%3A%2F%2Fx.example%2Fa%3Fb%3Dc%26d"
    assert link["title"] == "https://x.example/a?b=c&d"
    assert link["rel"] == REL


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        ("See https://x.example/a_b_(c)?d=1&e, it.", ["https://x.example/a_b_(c)?d=1&e"]),
        ("(https://x.example/).", ["https://x.example/"]),
        ("**https://x.example/**: https://x.example[1]", ["https://x.example/", "https://x.example"]),
        ("请看https://x.example/a。再见", ["https://x.example/a"]),
        ("https://a@x.example/, ftp://x.example/ and a.www.x.example", []),
        ("https://x.example/路径。", ["https://x.example/%E8%B7%AF%E5%BE%84"]),
        ("https://x.example/Zürich, www.x.example", ["https://x.example/Z%C3%BCrich", "https://www.x.example"]),
        ("请看https://x.example了解，https://例え.example/", ["https://x.example", "https://xn--r8jz45g.example/"]),
        (r"`https://x.example/` and https\://y.example/ or &#104;ttps://z.example/", []),
        ("[see https://x.example/](https://y.example/)", ["https://y.example/"]),
    ],
)
def test_bare_address_is_a_link_like_any_other(text, urls):
    assert [link["title"] for link in links(text)] == urls


def test_allowed_hosts_are_a_setting(settings):
    settings.SAFE_LINK_HOSTS = ("x.example",)

    assert links("[x](https://x.example/a)")[0]["href"] == "https://x.example/a"
    assert links("[x](https://www.sec.gov/a)")[0]["href"].startswith("/leaving/")


@pytest.mark.parametrize("host", ["sec.gov.x.example", "x-sec.gov", "a.www.sec.gov", "www.sec.gov:8443"])
def test_host_like_an_allowed_one_is_another(host):
    assert links(f"[x](https://{host}/)")[0]["href"].startswith("/leaving/")


@pytest.mark.parametrize("label", ["x", "https://www.sec.gov/", "www.sec.gov", "sec.gov\u202e"])
def test_host_is_named_inside_a_link_with_other_words(label):
    assert f'{label}<bdi class="host" dir="ltr"> x.example</bdi></a>' in render_markdown(
        f"[{label}](https://x.example/)"
    )


@pytest.mark.parametrize("label", ["x.example", "https://x.example/", "www.x.example/a"])
def test_host_is_not_named_twice(label):
    host = "www.x.example" if "www" in label else "x.example"

    assert "bdi" not in render_markdown(f"[{label}](https://{host}/)")


def test_international_name_is_marked():
    assert " xn--80ak6aa92e.com, international name<" in render_markdown("[x](https://аррӏе.com/)")


DOUBTED = [
    f"?q={'a' * 65}",
    f"{'a' * 65}/b",
    f"#{'a' * 65}",
    "short/" * 100,
    "?q=Skerry%20confidential",
    "%2563onfidential",
    "#code-4417",
    "?q=laitnedifnoc",
]


@pytest.mark.spec("product 42")
@pytest.mark.parametrize("host", ["x.example", "www.sec.gov"])
@pytest.mark.parametrize("rest", DOUBTED)
def test_doubted_address_is_shown_before_it_opens(host, rest):
    said = EMPTY.then("My confidential code is 4417, as of Skerry Sound.")

    (link,) = links(f"[words](<https://{host}/{rest}>)", user_text=said)

    assert link["href"].startswith("/leaving/?to=https%3A%2F%2F")
    assert link["title"] == f"https://{host}/{rest}"


@pytest.mark.parametrize("encode", [b64encode, urlsafe_b64encode, b32encode, hexlify])
@pytest.mark.parametrize("rest", ["?q={}", "a/{}", "?q=xy{}&n=1", "#{}"])
@pytest.mark.parametrize("text", [b"confidential", b"my confidential code", b"is it confidential??>"])
def test_encoded_words_are_shown_before_they_reach_an_allowed_host(encode, rest, text):
    said = EMPTY.then("My confidential code is secret.")

    (link,) = links(f"[x](https://www.sec.gov/{rest.format(quote(encode(text)))})", user_text=said)

    assert link["href"].startswith("/leaving/")


def test_filing_on_an_allowed_host_opens_directly():
    url = "https://www.sec.gov/Archives/edgar/data/320193/000032019324000123/aapl-20240928.htm"

    (link,) = links(f"[x]({url})", user_text=EMPTY.then("What does Apple say of its confidential agreements?"))

    assert link["href"] == url


@pytest.mark.parametrize("url", ["ftp://x.example/a", "/docs/a.md", "https://a@x.example/", "javascript:alert(1)"])
def test_refused_address_stays_as_text(url):
    html = render_markdown(f"[words]({url})")

    assert words(html).strip() == f"words ({url})"
    assert "<a" not in html


def test_link_may_be_defined_in_another_block():
    text = "See [a][1], [b][], [c] and [1].\n\n- d\n\n[1]: https://x.example/1 'T'\n[B]: <https://x.example/2>\n[c]:\n"
    text += "https://x.example/3\n\n[unused]: https://x.example/4\n[^n]: https://x.example/5\n"

    html = render_markdown(text)

    assert [link["title"][-1] for link in links(text)] == ["1", "2", "3", "1", "4", "5"]
    assert "[unused]:" in html
    assert "[B]" not in html


def test_address_that_someone_gave_opens_directly():
    url = "https://www.sec.gov/report-2024"

    (link,) = links(f"[x]({url})", user_text=EMPTY.then(f"Look at {url}, please"))

    assert link["href"] == url


class TestLeavingPage:
    def test_whole_address_is_shown_and_linked(self, client, alice):
        client.force_login(alice)

        response = client.get("/leaving/", {"to": "https://x.example/a?b=c&d=1"})

        assert response.status_code == 200
        assert '<code dir="ltr">https://x.example/a?b=c&amp;d=1</code>' in response.text
        assert '<a class="btn btn--ink" href="/">Cancel</a>' in response.text
        assert f'<a class="btn" href="https://x.example/a?b=c&amp;d=1" rel="{REL}">' in response.text

    @pytest.mark.parametrize("url", [*URLS, "#a", "mailto:a@b.example"])
    def test_refused_address_is_400_without_a_link(self, client, alice, url):
        client.force_login(alice)

        response = client.get("/leaving/", {"to": url.encode("utf-8", "replace").decode()})

        assert response.status_code == 400
        assert "<h1" in response.text
        assert "noopener" not in response.text

    def test_stranger_is_sent_to_log_in(self):
        response = Client().get("/leaving/?to=https://x.example/")

        assert response.status_code == 302
        assert "login" in response["Location"]
