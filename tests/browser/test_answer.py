"""An answer while it is written and when it is complete: what the card shows, opens, copies and reports."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.people import NARROW, Person
from tests.browser.upstream import calls, opening, plain, reply, says, thinks, waits

QUESTION = "Covenant breach: what would breach Northwind Tidal’s debt covenants?"


def test_starter_question_streams_to_a_complete_card(visit, offline):
    demo = visit(offline, signed_in=False)
    demo.open()
    demo.signs_in()
    demo.starts_chat()

    demo.page.get_by_role("button", name=QUESTION).click()
    card = demo.answer().streams()
    expect(card.status).to_contain_text(re.compile(r"(Thinking|Searching filings).* \d+ s"))
    card.ends()

    assert demo.watch.seen("state", card=card.id) == ["streaming", "complete"]
    assert {"Thinking…", "Searching filings…"} <= set(demo.watch.seen("status", card=card.id))
    expect(demo.page.locator("[data-role=user] p")).to_have_text(QUESTION)
    expect(card.answer).not_to_be_empty()
    expect(demo.page.get_by_role("status").filter(has_text="Answer ready, 1 step")).to_be_attached()
    heading = re.compile(r"^Answer 1 ?, Offline analyst ?, \d\d:\d\d$")
    expect(demo.page.get_by_role("article", name=heading)).to_be_visible()
    expect(card.bullets.first).to_be_visible()
    assert 2 <= card.bullets.count() <= 5
    expect(card.steps.first).to_be_hidden()
    expect(card.thought).to_be_hidden()


def test_markdown_is_drawn_while_it_streams(visit, connected, model):
    demo = visit(connected)
    demo.starts_chat()
    # The last word is held back until it is whole, in case it is a secret.
    pauses = {
        "## Risks now": ("h4", "Risks"),
        " and then\n\nIt is **very important": ("p strong", "very"),
        " indeed**.\n\n- one\n- `two three": ("li code", "two"),
        " four`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 more": ("td", "2"),
        " | 4 |\n\n```python\nx = 1": ("pre code", "x ="),
    }
    pieces = [part for at, text in enumerate(pauses) for part in (*says(text), waits(f"pause{at}"))]
    model.script([reply(says(opening()), pieces, says("\n```\n\nThe end."))])
    demo.asks("What are the risks?")
    card = demo.answer().streams()

    for at, (selector, text) in enumerate(pauses.values()):
        expect(card.answer.locator(selector).last).to_have_text(text)
        assert not re.search(r"[*`|#]|---", card.answer.inner_text())
        model.release(f"pause{at}")

    card.ends()
    drawn = card.answer.inner_html()
    demo.page.reload()
    assert demo.answer().answer.inner_html() == drawn


@pytest.mark.spec("004 trace")
def test_trace_opens_and_is_copied_redacted(visit, offline):
    demo = visit(offline)
    card = demo.reads_finished()

    card.opens_trace()
    step = card.steps.first
    expect(step).to_contain_text("searchFilings")
    expect(step.get_by_role("definition").first).to_contain_text("turbines")
    expect(step).to_contain_text(re.compile(r"\d+ results?"))
    expect(step).to_contain_text(re.compile(r"\d+ ms|\d+\.\d s"))
    expect(step.locator("a[data-citation]").first).to_have_text(re.compile(r"10-K · \d{4}-\d\d-\d\d · Item"))
    card.root.get_by_role("button", name="Copy trace").click()
    expect(card.root.get_by_role("button", name="Copied")).to_be_visible()

    [copied] = json.loads(demo.clipboard())
    assert copied["tool"] == "searchFilings"
    assert copied["status"] == "ok"
    assert {"args", "durationMs", "results", "topCitations"} <= copied.keys()


def test_copied_answer_ends_with_its_numbered_citations(visit, offline):
    demo = visit(offline)
    card = demo.reads_finished()

    card.root.get_by_role("button", name="Copy", exact=True).click()
    expect(card.root.get_by_role("button", name="Copied")).to_be_visible()

    assert "The filings say this, word for word" in demo.clipboard()
    assert re.search(r"^\[1\] 10-K · ", demo.clipboard(), re.MULTILINE)
    assert "Thought" not in demo.clipboard()


def test_citation_is_previewed_and_opens_beside_the_answer(visit, offline):
    demo = visit(offline)
    card = demo.reads_finished()
    conversation = demo.page.url
    quotation = card.answer.locator("q").first.text_content() or ""
    chip = card.answer.locator("a[data-citation]").first
    preview = demo.page.get_by_role("tooltip")
    panel = demo.page.get_by_role("complementary", name="Northwind Tidal Power, Inc.")

    chip.hover()
    expect(preview.locator("mark")).to_have_text(quotation)
    expect(preview).to_contain_text(re.compile(r"Northwind Tidal Power, Inc\.\s*10-K · \d{4}-\d\d-\d\d · Item"))
    demo.page.keyboard.press("Escape")
    expect(preview).to_be_hidden()
    chip.focus()
    expect(preview).to_be_visible()

    demo.page.keyboard.press("Enter")
    expect(panel).to_be_focused()
    expect(preview).to_be_hidden()
    expect(panel.locator("[data-cited] mark")).to_have_text(quotation)
    expect(panel.locator("mark")).to_be_in_viewport()
    demo.page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(chip).to_be_focused()
    assert demo.page.url == conversation


@pytest.mark.slow
def test_citation_opens_the_quoted_passage_and_back_returns(visit, offline):
    demo = visit(offline, viewport=NARROW)
    card = demo.reads_finished()
    conversation = demo.page.url
    quotation = card.answer.locator("q").first.text_content() or ""

    card.answer.locator("a[data-citation]").first.click()

    passage = demo.page.locator("[data-passage]:target")
    expect(passage).to_be_in_viewport()
    expect(passage.locator("mark")).to_have_text(quotation)
    expect(passage).not_to_have_css("border-left-color", "rgba(0, 0, 0, 0)")  # it is marked
    demo.page.go_back()
    expect(demo.page).to_have_url(conversation)
    expect(demo.answer().answer).to_be_visible()

    # Back of the page leads there too, not to the newest conversation, and from a list of documents to the list.
    card.answer.locator("a[data-citation]").first.click()
    demo.page.get_by_role("button", name="Contents").click()
    demo.page.locator("#toc a").last.click()
    demo.submits(demo.page.get_by_role("link", name="Back", exact=True))
    expect(demo.page).to_have_url(f"{conversation}#{card.root.get_attribute('id')}")
    expect(demo.answer().answer).to_be_in_viewport()
    demo.open("/filings/")
    demo.submits(demo.page.get_by_role("main").get_by_role("link").first)
    demo.submits(demo.page.get_by_role("link", name="Back", exact=True))
    expect(demo.page).to_have_url(re.compile("/filings/$"))


@pytest.mark.spec("000 dom")
def test_only_a_toggle_of_thinking_fires_the_event_and_once(visit, offline):
    demo = visit(offline)
    card = demo.reads_finished()
    tokens = int(card.thinking.get_attribute("data-token-est") or 0)
    assert tokens > 0

    card.opens_thinking()
    expect(card.thought).not_to_be_empty()
    card.opens_trace()
    card.summary.locator("summary").click()
    demo.reasoning_switch.click()
    expect(card.thinking).to_have_count(0)
    demo.reasoning_switch.click()
    expect(card.thought).to_be_visible()
    demo.page.reload()
    expect(card.thought).to_be_visible()
    card.toggle.click()
    expect(card.thought).to_be_hidden()

    payloads = [{"msgId": card.id, "expanded": expanded, "tokens": tokens} for expanded in (True, False)]
    assert [toggle["detail"] for toggle in demo.watch.toggles] == [
        {"type": "reasoning_toggle", "payload": payload} for payload in payloads
    ]
    assert all(toggle["onToggle"] for toggle in demo.watch.toggles)


def test_native_thinking_a_call_in_pieces_and_text_grow_into_a_card(visit, connected, model):
    model.script(
        [
            reply(
                thinks("I look "),
                waits("opened"),
                thinks("it up."),
                calls("searchFilings", '{"que', 'ry":"debt cov', 'enants"}'),
            ),
            reply(thinks("One says so."), says(opening(), "It is in "), waits("more"), says("the filing [1].")),
        ]
    )
    demo = visit(connected)
    demo.starts_chat()

    card = demo.asks("What do the covenants say?").streams()
    card.opens_thinking()
    expect(card.thought).to_contain_text("I look")
    model.release("opened")
    expect(card.answer).to_contain_text("It is in")
    expect(card.status).to_contain_text("Writing…")
    model.release("more")
    card.ends()

    expect(card.answer).to_contain_text("It is in the filing")
    expect(card.bullets).to_have_count(2)
    expect(card.toggle).to_have_attribute("aria-expanded", "true")
    expect(card.thought).to_have_text(re.compile(r"I look it up.\s+One says so."))
    card.opens_trace()
    expect(card.steps.first).to_contain_text(re.compile(r"query\s*debt covenants"))
    assert [one["verdict"] for one in model.requests()] == ["accepted", "accepted"]


@pytest.mark.spec("003 stray")
def test_leaked_closing_tag_never_flashes_up(visit, connected, model):
    pieces = list("</think>\n\n" + opening() + "The ratio is 1.2.")
    model.script([reply(thinks("Counting."), says(*pieces[:6]), waits("half a tag"), says(*pieces[6:]))])
    demo = visit(connected)
    demo.starts_chat()

    card = demo.asks("What is the ratio?").streams()
    model.wait_for(held="half a tag")
    model.release("half a tag")
    card.ends()

    expect(card.answer).to_have_text("The ratio is 1.2.")
    assert not [text for text in demo.watch.seen("answer", card=card.id) if "think" in text or "<" in text]


SUM = " + ".join(f"x_{{{at}}}" for at in range(1, 30))
FORMULAS = rf"""From $5 to $10, so $r = \frac{{10}}{{5}} - 1$ and ${" + ".join("abcdefghijkl")}$.

$$
{SUM} = 1

+ \sum_{{i=1}}^n \begin{{pmatrix}} a & b \\ c & d \end{{pmatrix}}
$$

\[ \begin{{aligned}} a &= b \\ c &= d \end{{aligned}} \]

And $\foo{{x}}$ with \$3."""


@pytest.mark.slow
def test_formulas_are_drawn_and_never_make_the_page_wide(visit, connected, model):
    model.script([plain(FORMULAS, chunk=7)])
    demo = visit(connected)
    demo.starts_chat()
    demo.page.set_viewport_size({"width": 320, "height": 700})

    answer = demo.asks("What is the rate?").ends().answer
    live = answer.inner_html()
    demo.page.reload()

    assert answer.inner_html() == live
    expect(answer.locator("math")).to_have_count(4)
    expect(answer).to_contain_text("From $5 to $10")
    expect(answer.locator("code")).to_have_text(r"$\foo{x}$")
    assert not demo.page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    wide = answer.get_by_role("group", name="Formula").nth(1)
    wide.focus()
    demo.page.keyboard.press("ArrowRight")
    expect(wide).not_to_have_js_property("scrollLeft", 0)
    upper, lower = (answer.locator("mfrac").first.locator("> *").nth(at).bounding_box() for at in (0, 1))
    assert upper["y"] + upper["height"] <= lower["y"] + 1  # type: ignore[index]


LOOKS = """isAway => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => isAway });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def expect_window(person: Person, title: str, icon: str) -> None:
    expect(person.page).to_have_title(re.compile(title))
    expect(person.page.locator("link[rel=icon]")).to_have_attribute("href", re.compile(rf"/{icon}(\.\w+)?\.svg$"))


@pytest.mark.slow
def test_hidden_window_says_how_the_answer_ended_until_it_is_seen(visit, connected, model):
    model.script([reply(says(opening(), "It begins. "), waits("rest"), says("It ends."))])
    demo = visit(connected)
    demo.starts_chat()

    demo.asks("How long does it take?").streams()
    expect_window(demo, "^Working… · How long does it take", "glyph-working")
    demo.page.evaluate(LOOKS, arg=True)
    model.release("rest")
    expect_window(demo, "^Answer ready · .* · Legible$", "glyph-done")
    demo.page.evaluate(LOOKS, arg=False)
    expect_window(demo, "^(?!Answer ready|Working).* · Legible$", "glyph")
    model.script([plain("Seen.")])
    demo.asks("Are you done?").ends()
    expect_window(demo, "^(?!Answer ready|Working).* · Legible$", "glyph")  # its end was seen
    demo.page.evaluate(LOOKS, arg=True)
    model.script([plain("", faults=[{"kind": "http_error", "status": 401, "times": 9}])])
    demo.asks("Anyone?").ends("error")

    expect_window(demo, "^Failed · ", "glyph-failed")


@pytest.mark.slow
def test_hidden_window_notifies_of_an_answer_where_that_is_switched_on(visit, connected, model):
    model.script([plain("Secret words."), plain("More of them.")])
    demo = visit(connected)
    demo.context.grant_permissions(["notifications"], origin=connected.base_url)
    demo.context.add_init_script(
        "window.shown = []; const Real = Notification; window.Notification = class extends Real {"
        "constructor(title, options) { super(title, options); shown.push([title, options.body]) } }"
    )
    demo.starts_chat()
    demo.page.evaluate(LOOKS, arg=True)
    demo.asks("What is it?").ends()
    assert demo.page.evaluate("shown") == []

    demo.open("/accounts/settings/")
    switch = demo.page.get_by_role("switch", name="Notify me when an answer is ready")
    switch.click()
    expect(switch).to_be_checked()
    demo.open()
    demo.page.evaluate(LOOKS, arg=True)
    demo.asks("And more?").ends()

    assert demo.page.evaluate("shown") == [["What is it?", "Answer ready"]]


# A model that fails: the card says why, what came stays, Retry asks again in its place.


FAILURE = "The model failed. Try again in a moment."


def test_failure_becomes_a_card_that_can_be_asked_again(visit, connected, model):
    model.script([plain("", faults=[{"kind": "server_error", "times": 9}])])
    demo = visit(connected)
    demo.starts_chat()

    card = demo.asks("Still there?").ends("error")
    expect(card.root).to_contain_text(FAILURE)
    expect(demo.page.get_by_role("alert").filter(has_text=FAILURE).first).to_be_attached()
    expect(demo.page.locator("#status-node")).to_have_text(FAILURE)
    model.script([plain("The answer that was to come.")])
    card.retry.click()

    expect(demo.answer().ends().answer).to_have_text("The answer that was to come.")
    expect(demo.page.locator("[data-role=assistant]")).to_have_count(1)
    expect(demo.page.locator("[data-role=user] p")).to_have_text("Still there?")


@pytest.mark.slow
def test_failure_in_mid_answer_leaves_what_came(visit, connected, model):
    fault = {"kind": "disconnect", "at": "event:4", "times": 9}
    model.script([reply(says(opening(), "A whole paragraph came.\n\n", "And half", " of the next"), faults=[fault])])
    demo = visit(connected)
    demo.starts_chat()

    card = demo.asks("How far?").ends("error")

    expect(card.answer).to_contain_text("A whole paragraph came.")
    expect(card.root).to_contain_text("The answer broke off in the middle.")
    text, notice, work = (card.root.locator(part).bounding_box() for part in (".prose", ".notice", ".work .disclosure"))
    assert text
    assert notice
    assert work
    assert 8 <= notice["y"] - (text["y"] + text["height"]) <= 24  # it follows the text, and touches nothing
    assert work["y"] - (notice["y"] + notice["height"]) >= 16
    demo.page.reload()
    expect(card.ends("error").answer).to_contain_text("A whole paragraph came.")
