"""Whole pages: what surrounds the cards, and what the scripts rely on."""

import re
from pathlib import Path
from uuid import UUID

import pytest
from django import forms
from lxml import html as markup

from reasoning.visibility import Visibility
from tests.chat.card_samples import all_of, one, page, text_of, words

pytestmark = pytest.mark.urls("tests.chat.card_samples")

ROOT = Path(__file__).resolve().parents[3]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
STYLES = ROOT / "static" / "css" / "app.css"
SCRIPTS = sorted((ROOT / "static" / "js").glob("*.js"))
ADMINISTRATOR = Visibility(scratchpad_possible=True)


def source(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def inputs(form: markup.HtmlElement) -> dict[str, str]:
    return {field.get("name"): field.get("value") for field in all_of(form, "input")}


def test_every_icon_that_is_used_is_in_the_sprite():
    used = {name for path in TEMPLATES for name in re.findall(r"#i-([a-z]+)\"", source(path))}
    drawn = set(re.findall(r'id="i-([a-z]+)"', source(ROOT / "static" / "img" / "icons.svg")))

    assert used
    assert used <= drawn


def test_every_icon_that_css_draws_has_its_place_in_the_sprite():
    used = {name for path in TEMPLATES for name in re.findall(r"data-icon=\"([a-z]+)\"", source(path))}
    named = re.findall(r"\[data-icon=([a-z]+)\][^{};]*\{ --at: (\d+) \}", source(STYLES))
    column = re.findall(r'<use href="#i-([a-z]+)"', source(ROOT / "static" / "img" / "icons.svg"))

    assert used
    assert used <= {name for name, _place in named}
    assert sorted(int(place) for _name, place in named) == list(range(len(column)))
    assert [column[int(place)] for _name, place in named] == [name for name, _place in named]


def test_every_id_that_a_script_asks_for_is_on_the_page():
    asked = {name for path in SCRIPTS for name in re.findall(r'getElementById\("([a-z-]+)"\)', source(path))}
    ids = {element.get("id") for element in all_of(page(), "[id]")}

    assert asked
    assert asked <= ids


def test_scripts_run_nothing_from_text():
    risky = r"\beval\(|new Function|\.innerHTML|document\.write"

    assert [path.name for path in SCRIPTS if re.search(risky, source(path))] == []


def test_transcript_is_a_silent_log_beside_two_live_nodes():
    shown = page()
    log = one(shown, "#messages")

    assert (log.get("role"), log.get("aria-live")) == ("log", "off")
    assert log.get("aria-label")
    assert one(shown, "[data-status-node]").get("role") == "status"
    assert one(shown, "#alert-node").get("role") == "alert"


@pytest.mark.parametrize("running", [True, False])
def test_stop_is_there_while_an_answer_is_written(running):
    shown = page(running=running)
    stop = one(shown, "[data-stop]")

    assert (stop.get("hidden") is None) is running
    assert one(shown, f"#{stop.get('form')}").get("action").endswith("/stop/")


def test_running_answer_loads_again_without_script_and_leads_to_a_page_to_write_on():
    shown = [page(running=True, reloads=True), page(running=True), page()]

    refreshes = [each.xpath("//noscript/meta[@http-equiv='refresh']") for each in shown]

    assert [len(found) for found in refreshes] == [1, 0, 0]
    assert shown[0].xpath("//noscript//a[@href='?still=1']")
    assert [len(each.xpath("//noscript//a[@href='?still=1#text']")) for each in shown] == [1, 0, 0]
    assert refreshes[0][0].get("content").endswith(f"url=/chats/{UUID(int=1)}/")


@pytest.mark.parametrize("is_on", [True, False])
def test_reasoning_switch_asks_for_the_other_state(is_on):
    switch = one(page(sees=Visibility(show_reasoning=is_on)), "[data-toggle=show-reasoning]")
    asked = inputs(switch.getparent())

    assert (switch.get("role"), switch.get("aria-checked")) == ("switch", str(is_on).lower())
    assert asked["on"] == str(not is_on).lower()
    assert asked["next"].startswith("/chats/")


@pytest.mark.spec("004 flags")
def test_no_switch_where_the_site_shows_no_reasoning():
    assert all_of(page(sees=Visibility(reasoning_possible=False)), "[data-toggle=show-reasoning]") == []


@pytest.mark.spec("product 9")
def test_scratchpad_switch_is_for_administrators():
    switch = one(page(sees=ADMINISTRATOR, scratchpad_on=True), "[data-toggle=show-scratchpad]")

    assert switch.get("aria-checked") == "true"
    assert " ".join(switch.text.split()) == "Show scratchpad (debug)"
    assert inputs(switch.getparent())["conversation"]
    assert all_of(page(), "[data-toggle=show-scratchpad]") == []


def test_empty_page_offers_questions_that_send_themselves():
    shown = page(items=[], starters=["Which tests?"], corpus={"filings": 3, "companies": 2, "is_demo": True})
    form = one(one(shown, "#hello"), "form")

    assert inputs(form) == {"csrfmiddlewaretoken": "token", "text": "Which tests?"}
    assert form.get("ws-send") is not None
    assert "3 filings of invented companies" in words(all_of(shown, "#hello"))
    assert all_of(page(), "#hello") == []


@pytest.mark.parametrize("name", ["404.html", "403.html", "403_csrf.html", "400.html", "500.html", "503.html"])
def test_error_page_draws_without_a_request(name):
    assert len(all_of(markup.fromstring(text_of(name)), "h1")) == 1


def test_field_error_is_tied_to_its_field():
    class Form(forms.Form):
        username = forms.CharField()

    shown = markup.fromstring(text_of("accounts/login.html", form=Form({}), signup_enabled=False))
    field = one(shown, "[name=username]")

    assert field.get("aria-invalid") == "true"
    assert "required" in words(all_of(shown, f"#{field.get('aria-describedby')}"))
