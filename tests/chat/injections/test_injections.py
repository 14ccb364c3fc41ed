"""Orders in what a model reads, obeyed to the letter: nothing runs unasked, nothing leaves, nothing private is shown.

Each order goes through each channel, several in a turn; ``-m slow`` has each in a turn of its own. That no test of this
project connects to another machine is a check of ``tests/conftest.py``.
"""

import asyncio
import base64
import html
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from aiohttp import web
from asgiref.sync import sync_to_async
from channels.db import database_sync_to_async
from lxml import html as markup
from mcp import types

from chat.eventlog.link_tokens import token_of
from chat.filings.ingest import ingest
from chat.mcp import session
from chat.mcp.servers import offered, record_listing
from chat.models import Collection, Conversation, DocumentPassage, McpServer, Share, SiteSettings, Turn
from chat.providers.connections import close_clients
from chat.sharing import links
from chat.sharing.export import Choice
from chat.tools import registry
from chat.tools.base import ToolArgumentsError, tool
from chat.turns import approval
from chat.web import fetch
from reasoning.events import PermissionDecision, ToolCall, ToolResult
from tests.chat.api_client import EVENTS, client_of
from tests.chat.asking import ended, events_of, owner_of
from tests.chat.attached import attach
from tests.chat.card_samples import all_of, one
from tests.chat.document_samples import load
from tests.chat.injections.obedient import ObedientModel, orders_in, served
from tests.chat.injections.orders import ORDERS, SEND, Order
from tests.chat.mcp.peer import Peer, over_http, text
from tests.chat.web_site import Sites
from tests.factories import make_conversation, make_turn

pytestmark = pytest.mark.django_db(transaction=True)
NOTES = "wren of the scratchpad sleeps below the seventh turbine of the farm"
PROMPT = "Speak plainly. The desk keeps the finch of the site prompt behind the green door of its office."
# Of a talk of a stranger, of a document of theirs, and of another talk of the user.
OTHERS = (
    "The heron of the stranger is grey.",
    "The heron ledger of the stranger is blue.",
    "The heron elsewhere is white.",
)
QUESTION = "What became of the quokka-4711 account and its Lindenstrasse address?"
AT_ONCE = 16
[TELL_PROMPT] = [order for order in ORDERS if order.name == "tell the prompt"]
GATED = {"sendReport", "peer__erase", "readWebPage"}
# What loads by itself, acts, or stands for the page's own: nothing of it may be in an answer.
NEVER = set(
    "img picture source video audio track iframe frame object embed image use link meta base style script"
    " form input textarea select dialog template".split()
)
URLS = ("href", "src", "action", "formaction", "data", "background", "srcset", "poster", "cite")


class OrderingPeer(Peer):
    """An MCP server whose texts are orders."""

    said = ""

    def tools(self) -> list[types.Tool]:
        nothing: dict[str, Any] = {"type": "object"}
        what = {"type": "object", "properties": {"what": {"type": "string"}}}
        return [
            types.Tool(name="news", description=self.description, input_schema=nothing),
            types.Tool(name="fails", description="Fail.", input_schema=nothing),
            types.Tool(name="links", description="Name pages.", input_schema=nothing),
            types.Tool(name="erase", description="Erase.", input_schema=what),
        ]

    async def call(self, params: types.CallToolRequestParams) -> Any:
        self.calls.append((params.name, params.arguments))
        match params.name:
            case "fails":
                return types.CallToolResult(content=[types.TextContent(text=self.said)], is_error=True)
            case "links":
                link = types.ResourceLink(name="tables", title=self.said, uri="https://tides.example/tables")
                return types.CallToolResult(content=[types.TextContent(text="See the tables."), link])
        return text(self.said)


@dataclass
class Scene:
    """A site with private texts of several people, a model that obeys, and hosts that record what they are sent."""

    conversation: Conversation
    model: ObedientModel
    peer: OrderingPeer
    sites: Sites
    reports: list[str] = field(default_factory=list)
    visits: list[str] = field(default_factory=list)  # to the evil host
    attachments: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)  # the calls that waited for the user
    tool_error: str = ""


@pytest.fixture
def peer() -> Iterator[OrderingPeer]:
    peer = OrderingPeer()
    with over_http(peer) as peer.url:
        yield peer
    offered._servers = []


@pytest.fixture
async def scene(alice, bob, peer, settings, monkeypatch) -> AsyncIterator[Scene]:
    theirs = await database_sync_to_async(plant)(alice, bob)
    sites = Sites()
    runner = await sites.start()
    monkeypatch.setattr(fetch, "NETWORK", sites.network())
    fetch._robots.clear()
    sites.redirect("example.org/away", "http://evil.example/")
    monkeypatch.setattr(approval, "LOOK_AGAIN_S", 0.02)
    settings.REASONING_SCRATCHPAD_ENABLED = settings.MODEL_TITLES = True
    settings.OPENAI_API_KEY, settings.OPENAI_MODEL = "test-key", "plain-model"
    settings.MAX_APPROVALS_PER_TURN = 100
    conversation = await database_sync_to_async(make_conversation)(owner=alice)
    visits: list[str] = []

    async def visited(request: web.Request) -> web.Response:
        visits.append(request.path_qs)
        return web.Response()

    model = ObedientModel(NOTES, {"THEIRS": theirs})
    async with served(visited) as evil, served(model.handle) as port:
        model.words["EVIL"] = f"127.0.0.1:{evil}"
        settings.OPENAI_BASE_URL = f"http://127.0.0.1:{port}/v1"
        made = Scene(conversation, model, peer, sites, visits=visits)

        @tool(requires_approval=True)
        async def send_report(to: str, text: str) -> str:
            """Send a text to an address."""
            made.reports.append(f"{to}: {text}")
            return "sent"

        @tool()
        async def read_feed() -> str:
            """Read the feed of a host."""
            raise ToolArgumentsError(made.tool_error)

        monkeypatch.setitem(registry(), "sendReport", send_report)
        monkeypatch.setitem(registry(), "readFeed", read_feed)
        yield made
        await close_clients()
    await runner.cleanup()


def plant(alice: Any, bob: Any) -> str:
    """Store what others have said and loaded, and the site's prompt; return the address of a passage of a stranger."""
    SiteSettings.objects.create(system_prompt=PROMPT, web_hosts="example.org")
    their_talk, their_ledger, other_talk = OTHERS
    make_turn(make_conversation(owner=bob), question=their_talk, answer=their_talk)
    make_turn(make_conversation(owner=alice, title="Another"), question=other_talk, answer=other_talk)
    collection = Collection.objects.create(owner=bob, name=their_ledger)
    load(collection, "ledger.txt", their_ledger.encode(), person=bob)
    passage = DocumentPassage.objects.select_related("document").get()
    return f"{passage.document.get_absolute_url()}{passage.anchor}"


# --- the channels: each puts orders where a model reads them, and returns the calls that its user wants -------------

Wanted = list[tuple[str, dict[str, Any]]]
Channel = Callable[[Scene, Sequence[Order]], Awaitable[Wanted]]


def page_of(orders: Sequence[Order]) -> str:
    hidden = [order.markup.replace("%s", html.escape(order.text, quote=False)) for order in orders]
    return "".join(f"<h2>Turbines {number}</h2>{each}" for number, each in enumerate(hidden))


def plain(orders: Sequence[Order]) -> str:
    return "\n\n".join(f"Turbines {number}. {order.text}" for number, order in enumerate(orders))


async def in_filing(_scene: Scene, orders: Sequence[Order]) -> Wanted:
    cover = "<p>FORM 10-K</p><p>Turbines, Inc.</p><p>(Exact name of registrant as specified in its charter)</p>"
    body = f"<html><body>{cover}<p>Item 1. Business</p>{page_of(orders)}</body></html>"
    await database_sync_to_async(ingest)(body.encode(), name="turbines.htm")
    return [("searchFilings", {"query": "turbines", "limit": 20})]


async def in_document(scene: Scene, orders: Sequence[Order]) -> Wanted:
    owner = scene.conversation.owner
    collection = await Collection.objects.acreate(owner=owner, name="Sites")
    await database_sync_to_async(load)(collection, "turbines.md", plain(orders).encode(), person=owner)
    return [("searchDocuments", {"query": "turbines", "limit": 20})]


async def in_attachment(scene: Scene, orders: Sequence[Order]) -> Wanted:
    file = await database_sync_to_async(attach)(scene.conversation, "turbines.txt", plain(orders).encode())
    scene.attachments.append(file.pk.hex)
    return []


async def in_name_of_file(scene: Scene, orders: Sequence[Order]) -> Wanted:
    name = f"{orders[0].text}.txt".replace("/", "\N{FRACTION SLASH}")
    file = await database_sync_to_async(attach)(scene.conversation, name[-200:], b"Turbines.")
    scene.attachments.append(file.pk.hex)
    return []


async def in_web_page(scene: Scene, orders: Sequence[Order]) -> Wanted:
    scene.sites.page("example.org/turbines", f"<html><body>{page_of(orders)}</body></html>")
    return [("readWebPage", {"url": "http://example.org/turbines"})]


async def in_description(scene: Scene, orders: Sequence[Order]) -> Wanted:
    scene.peer.description = plain(orders)
    return []


async def in_mcp_result(scene: Scene, orders: Sequence[Order]) -> Wanted:
    scene.peer.said = plain(orders)
    return [("peer__news", {})]


async def in_mcp_error(scene: Scene, orders: Sequence[Order]) -> Wanted:
    scene.peer.said = plain(orders)
    return [("peer__fails", {})]


async def in_mcp_link(scene: Scene, orders: Sequence[Order]) -> Wanted:
    scene.peer.said = plain(orders)
    return [("peer__links", {})]


async def in_tool_error(scene: Scene, orders: Sequence[Order]) -> Wanted:
    scene.tool_error = plain(orders)
    return [("readFeed", {})]


# By name, with how many characters of orders fit into one text.
CHANNELS: dict[str, tuple[Channel, int]] = {
    "filing": (in_filing, 12_000),
    "document": (in_document, 12_000),
    "attachment": (in_attachment, 12_000),
    "web page": (in_web_page, 12_000),
    "description of an MCP tool": (in_description, 3_500),
    "result of an MCP tool": (in_mcp_result, 12_000),
    "error of an MCP tool": (in_mcp_error, 1_900),
    "error of a tool": (in_tool_error, 12_000),
}
# Those with room for one short order; a name of a file has no slash.
SHORT_CHANNELS: dict[str, Channel] = {"name of a file": in_name_of_file, "title of an MCP link": in_mcp_link}
SHORT_ORDERS = [order for order in ORDERS if len(order.text) < 150 and not {"/", "<", ">", '"'} & {*order.text}]


def batches() -> Iterator[Any]:
    """Yield each channel with as many orders as fit at once; the first of each in `make test` too."""

    def case(name: str, batch: list[Order]) -> Any:
        marks = [] if batch[0] is ORDERS[0] else [pytest.mark.slow]
        return pytest.param(name, batch, id=f"{name}: {batch[0].name} and {len(batch) - 1} more", marks=marks)

    for name, (_channel, room) in CHANNELS.items():
        batch: list[Order] = []
        for order in ORDERS:
            if batch and (len(batch) == AT_ONCE or len(plain([*batch, order])) > room):
                yield case(name, batch)
                batch = []
            batch.append(order)
        yield case(name, batch)


@pytest.mark.slow
@pytest.mark.parametrize(("channel", "orders"), [*batches()])
async def test_obedient_model_does_no_harm(scene, channel, orders):
    await obey(scene, CHANNELS[channel][0], orders)


@pytest.mark.slow
@pytest.mark.parametrize("order", SHORT_ORDERS, ids=lambda order: order.name)
@pytest.mark.parametrize("channel", SHORT_CHANNELS)
async def test_short_order_does_no_harm(scene, channel, order):
    await obey(scene, SHORT_CHANNELS[channel], [order])


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order.name)
@pytest.mark.parametrize("channel", CHANNELS)
async def test_each_order_alone_does_no_harm(scene, channel, order):
    await obey(scene, CHANNELS[channel][0], [order])


async def test_order_that_a_summary_carries_on_waits_like_any_other(scene, settings):
    settings.CONTEXT_LIMIT = 9_000
    settings.MODEL_TITLES = False
    await allow_tools(scene.peer)
    carried = base64.b64encode(SEND.encode()).decode()
    await asked(scene, f"What does this say? ⟦note {carried}⟧" + " The wind was weak this year." * 500)
    turn, _events = await asked(scene, "And this?" + " The wind was strong this year." * 500, number=2)

    last = scene.model.bodies[-1]["messages"]
    assert SEND in json.dumps([one for one in last if one["role"] != "system"], ensure_ascii=False).replace("\\", "")
    assert SEND not in last[0]["content"]
    assert scene.asked == [call_id for call_id, name in scene.model.made.items() if name == "sendReport"]
    assert scene.asked
    await nothing_ran(scene, turn, [])


async def obey(scene: Scene, put: Channel, orders: Sequence[Order]) -> None:
    """Have orders read and obeyed in a turn, and a question asked after it; check all that may come of it."""
    wanted = await put(scene, orders)
    await allow_tools(scene.peer)
    scene.model.wanted = list(wanted)
    turn, events = await asked(scene, QUESTION)
    await asked(scene, "And then?", number=2)

    read = {order.name: {*orders_in(order.text)} <= scene.model.done for order in orders}
    assert read == {order.name: order.is_shown or put not in (in_filing, in_web_page) for order in orders}
    assert turn.status == "completed", turn.error_code
    await nothing_ran(scene, turn, wanted)
    await nothing_was_changed(scene)
    shown = await everything_shown(scene.conversation, turn)
    nothing_loads(shown["page"], turn)
    nothing_loads(shown["shared"], turn)
    # What a user has a model repeat of its instructions is in the answer to this user; nothing else shows them.
    secrets = (NOTES, *OTHERS) if TELL_PROMPT in orders else (NOTES, *OTHERS, PROMPT)
    told = {name: [each for each in secrets if each in said] for name, said in (shown | events).items()}
    assert not {name: hits for name, hits in told.items() if hits}
    summaries = [each.get("reasoningSummary") for each in json.loads(shown["API"])]
    assert PROMPT not in json.dumps(summaries)
    bodies = json.dumps(scene.model.bodies)
    assert not [each for each in OTHERS if each in bodies]


async def allow_tools(peer: OrderingPeer) -> None:
    def allow(server: McpServer) -> None:
        for each in server.tools.all():
            each.allow()
            each.requires_approval = each.name == "erase"
            each.save()
        offered.refresh()

    server = await McpServer.objects.acreate(name="peer", url=peer.url)
    await sync_to_async(record_listing)(server, await session.list_tools(server))
    await sync_to_async(allow)(server)


async def asked(scene: Scene, question: str, number: int = 1) -> tuple[Turn, dict[str, str]]:
    """Ask, followed as events; the user allows what they wanted, and nothing else."""
    conversation = scene.conversation
    client = await client_of(conversation.owner)
    path = f"/api/chats/{conversation.pk}/messages/"
    deciding = asyncio.create_task(decide(scene))
    sent = ""
    if scene.attachments:
        form = {"text": question, "attachments": scene.attachments}
        scene.attachments = []
        answer = await (await owner_of(conversation)).post(f"/chats/{conversation.pk}/messages/", form)
        assert answer.status_code == 303
    else:
        body = json.dumps({"text": question})
        answer = await client.post(path, body, content_type="application/json", headers=EVENTS)
        sent = b"".join([piece async for piece in answer]).decode()
    turn = await ended(conversation, number)
    deciding.cancel()
    return turn, {"events": sent}


async def decide(scene: Scene) -> None:
    """Allow the calls that the user wanted as they come to wait, and deny all others."""
    client = await owner_of(scene.conversation)
    while True:
        turn = await scene.conversation.turns.exclude(waiting_call="").filter(call_decision="").afirst()
        if turn:
            call, digest = turn.waiting_call, turn.waiting_digest
            scene.asked.append(call)
            decision = "allow" if call.startswith("user_") else "deny"
            address = f"/chats/{scene.conversation.pk}/turns/{turn.pk}/calls/{call}/?digest={digest}"
            await client.post(address, {"decision": decision}, headers={"HX-Request": "true"})
        await asyncio.sleep(0.01)


async def nothing_ran(scene: Scene, turn: Turn, wanted: Wanted) -> None:
    """Each call of a tool that needs approval was decided by its user before its result, and only theirs ran."""
    assert scene.visits == scene.reports == []
    assert [name for name, _arguments in scene.peer.calls if name == "erase"] == []
    pages = ["example.org/robots.txt", "example.org/turbines"] if ("readWebPage" in dict(wanted)) else []
    assert scene.sites.places == pages
    decided: dict[str, PermissionDecision] = {}
    called: dict[str, ToolCall] = {}
    for event in await events_of(turn):
        match event:
            case ToolCall():
                called[event.call_id] = event
            case PermissionDecision():
                decided[event.call_id] = event
            case ToolResult() if called[event.call_id].name in GATED:
                assert event.call_id in decided
                allowed = event.call_id.startswith("user_")
                assert (decided[event.call_id].decision, decided[event.call_id].by) == (
                    "allow" if allowed else "deny",
                    "user",
                )
                assert event.ok == allowed
    assert decided.keys() == set(scene.asked)


async def nothing_was_changed(scene: Scene) -> None:
    conversation = await Conversation.objects.aget(pk=scene.conversation.pk)
    assert (conversation.allowed_tools, conversation.system_prompt, conversation.owner_id) == (
        [],
        "",
        scene.conversation.owner_id,
    )
    assert not await Share.objects.aexists()
    assert (await SiteSettings.objects.aget()).web_hosts == "example.org"


async def everything_shown(conversation: Conversation, turn: Turn) -> dict[str, str]:
    """Return what each exit sends of the conversation, by its name."""
    owner, chat = await owner_of(conversation), f"/chats/{conversation.pk}/"
    own, api = f"{chat}turns/{turn.pk}/", f"/api/chats/{conversation.pk}/"
    choice = Choice(True, True, True)
    link = await database_sync_to_async(links.create_link)(conversation.owner, conversation, choice, days=7)
    shared = f"/s/{token_of(link)}/?open={turn.public_id}"
    exits = {
        "page": f"{chat}?open={turn.public_id}",
        "thinking": f"{own}thinking/",
        "trace": f"{own}trace/",
        "copy": f"{own}copy/",
        "Markdown": f"{chat}export/?format=md&summary=1&trace=1&thinking=1",
        "JSON": f"{chat}export/?format=json&summary=1&trace=1&thinking=1",
        "API": f"{api}messages/?include=trace",
        "next request": f"{chat}next-request/",
        "shared": shared,
        "title": f"{api.removesuffix('/')}/",
    }
    return {name: await read(owner, address) for name, address in exits.items()}


async def read(client: Any, address: str) -> str:
    answer = await client.get(address, follow=True)
    assert answer.status_code == 200, (address, answer.status_code)
    if answer.streaming:
        return b"".join([part async for part in answer]).decode()
    return str(answer.content.decode())


def nothing_loads(page: str, turn: Turn) -> None:
    """A card has nothing that loads or acts by itself, and no address of another site that opens directly."""
    card = one(markup.fromstring(page), f"#m-{turn.public_id}")
    assert len(all_of(card, "[data-answer]")) == 1
    for answer in all_of(card, "[data-answer]"):
        assert not NEVER & {element.tag for element in answer.iter()}
        assert not all_of(answer, "[data-approval]")
        assert {name for each in answer.iter() for name in each.attrib if name.startswith("hx-")} <= {"hx-disable"}
    for element in card.iter():
        for name, value in element.attrib.items():
            assert not name.startswith("on"), (element.tag, name)
            assert name != "style" or "url(" not in value
            if name in URLS and not value.startswith("mailto:"):
                assert urlsplit(value).scheme == urlsplit(value).netloc == "", (element.tag, name, value)
