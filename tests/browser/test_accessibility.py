"""Every state of every page: no violation of WCAG 2.2 A and AA, and longer words fit in both directions.

``docs/accessibility.md`` names these tests criterion by criterion.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looks import cramped, misfits, resize, small_targets, violations, zoomed
from tests.browser.people import WIDE
from tests.browser.states import ANSWERS, COMPOSER, LIVE, NOWHERE, PAGES, SETTINGS, STAFF, STRANGER
from tests.browser.upstream import calls, opening, reply, says, thinks, waits
from tests.server import PASSWORD

GROUPS = {
    "answers": ("demo", ANSWERS),
    "composer": ("demo", COMPOSER),
    "pages": ("demo", PAGES),
    "settings": ("demo", SETTINGS),
    "staff": ("admin", STAFF),
    "stranger": ("", STRANGER),
}
# Every text that a live region gets, also one that comes with its text.
HEAR = """() => {
  const live = "[role=status], [role=alert], [aria-live]:not([aria-live=off])";
  window.heard = [];
  new MutationObserver((records) => {
    const regions = new Set();
    for (const { target, addedNodes } of records) {
      regions.add((target.closest ? target : target.parentElement)?.closest(live));
      for (const node of addedNodes) node.querySelectorAll?.(live).forEach((one) => regions.add(one));
    }
    for (const region of regions) if (region?.textContent.trim()) window.heard.push(region.textContent.trim());
  }).observe(document, { childList: true, subtree: true, characterData: true });
}"""
# Icons in the colour of what they lie on.
UNSEEN_ICONS = """() => [...document.querySelectorAll("[data-icon]")].filter((one) => {
  const icon = getComputedStyle(one, "::before");
  return one.checkVisibility() && icon.content !== "none" && icon.maskImage !== "none"
    && icon.backgroundColor === getComputedStyle(one).backgroundColor;
}).map((one) => one.outerHTML.slice(0, 120))"""
LOOK_OF_SWITCH = """one => ["::before", "::after"].map((part) => {
  const { backgroundColor, insetInlineEnd } = getComputedStyle(one, part);
  return `${backgroundColor} ${insetInlineEnd}`;
}).join()"""
every_group = pytest.mark.parametrize("group", GROUPS)


class Tree:
    """What a screen reader is given of a page at one moment: Chromium's whole accessibility tree."""

    def __init__(self, page: Page) -> None:
        session = page.context.new_cdp_session(page)
        self._nodes = {node["nodeId"]: node for node in session.send("Accessibility.getFullAXTree")["nodes"]}
        session.detach()

    def has(self, role: str, name: str) -> bool:
        return any(_said(one, "role") == role and _said(one, "name") == name for one in self._nodes.values())

    def text(self) -> str:
        return " ".join(self._texts(self._nodes.values()))

    def live_text(self) -> str:
        """Return what is in regions whose changes are read out."""
        regions = [one for one in self._nodes.values() if _property(one, "live") in ("polite", "assertive")]
        return " ".join(text for one in regions for text in self._texts(self._below(one)))

    def busy_articles(self) -> int:
        return sum(_said(one, "role") == "article" and bool(_property(one, "busy")) for one in self._nodes.values())

    def _below(self, node: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for child in (self._nodes[one] for one in node.get("childIds", []) if one in self._nodes):
            yield child
            yield from self._below(child)

    @staticmethod
    def _texts(nodes: Iterable[dict[str, Any]]) -> Iterator[str]:
        return (_said(one, "name") for one in nodes if not one["ignored"] and _said(one, "role") == "StaticText")


def _said(node: dict[str, Any], what: str) -> str:
    return str(node.get(what, {}).get("value", ""))


def _property(node: dict[str, Any], name: str) -> Any:
    return next((one["value"].get("value") for one in node.get("properties", []) if one["name"] == name), None)


@pytest.fixture
def states(visit, offline, serve):
    """Bring the person of a group from state to state; a window of another size is that of the first."""

    def walk(group, **options):
        username, states = GROUPS[group]
        site = offline if username else serve(SIGNUP_ENABLED="true")
        person = visit(site, username, signed_in=bool(username), **options)
        person.watch.expected += NOWHERE
        for name, go in states.items():
            person.page.set_viewport_size(options.get("viewport", WIDE))
            go(person)
            yield name, person

    return walk


@pytest.mark.slow
@every_group
def test_every_state_is_accessible_and_has_room_for_longer_words(states, group):
    found = []

    for name, person in states(group):
        found += [f"{name}: {fault}" for fault in violations(person.page)]
        person.page.set_viewport_size(WIDE)
        found += [f"{name}: {fault}" for fault in misfits(person.page)]

    assert found == []


@pytest.mark.slow
@every_group
def test_every_state_has_room_for_spaced_text_and_for_text_of_four_times_the_size(states, group):
    found = []

    for name, person in states(group):
        found += [f"{name}: {fault}" for fault in zoomed(person.page)]
        found += [f"{name}: {fault}" for fault in cramped(person.page)]

    assert found == []


# Django's lists are for a desk; axe-core checks 24 pixels there.
@pytest.mark.slow
@pytest.mark.parametrize("group", [name for name in GROUPS if name != "staff"])
def test_every_control_is_large_enough_for_a_finger(states, group):
    found = []

    for name, person in states(group, has_touch=True, is_mobile=True):
        for width, height in ((390, 844), (820, 1180)):
            resize(person.page, width, height)
            found += [f"{name}: {width}: {fault}" for fault in small_targets(person.page)]

    assert found == []


@pytest.fixture
def gated(serve, model):
    """Return a site whose model service follows a script, and where reading a passage needs permission."""
    return serve(OPENAI_BASE_URL=model.base_url, OPENAI_MODEL="plain-model", TOOLS_REQUIRING_APPROVAL="readPassage")


@pytest.mark.slow
@pytest.mark.parametrize("name", LIVE)
def test_running_and_failed_turns_are_accessible(visit, gated, model, name):
    replies, go = LIVE[name]
    model.script(replies)
    demo = visit(gated)
    go(demo)

    assert violations(demo.page) == []
    assert list(zoomed(demo.page)) == []
    assert list(cramped(demo.page)) == []
    if demo.stop_button.is_visible():  # else what waits in the queue would ask for the next test's replies
        demo.stop_button.click()
        expect(demo.stop_button).to_be_hidden()


def test_answer_is_announced_in_a_few_words_and_never_read_while_it_is_written(visit, connected, model):
    model.script(
        [
            reply(thinks("Hedgehogs. "), waits("calls"), calls("searchFilings", '{"query":"covenants"}')),
            reply(says(opening(), "Otters swim. "), waits("end"), says("Badgers dig.")),
        ]
    )
    demo = visit(connected)
    demo.starts_chat()
    demo.page.evaluate(HEAR)

    card = demo.asks("What do they do?").streams()
    expect(card.status).to_contain_text("Thinking")
    started = Tree(demo.page)
    model.release("calls")
    expect(card.answer).to_contain_text("Otters swim.")
    working = Tree(demo.page)
    model.release("end")
    card.ends()
    expect(demo.page.locator("#status-node")).to_contain_text("Answer ready")
    ended = Tree(demo.page)

    heard = demo.page.evaluate("window.heard")
    assert 2 <= len(heard) <= 5, heard
    assert not any(word in text for text in heard for word in ("Otters", "Badgers", "Hedgehogs")), heard
    for state in (started, working, ended):
        assert state.has("log", "Messages")
        assert not any(word in state.live_text() for word in ("Otters", "Badgers"))
        assert "Hedgehogs" not in state.text()  # closed thinking is not there
    assert [state.busy_articles() for state in (started, working, ended)] == [1, 1, 0]
    assert "Otters swim. Badgers dig." in ended.text()


def test_nothing_moves_for_those_who_want_no_motion(visit, connected, model):
    model.script([reply(thinks("Looking. ", "On. "), waits("rest"))])
    demo = visit(connected, reduced_motion="reduce")
    demo.starts_chat()
    card = demo.asks("Still thinking?").streams()
    expect(card.status).to_contain_text("Thinking")

    card.opens_thinking()

    assert demo.page.evaluate("document.getAnimations().length") == 0


def test_switches_and_icons_are_seen_in_forced_colours(visit, offline):
    demo = visit(offline, forced_colors="active")
    card = demo.reads_finished()
    card.opens_trace()

    assert demo.page.evaluate(UNSEEN_ICONS) == []
    states = []
    for _state in range(2):
        states.append(demo.reasoning_switch.evaluate(LOOK_OF_SWITCH))
        with demo.page.expect_response(lambda response: response.request.method == "POST"):
            demo.reasoning_switch.click()
        demo.page.mouse.move(0, 0)
    assert states[0] != states[1]


def test_preview_of_a_citation_is_reached_by_the_pointer_and_dismissed_by_escape(visit, offline):
    demo = visit(offline)
    link = demo.reads_finished().answer.locator("a[data-citation]").first
    preview = demo.page.get_by_role("tooltip")

    link.hover()
    expect(preview).to_be_visible()
    preview.hover()
    expect(preview).to_be_visible()
    demo.page.keyboard.press("Escape")
    expect(preview).to_be_hidden()
    demo.page.locator("#context > summary").click()
    expect(demo.page.locator("#context > .numbers__body")).to_be_visible()
    demo.page.keyboard.press("Escape")

    expect(demo.page.locator("#context > .numbers__body")).to_be_hidden()


@pytest.mark.slow
def test_password_can_be_pasted_and_filled_in_by_a_manager(visit, serve):
    stranger = visit(serve(SIGNUP_ENABLED="true"), signed_in=False)
    stranger.open("/accounts/signup/")
    for field in stranger.page.locator("input[type=password]").all():
        expect(field).to_have_attribute("autocomplete", "new-password")
    stranger.open("/accounts/login/")
    expect(stranger.page.get_by_label("Username")).to_have_attribute("autocomplete", "username")
    password = stranger.page.get_by_label("Password", exact=True)
    expect(password).to_have_attribute("autocomplete", "current-password")
    stranger.page.get_by_label("Username").fill("demo")

    stranger.page.evaluate("text => navigator.clipboard.writeText(text)", PASSWORD)
    password.press("ControlOrMeta+v")
    stranger.page.get_by_role("button", name="Sign in").click()

    expect(stranger.composer).to_be_visible()


def test_refused_form_keeps_what_was_entered_and_names_the_field(visit, serve):
    stranger = visit(serve(SIGNUP_ENABLED="true"), signed_in=False)
    STRANGER["refused sign-up"](stranger)

    expect(stranger.page.get_by_label("Username")).to_have_value("demo")
    for field in stranger.page.locator("[aria-invalid=true]").all():
        described = (field.get_attribute("aria-describedby") or "").split()
        assert any(stranger.page.locator(f"[id='{one}'].errorlist").count() for one in described), described


@pytest.mark.slow
def test_help_and_navigation_are_in_the_same_order_on_every_page(visit, offline):
    demo = visit(offline)
    orders = set()

    for path in (offline.prepared.finished, "/chats/", "/projects/", "/filings/", "/accounts/settings/", "/nowhere/"):
        demo.watch.expected += NOWHERE
        demo.open(path)
        labels = demo.page.locator("#side > :not(nav#conversations)").all_inner_texts()
        orders.add(tuple(" ".join(label.replace("Filings", "").split()) for label in labels))

    assert len(orders) == 1, orders
    assert any("Keyboard shortcuts" in label for label in orders.pop())


@pytest.mark.slow
def test_question_in_the_other_direction_stays_on_its_side(visit, offline):
    demo = visit(offline)
    demo.starts_chat()
    demo.asks("What was it?").ends()
    demo.asks("ماذا حدث؟").ends()

    ends = [box["x"] + box["width"] for one in demo.page.locator(".question").all() if (box := one.bounding_box())]
    assert len(ends) == 2
    assert abs(ends[0] - ends[1]) <= 1
