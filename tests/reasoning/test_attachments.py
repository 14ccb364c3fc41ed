"""A question with its attached files in a plan: what it costs, how roles are joined, what a summary is made of."""

from typing import Any

from reasoning import ReasoningSettings, RequestTarget, event_from_json, event_to_json, plan_request
from reasoning.events import AttachedFile, UserMessage
from reasoning.replay.attachments import IMAGE_TOKENS, question_alone
from reasoning.replay.compaction import transcript

TEXT = AttachedFile(id="1", name="a.txt", media_type="text/plain", chars=4000, text="word " * 800)
IMAGE = AttachedFile(id="2", name="a.png", media_type="image/png", data="A" * 4_000_000)
QUESTION = UserMessage(text="Why?", attachments=(TEXT, IMAGE), seq=1, turn="t1")


def target(**fields: Any) -> RequestTarget:
    return RequestTarget(api="chat", model="m", provider="p", takes_images=True, **fields)


def test_text_is_counted_and_an_image_flat():
    plan = plan_request([QUESTION], ReasoningSettings(), target())

    assert 1_000 + IMAGE_TOKENS < plan.effective_tokens < 1_200 + IMAGE_TOKENS
    anchored = plan_request([QUESTION], ReasoningSettings(), target(), usage_anchor=plan.anchor(7))
    assert anchored.effective_tokens == 7


def test_questions_in_a_row_are_joined_for_services_that_want_roles_to_alternate():
    second = UserMessage(text="And?", seq=2, turn="t2")

    plan = plan_request([QUESTION, second], ReasoningSettings(), target(dialect="deepseek-r1"))

    [message] = plan.body["messages"]
    assert [part["type"] for part in message["content"]] == ["text", "image_url", "text"]
    assert question_alone(message["content"]) == "Why?"


def test_json_form_has_no_contents_and_one_without_files_is_as_before():
    form = event_to_json(QUESTION)

    assert "word" not in str(form)
    assert event_from_json(form).attachments[0].chars == 4000  # type: ignore[union-attr]
    assert "attachments" not in event_to_json(UserMessage(text="Why?"))


def test_summary_is_made_of_the_beginning_of_a_text_and_the_name_of_an_image():
    text = transcript([QUESTION], 1, target())

    assert "User attached a.txt: word word" in text
    assert text.endswith("User attached a.png: image/png")
    assert len(text) < 2_200
