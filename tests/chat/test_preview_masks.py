"""The preview page shows the body redacted, and each mask is marked. Product 10, 12, 13."""

from __future__ import annotations

import json

import pytest
from django.conf import LazySettings

from accounts.models import User
from chat import upstream
from chat.models import Conversation
from chat.preview.masking import MOST_CHARS, SHOWN_CHARS, masked_body
from reasoning.events import Reasoning
from reasoning.policy import Visibility
from tests.chat.test_preview import SECRET, _body, _looked_up, _masks, _page, _rows, _thought, _told
from tests.factories import make_conversation, make_profile

ALL = Visibility(thinking="whole")
NONE = Visibility(reasoning_possible=False, show_reasoning=False, summary=False, trace=False, thinking="none")


@pytest.fixture
def own(ada: User) -> Conversation:
    own = make_conversation(owner=ada)
    own.reasoning = {"reasoning.includeInContext": True}
    own.save()
    return own


def _shown(body: dict[str, object], sees: Visibility = ALL) -> tuple[str, list[str]]:
    pieces = masked_body(body, sees)
    return "".join(piece.text for piece in pieces), [piece.text for piece in pieces if piece.is_mask]


def _chat(*messages: dict[str, object]) -> dict[str, object]:
    return {"model": "m", "messages": list(messages)}


def _called(arguments: str, name: str = "searchFilings") -> dict[str, object]:
    function = {"name": name, "arguments": arguments}
    return {"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}


@pytest.mark.spec("product 10")
def test_secret_in_arguments_results_thinking_and_texts_is_nowhere_on_the_page(ada: User, own: Conversation) -> None:
    arguments = json.dumps({"query": f"token {SECRET}", "note": SECRET})
    question = f"My key is {SECRET}, mail to pat@example.com"
    _told(own, _thought(f"The key is {SECRET}"), *_looked_up(arguments), question=question)

    page = _page(ada, own)

    assert SECRET not in page.text_content()
    assert "pat@example.com" not in page.text_content()
    assert _masks(page).count("[redacted]") >= 5
    assert "p***@example.com" in _masks(page)


@pytest.mark.parametrize("before", ["", "\n  "])
def test_values_are_masked_by_their_names_inside_results(before: str) -> None:
    content = before + '{"password": "correct horse", "page": 3}'
    result = {"role": "tool", "tool_call_id": "call_1", "content": content}

    shown, masks = _shown(_chat(result))

    assert "correct horse" not in shown
    assert r"\"page\": 3" in shown
    assert masks == ["[redacted]"]


@pytest.mark.spec("product 10")
def test_arguments_are_shown_as_in_the_trace() -> None:
    shown, masks = _shown(_chat(_called('{"query": "covenants", "why": "a private reason"}')))

    assert r"\"query\": \"covenants\"" in shown
    assert "private" not in shown
    assert masks == ["[text, 16 characters]"]


@pytest.mark.parametrize("arguments", ["{broken sk-live-secret", "", "[" * 2_000])
def test_arguments_that_are_no_json_are_shown_by_their_length(arguments: str) -> None:
    shown, masks = _shown(_chat(_called(arguments)))

    assert "broken" not in shown
    assert masks == [f"[no JSON, {len(arguments):,} characters]"]


def test_arguments_of_an_unknown_tool_are_shown_by_type_and_size() -> None:
    _text, masks = _shown(_chat(_called('{"path": "/home/pat"}', name="readDisk")))

    assert masks == ["[text, 9 characters]"]


def test_ciphertext_is_shown_by_its_length() -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "Zm9v" * 1_280}
    details = [{"type": "reasoning.encrypted", "data": "c2Vh" * 5}, {"type": "reasoning.text", "signature": "x" * 9}]

    shown, masks = _shown({"input": [item], **_chat({"role": "assistant", "reasoning_details": details})})

    assert "Zm9v" not in shown
    assert "rs_1" in shown
    assert sorted(masks) == ["[sealed, 20 characters]", "[sealed, 5,120 characters]", "[sealed, 9 characters]"]


def test_long_text_is_cut_and_the_cut_is_marked() -> None:
    shown, masks = _shown(_chat({"role": "user", "content": "word " * 4_000}))

    assert len(shown) < SHOWN_CHARS + 200
    assert masks == ["…(truncated)"]


def test_of_a_long_history_the_newest_is_shown() -> None:
    texts = [f"Question {number}: " + "word " * 1_000 for number in range(MOST_CHARS // 4_000 + 20)]

    shown, masks = _shown(_chat(*({"role": "user", "content": text} for text in texts)))

    assert f"Question {len(texts) - 1}: word" in shown
    assert "Question 0:" not in shown
    assert masks[0] == f"[{len(texts[0]):,} characters]"


@pytest.mark.spec("product 13")
def test_who_sees_no_reasoning_gets_thinking_and_tools_by_length() -> None:
    thinking = {"role": "assistant", "content": "Yes.", "reasoning_content": "a thought"}
    result = {"role": "tool", "tool_call_id": "call_1", "content": "a result"}
    item = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "a glimpse"}]}

    shown, masks = _shown({"input": [item], **_chat(thinking, _called('{"query": "x"}'), result)}, NONE)

    assert not any(word in shown for word in ("a thought", "a result", "a glimpse", "query"))
    assert "Yes." in shown
    assert sorted(masks) == [f"[not shown, {size} characters]" for size in (14, 8, 9, 9)]


@pytest.mark.spec("004 flags")
def test_site_without_reasoning_shows_none_in_its_preview(ada: User, own: Conversation, settings: LazySettings) -> None:
    _told(own, _thought("canary-thought"), *_looked_up('{"query": "canary-arguments"}', '{"canary-result": 1}'))
    settings.REASONING_ENABLED = False

    page = _page(ada, own)

    assert "canary" not in page.text_content()
    assert "is not shown to you beside answers" in page.text_content()


def test_thinking_that_goes_is_shown_to_who_may_read_it(ada: User, own: Conversation) -> None:
    _told(own, _thought("A thought to read."), *_looked_up())

    page = _page(ada, own)

    assert ["2", "reasoning", "A thought to read."] in [row[:3] for row in _rows(page, "go")]
    assert '"reasoning_content": "A thought to read."' in _body(page)
    assert "is not shown to you" not in page.text_content()


def test_sealed_item_is_listed_and_never_opened(ada: User, own: Conversation) -> None:
    own.profile = make_profile("r", model="gpt-5-mini", api="responses", base_url="http://127.0.0.1:9/v1")
    own.save()
    sealed = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA" * 30}
    block = Reasoning(kind="item", item=sealed, model="gpt-5-mini", provider=_identity(own), step=0)
    _told(own, block, *_looked_up())

    page = _page(ada, own)

    assert ["2", "reasoning", "Sealed, as it came"] in [row[:3] for row in _rows(page, "go")]
    assert "gAAA" not in page.text_content()
    assert "[sealed, 120 characters]" in _masks(page)


def _identity(own: Conversation) -> str:
    return upstream.request_target(upstream.chosen_model(own)).provider


def test_markup_in_what_was_said_is_text(ada: User, own: Conversation) -> None:
    _told(own, question="<script>alert(1)</script><mark>no mask</mark>")

    page = _page(ada, own)

    assert "<script>alert(1)</script>" in _body(page)
    assert page.xpath("//figure//script") == []
    assert _masks(page) == []
