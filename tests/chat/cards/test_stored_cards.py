"""What pages show of ended turns is stored: a page renders no Markdown, decrypts nothing and plans nothing."""

import json
from io import StringIO

import pytest
from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command

from chat import eventlog
from chat.html import render
from chat.models import Conversation, Event, StoredCard, Turn
from reasoning.events import AssistantMessage, ToolCall, ToolResult
from tests.chat.asking import ask
from tests.factories import end_turn, make_conversation, make_thought, make_turn, open_turn

pytestmark = pytest.mark.engine

ANSWER = "*One* paragraph.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe end."
GERMAN = {"accept-language": "de"}


@pytest.fixture
def page(client, alice, conversation):
    client.force_login(alice)

    def get(**more):
        return str(client.get(f"/chats/{conversation.pk}/", **more).content.decode())

    return get


def make_thoughtful_turn(conversation: Conversation, thought: str = "Let me think. " * 50) -> Turn:
    turn = open_turn(conversation.pk, text="Why?")
    end_turn(turn, [make_thought(thought), AssistantMessage(text="Because.")])
    return turn


def usage_in(html: str) -> str:
    return html.partition("data-context-usage>")[2].partition("<")[0]


@pytest.mark.django_db(transaction=True)
async def test_end_of_a_turn_stores_its_html_and_the_size_of_the_next_request(upstream, conversation):
    upstream.script([{"content": ANSWER}])

    turn = await ask(conversation)

    card = await StoredCard.objects.aget(turn=turn)
    assert "<em>One</em>" in card.answer_html["en"]
    assert card.context_tokens > 0


@pytest.mark.django_db(transaction=True)
async def test_turn_ends_although_its_answer_cannot_be_rendered(upstream, conversation, monkeypatch):
    def fails(*_args, **_named):
        raise RuntimeError

    upstream.script([{"content": ANSWER}, {"content": "Next."}])

    with monkeypatch.context() as broken:
        broken.setattr(render, "render_block", fails)
        turn = await ask(conversation)

    assert turn.status == Turn.Status.COMPLETED
    assert (await ask(conversation, "And?")).status == Turn.Status.COMPLETED


def test_page_shows_what_is_stored_and_needs_no_key(page, conversation, settings):
    turn = make_thoughtful_turn(conversation)
    page()
    settings.CONTENT_KEYS = [Fernet.generate_key().decode()]
    StoredCard.objects.filter(turn=turn).update(answer_html={"en": "<p>As stored.</p>"}, context_tokens=4711)

    html = page()

    assert "<p>As stored.</p>" in html
    assert usage_in(html).startswith("4,711/")


def test_lost_key_and_card_leave_the_page_readable(page, conversation, settings):
    make_thoughtful_turn(conversation)
    settings.CONTENT_KEYS = [Fernet.generate_key().decode()]
    StoredCard.objects.all().delete()

    html = page()

    assert '<p dir="auto">Because.</p>' in html
    assert usage_in(html).startswith("0/")


def test_each_language_has_its_own_html(page, conversation):
    turn = make_turn(conversation, answer=ANSWER)

    english, german, again = page(), page(headers=GERMAN), page()

    assert 'aria-label="Table: a, b"' in english
    assert 'aria-label="Tabelle: a, b"' in german
    assert 'aria-label="Table: a, b"' in again
    assert StoredCard.objects.get(turn=turn).answer_html.keys() == {"en", "de"}


def test_old_html_is_rendered_again_when_the_rules_for_links_change(page, conversation, settings):
    settings.SAFE_LINK_HOSTS = ("docs.example",)
    make_turn(conversation, answer="Read [this](https://docs.example/a).")
    assert 'href="https://docs.example/a"' in page()

    settings.SAFE_LINK_HOSTS = ()

    assert 'href="https://docs.example/a"' not in page()


def test_link_that_repeats_the_question_is_confirmed_first_in_the_stored_html(page, conversation):
    make_turn(
        conversation,
        question="My project is Thunderbird7781.",
        answer="[x](https://evil.example/Thunderbird7781) [y](https://good.example/page)",
    )

    html = page()

    assert 'href="https://evil.example' not in html
    assert "leaving/?to=https%3A%2F%2Fevil.example%2FThunderbird7781" in html
    assert "good.example%2Fpage" in html


def test_stored_html_contains_neither_thinking_nor_steps(page, conversation):
    turn = open_turn(conversation.pk, text="Why?")
    step = {"tool": "searchFilings", "args": {"query": "canary-in-the-trace"}, "durationMs": 1, "status": "ok"}
    call = ToolCall(call_id="c1", name="searchFilings", arguments="{}", step=0)
    result = ToolResult(call_id="c1", output="canary-in-the-result", ok=True, step=0)
    eventlog.append(turn, [make_thought("canary-in-the-thinking"), call, result], {"c1": step})
    end_turn(turn, [AssistantMessage(text="Because.", summary=("canary-in-the-summary",))])

    assert "canary-in-the-trace" in page()
    assert "canary" not in json.dumps(StoredCard.objects.get(turn=turn).answer_html)


def test_reload_makes_few_queries(page, conversation, django_assert_max_num_queries):
    make_turn(conversation)
    page()

    with django_assert_max_num_queries(13):
        page()


def test_context_is_counted_again_after_a_setting_changed(page, client, conversation):
    make_thoughtful_turn(conversation)
    before = usage_in(page())

    def set_include(value):
        url = f"/api/chats/{conversation.pk}/settings/"
        form = {"reasoning.includeInContext": value}
        assert client.patch(url, form, content_type="application/json").status_code == 200
        return usage_in(page())

    assert set_include(True) != before
    assert set_include(None) == before


def test_earlier_branch_shows_its_own_size_again(page, client, conversation):
    first = make_turn(conversation, answer="Because. " * 100)
    before = usage_in(page())
    end_turn(open_turn(conversation.pk, text="Why?", replaces=first), [AssistantMessage(text="No.")])
    assert usage_in(page()) != before

    client.post(f"/chats/{conversation.pk}/turns/{first.pk}/select/")

    assert usage_in(page()) == before


class TestRerender:
    """``manage.py rerender``."""

    def test_it_renders_stored_answers_again_in_their_languages(self, page, conversation):
        turn = make_turn(conversation, answer=ANSWER)
        page()
        page(headers=GERMAN)
        before = StoredCard.objects.values_list("answer_html", "context_tokens").get(turn=turn)
        StoredCard.objects.update(answer_html={"en": "old", "de": "alt"}, context_tokens=7)
        out = StringIO()

        call_command("rerender", stdout=out)

        assert StoredCard.objects.values_list("answer_html", "context_tokens").get(turn=turn) == before
        assert out.getvalue() == "1 answers rendered, 0 trace steps redacted.\n"

    def test_it_redacts_stored_steps(self, page, conversation):
        turn = open_turn(conversation.pk, text="Why?")
        call = ToolCall(call_id="c1", name="t", arguments="{}", step=0)
        result = ToolResult(call_id="c1", output="x", ok=True, step=0)
        old = {"tool": "t", "args": {"password": "hunter2"}, "error": "for bob@example.com"}
        eventlog.append(turn, [call, result], {"c1": old})
        end_turn(turn, [])

        call_command("rerender", str(conversation.pk), stdout=StringIO())

        assert "hunter2" not in page()
        stored = Event.objects.get(turn=turn, type="tool_result").public["trace"]
        assert stored["args"] == {"password": "[redacted]"}
        assert stored["error"] == "for b***@example.com"

    @pytest.mark.spec("product 36")
    def test_it_masks_private_text_in_steps_and_in_the_summary_built_from_them(self, page, conversation):
        turn = open_turn(conversation.pk, text="Why?")
        call = ToolCall(call_id="c1", name="searchFilings", arguments="{}", step=0)
        result = ToolResult(call_id="c1", output="x", ok=True, step=0)
        old = {"tool": "searchFilings", "args": {"query": "<scratchpad>canary</scratchpad> debt"}, "results": 1}
        eventlog.append(turn, [call, result], {"c1": old})
        bullets = ("Searched the filings for “<scratchpad›canary</scratchpad› debt” and got 1 result.", "Found x.")
        end_turn(turn, [AssistantMessage(text="Yes.", summary=bullets)])
        Turn.objects.filter(pk=turn.pk).update(summary_source="trace")

        call_command("rerender", str(conversation.pk), stdout=StringIO())

        assert "canary" not in page()
        stored = Event.objects.get(turn=turn, type="assistant_message").public["summary"]
        assert stored[0] == "Searched the filings for “debt” and got 1 result."

    def test_it_leaves_other_conversations_alone(self, alice, conversation):
        make_turn(conversation)
        other = make_turn(make_conversation(owner=alice))
        StoredCard.objects.update(answer_html={"en": "old"})

        call_command("rerender", str(conversation.pk), stdout=StringIO())

        assert StoredCard.objects.get(turn=other).answer_html == {"en": "old"}

    def test_it_refuses_an_unknown_conversation(self, conversation):
        with pytest.raises(CommandError, match="No such conversation"):
            call_command("rerender", "00000000-0000-4000-8000-000000000000")
