"""What a viewer may not see is in no frame and no event of a running turn."""

import json
from typing import Any

import pytest

from accounts.models import User
from chat.models import Turn
from tests.chat.api_client import EVENTS, client_of, post, streamed
from tests.chat.sockets import frames_until, socket_of
from tests.frame_words import heard

pytestmark = pytest.mark.django_db(transaction=True)
THOUGHT, POINT, QUERY = "quokka-thought", "quokka-point", "quokka-query"
CALL = {"name": "searchFilings", "arguments": json.dumps({"query": QUERY})}
SECTIONS = f"Reasoning Summary:\n- {POINT} one.\n- {POINT} two.\n\nFinal Answer:\nForty-two."
REPLIES = [{"reasoning": THOUGHT, "tool_calls": [CALL]}, {"reasoning": THOUGHT, "content": SECTIONS}]

FLAGS: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({"REASONING_ENABLED": False}, (THOUGHT, POINT, QUERY, "searchFilings")),
    ({"REASONING_SHOW_SUMMARY_DEFAULT": False}, (THOUGHT, POINT, QUERY, "searchFilings")),
    ({"REASONING_TOOL_TRACE_DEFAULT": False}, (QUERY, "searchFilings")),
    ({"REASONING_THINKING_FOR_USERS": "hidden"}, (THOUGHT,)),
]


@pytest.mark.parametrize(("flags", "hidden"), FLAGS)
async def test_flag_excludes_it_from_every_frame_and_event(upstream, alice, conversation, settings, flags, hidden):
    for name, value in flags.items():
        setattr(settings, name, value)
    upstream.script([*REPLIES, *REPLIES])

    async with socket_of(conversation, alice) as socket:
        await socket.send_to(json.dumps({"text": "Why?"}))
        sent = await frames_until(socket, "Working on the answer")
        turn_id = (await Turn.objects.aget(conversation=conversation)).public_id
        await socket.send_to(json.dumps({"action": "open", "part": "thinking", "id": turn_id}))
        sent += await frames_until(socket, "Answer ready")
    texts, names, form = await streamed(await post(await client_of(alice), conversation, {"text": "Why?"}, **EVENTS))

    assert "Forty-two." in heard(sent)
    assert texts["answer"] == "Forty-two."
    received = heard(sent) + json.dumps([texts, names, form])
    assert not [text for text in hidden if text in received]
    assert ("tool_step" in names) is (QUERY not in hidden)


async def test_user_setting_excludes_thinking_from_frames_and_events(upstream, alice, conversation):
    await User.objects.filter(pk=alice.pk).aupdate(reasoning={"reasoning.includeInResponse": False})
    upstream.script([*REPLIES, *REPLIES])

    async with socket_of(conversation, alice) as socket:
        await socket.send_to(json.dumps({"text": "Why?"}))
        frames = await frames_until(socket, "Answer ready")
    await alice.arefresh_from_db()
    texts, _names, form = await streamed(await post(await client_of(alice), conversation, {"text": "Why?"}, **EVENTS))

    assert THOUGHT not in heard(frames)
    assert "thinking" not in texts
    assert "thinking" not in form


async def test_viewer_without_a_flag_receives_everything(upstream, alice, conversation):
    upstream.script([*REPLIES, *REPLIES])

    texts, names, form = await streamed(await post(await client_of(alice), conversation, {"text": "Why?"}, **EVENTS))

    received = json.dumps([texts, names, form])
    assert [text for text in (THOUGHT, POINT, QUERY) if text in received] == [THOUGHT, POINT, QUERY]
