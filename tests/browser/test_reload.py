"""A turn outlives its page: reload, a second tab, Stop, a closed tab, a killed server; and what a reload restores."""

import re

import pytest
from playwright.sync_api import Locator, expect

from replay_contract_server.fixture import ContractHandle
from tests.browser.cards import AnswerCard
from tests.browser.histories import long_conversation
from tests.browser.people import NARROW, WIDE, Person
from tests.browser.upstream import Delta, calls, opening, plain, reply, says, thinks, waits
from tests.browser.watching import wait_until
from tests.browser.wire import Wire

FIRST = "One is about **rotor blades**.\n\nTwo is finished.\n\nSo is this.\n\nThree begins here, "
REST = "continues after the pause, and ends.\n\n- a last point\n"
WHOLE = (
    "One is about rotor blades. Two is finished. So is this. Three begins here, continues after the pause, and ends. "
    "a last point"
)


@pytest.fixture
def demo(visit, connected, model):
    """Bring someone to an empty chat with a model that pauses in the middle of its third paragraph."""
    model.script([reply(thinks("Hm. "), says(opening(), FIRST), waits("rest"), says(REST))])
    person = visit(connected)
    person.starts_chat()
    return person


def test_reload_in_mid_stream_shows_what_came_and_joins_the_rest(demo, model):
    card = demo.asks("Continue.")
    expect(card.answer).to_contain_text("Three begins")

    demo.page.reload()
    card.streams()
    expect(card.answer).to_contain_text("Three begins")
    expect(card.answer.locator("strong")).to_have_text("rotor blades")
    model.release("rest")
    card.ends()

    expect(card.answer).to_have_text(WHOLE)
    live = card.texts()
    demo.page.reload()
    assert card.texts() == live


def test_second_tab_shows_the_same_and_stop_in_one_stops_both(demo, model):
    card = demo.asks("Continue.")
    expect(card.answer).to_contain_text("Three begins")
    other = AnswerCard(demo.in_another_tab().locator("[data-role=assistant]"))
    expect(other.answer).to_contain_text("Three begins")

    demo.stop_button.click()

    for one in (card, other):
        one.ends("stopped")
        expect(one.root).to_contain_text(re.compile(r"Stopped after (less than )?\d+ s"))
        expect(one.answer).to_contain_text("Three begins")
    expect(demo.stop_button).to_be_hidden()
    assert card.texts() == other.texts()
    model.wait_for(closed=1)


@pytest.mark.parametrize(
    "code",
    [pytest.param(1012, id="restart"), pytest.param(1000, id="a code that htmx doesn't retry", marks=pytest.mark.slow)],
)
def test_lost_socket_comes_back_and_brings_what_it_missed(demo, model, code):
    wire = Wire(demo.context)
    demo.page.reload()
    card = demo.asks("Continue.")
    expect(card.answer).to_contain_text("Three begins")

    wire.close(code)
    expect(demo.reconnecting).to_be_visible()
    model.release("rest")

    expect(card.ends().answer).to_have_text(WHOLE)
    expect(demo.reconnecting).to_be_hidden()
    assert len(wire.sockets) == 2


@pytest.mark.slow
def test_page_asks_for_text_that_it_missed(visit, connected, model):
    pieces = [says(opening(), "One, "), waits("two"), says("two, "), waits("three"), says("three, "), waits("end")]
    model.script([reply(*pieces)])
    demo = visit(connected)
    wire = Wire(demo.context)
    demo.starts_chat()
    card = demo.asks("Count.")
    expect(card.answer).to_have_text("One,")

    wire.loses = "two,"
    model.release("two")
    wire.wait_for_loss()
    expect(card.status).to_contain_text(re.compile(r"([2-9]|\d\d) s"))  # a page asks at most once a second
    wire.loses = ""
    model.release("three")

    expect(card.streams().answer).to_have_text("One, two, three,")


def test_panels_stay_as_the_reader_left_them(visit, offline):
    demo = visit(offline)
    card = demo.reads_finished()
    card.opens_thinking()
    expect(card.thought).not_to_be_empty()
    card.opens_trace()
    card.summary.locator("> summary").click()
    thought = card.thought.text_content()

    demo.page.reload()
    expect(card.thought).to_have_text(thought or "")
    expect(card.steps.first).to_be_visible()
    expect(card.bullets).to_have_count(0)
    card.toggle.click()
    expect(card.thought).to_be_hidden()
    card.trace_bar.click()
    expect(card.steps.first).to_be_hidden()
    demo.page.reload()

    expect(demo.page.locator("#connection")).to_be_hidden()
    expect(card.thinking).to_have_attribute("data-collapsed", "true")
    expect(card.thought).to_be_hidden()
    expect(card.steps.first).to_be_hidden()


@pytest.mark.slow
def test_killed_server_loses_nothing_that_was_acknowledged(visit, own_site, model):
    model.script([reply(says(opening(), FIRST), waits("rest"), says(REST)), plain("Answered again.")])
    site = own_site(OPENAI_BASE_URL=model.base_url)
    demo = visit(site)
    demo.watch.expected += ["ERR_CONNECTION", "WebSocket", "[object Event]"]
    demo.starts_chat()
    card = demo.asks("Will this be lost?")
    expect(card.answer).to_contain_text("Three begins")
    site.wait_until_stored("SELECT 1 FROM chat_checkpoint WHERE answer LIKE '%rotor%'")

    site.kill()
    expect(demo.reconnecting).to_be_in_viewport()
    expect(card.answer).to_contain_text("Three begins")
    site.start()

    card.ends("interrupted")
    expect(demo.reconnecting).to_be_hidden()
    expect(demo.page.locator("[data-role=user] p")).to_have_text("Will this be lost?")
    expect(card.answer).to_contain_text("rotor blades")
    expect(card.root).to_contain_text("Interrupted: the server restarted. What was written is kept.")
    expect(card.root.get_by_role("button", name="Continue")).to_be_visible()
    expect(card.retry).to_be_visible()
    live = card.texts()
    demo.page.reload()
    assert card.texts() == live


WORDS = "The ratio of **debt service** coverage fell in that quarter [3], and then it rose by {n} & more. "
QUOTED = "It says “none of these words were ever filed by anybody at all”"
MIXED = "".join(
    [
        "## What was found\n\n",
        f"{QUOTED}, of which more below.\n\n",
        *(WORDS.format(n=n) * 3 + "\n\n" for n in range(6)),
        "> Nothing of this was ever written in any filing, whatever is said.\n\n",
        "So the passage says [2].\n\n",
        f"{QUOTED} [1].\n\n",
        "- one point, which [3] makes\n- another point\n\n- a third one, after a blank line\n\n",
        "| Test | Limit | Reported |\n|---|---|---|\n| Debt service coverage | ≥ 1.20 | 1.31 [1] |\n\n",
        "```python\nheadroom = 1.31 - 1.20  # <b>not bold</b> & so on\n```\n\n",
        "A sign 😀 that counts as two, and <i>no markup</i>.\n\n",
        *(WORDS.format(n=n) * 3 + "\n\n" for n in range(6)),
        "The last of it [2]: \\$5 < \\$6, `code of it` and **bold to the end**.",
    ]
)
DRAWN = """card => ["answer", "sources", "actions", "notice", "steps", "points", "head", "status"].map((part) => {
  const copy = document.getElementById(`${card.id}-${part}`).cloneNode(true);
  copy.querySelectorAll("[name=csrfmiddlewaretoken]").forEach((one) => one.remove());
  copy.hidden = false;
  return copy.innerHTML;
})"""


def script_mixed(model: ContractHandle) -> None:
    """Script an answer with every kind of block, of whose quotations and citations some are not found."""
    pieces = [MIXED[at : at + 7] for at in range(0, len(MIXED), 7)]
    half = MIXED.index("- another point") // 7
    found = reply(thinks("Looking. " * 9), calls("searchFilings", '{"query":"debt service coverage covenant"}'))
    written: list[Delta | list[Delta]] = [says(opening(), *pieces[:half]), waits("rest"), says(*pieces[half:])]
    model.script([found, reply(*written, delay_ms=2)])


def drawn(root: Locator) -> list[str]:
    return list(root.evaluate(DRAWN))


@pytest.mark.slow
@pytest.mark.parametrize("viewport", [NARROW, WIDE], ids=["narrow", "wide"])
def test_end_of_an_answer_is_what_a_reload_brings(visit, connected, model, viewport):
    script_mixed(model)
    demo = visit(connected, viewport=viewport)
    demo.starts_chat()
    card = demo.asks("What was found?")
    expect(card.answer).to_contain_text("So the passage says")
    late = AnswerCard(demo.in_another_tab().locator("[data-role=assistant]"))
    expect(late.answer).to_contain_text("So the passage says")

    model.release("rest")
    live = drawn(card.ends().root)

    assert live == drawn(late.ends().root)
    demo.page.reload()
    assert live == drawn(card.ends().root)
    expect(card.answer.locator("[data-verified=false]")).not_to_have_count(0)


@pytest.mark.slow
@pytest.mark.parametrize("viewport", [NARROW, WIDE], ids=["narrow", "wide"])
def test_reload_finds_the_place_below_open_steps(visit, offline, viewport):
    demo = visit(offline, viewport=viewport)
    card = demo.reads_finished()
    card.opens_trace()
    demo.page.evaluate("scrollTo(0, document.body.scrollHeight)")
    place = demo.page.evaluate("scrollY")
    assert place > 100

    for _again in range(3):
        demo.page.reload()
        expect(card.steps.first).to_be_visible()
        wait_until(demo.page, lambda: abs(demo.page.evaluate("scrollY") - place) < 48)


@pytest.mark.slow
def test_reopened_thinking_has_its_height_before_its_text(visit, offline):
    demo = visit(offline)
    card = demo.reads_finished()
    card.opens_thinking()
    expect(card.thought).not_to_be_empty()
    height = "e => e.getBoundingClientRect().height"
    tall = card.thought.evaluate(height)
    held = []

    def hold(route):
        held.append(route)

    demo.page.route("**/thinking/", hold)
    with demo.page.expect_request("**/thinking/"):
        demo.page.reload()
    expect(card.thought).to_be_visible()
    assert abs(card.thought.evaluate(height) - tall) < 1
    held[0].continue_()
    expect(card.thought).not_to_be_empty()

    assert abs(card.thought.evaluate(height) - tall) < 1


def expect_one_whole_card(demo: Person) -> None:
    card = demo.answer().ends()
    expect(demo.page.locator("#messages > article")).to_have_count(2)
    expect(card.answer).to_have_text("The answer came.")
    assert [text for text in demo.watch.seen("answer", card=card.id) if text.count("came") > 1] == []


@pytest.mark.slow
def test_card_that_comes_while_the_messages_are_fetched_is_not_lost(visit, connected, model):
    model.script([reply(says(opening(), "The answer "), waits("rest"), says("came."))])
    demo = visit(connected)
    demo.starts_chat()
    fetched = []
    demo.page.route(re.compile("/messages/"), lambda route: fetched.append((route, route.fetch())))

    with demo.page.expect_request(re.compile("/messages/")):
        demo.reasoning_switch.click()
    demo.asks("Will it come?")
    expect(demo.answer().answer).to_contain_text("The answer")
    [(route, before_the_question)] = fetched
    route.fulfill(response=before_the_question)
    expect(demo.answer().answer).to_contain_text("The answer")
    model.release("rest")

    expect_one_whole_card(demo)


@pytest.mark.slow
def test_card_that_the_fetched_messages_bring_first_is_not_doubled(visit, connected, model):
    model.script([reply(says(opening(), "The answer "), waits("rest"), says("came."))])
    demo = visit(connected)
    wire = Wire(demo.context)
    demo.starts_chat()
    expect(demo.page.locator("#connection")).to_be_hidden()
    wire.is_held = True

    demo.writes("Will it come?")
    demo.send_button.click()
    model.wait_for(held="rest")
    demo.reasoning_switch.click()
    expect(demo.answer().answer).to_contain_text("The answer")
    wire.release()
    model.release("rest")

    expect_one_whole_card(demo)


@pytest.mark.parametrize("size", [WIDE, pytest.param(NARROW, marks=pytest.mark.slow)], ids=["wide", "narrow"])
@pytest.mark.parametrize(
    "turn", [pytest.param(2, marks=pytest.mark.slow), 12, pytest.param(24, marks=pytest.mark.slow)]
)
def test_reload_and_the_way_back_show_the_message_that_was_read(visit, offline, size, turn):
    demo = visit(offline, viewport=size)
    demo.open(long_conversation(offline, 25))
    question = demo.page.get_by_text(f"Question number {turn}?", exact=True)
    demo.page.mouse.move(200, 300)
    demo.page.mouse.wheel(0, -100)  # so that the page doesn't follow its end
    expect(demo.page.locator("#jump")).to_be_visible()
    question.evaluate("element => element.scrollIntoView({ block: 'center' })")
    before = top_when_still(question)

    demo.page.reload()
    assert abs(top_when_still(question) - before) <= 8

    demo.open("/projects/")
    demo.page.go_back()
    assert abs(top_when_still(question) - before) <= 8


@pytest.mark.slow
def test_earlier_messages_that_could_not_be_loaded_move_nothing_later(visit, offline):
    demo = visit(offline)
    address = long_conversation(offline, 30)
    demo.open(address)
    demo.watch.expected += ["503", "htmx:responseError"]
    demo.page.route("**/messages/?before=*", lambda route: route.fulfill(status=503, body="busy"))
    demo.page.get_by_role("link", name="Load earlier messages").click()
    expect(demo.page.locator("#connection")).to_be_visible()

    question = demo.page.get_by_text("Question number 20?", exact=True)
    question.evaluate("element => element.scrollIntoView({ block: 'center' })")
    top = top_when_still(question)
    demo.page.get_by_role("link", name="Edit question 20").click()

    edited = demo.page.get_by_role("textbox", name="Edit question")
    expect(edited).to_be_in_viewport()
    assert abs(top_when_still(edited) - top) <= 48
    assert demo.page.url.endswith(address)


def top_when_still(element: Locator) -> float:
    """Return where an element is in the window, once it has not moved for ten frames."""
    return float(
        element.evaluate(
            """async (element) => {
                let [top, frames] = [0, 0];
                while (frames < 10) {
                    await new Promise(requestAnimationFrame);
                    const now = element.getBoundingClientRect().top;
                    frames = now === top ? frames + 1 : 0;
                    top = now;
                }
                return top;
            }"""
        )
    )
