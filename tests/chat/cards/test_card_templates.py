"""The card: each fragment drawn alone and together, for the page and for live frames."""

import uuid
from dataclasses import replace

import pytest
from django.utils.safestring import SafeString

from chat.cards.build import source_views
from chat.cards.view_models import (
    AnswerView,
    ArgView,
    CardActions,
    FeedbackView,
    LinkView,
    SourceView,
    StepView,
    ThinkingView,
    dom_id,
)
from chat.models import QueuedMessage
from reasoning.citations import Citation
from reasoning.visibility import Visibility
from tests.chat.card_samples import (
    ANSWER,
    AT,
    BARE,
    HOSTILE,
    LIVE,
    QUESTION,
    STEP,
    all_of,
    card,
    draw,
    one,
    text_of,
    words,
)

pytestmark = pytest.mark.urls("tests.chat.card_samples")

PARTS = ["head", "status", "answer", "points", "trace_label", "steps", "thinking_label", "sources", "actions", "notice"]
HIDDEN = Visibility(show_reasoning=False, summary=False, trace=False, thinking="none")
WITHHELD = replace(
    ANSWER, sees=Visibility(thinking="withheld"), thinking=ThinkingView("Thought for 1 s", 9, state="withheld")
)
HOSTILE_ARGS = (ArgView(HOSTILE, HOSTILE), ArgView("a", HOSTILE, HOSTILE), ArgView("b", "", HOSTILE))
HOSTILE_LINK = LinkView(HOSTILE, HOSTILE)
HOSTILE_STEP = StepView(HOSTILE, "failed", HOSTILE, HOSTILE_ARGS, HOSTILE, HOSTILE, (HOSTILE_LINK,), HOSTILE)
VERDICTS = (("good", "Good answer", False), ("poor", "Bad answer", False))
HOSTILE_ANSWER = AnswerView(
    id="a1",
    number=1,
    status="error",
    model=HOSTILE,
    at=AT,
    sees=Visibility(),
    answer_html=SafeString(""),
    open_html=HOSTILE,
    status_text=HOSTILE,
    points=(HOSTILE,),
    steps=(HOSTILE_STEP,),
    steps_label=HOSTILE,
    steps_detail=HOSTILE,
    thinking=ThinkingView(HOSTILE, 1, "/t/", HOSTILE, is_open=True),
    sources=(SourceView(1, HOSTILE, HOSTILE, "filing"),),
    found_label=HOSTILE,
    uncited_label=HOSTILE,
    unfound=(HOSTILE,),
    actions=CardActions(copy_url="/copy/", feedback=FeedbackView("a1", VERDICTS, note=HOSTILE), usage_label=HOSTILE),
    error=HOSTILE,
)


@pytest.mark.parametrize("part", PARTS)
def test_part_has_its_own_id_and_swaps_itself_only_when_live(part):
    for view in (ANSWER, LIVE, BARE, WITHHELD):
        (still,) = draw(f"chat/card/_{part}.html", card=view)
        (moving,) = draw(f"chat/card/_{part}.html", card=view, oob=True)

        assert still.get("id") == moving.get("id") == dom_id("a1", part.replace("_", "-"))
        assert (still.get("hx-swap-oob"), moving.get("hx-swap-oob")) == (None, "outerHTML")


@pytest.mark.parametrize("status", ["error", "streaming", "complete"])
def test_values_are_escaped(status):
    html = text_of("chat/card/_card.html", card=replace(HOSTILE_ANSWER, status=status))
    html += text_of("chat/card/_question.html", question=replace(QUESTION, text=HOSTILE, client_id=HOSTILE))
    html += text_of(
        "chat/composer/_queued.html", queued=[QueuedMessage(pk=1, conversation_id=uuid.uuid4(), text=HOSTILE)]
    )
    html += text_of("chat/card/_error.html", message=HOSTILE, client_id=HOSTILE, oob=True)

    assert "<img" not in html
    assert html.count("&lt;img") > 10


def test_question_is_a_labelled_article():
    question = draw("chat/card/_question.html", question=QUESTION)[0]

    assert question.get("id") == "m-a1-q"
    assert question.get("data-message-id") == "a1-q"
    assert question.get("data-role") == "user"
    assert words([one(question, f"#{question.get('aria-labelledby')}")]) == "Question 1, 14:02"


def test_card_is_an_article_labelled_by_its_heading():
    done = card(ANSWER)

    assert done.get("id") == "m-a1"
    assert [done.get(f"data-{name}") for name in ("message-id", "role", "status")] == ["a1", "assistant", "complete"]
    assert words([one(done, f"#{done.get('aria-labelledby')}")]) == "Answer 1 Offline analyst 14:02"


def test_card_is_busy_only_while_it_streams():
    assert card(LIVE).get("aria-busy") == "true"
    assert card(ANSWER).get("aria-busy") is None


def test_everything_that_explains_stands_below_the_answer():
    marks = ("data-answer", "data-reasoning-summary", "data-tool-trace", "data-ai-reasoning", "data-copy")

    order = [mark for element in card(ANSWER).iter() for mark in marks if mark in element.attrib]

    assert order == list(marks)


def test_htmx_is_off_inside_the_answer():
    assert one(card(ANSWER), "[data-answer]").get("hx-disable") is not None


@pytest.mark.spec("001 EC-001")
def test_finished_card_without_reasoning_has_no_shell():
    bare = card(BARE)

    for shell in ("[data-reasoning-summary]", "[data-tool-trace]", "[data-ai-reasoning]", ".work"):
        assert all_of(bare, shell) == []


def test_streaming_card_has_every_shell_empty():
    live = card(LIVE)

    assert words(all_of(live, ".points")) == words(all_of(live, ".steps")) == ""
    assert one(live, ".points").text is one(live, ".steps").text is None  # CSS tells them by :empty
    assert one(live, "[data-ai-reasoning]").get("data-token-est") == "0"


@pytest.mark.spec("004 flags")
@pytest.mark.parametrize("view", [LIVE, BARE])
def test_hidden_reasoning_leaves_no_shell(view):
    assert all_of(card(replace(view, sees=HIDDEN, thinking=None)), ".work") == []


@pytest.mark.spec("000 dom")
def test_thinking_is_closed_and_its_button_says_so():
    box = one(card(ANSWER), "[data-ai-reasoning]")
    button = one(box, "[data-ai-reasoning-toggle]")
    body = one(box, f"#{button.get('aria-controls')}")

    assert (box.get("data-collapsed"), box.get("data-token-est")) == ("true", "340")
    assert (button.tag, button.get("aria-expanded")) == ("button", "false")
    assert body.get("hidden") is not None
    assert words([button]) == "Thought for 12 s · ~340 tokens"
    assert one(box, ".label").get("data-url") == "/thinking/a1/"


def test_withheld_line_is_empty_until_there_was_thinking():
    line = one(card(replace(LIVE, thinking=ThinkingView("", 0, state="pending"))), ".disclosure--line")

    assert (line.text, len(line)) == (None, 0)


@pytest.mark.spec("004 summary")
def test_summary_is_open_and_says_where_it_is_from():
    own, built = card(ANSWER), card(replace(ANSWER, points_from_trace=True))

    assert one(own, "[data-reasoning-summary]").get("open") is not None
    assert len(all_of(one(own, "[data-reasoning-summary]"), "li")) == 2
    assert "built from the steps below" not in words([own])
    assert "built from the steps below" in words([built])


def test_status_line_ticks_while_live_and_is_empty_after():
    live = one(card(LIVE), "#m-a1-status")
    ended = one(draw("chat/card/_status.html", card=ANSWER, oob=True), "#m-a1-status")

    assert words([live]) == "Searching filings… 2 s"
    assert live.get("data-live") is not None
    assert live.get("aria-hidden") == "true"
    assert (ended.get("class"), words([ended]), ended.get("data-live")) == ("status", "", None)


def test_open_block_is_html_with_the_number_of_its_last_change():
    tail = one(card(replace(LIVE, open_html=SafeString("a <b>c</b>"), tail_n=7)), "#m-a1-tail")

    assert (tail.text, tail[0].text, tail.get("data-n")) == ("a ", "c", "7")
    assert all_of(card(ANSWER), "#m-a1-tail") == []


@pytest.mark.parametrize(
    ("ending", "sentence"),
    [
        (replace(BARE, status="error", error="Stopped: the model did not answer"), "Stopped: the model did not answer"),
        (replace(BARE, status="interrupted", notice="Interrupted."), "Interrupted."),
        (replace(BARE, status="stopped", ended_label="Stopped after 8 s"), "Stopped after 8 s"),
    ],
)
def test_ending_is_told_with_one_retry(ending, sentence):
    ended = card(replace(ending, actions=CardActions(retry_url="/retry/a1/")))
    (retry,) = all_of(ended, "[formaction=/retry/a1/]")

    assert words(all_of(ended, "#m-a1-notice")) == f"{sentence} Retry"
    assert (retry.get("form"), retry.get("hx-post")) == ("act", "/retry/a1/")


@pytest.mark.spec("004 scratchpad")
def test_scratchpad_has_a_place_only_on_a_live_card_of_who_may_see_it():
    granted = Visibility(scratchpad=True, scratchpad_possible=True)

    assert all_of(card(LIVE), "#m-a1-pad") == []
    assert all_of(card(replace(ANSWER, sees=granted)), "#m-a1-pad") == []
    assert len(one(card(replace(LIVE, sees=granted)), "#m-a1-pad")) == 0


@pytest.mark.spec("004 trace")
def test_preview_of_a_source_has_only_words_that_are_in_it():
    """A document has no readable snippet stored: what is known of it are the quotations that were found."""
    found = Citation(
        1, "document", "Handbook", "", None, None, "", "#p1", "/d/#p1", "", quote="It opens.", verified=True
    )
    invented = replace(found, quote="The moon is cheese.", verified=False)

    (both,) = source_views([found, invented])
    (alone,) = source_views([invented])

    assert [excerpt.quoted for excerpt in both.excerpts] == ["It opens."]
    assert alone.excerpts == ()


def test_trace_is_closed_and_shows_masks_and_citations():
    done = card(ANSWER)
    trace = one(done, "[data-tool-trace]")

    assert trace.tag == "details"
    assert trace.get("open") is None
    assert len(all_of(trace, "[data-tool-step]")) == 1
    assert words(all_of(trace, ".mask")) == "••• hidden (key) u***@domain.com"
    assert one(trace, "[data-citation]").get("href") == "/filings/x/#item-7-p31"
    assert one(done, "[data-copy-trace]").get("data-copy-trace") == "/trace/a1/"


@pytest.mark.parametrize("state", ["running", "done", "failed", "cancelled", "denied"])
def test_step_state_is_an_icon_and_a_word(state):
    step = one(
        draw("chat/card/_step.html", step=replace(STEP, state=state, state_label="In words")), "[data-tool-step]"
    )

    assert step.get("data-state") == state
    assert "In words" in words([step])
    assert len(all_of(step, "[data-icon]")) == 1


def test_closed_card_is_light():
    """A long conversation has many of them: at most 45 nodes each."""
    closed = replace(ANSWER, steps=(), actions=replace(ANSWER.actions, feedback=FeedbackView("a1", VERDICTS)))

    drawn = card(closed)
    assert len(drawn.xpath(".//*[not(ancestor::template)]")) <= 45


def test_trace_on_request_is_asked_for_by_a_button():
    asked = replace(BARE, actions=CardActions(can_show_steps=True))

    button = one(card(asked), "[data-trace-request]")

    assert button.getparent().get("hx-post")
    assert all_of(card(BARE), "[data-trace-request]") == []
