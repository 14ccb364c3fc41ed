"""The audit reads what hides inside a value, and compares with thinking that is only on its way to the log."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import User
from chat import log
from chat.models import Conversation, Turn
from reasoning.events import AssistantMessage, Reasoning
from tests.chat.audits import SECRET, STEP, THOUGHT, audit, make_whole_turn, plant
from tests.factories import make_conversation, open_turn


@pytest.fixture
def turn(alice: User) -> Turn:
    return make_whole_turn(alice)


def wrapped(value: Any, levels: int) -> Any:
    for _level in range(levels):
        value = [value]
    return value


@pytest.mark.spec("003 invariant 4")
@pytest.mark.parametrize(
    ("name", "kind"), [("</think>", "delimiter"), ("<scratchpad>", "scratchpad"), (f"k {SECRET}", "secret")]
)
def test_name_in_a_value_is_looked_at_like_a_text(turn: Turn, name: str, kind: str) -> None:
    plant(turn, "tool_result", trace=STEP | {"args": {name: "1"}})

    assert f" public.trace: {kind}" in audit()


@pytest.mark.parametrize("levels", [1, 63, 64, 65, 200])
def test_no_depth_hides_anything(turn: Turn, levels: int) -> None:
    plant(turn, "assistant_message", note=wrapped(f"So.</think> {SECRET}", levels))

    said = audit()

    assert " public: delimiter" in said
    assert " public: secret" in said


@pytest.mark.spec("product 3")
@pytest.mark.parametrize("place", ["title", "error_message", "answer"])
def test_thinking_of_a_running_turn_is_compared_too(alice: User, place: str) -> None:
    turn = open_turn(make_conversation(owner=alice).pk, text="What of the turbines?")
    log.save_checkpoint(turn, answer=THOUGHT if place == "answer" else "", thinking=THOUGHT)
    Conversation.objects.update(title=THOUGHT if place == "title" else "Turbines")
    Turn.objects.update(error_message=THOUGHT if place == "error_message" else "")

    assert [line.partition(" ")[2].split(" ", 1)[1] for line in audit().splitlines()[:-1]] == [
        f"{place}: repeats sealed thinking"
    ]


@pytest.mark.spec("product 3")
@pytest.mark.parametrize("field", ["text", "summary"])
def test_thought_of_a_few_words_is_found_where_all_of_it_stands(alice: User, field: str) -> None:
    short = "I doubt that they ever told the bank"
    turn = open_turn(make_conversation(owner=alice).pk, text="Did they?")
    thought = Reasoning(kind="text", text=f"{short}.", source_field="", model="m", provider="p", step=0)
    log.close_turn(turn, [thought, AssistantMessage(text="No.", summary=("Read.", "Asked."))], status="completed")
    assert audit() == ""

    plant(turn, "assistant_message", **{field: f"Well: {short.upper()}!"})

    assert f" public.{field}: repeats sealed thinking" in audit()


@pytest.mark.spec("003 invariant 4")
def test_tag_in_a_title_is_found_unless_its_person_typed_it(turn: Turn) -> None:
    Conversation.objects.update(title="Turbines</think>")
    assert f"chat_conversation {turn.conversation_id} title: delimiter" in audit()

    plant(turn, "user_message", text="What does </think> mean?")

    assert audit() == ""


@pytest.mark.spec("003 invariant 1")
def test_tag_in_an_answer_is_found_although_its_person_typed_it(turn: Turn) -> None:
    plant(turn, "user_message", text="What does </think> mean?")
    plant(turn, "assistant_message", text="It is </think>.")

    assert " public.text: delimiter" in audit()
