"""Reading the web: what a turn reads of a page, what it refuses to read, and what the host learns."""

import asyncio
import gzip
import json
import zlib
from typing import Any

import pytest
from aiohttp import web
from channels.db import database_sync_to_async

from chat.conversations.model_choice import offered_tools
from chat.models import SiteSettings
from chat.web import fetch
from reasoning.events import ToolResult
from tests.chat.api_client import client_of
from tests.chat.asking import ask, ended, events_of, owner_of, send
from tests.chat.document_samples import pdf
from tests.chat.web_site import Sites

pytestmark = pytest.mark.django_db(transaction=True)
HOSTS = "example.org\n*.example.org\nbücher.example\n"
SHAPE = "readWebPage(url: string)"
PAGE = """<html><head><title>Turbines of 2026</title></head><body><h1>Turbines</h1>
<p>Northwind delivered 412 turbines in 2026, eleven more than planned.</p>
<h2>Outlook</h2><p>{more}</p></body></html>"""
LONG = " ".join(f"Turbine {number} was delivered in the spring of that year." for number in range(400))


@pytest.fixture
async def sites(monkeypatch):
    one = Sites()
    runner = await one.start()
    monkeypatch.setattr(fetch, "NETWORK", one.network())
    fetch._robots.clear()
    yield one
    await runner.cleanup()


@pytest.fixture
async def reading(upstream, conversation, sites):
    """A conversation in which the user has always allowed to read pages of the hosts of this site."""
    await SiteSettings.objects.acreate(web_hosts=HOSTS, name="Ledger & Co (Köln)")
    conversation.allowed_tools = [SHAPE]
    await conversation.asave()
    return conversation


def call(url: str, call_id: str = "call_w") -> dict[str, Any]:
    return {"name": "readWebPage", "id": call_id, "arguments": json.dumps({"url": url})}


async def read(upstream: Any, conversation: Any, url: str, answer: str = "Done.") -> tuple[str, dict[str, Any]]:
    """Let the model read a page; return its result and the step that people see."""
    upstream.script([{"tool_calls": [call(url)]}, {"content": answer}])
    turn = await ask(conversation, "Read it.")
    [result] = [event.output for event in await events_of(turn) if isinstance(event, ToolResult)]
    client = await client_of(conversation.owner)
    listed = (await client.get(f"/api/chats/{conversation.pk}/messages/")).json()
    [step] = listed[-1]["toolTrace"]
    return result, step


async def test_page_becomes_sources_whose_quotations_are_checked(upstream, reading, sites):
    sites.page("example.org/news?year=2026", PAGE.format(more="More follow."))
    answer = "They say “delivered 412 turbines in 2026” [1], and “delivered 900 turbines” [1]."
    result, step = await read(upstream, reading, "https://example.org/news?year=2026#top", answer)

    found = json.loads(result)
    assert [passage["host"] for passage in found["passages"]] == ["example.org"]
    [passage] = found["passages"]
    assert passage["title"] == "Turbines of 2026"
    assert passage["kind"] == "web"
    assert passage["url"].startswith("https://example.org/news?year=2026#")
    assert step["status"] == "ok"
    assert step["args"] == {"url": "https://example.org/news?year=2026#top"}
    listed = (await (await client_of(reading.owner)).get(f"/api/chats/{reading.pk}/messages/")).json()
    assert [(one["verified"], one["kind"], one["url"]) for one in listed[-1]["citations"]] == [
        (True, "web", passage["url"]),
        (False, "web", passage["url"]),
    ]


async def test_card_and_export_link_to_the_page_as_the_guard_says(upstream, reading, sites, settings):
    sites.page("example.org/news", PAGE.format(more="More follow."))
    await read(upstream, reading, "https://example.org/news", "“412 turbines” [1]")
    client = await owner_of(reading)
    page = (await client.get(f"/chats/{reading.pk}/")).content.decode()

    assert 'href="https://example.org' not in page
    assert page.count("/leaving/?to=https%3A%2F%2Fexample.org%2Fnews%23") >= 3
    assert "example.org · Turbines" in page
    export = (await client.get(f"/chats/{reading.pk}/export/?format=md")).content.decode()
    assert "](https://example.org/news#" in export


async def test_certificate_has_to_be_of_the_host(upstream, reading, sites):
    sites.page("www.example.org/", PAGE.format(more="x"))
    result, step = await read(upstream, reading, "https://www.example.org/")

    assert "can't be reached" in result
    assert step["error"] == "This host can’t be reached: www.example.org"
    assert sites.requests == []


async def test_host_learns_the_address_and_the_name_of_the_site_alone(upstream, reading, sites, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")  # for the model service
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    sites.page("www.example.org/a", PAGE.format(more="x"), Set_Cookie="seen=1")
    sites.redirect("example.org/a", "http://www.example.org/a")
    _result, step = await read(upstream, reading, "http://example.org/a")

    assert step["status"] == "ok"
    assert sites.places == [
        "example.org/robots.txt",
        "example.org/a",
        "www.example.org/robots.txt",
        "www.example.org/a",
    ]
    for _place, headers in sites.requests:
        assert headers.keys() == {"Host", "User-Agent", "Accept", "Accept-Encoding"}
        assert headers["User-Agent"] == "Legible (reads a page when a user asks; Ledger & Co Koln)"


async def test_long_page_is_continued_at_its_next_address(upstream, reading, sites):
    sites.page("example.org/long", PAGE.format(more=LONG))
    first = json.loads((await read(upstream, reading, "https://example.org/long"))[0])
    upstream.script([{"tool_calls": [call(first["searched"]["next"])]}, {"content": "Done."}])
    turn = await ask(reading, "Go on.")
    [second] = [json.loads(event.output) for event in await events_of(turn) if isinstance(event, ToolResult)]

    assert len(first["passages"]) < first["searched"]["passages"]
    assert second["passages"][0]["url"] == first["searched"]["next"]
    assert "next" not in second["searched"]
    total = len(first["passages"]) + len(second["passages"])
    assert total == first["searched"]["passages"]


async def test_pdf_and_text_are_read(upstream, reading, sites):
    sites.page("example.org/report.pdf", pdf("Northwind delivered 412 turbines."), Content_Type="application/pdf")
    sites.page(
        "example.org/notes", "Gr\xfc\xdfe aus K\xf6ln.".encode("latin-1"), Content_Type="text/plain; charset=latin1"
    )

    assert "412 turbines" in (await read(upstream, reading, "https://example.org/report.pdf"))[0]
    upstream.script([{"tool_calls": [call("https://example.org/notes")]}, {"content": "Done."}])
    turn = await ask(reading, "And this?")
    assert "Grüße aus Köln." in [event.output for event in await events_of(turn) if isinstance(event, ToolResult)].pop()


async def test_compressed_page_is_read(upstream, reading, sites):
    body = gzip.compress(PAGE.format(more=LONG).encode())
    sites.page("example.org/zipped", body, Content_Encoding="gzip")

    assert "412 turbines" in (await read(upstream, reading, "https://example.org/zipped"))[0]


async def test_international_host_is_read_by_its_ascii_name(upstream, reading, sites):
    sites.page("xn--bcher-kva.example/", PAGE.format(more="x"))

    assert "412 turbines" in (await read(upstream, reading, "http://bücher.example"))[0]


@pytest.mark.parametrize(
    ("url", "reason", "shown"),
    [
        ("https://example.com/", "no pages of example.com", "Pages of this host are not allowed: example.com"),
        (
            "https://example.org.evil.example/",
            "no pages of",
            "Pages of this host are not allowed: example.org.evil.example",
        ),
        ("https://user:secret@example.org/", "without user name", "The arguments did not fit the tool."),
        ("https://example.org:8080/", "ports 80 and 443", "The arguments did not fit the tool."),
        ("http://127.0.0.1/", "not its IP address", "The arguments did not fit the tool."),
        ("http://[::1]/", "not its IP address", "The arguments did not fit the tool."),
        ("file:///etc/passwd", "not an address", "The arguments did not fit the tool."),
        ("https://example.org/open/%2e%2e/closed", "/../", "The arguments did not fit the tool."),
    ],
)
async def test_address_that_is_not_allowed_is_not_asked(upstream, reading, sites, url, reason, shown):
    result, step = await read(upstream, reading, url)

    assert result.startswith("error: ")
    assert reason in result
    assert (step["status"], step["error"]) == ("error", shown)
    assert sites.connected == []


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.0.0.7", "169.254.169.254", "100.64.0.1", "::1", "::ffff:10.0.0.7", "64:ff9b::a00:7", "fd00::1"],
)
async def test_name_of_a_private_address_is_not_connected_to(upstream, reading, sites, address):
    sites.names["example.org"] = [["93.184.215.14", address]]
    result, step = await read(upstream, reading, "https://example.org/")

    assert "no public address" in result
    assert step["error"] == "This host has no public address: example.org"
    assert sites.connected == []
    assert sites.requests == []


async def test_each_connection_goes_to_the_address_that_was_checked(upstream, reading, sites):
    """The name has a public address for robots.txt and a private one for the page, on a connection of its own."""

    async def closing(_request: web.Request) -> web.StreamResponse:
        answer = web.Response(text="")
        answer.force_close()
        return answer

    sites.pages["example.org/robots.txt"] = closing
    sites.page("example.org/", PAGE.format(more="x"))
    sites.names["example.org"] = [["93.184.215.14"], ["192.168.1.1"]]
    result, _step = await read(upstream, reading, "http://example.org/")

    assert "no public address" in result
    assert sites.connected == [["93.184.215.14"]]
    assert sites.places == ["example.org/robots.txt"]


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("http://inner.example.org/", "inner.example.org has no public address"),
        ("http://example.com/", "no pages of example.com"),
        ("http://169.254.169.254/latest/meta-data/", "redirects to an address"),
        ("http://user@example.org/", "redirects to an address"),
        ("http://example.org:6379/", "redirects to an address"),
        ("gopher://example.org/", "redirects to an address"),
        ("//[::1", "redirects to an address"),
        ("/moved", "redirects too often"),
    ],
)
async def test_each_redirect_is_checked(upstream, reading, sites, location, reason):
    sites.names["inner.example.org"] = [["10.0.0.7"]]
    sites.redirect("example.org/moved", location)
    result, step = await read(upstream, reading, "http://example.org/moved")

    assert reason in result
    assert step["status"] == "error"
    assert sites.places == ["example.org/robots.txt"] + ["example.org/moved"] * (4 if location == "/moved" else 1)


def bomb() -> bytes:
    return gzip.compress(b"<p>" + b"\0" * 50_000_000)


@pytest.mark.parametrize(
    ("body", "headers", "reason"),
    [
        (b"x" * (fetch.MAX_BYTES + 1), {}, "larger than 2 MB"),
        (bomb(), {"Content_Encoding": "gzip"}, "larger than 2 MB"),
        (b"x", {"Content_Encoding": "br"}, "neither HTML nor text nor PDF"),
        (b"not compressed", {"Content_Encoding": "gzip"}, "can't be reached"),
        (b"\x89PNG", {"Content_Type": "image/png"}, "neither HTML nor text nor PDF"),
        (b"MZ", {"Content_Type": "application/octet-stream"}, "neither HTML nor text nor PDF"),
        (b"<html></html>", {}, "no text that can be read"),
        (b"no PDF", {"Content_Type": "application/pdf"}, "no text that can be read"),
    ],
)
async def test_page_that_is_too_large_or_of_another_kind_is_refused(upstream, reading, sites, body, headers, reason):
    sites.page("example.org/", body, **headers)
    result, step = await read(upstream, reading, "http://example.org/")

    assert reason in result
    assert step["status"] == "error"


async def test_endless_page_is_not_read_to_its_end(upstream, reading, sites):
    sent = 0

    async def endless(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        answer = web.StreamResponse(headers={"Content-Type": "text/html"})
        await answer.prepare(request)
        while sent < 100_000_000:
            await answer.write(b"x" * 65_536)
            sent += 65_536
        return answer

    sites.pages["example.org/"] = endless
    result, _step = await read(upstream, reading, "http://example.org/")

    assert "larger than 2 MB" in result
    assert sent < 20_000_000


async def test_slow_page_is_given_up(upstream, reading, sites, monkeypatch):
    async def slow(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "text/html"})
        await answer.prepare(request)
        for _byte in range(500):
            await answer.write(b"x")
            await asyncio.sleep(0.02)
        return answer

    monkeypatch.setattr(fetch, "TIME_LIMIT_S", 0.5)
    sites.pages["example.org/"] = slow
    result, step = await read(upstream, reading, "http://example.org/")

    assert "took too long" in result
    assert step["error"] == "This host took too long to answer: example.org"


@pytest.mark.parametrize(
    ("status", "text", "reason"),
    [
        (200, "User-agent: *\nDisallow: /private", "robots.txt of example.org doesn't allow"),
        (
            200,
            "User-agent: *\nAllow: /\n\nUser-agent: Legible\nDisallow: /*/page$",
            "robots.txt of example.org doesn't",
        ),
        (200, "User-agent: other\nDisallow: /", ""),
        (404, "Disallow: /", ""),
        (500, "", "can't be read"),
        (429, "", "can't be read"),
    ],
)
async def test_robots_txt_is_obeyed(upstream, reading, sites, status, text, reason):
    sites.page("example.org/robots.txt", text, status)
    sites.page("example.org/private/page", PAGE.format(more="x"))
    result, _step = await read(upstream, reading, "http://example.org/private/page")

    assert reason in result
    assert result.startswith("error: ") == bool(reason)
    assert ("example.org/private/page" in sites.places) == (not reason)


async def test_robots_txt_is_kept_for_an_hour_and_only_so_many(upstream, reading, sites, monkeypatch):
    now = [1_000.0]
    monkeypatch.setattr(fetch, "monotonic", lambda: now[0])
    monkeypatch.setattr(fetch, "ROBOTS_KEPT", 1)
    for number, (host, seconds) in enumerate([("a", 0), ("a", 3_000), ("a", 3_700), ("b", 3_700), ("a", 3_701)]):
        now[0] = 1_000.0 + seconds
        sites.page(f"{host}.example.org/", PAGE.format(more="x"))
        upstream.script([{"tool_calls": [call(f"http://{host}.example.org/", f"call_{number}")]}, {"content": "Done."}])
        await ask(reading, f"Read {number}.")

    asked = [place for place in sites.places if place.endswith("robots.txt")]
    assert [place[0] for place in asked] == ["a", "a", "b", "a"]
    assert len(fetch._robots) == 1


async def test_large_robots_txt_is_read_as_far_as_its_limit(upstream, reading, sites):
    rest = "# comment\n" * 60_000
    sites.page("example.org/robots.txt", f"User-agent: *\nDisallow: /closed\n{rest}Disallow: /")
    sites.page("example.org/open", PAGE.format(more="x"))

    assert "412 turbines" in (await read(upstream, reading, "http://example.org/open"))[0]


async def test_each_page_waits_for_its_user_unless_always_was_said(upstream, conversation, sites):
    await SiteSettings.objects.acreate(web_hosts=HOSTS)
    sites.page("example.org/news", PAGE.format(more="x"))
    upstream.script([{"tool_calls": [call("http://example.org/news")]}, {"content": "Done."}])
    await send(conversation, "Read it.")
    for _try in range(500):
        turn = await conversation.turns.exclude(waiting_call="").afirst()
        if turn:
            break
        await asyncio.sleep(0.02)
    assert turn
    assert sites.connected == []
    client = await owner_of(conversation)
    assert "http://example.org/news" in (await client.get(f"/chats/{conversation.pk}/")).content.decode()
    # Staff change their mind while the call waits.
    await SiteSettings.objects.aupdate(web_hosts="other.example")
    address = f"/chats/{conversation.pk}/turns/{turn.pk}/calls/{turn.waiting_call}/?digest={turn.waiting_digest}"
    await client.post(address, {"decision": "allow"}, headers={"HX-Request": "true"})
    turn = await ended(conversation)

    [result] = [event.output for event in await events_of(turn) if isinstance(event, ToolResult)]
    assert result == "error: this site allows no pages of example.org"
    assert sites.connected == []


@pytest.mark.parametrize("hosts", ["", "\n  \n", "no host!"])
async def test_tool_is_offered_only_where_hosts_are_allowed(upstream, conversation, sites, hosts):
    await SiteSettings.objects.acreate(web_hosts=hosts)
    result, step = await read(upstream, conversation, "http://example.org/")

    offered = [tool["function"]["name"] for tool in upstream.requests()[0]["body"]["tools"]]
    assert "searchFilings" in offered
    assert "readWebPage" not in offered
    assert "there is no tool named" in result
    assert step["status"] == "error"
    assert sites.connected == []


async def test_description_names_the_hosts(conversation):
    site = SiteSettings(web_hosts="Example.ORG\n\n*.bücher.example\n")
    tool = (await database_sync_to_async(offered_tools)(conversation, site))["readWebPage"]

    assert tool.description.endswith("Hosts that this site allows: example.org, *.xn--bcher-kva.example.")
    assert tool.requires_approval


def test_a_bomb_is_one():
    assert len(bomb()) < 100_000 < len(zlib.decompress(bomb(), wbits=31))
