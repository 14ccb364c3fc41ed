"""A new user's settings: password shown, theme and language on every page, keyboard choices, and the end of it all."""

from zipfile import ZipFile

import pytest
from playwright.sync_api import expect

from tests.server import PASSWORD


@pytest.mark.slow
def test_theme_language_export_and_deletion_of_a_new_account(visit, serve):
    carol = visit(serve(SIGNUP_ENABLED="true"), "carol", signed_in=False, color_scheme="light")
    page, root = carol.page, carol.page.locator("html")
    carol.open("/accounts/signup/")
    page.get_by_label("Username").fill("carol")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password confirmation").fill(PASSWORD)
    page.get_by_role("switch", name="Show password").click()
    expect(page.get_by_label("Password", exact=True)).to_have_attribute("type", "text")
    carol.submits(page.get_by_role("button", name="Create account"))
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")

    carol.open("/accounts/settings/")
    page.locator("#appearance").get_by_label("Dark").check()
    page.get_by_role("switch", name="Enter sends").click()
    page.locator("#language").get_by_label("Deutsch").check()
    carol.submits(page.get_by_role("button", name="Save"))
    expect(page.get_by_text("Gespeichert.", exact=True)).to_be_visible()
    page.reload()
    expect(page.locator("#appearance").get_by_label("Dunkel")).to_be_checked()
    expect(page.get_by_role("switch", name="Eingabe sendet")).not_to_be_checked()

    carol.open()
    for attribute, value in {"lang": "de", "data-theme": "dark"}.items():
        expect(root).to_have_attribute(attribute, value)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.get_by_role("textbox", name="Ihre Frage").fill("/set")
    page.get_by_role("button", name="Senden").click()
    expect(page.locator("#command")).to_contain_text("Aufwand")
    page.get_by_role("textbox", name="Ihre Frage").fill("/set effort heroic")
    page.get_by_role("button", name="Senden").click()
    expect(page.locator("#composer-error")).to_contain_text("heroic")
    expect(page.locator("#command")).to_be_empty()

    carol.open("/data/")
    with page.expect_download() as download:
        page.get_by_role("link", name="ZIP-Datei herunterladen").click()
    with ZipFile(download.value.path()) as archive:
        assert archive.namelist() == ["account.json"]
    page.get_by_label("Passwort", exact=True).fill(PASSWORD)
    carol.submits(page.get_by_role("button", name="Konto löschen"))
    expect(page.get_by_text("Ihr Konto und alle seine Daten wurden gelöscht.")).to_be_visible()
    assert "data-theme" not in page.content()
