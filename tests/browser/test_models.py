"""Choosing a model and its effort: what staff offer, what answers next, what every open tab shows."""

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.people import Person
from tests.browser.upstream import plain

OTHER = "generic-openai-compatible"
MODELS = "/admin/chat/modelprofile/"


@pytest.fixture
def staffed(serve, visit, model):
    """Return a site where staff have added a second model at the same service."""
    site = serve(OPENAI_BASE_URL=model.base_url, OPENAI_MODEL="plain-model")
    admin = visit(site, "admin")
    admin.open(MODELS)
    if not admin.page.get_by_role("link", name="vllm", exact=True).count():  # tests share the site
        adds(admin, "vLLM", model.base_url, label="House model")
    return site


def adds(admin: Person, preset: str, base_url: str, *, label: str) -> None:
    """Add a model from a preset, at the service that the test has."""
    admin.open(MODELS)
    admin.submits(admin.page.get_by_role("link", name=preset, exact=True))
    fill = {"Label:": label, "Address:": base_url, "Model:": OTHER, "Context limit:": "64000"}
    for name, text in fill.items():
        admin.page.get_by_label(name, exact=True).fill(text)
    admin.page.get_by_label("Dialect:").select_option("")
    admin.submits(admin.page.get_by_role("button", name="Save", exact=True))
    expect(admin.page.get_by_text("was added successfully")).to_be_visible()


def picker(person: Person) -> Locator:
    return person.page.get_by_role("combobox", name="Model")


@pytest.mark.slow
def test_chosen_model_answers_next_and_every_tab_shows_it(visit, staffed, model):
    model.script([plain("One."), plain("Two.")])
    demo = visit(staffed)
    demo.starts_chat()
    demo.asks("First?").ends()
    tab = demo.in_another_tab()

    demo.writes("Second?")
    picker(demo).focus()
    demo.page.keyboard.press("ArrowDown")
    expect(demo.page.locator("[data-context-usage]")).to_contain_text("/64,000")
    expect(picker(demo)).to_be_focused()
    expect(demo.composer).to_have_value("Second?")
    expect(tab.get_by_role("combobox", name="Model")).to_have_value("vllm")
    expect(tab.locator("[data-context-usage]")).to_contain_text("/64,000")
    demo.send_button.click()

    expect(demo.answer(1).ends().root.get_by_text("House model")).to_be_visible()
    assert [request["model"] for request in model.requests()] == ["plain-model", OTHER]
    demo.page.reload()
    expect(picker(demo)).to_have_value("vllm")


@pytest.mark.slow
def test_effort_is_chosen_and_every_tab_shows_it(visit, serve, model):
    demo = visit(serve(OPENAI_BASE_URL=model.base_url, OPENAI_API="responses", OPENAI_MODEL="gpt-5-mini"))
    demo.starts_chat()
    tab = demo.in_another_tab()
    effort = demo.page.get_by_role("combobox", name="Effort")

    effort.focus()
    effort.select_option("Effort: Low")
    expect(tab.get_by_role("combobox", name="Effort")).to_have_value("low")
    expect(effort).to_be_focused()
    demo.page.reload()

    expect(effort).to_have_value("low")
