"""Pictures of two states of the source are compared point by point. Ui bar V1."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.snapshots.__main__ import MOST_CHANGED, changed

pytestmark = pytest.mark.slow

WORDS = "<p style='font: 20px monospace'>The same words</p>"


@pytest.fixture
def pictures(browser: Browser, tmp_path: Path) -> tuple[Path, Path, Path]:
    """Return pictures of a text, of the same text, and of another one on a longer page."""
    names = ("before", "same", "other")
    texts = (WORDS, WORDS, f"{WORDS}<p style='margin-top: 900px'>{WORDS}</p>")
    page = browser.new_page()
    for name, text in zip(names, texts, strict=True):
        page.set_content(text)
        page.screenshot(path=tmp_path / f"{name}.png", full_page=True)
    page.close()
    before, same, other = (tmp_path / f"{name}.png" for name in names)
    return before, same, other


def test_picture_that_differs_is_measured_and_painted(
    browser: Browser, pictures: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    before, same, other = pictures
    page = browser.new_page()

    assert changed(page, before, same, tmp_path / "nothing.png") == 0
    assert not (tmp_path / "nothing.png").exists()
    assert MOST_CHANGED < changed(page, before, other, tmp_path / "painted.png") < 100
    assert (tmp_path / "painted.png").read_bytes().startswith(b"\x89PNG")
    assert changed(page, before, tmp_path / "missing.png", tmp_path / "none.png") == 100
