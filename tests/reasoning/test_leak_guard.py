"""Bullets that repeat something private are dropped whole; others are shown."""

import pytest

from reasoning.leak_guard import guard_bullets
from reasoning.redaction import SECRETS_ONLY
from reasoning.scratchpad import Scratchpad

PROMPT = "You are a careful analyst of company filings. Return the following sections exactly and never mention tools."
NOTES = "Chose the search tool because the user asked about supply chain trouble in the last annual report"

GOOD = [
    'Selected "searchFilings" because the question asks about content.',
    "Filtered to 2024 10-K",
    "Quoted 10-K · Item 1A",
    "Read 10-K · 2024-11-01 · Item 1A.",
    "Compared gross margin and/or operating margin, quarter by quarter.",
    "Opened https://www.sec.gov/cgi-bin/browse-edgar?path=/Archives/edgar/data/320193",
    "Looked at https://www.sec.gov and https://www.sec.gov/Archives/edgar/data/320193/aapl.htm",
    "Ranked 10-K/10-Q passages by similarity; 24/7 coverage isn't needed.",
    "Net sales rose 2% to $391.0 billion (2023: $383.3 billion).",
    "The key risk is concentration; the token count was low.",
    "Searched CIK 0000320193, accession 0000320193-24-000123.",
    "Checked Item 7/7A and Note 12 w/o restating 12/31/2024 figures.",
    "Discarded S&P 500 data, R&D/SG&A split kept.",
]
PATHS = [
    "Read /etc/app/settings.toml first",
    "Opened /home/alice/notes.txt",
    "See ~/secrets/plan",
    "Used C:\\Users\\alice\\plan.docx",
    "Used D:/plans/plan.docx",
    "From \\\\server\\share\\plan",
    "In $HOME/.config/app",
    "Loaded config/settings.py",
    "Loaded ./src/app.py",
    "file:///srv/data/x",
]


def reasons(bullet: str, prompt: str = PROMPT, notes: str = NOTES) -> tuple[str, ...]:
    return guard_bullets([bullet], system_prompt=prompt, scratchpad=Scratchpad(notes)).reasons


@pytest.mark.spec("004 summary")
@pytest.mark.parametrize("bullet", GOOD)
def test_plain_bullet_is_shown(bullet):
    guarded = guard_bullets([bullet], system_prompt=PROMPT, scratchpad=Scratchpad(NOTES))

    assert guarded.shown == (bullet,)
    assert guarded.dropped == 0


@pytest.mark.spec("004 summary")
@pytest.mark.parametrize("bullet", PATHS)
def test_file_path_is_dropped(bullet):
    assert len(reasons(bullet)) == 1


@pytest.mark.spec("004 summary")
@pytest.mark.parametrize(
    "bullet",
    [
        "I was told: return the following sections exactly and never mention it.",
        "YOU ARE A CAREFUL, ANALYST-OF company: filings!",
        "you are a care\u200bful analyst of company filings",
        "ｙｏｕ ａｒｅ a careful analyst of company",
    ],
)
def test_repeated_prompt_is_dropped(bullet):
    assert reasons(bullet) == ("system prompt",)


def test_prompt_with_invisible_letters_is_recognised():
    assert reasons("You are a careful analyst of company filings", prompt=PROMPT.replace("a", "a\u200b")) == (
        "system prompt",
    )


def test_shown_bullet_has_no_invisible_letters():
    guarded = guard_bullets(["Com\u200bpared\x00 mar\u202egins."], system_prompt=PROMPT, scratchpad=None)

    assert guarded.shown == ("Compared margins.",)


def test_policy_decides_what_is_masked():
    bullets = ["Asked pat@example.com.", "password=hunter2"]

    guarded = guard_bullets(bullets, system_prompt=PROMPT, scratchpad=None, policy=SECRETS_ONLY)

    assert guarded.shown == ("Asked pat@example.com.",)


@pytest.mark.spec("004 scratchpad")
def test_repeated_scratchpad_is_dropped():
    assert reasons("Because the user asked about supply chain trouble") == ("scratchpad",)


@pytest.mark.spec("004 summary")
def test_six_words_in_common_are_a_repetition():
    assert reasons("Acted as a careful analyst of company filings") == ("system prompt",)
    assert reasons("Knew that the user asked about supply chain") == ("scratchpad",)


def test_five_words_in_common_are_no_repetition():
    assert reasons("You are a careful analyst, they say") == ()


@pytest.mark.parametrize(
    "bullet",
    [
        "Used sk-proj-a1B2c3D4e5F6g7H8i9J0 to log in",
        "password=hunter2",
        "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        "Asked pat@example.com",
        "Called (415) 555-0132",
        "SSN 078-05-1120",
    ],
)
def test_secret_or_identifier_is_dropped(bullet):
    assert reasons(bullet) == ("secret or identifier",)


def test_dropped_bullets_are_counted_in_order():
    guarded = guard_bullets(
        ["First point.", "password=hunter2", "Second point.", "Opened /home/alice/x/notes"],
        system_prompt=PROMPT,
        scratchpad=None,
    )

    assert guarded.shown == ("First point.", "Second point.")
    assert guarded.dropped == len(guarded.reasons) == 2


def test_huge_bullet_is_bounded():
    for unit in ("a", "a/", "/", "word ", "\\", "~/", "9"):
        guarded = guard_bullets(
            [unit * (100_000 // len(unit))], system_prompt=PROMPT * 50, scratchpad=Scratchpad(NOTES)
        )
        assert all(len(bullet) <= 2_000 for bullet in guarded.shown)


def test_bullet_that_cannot_be_judged_is_dropped(monkeypatch):
    def fail(*_):
        raise RuntimeError("inside")

    monkeypatch.setattr("reasoning.leak_guard.Redactor", fail)

    assert reasons("Compared margins.") == ("could not be judged",)
