"""Two models answer one question side by side: asked, followed, kept, refused, deleted. Product 47."""

import asyncio
import json

import pytest
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer

from chat import eventlog
from chat.models import Conversation, ModelProfile, Turn
from chat.turns import heartbeat
from chat.turns.manager import turn_manager
from reasoning.events import AssistantMessage
from replay_contract_server.fixture import running_contract_server
from tests.chat.asking import owner_of, signed_in
from tests.chat.live_pages import all_as_reloaded, page_of
from tests.factories import client_of, make_profile, open_turn

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spec("product 47")]
TEXT = "It is *so*.\n\nFor **two** reasons."


def answers(name: str, *, at: int = 3, **more: object) -> dict[str, object]:
    """Return a reply that waits once in its midst."""
    stall = {"kind": "stall", "at": f"event:{at}", "name": name}
    return {"content": f"{name.capitalize()}. {TEXT}", "chunk": 4, "faults": [stall], **more}


@pytest.fixture(scope="module")
def second_server():
    with running_contract_server() as handle:
        yield handle


@pytest.fixture
async def services(upstream, second_server, alice):
    """Return two model services, of the site's model and of a profile that may answer beside it."""
    second_server.reset()
    await database_sync_to_async(make_profile)(
        "other", label="The other", base_url=second_server.base_url, model="plain-model"
    )
    upstream.script([answers("one"), answers("more")])
    second_server.script([answers("two")])
    return upstream, second_server


async def compare(conversation: Conversation, **form: str) -> tuple[Turn, Turn]:
    """Ask both models as a browser without JavaScript does; return both turns."""
    client = await owner_of(conversation)
    posted = await client.post(
        f"/chats/{conversation.pk}/messages/", {"text": "Why?", "compare_model": "other", **form}
    )
    assert posted.status_code == 303, posted.content
    first = await conversation.turns.aget(is_active=True)
    return first, await conversation.turns.aget(compared_with=first)


async def release(services, *names: str) -> None:
    for service, name in zip(services, names, strict=False):
        await asyncio.to_thread(service.wait_for, held=name)
        service.release(name)


async def both_ended(*turns: Turn) -> list[Turn]:
    for turn in turns:
        await turn_manager.wait_until_finished(turn.conversation_id, turn.pk)
    return [await Turn.objects.aget(pk=turn.pk) for turn in turns]


async def test_page_of_another_process_follows_both_answers_from_their_start(
    services, alice, conversation, elsewhere, settings, monkeypatch
):
    monkeypatch.setattr(heartbeat, "CHECKPOINT_S", 600)
    settings.LEASE_HEARTBEAT_S, settings.LEASE_EXPIRY_S = 600, 3600
    async with page_of(alice, conversation, elsewhere) as far:
        await far.sees('"running":false')
        both = await compare(conversation)
        await far.sees("One. It")
        await far.sees("Two. It")
        await release(services, "one", "two")
        await both_ended(*both)


async def has_posted(conversation: Conversation, turn: Turn, action: str) -> int:
    client = await owner_of(conversation)
    answer = await client.post(f"/chats/{conversation.pk}/turns/{turn.pk}/{action}/", headers={"HX-Request": "true"})
    return answer.status_code


@pytest.mark.usefixtures("quick")
async def test_both_answers_come_live_as_a_reload_shows_them_and_one_is_kept(services, alice, conversation, elsewhere):
    async with page_of(alice, conversation) as near, page_of(alice, conversation, elsewhere) as far:
        first, second = await compare(conversation)
        for service, name in zip(services, ("one", "two"), strict=True):
            await asyncio.to_thread(service.wait_for, held=name)
        await all_as_reloaded(near, far)
        assert near.state()["compared"] == [f"m-{first.public_id}", f"m-{second.public_id}"]

        async with page_of(alice, conversation) as late, page_of(alice, conversation, elsewhere) as late_far:
            await all_as_reloaded(late, late_far)
            services[1].release("two")
            await both_ended(second)
            await all_as_reloaded(near, far, late, late_far)
            assert near.state()["running"]
            services[0].release("one")
            ended = await both_ended(first, second)
            await all_as_reloaded(near, far, late, late_far)
        assert [turn.status for turn in ended] == ["completed", "completed"]
        assert not near.state()["running"]
        assert all(f"Keep this answer: {label}" in near.shown for label in ("plain-model", "The other"))

        assert await has_posted(conversation, second, "keep") == 204
        await all_as_reloaded(near, far)
        assert near.state()["compared"] == []
        assert "Two." in near.shown
        assert await has_posted(conversation, second, "keep") == 409
        await near.post(f"/chats/{conversation.pk}/turns/{first.pk}/select/")
        await all_as_reloaded(near, far)
        assert "One." in near.shown

    requests = [service.requests() for service in services]
    assert [[message["role"] for message in of[0]["body"]["messages"][1:]] for of in requests] == [["user"], ["user"]]


@pytest.mark.parametrize("status", ["completed", "errored"])
async def test_page_that_shows_both_ended_is_not_told_of_their_end_again(services, alice, conversation, status):
    if status == "errored":
        await ModelProfile.objects.aupdate(model="no-such-model")
    turns = await compare(conversation)
    await release(services[: 1 + (status == "completed")], "one", "two")
    assert [turn.status for turn in await both_ended(*turns)] == ["completed", status]

    async with page_of(alice, conversation) as page:
        await page.sees('id="queue"')  # the last that a page is told of what it missed
        assert not [frame for frame in page.frames if turns[1].public_id in frame or '"announce"' in frame]


@pytest.mark.usefixtures("quick")
async def test_events_of_both_that_are_lost_are_made_up_for(services, alice, conversation, elsewhere, monkeypatch):
    async def lose(*_message):
        pass

    async with page_of(alice, conversation) as near, page_of(alice, conversation, elsewhere) as far:
        monkeypatch.setattr(get_channel_layer(), "group_send", lose)
        turns = await compare(conversation)
        for service, name in zip(services, ("one", "two"), strict=True):
            await asyncio.to_thread(service.wait_for, held=name)
        await all_as_reloaded(near, far)
        await release(services, "one", "two")
        await both_ended(*turns)
        await all_as_reloaded(near, far)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("is_asked_on", [False, True])
async def test_page_that_was_away_while_the_first_was_kept_shows_it_alone(
    services, alice, conversation, elsewhere, monkeypatch, is_asked_on
):
    async def lose(*_message):
        pass

    async with page_of(alice, conversation) as near, page_of(alice, conversation, elsewhere) as far:
        client = await owner_of(conversation)
        first, second = await compare(conversation)
        await release(services, "one", "two")
        await both_ended(first, second)
        await all_as_reloaded(near, far)

        monkeypatch.setattr(get_channel_layer(), "group_send", lose)
        assert await has_posted(conversation, first, "keep") == 204
        if is_asked_on:
            await client.post(f"/chats/{conversation.pk}/messages/", {"text": "And then?"})
            await asyncio.to_thread(services[0].wait_for, held="more")
        monkeypatch.undo()
        for page in (near, far):
            await page.sync()
        await all_as_reloaded(near, far)
        if is_asked_on:
            await release(services, "more")
            await both_ended(await conversation.turns.filter(is_active=True).order_by("number").alast())
            await all_as_reloaded(near, far)
        assert near.state()["compared"] == []


async def test_request_after_a_comparison_holds_the_answer_that_is_shown_alone(services, conversation):
    first, second = await compare(conversation)
    await release(services, "one", "two")
    await both_ended(first, second)

    client = await owner_of(conversation)
    await client.post(f"/chats/{conversation.pk}/messages/", {"text": "And then?"})
    await release(services, "more")
    follow_up = await conversation.turns.aget(number=2)
    await both_ended(follow_up)

    assert follow_up.parent_id == first.pk
    said = [message["content"] for message in services[0].requests()[1]["body"]["messages"][1:]]
    assert [text.partition(".")[0] for text in said] == ["Why?", "One", "And then?"]
    assert not await conversation.turns.filter(compared_with__isnull=False).aexists()


async def test_keeping_one_while_the_other_is_written_stops_that(services, conversation):
    first, second = await compare(conversation)
    await release(services[1:], "two")
    await both_ended(second)

    assert await has_posted(conversation, second, "keep") == 204

    stopped, kept = await both_ended(first, second)
    assert (stopped.status, stopped.is_active, kept.is_active) == ("aborted", False, True)


async def test_stop_stops_both(services, conversation):
    turns = await compare(conversation)
    client = await owner_of(conversation)
    await client.post(f"/chats/{conversation.pk}/stop/")

    assert [turn.status for turn in await both_ended(*turns)] == ["aborted", "aborted"]


async def test_failure_of_one_leaves_the_other_alone(services, conversation):
    await ModelProfile.objects.aupdate(model="no-such-model")
    first, second = await compare(conversation)
    await release(services, "one")

    assert [turn.status for turn in await both_ended(first, second)] == ["completed", "errored"]


@pytest.mark.parametrize(
    ("name", "limit", "code"),
    [("plain-model", 4, "unknown_model"), ("secret", 4, "unknown_model"), ("other", 1, "too_many_turns")],
)
async def test_refused_comparison_stores_nothing_and_keeps_the_text(
    services, conversation, settings, name, limit, code
):
    await database_sync_to_async(make_profile)("secret", is_enabled=False)
    settings.MAX_CONCURRENT_TURNS = limit
    client = await owner_of(conversation)
    form = {"text": "Why?", "compare_model": name}

    refused = await client.post(f"/chats/{conversation.pk}/messages/", form)
    by_api = await client.post(f"/api/chats/{conversation.pk}/messages/", form, content_type="application/json")

    assert refused.status_code == 400
    assert "compare_model: " in refused.content.decode()
    assert ">Why?</textarea>" in refused.content.decode()
    assert by_api.json()["error"]["code"] == code
    assert not await conversation.turns.aexists()


async def test_comparison_is_not_queued(services, conversation):
    await database_sync_to_async(open_turn)(conversation.pk, text="First?")
    client = await owner_of(conversation)

    refused = await client.post(f"/chats/{conversation.pk}/messages/", {"text": "Why?", "compare_model": "other"})

    assert refused.status_code == 400
    assert "Two models can be asked when it has ended." in refused.content.decode()
    assert not await conversation.queue.aexists()


@pytest.mark.parametrize("streams", [False, True])
async def test_script_compares_and_keeps(services, conversation, streams):
    for service, name in zip(services, ("one", "two"), strict=True):
        service.release(name)
    client, path = await owner_of(conversation), f"/api/chats/{conversation.pk}/messages/"
    form = {"text": "Why?", "compare_model": "other"}
    headers = {"Accept": "text/event-stream"} if streams else {}
    answer = await client.post(path, form, content_type="application/json", headers=headers)
    if streams:
        sent = b"".join([part async for part in answer.streaming_content]).decode().splitlines()
        events = [json.loads(line[6:]) for line in sent if line.startswith("data: ")]
        first, last = events[0], events[-1]
        assert first["comparedWith"] == last["comparedWith"]
    else:
        first = answer.json()
    other = (await client.get(f"{path}{first['comparedWith']}/")).json()
    assert (other["comparedWith"], other["answer"].partition(".")[0]) == (first["id"], "Two")

    assert (await client.post(f"{path}{other['id']}/keep/")).status_code == 204

    listed = (await client.get(path)).json()
    assert [message["answer"].partition(".")[0] for message in listed if "answer" in message] == ["Two"]


async def test_stranger_can_neither_keep_nor_read_the_other_answer(services, conversation, bob):
    first, second = await compare(conversation)
    await release(services, "one", "two")
    await both_ended(first, second)
    stranger = await signed_in(bob)

    for path in (f"/chats/{conversation.pk}/turns", f"/api/chats/{conversation.pk}/messages"):
        assert (await stranger.post(f"{path}/{second.pk}/keep/")).status_code == 404
    assert (await stranger.get(f"/chats/{conversation.pk}/turns/{second.pk}/copy/")).status_code == 404
    assert await conversation.turns.filter(compared_with=first).aexists()


async def test_question_is_deleted_with_both_answers_and_comes_back_with_both(services, conversation):
    turns = await compare(conversation)
    await release(services, "one", "two")
    await both_ended(*turns)

    await has_posted(conversation, turns[0], "delete")
    assert not await conversation.turns.filter(deleted_at=None).aexists()
    client = await owner_of(conversation)
    await client.post(f"/chats/{conversation.pk}/turns/{turns[0].pk}/restore/")

    html = (await client.get(f"/chats/{conversation.pk}/")).content.decode()
    assert [f'id="m-{turn.public_id}"' in html for turn in turns] == [True, True]
    assert html.count("data-keep") == 2


@pytest.mark.engine
def test_log_of_two_turns_that_write_at_once_is_in_order(alice, conversation):
    first = open_turn(conversation.pk, text="Why?")
    second = eventlog.open_beside(first, text="Why?", model="", model_label="", provider="")
    for turn, text in ((second, "Two."), (first, "One.")):
        eventlog.append(turn, [AssistantMessage(text=text)])
    eventlog.close_turn(first, [], status="completed", after_seq=1)
    eventlog.close_turn(second, [], status="completed", after_seq=1)

    of_second = [event for event in eventlog.history(conversation.pk, of=second) if event.active]
    assert [event.seq for event in eventlog.history(conversation.pk)] == [1, 2, 3, 4, 5, 6]
    assert {event.turn for event in of_second} == {second.public_id}
    assert client_of(alice).get(f"/api/chats/{conversation.pk}/messages/").json()[1]["answer"] == "One."
