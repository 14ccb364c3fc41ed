"""The MCP server, through its door: what a peer finds, what it may not see, and what it is told about failures."""

import asyncio
import json
import os
from typing import Any

import pytest
from channels.db import database_sync_to_async
from mcp import Client
from mcp.shared.exceptions import MCPError

from chat.filings.ingest import load_demo
from chat.models import Collection, Conversation, Turn
from tests.chat.api_client import client_of
from tests.chat.asking import ended, signed_in
from tests.chat.attached import attach
from tests.chat.document_samples import load
from tests.chat.mcp_server.peers import BASE, NEW, OLD, Connection, call_of, headers_of, peer_of, token_of
from tests.factories import make_answer
from tests.server import run_python

pytestmark = pytest.mark.django_db(transaction=True)
QUESTION = "Which turbines were replaced at Skerry Sound?"
SEARCH = {"name": "searchFilings", "arguments": json.dumps({"query": QUESTION})}
HOLD = {"kind": "stall", "at": "event:3", "name": "go"}
SLOW = {"content": "Three four five six seven.", "chunk": "word", "faults": [HOLD]}


def load_document(owner: Any, text: str = "The Bryce site stores 412 pallets.") -> str:
    """Load a document, and return the address of its passage."""
    collection = Collection.objects.create(owner=owner, name="Sites")
    document = load(collection, "site.txt", text.encode(), person=owner)
    return f"{BASE}{document.get_absolute_url()}{document.passages.get().anchor}"


async def called(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool that works, and return its structured content, which the SDK has checked against the schema."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return result.content[0].text


async def post(message: dict[str, Any], person: Any, **headers: str) -> Any:
    client = await client_of(person)
    given = {name: value for name, value in (headers_of(message, "") | headers).items() if value}
    del given["Authorization"]
    return await client.post("/mcp", json.dumps(message), content_type=given.pop("Content-Type"), headers=given)


@pytest.mark.parametrize("revision", [NEW, OLD])
async def test_tools_are_listed_with_schemas_and_annotations(alice, revision):
    async with peer_of(alice, revision) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        version = client.protocol_version

    assert version == revision
    assert list(listed) == ["searchFilings", "searchDocuments", "readPassage", "ask"]
    assert all(tool.output_schema and tool.description and tool.title for tool in listed.values())
    assert [tool.annotations.read_only_hint for tool in listed.values()] == [True, True, True, False]
    assert listed["ask"].input_schema["required"] == ["question"]


@pytest.mark.parametrize("revision", [NEW, OLD])
async def test_passage_that_a_search_finds_can_be_read_as_tool_and_as_resource(alice, revision):
    await database_sync_to_async(load_demo)()
    async with peer_of(alice, revision) as client:
        found = await called(client, "searchFilings", query=QUESTION, limit=2)
        best = found["passages"][0]
        read = await called(client, "readPassage", url=best["url"])
        resource = (await client.read_resource(best["url"])).contents[0]

    assert "numbers 3, 4, 7, 9, 10 and 13" in best["text"]
    assert (best["number"], best["kind"], best["publisher"]) == (1, "filing", "Northwind Tidal Power, Inc.")
    assert best["url"].startswith(f"{BASE}/filings/")
    assert found["searched"] > 0
    assert len(found["passages"]) == 2
    assert len(read["passages"]) == 3
    assert best["text"] in [each["text"] for each in read["passages"]]
    assert (resource.text, resource.uri) == (best["text"], best["url"])


async def test_search_has_its_passages_as_text_too(alice):
    await database_sync_to_async(load_demo)()
    async with peer_of(alice) as client:
        result = await client.call_tool("searchFilings", {"query": QUESTION, "limit": 1, "form": "10-K"})

    passage = result.structured_content["passages"][0]
    assert result.content[0].text.startswith("[1] 10-K · Northwind Tidal Power, Inc. · ")
    assert passage["url"] in result.content[0].text
    assert passage["text"] in result.content[0].text


async def test_documents_and_files_of_others_are_not_found(alice, bob, conversation):
    url = await database_sync_to_async(load_document)(alice)
    site_url = await database_sync_to_async(load_document)(None, "The Dover site stores 97 pallets.")
    attached = await database_sync_to_async(attach)(conversation)
    file_url = f"{BASE}/chats/{conversation.pk}/attachments/{attached.pk}/#text-p1"

    async with peer_of(alice) as client:
        own = await called(client, "searchDocuments", query="pallets")
        assert (await client.read_resource(url)).contents[0].text == "The Bryce site stores 412 pallets."
    async with peer_of(bob) as client:
        others = await called(client, "searchDocuments", query="pallets")
        for address in (url, file_url):
            assert "not_found" in await refused(client, "readPassage", url=address)
            with pytest.raises(MCPError, match="Resource not found"):
                await client.read_resource(address)

    assert {each["url"] for each in own["passages"]} == {url, site_url}
    assert [each["url"] for each in others["passages"]] == [site_url]


@pytest.mark.parametrize(
    "address", ["{}/filings/none/#p1", "http://elsewhere.example{}", "file:///etc/passwd", "x", "//"]
)
async def test_address_without_a_passage_of_this_site_is_not_found(alice, address):
    url = await database_sync_to_async(load_document)(alice)
    async with peer_of(alice) as client:
        with pytest.raises(MCPError) as raised:
            await client.read_resource(address.format(url.removeprefix(BASE) if "elsewhere" in address else BASE))

    assert raised.value.code == -32602


@pytest.mark.parametrize("revision", [NEW, OLD])
async def test_answer_has_citations_with_verdicts_and_links_that_can_be_read(upstream, alice, revision):
    await database_sync_to_async(load_demo)()
    answer = "They were “numbers 3, 4, 7, 9, 10 and 13” [1]. It was “a sunny day” [2]."
    upstream.script([{"tool_calls": [SEARCH]}, {"reasoning": "secret-thought", "content": answer}])
    said: list[str] = []

    async def hear(_progress: float, _total: float | None, message: str | None) -> None:
        said.append(message or "")

    async with peer_of(alice, revision) as client:
        result = await client.call_tool("ask", {"question": QUESTION}, progress_callback=hear)
        form = result.structured_content
        links = [each for each in result.content if each.type == "resource_link"]
        text = (await client.read_resource(links[0].uri)).contents[0].text

    assert not result.is_error
    assert (form["status"], form["finishReason"], form["answer"]) == ("complete", "stop", answer)
    assert [(each["number"], each["verified"]) for each in form["citations"]] == [(1, True), (2, False)]
    assert form["citations"][0]["quotation"] == "numbers 3, 4, 7, 9, 10 and 13"
    assert [each.uri for each in links] == [each["url"] for each in form["citations"]]
    assert form["citations"][0]["quotation"] in text
    assert result.content[0].text.startswith(answer)
    assert "“a sunny day” (not found in the passage)" in result.content[0].text
    assert "secret-thought" not in result.model_dump_json()
    conversation = await Conversation.objects.aget(pk=form["conversation"])
    assert conversation.expires_at is not None
    assert conversation.owner_id == alice.pk


async def test_question_goes_on_in_a_conversation_of_its_person_alone(upstream, alice, bob, conversation):
    upstream.script([{"content": "First."}, {"content": "Second."}])
    async with peer_of(alice) as client:
        await called(client, "ask", question="One?", conversation=str(conversation.pk))
        form = await called(client, "ask", question="Two?", conversation=conversation.pk.hex)
    async with peer_of(bob) as client:
        error = await refused(client, "ask", question="Three?", conversation=str(conversation.pk))

    assert (form["answer"], form["conversation"]) == ("Second.", str(conversation.pk))
    assert error == "There is no such conversation. (not_found)"
    assert await conversation.turns.acount() == 2


async def test_progress_is_told_while_a_turn_runs_and_a_peer_that_leaves_stops_it(upstream, alice, conversation):
    upstream.script([SLOW])
    arguments = {"question": "Why?", "conversation": str(conversation.pk)}
    connection = Connection(call_of("ask", arguments, progressToken="p"), await token_of(alice))
    await asyncio.to_thread(upstream.wait_for, held="go")
    await connection.sent(b"notifications/progress")

    async with peer_of(alice) as client:
        assert "turn_running" in await refused(client, "ask", **arguments)
    await connection.close()

    assert (await ended(conversation)).status == Turn.Status.ABORTED


@pytest.mark.parametrize("revision", [NEW, OLD])
async def test_cancelled_request_stops_its_turn_alone(upstream, alice, conversation, revision):
    upstream.script([SLOW])
    call = call_of("ask", {"question": "Why?", "conversation": str(conversation.pk)})
    token = await token_of(alice)
    connection = Connection(call, token)
    await asyncio.to_thread(upstream.wait_for, held="go")

    async def cancel(request_id: int, token: str) -> None:
        params = {"requestId": request_id, "reason": "enough"}
        message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        headers = headers_of(call, token) | {"MCP-Protocol-Version": revision, "Mcp-Method": message["method"]}
        kind = headers.pop("Content-Type")
        client = await client_of(alice)
        answer = await client.post("/mcp", json.dumps(message), content_type=kind, headers=headers)
        assert answer.status_code == 202

    await cancel(2, token)
    await cancel(call["id"], await token_of(alice))
    assert (await conversation.turns.aget()).status == Turn.Status.RUNNING
    await cancel(call["id"], token)

    assert (await ended(conversation)).status == Turn.Status.ABORTED
    await connection.task


async def test_refused_question_leaves_no_conversation(upstream, alice, settings):
    settings.MAX_CONCURRENT_TURNS = 0
    async with peer_of(alice) as client:
        assert "(command)" in await refused(client, "ask", question="/help")
        assert "(too_many_turns)" in await refused(client, "ask", question="Why?")

    assert not await Conversation.all_objects.aexists()


async def test_failed_turn_is_an_error_with_its_reason(upstream, alice):
    upstream.script([{"faults": [{"kind": "http_error", "status": 401, "message": "No."}]}])
    async with peer_of(alice) as client:
        result = await client.call_tool("ask", {"question": "Why?"})

    assert result.is_error
    assert result.structured_content["status"] == "error"
    assert result.structured_content["error"]["code"] in result.content[0].text


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("searchFilings", {}, "query: Field required"),
        ("searchFilings", {"query": "x", "from": "2024"}, "from: Extra inputs are not permitted"),
        ("searchFilings", {"query": "x\x00"}, "NUL"),
        ("searchDocuments", {"query": "x", "limit": 21}, "limit: Input should be less than or equal to 20"),
        ("readPassage", {"url": "x"}, "no passage has this address"),
        ("ask", {"question": " "}, "question: "),
        ("ask", {"question": "x", "conversation": "1"}, "conversation: "),
        ("ask", {"question": "/set reasoning.format xml"}, "command"),
    ],
)
@pytest.mark.parametrize("revision", [NEW, OLD])
async def test_wrong_argument_is_a_result_that_says_what_is_wrong(upstream, alice, tool, arguments, words, revision):
    async with peer_of(alice, revision) as client:
        assert words in await refused(client, tool, **arguments)

    assert upstream.requests() == []


@pytest.mark.parametrize("revision", [NEW, OLD])
async def test_unknown_tool_is_an_error_of_the_protocol(alice, revision):
    async with peer_of(alice, revision) as client:
        with pytest.raises(MCPError, match="Unknown tool: dropTables") as raised:
            await client.call_tool("dropTables", {})

    assert raised.value.code == -32602


async def test_neither_steps_nor_thinking_of_a_conversation_can_be_reached(upstream, alice, conversation):
    turn = await database_sync_to_async(make_answer)(conversation)
    async with peer_of(alice) as client:
        for address in (f"/chats/{conversation.pk}/", f"/api/chats/{conversation.pk}/messages/{turn.pk.hex}/"):
            with pytest.raises(MCPError, match="Resource not found"):
                await client.read_resource(f"{BASE}{address}")
        assert not (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates

    assert [each.uri_template for each in templates] == [
        f"{BASE}/filings/{{filing}}/{{#passage}}",
        f"{BASE}/documents/{{document}}/{{#passage}}",
    ]


# The door
async def test_without_a_token_there_is_nothing_not_even_for_a_session(alice):
    message = call_of("searchFilings", {"query": "x"})
    client = await signed_in(alice)
    answer = await client.post("/mcp", json.dumps(message), content_type="application/json")
    wrong = await client.post(
        "/mcp", json.dumps(message), content_type="application/json", headers={"Authorization": "Bearer lgb_x"}
    )

    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "not_authenticated")
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (401, "invalid_token")
    assert answer["WWW-Authenticate"] == 'Bearer realm="Legible"'
    assert wrong["WWW-Authenticate"] == 'Bearer realm="Legible", error="invalid_token"'


@pytest.mark.parametrize(
    ("origin", "status"),
    [("http://testserver", 200), ("http://evil.example", 403), ("null", 403), ("https://testserver", 403)],
)
async def test_page_of_another_site_is_refused(alice, origin, status):
    answer = await post(call_of("searchFilings", {"query": "x"}), alice, Origin=origin)

    assert answer.status_code == status
    assert answer["X-Request-Id"]


@pytest.mark.parametrize("address", ["/mcp", "/mcp/"])
@pytest.mark.parametrize("method", ["get", "delete", "put"])
async def test_only_post_is_allowed(alice, method, address):
    answer = await getattr(await client_of(alice), method)(address)

    assert (answer.status_code, answer["Allow"]) == (405, "OPTIONS, POST")


async def test_limits_of_the_api_apply(alice, settings, monkeypatch):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 2_000
    large = await post(call_of("searchFilings", {"query": "x" * 3_000}), alice)
    monkeypatch.setattr("chat.api.messages.MAX_WAITING", 0)
    many = await post(call_of("searchFilings", {"query": "x"}), alice)

    assert (large.status_code, large.json()["error"]["code"]) == (413, "too_large")
    assert (many.status_code, many.json()["error"]["code"], many["Retry-After"]) == (429, "too_many_requests", "5")


@pytest.mark.parametrize(("body", "status"), [("{", 400), ("[]", 400), ("[" * 9_000, 400), ('{"jsonrpc": "2.0"}', 400)])
async def test_broken_message_is_refused(alice, body, status):
    client = await client_of(alice)
    headers = headers_of(call_of("ask", {}), "") | {"Authorization": client.defaults["AUTHORIZATION"]}
    del headers["Content-Type"]
    answer = await client.post("/mcp", body, content_type="application/json", headers=headers)

    assert answer.status_code == status


@pytest.mark.parametrize("revision", [NEW, OLD])
@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"Content-Type": "text/plain"}, 415, "unsupported_media_type"),
        ({"Content-Type": "multipart/form-data; boundary=x"}, 415, "unsupported_media_type"),
        ({"Content-Type": "application/json; charset=utf-16"}, 415, "unsupported_media_type"),
        ({"Accept": "application/json"}, 406, "not_acceptable"),
        ({"Accept": "text/html"}, 406, "not_acceptable"),
    ],
)
async def test_wrong_type_has_the_form_of_the_api(alice, headers, status, code, revision):
    version = {"MCP-Protocol-Version": revision}
    answer = await post(call_of("searchFilings", {"query": "x"}), alice, **version, **headers)

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


@pytest.mark.parametrize("revision", [NEW, OLD])
@pytest.mark.parametrize("kind", ["APPLICATION/JSON", "application/x-www-form-urlencoded", "application/vnd.x+json"])
async def test_types_that_the_api_takes_for_json_are_json(alice, kind, revision):
    version = {"MCP-Protocol-Version": revision, "Content-Type": kind}
    answer = await post(call_of("searchFilings", {"query": "x"}), alice, **version)

    assert answer.status_code == 200


@pytest.mark.parametrize("revision", [NEW, OLD])
@pytest.mark.parametrize("accept", ["", "*/*", "application/*, text/*;q=0.5"])
async def test_peer_that_accepts_anything_is_answered(alice, accept, revision):
    version = {"MCP-Protocol-Version": revision, "Accept": accept}
    answer = await post(call_of("searchFilings", {"query": "x"}), alice, **version)

    assert answer.status_code == 200


@pytest.mark.parametrize("revision", [NEW, OLD])
@pytest.mark.parametrize("request_id", [None, True, 1.5, [1], {"a": 1}])
async def test_request_whose_id_is_of_another_type_is_refused(alice, request_id, revision):
    message = call_of("searchFilings", {"query": "x"}) | {"id": request_id}
    answer = await post(message, alice, **{"MCP-Protocol-Version": revision})

    assert (answer.status_code, answer.json()["error"]["code"], answer.json()["id"]) == (400, -32600, None)


def test_sdk_is_not_imported_before_the_first_message():
    script = "import sys, config.asgi; print(sorted({'mcp', 'starlette', 'uvicorn'} & set(sys.modules)))"

    assert run_python(os.environ, "-c", script).strip() == "[]"
