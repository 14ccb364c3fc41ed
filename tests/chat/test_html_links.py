"""Where a model's link may lead, what is shown beside it, and the page in between."""

import pytest
from django.test import Client

from chat.html import check_url, render_markdown
from chat.link_check import EMPTY
from tests.chat.html_reader import read
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
    assert links("[x](https://www.sec.gov/a)") == [{"href": "https://www.sec.gov/a", "rel": REL, "dir": "auto"}]


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
        ("https://x.example/Zürich, https://a@x.example/, ftp://x.example/ and www.x.example", []),
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
def test_host_is_shown_beside_the_words(label):
    assert '</a> <bdi class="host" dir="ltr">(x.example)</bdi>' in render_markdown(f"[{label}](https://x.example/)")


def test_international_name_is_marked():
    assert "(xn--80ak6aa92e.com, international name)" in render_markdown("[x](https://аррӏе.com/)")


@pytest.mark.parametrize(
    "url",
    [
        f"https://x.example/?q={'a' * 64}",
        f"https://x.example/{'a' * 65}/b",
        f"https://x.example/#{'a' * 65}",
        f"https://x.example/{'short/' * 100}",
    ],
)
def test_address_with_room_for_a_payload_stays_text(url):
    html = render_markdown(f"[words](<{url}>)")

    assert "<a" not in html
    assert 'words <bdi class="host" dir="ltr">(x.example)</bdi>' in html


@pytest.mark.parametrize(
    "url",
    [
        "https://x.example/?q=Skerry%20confidential",
        "https://x.example/%2563onfidential",
        "https://confidential.x.example/",
        "https://x.example/#code-4417",
    ],
)
def test_address_that_repeats_the_conversation_stays_text(url):
    said = "My confidential code is 4417, as of Skerry Sound."

    assert not links(f"[x]({url})", user_text=EMPTY.then(said))
    assert links(f"[x]({url})", user_text=EMPTY.then("Something else."))


def test_address_that_someone_gave_is_linked():
    assert links(
        "[x](https://x.example/report-2024)", user_text=EMPTY.then("Look at https://x.example/report-2024, please")
    )


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
