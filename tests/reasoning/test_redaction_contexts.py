"""Of secrets in the contexts that people paste nearly all are masked, and innocent texts are left as they are."""

from __future__ import annotations

import pytest

from reasoning.redaction import SECRETS_ONLY, Redactor, StreamRedactor, redact_text
from tests.reasoning import (
    redaction_contexts,
    redaction_contexts_more,
    redaction_innocent,
    redaction_innocent_elsewhere,
    redaction_innocent_more,
    redaction_unseen,
    redaction_unseen_last,
    redaction_unseen_more,
)
from tests.reasoning.redaction_corpus import SECRETS, Case
from tests.reasoning.redaction_plain import ORDINARY, PERSONAL

_SETS = [
    redaction_contexts.SECRETS,
    redaction_contexts_more.SECRETS,
    redaction_unseen.SECRETS,  # at first 112 of 140 were found
    redaction_unseen_more.SECRETS,  # at first 144 of 160
    redaction_unseen_last.SECRETS,  # at first 110 of 120
]
_CASES = [case for cases in _SETS for case in cases]
_INNOCENT = [
    *redaction_innocent.INNOCENT,
    *redaction_innocent_more.INNOCENT,
    *redaction_innocent_elsewhere.INNOCENT,
]
_DEFAULT_PASSWORD = "PASSWORD=changeme_please"  # masked: nobody can tell it from one that is in use


def leaks(case: Case, shown: str) -> bool:
    return any(private in shown for private in case.private)


@pytest.mark.spec("004 redaction")
def test_of_all_known_secrets_98_in_100_are_masked() -> None:
    cases = [*SECRETS, *_CASES]

    assert sum(leaks(case, redact_text(case.text)) for case in cases) <= 0.02 * len(cases)


@pytest.mark.spec("004 redaction")
@pytest.mark.parametrize("cases", _SETS)
def test_of_secrets_in_context_96_in_100_are_masked(cases: list[Case]) -> None:
    shown = Redactor(SECRETS_ONLY).redact_text

    assert len(cases) > 110
    assert sum(leaks(case, redact_text(case.text)) for case in cases) <= 0.04 * len(cases)
    assert sum(leaks(case, shown(case.text)) for case in cases) <= 0.04 * len(cases)


@pytest.mark.spec("004 redaction")
@pytest.mark.parametrize("case", PERSONAL)
def test_personal_data_after_a_secret_is_masked(case: Case) -> None:
    assert not leaks(case, redact_text(f"password=hunter2!\n{case.text}"))


@pytest.mark.spec("004 redaction")
@pytest.mark.parametrize("text", [text for text in _INNOCENT if text != _DEFAULT_PASSWORD])
def test_innocent_text_is_untouched(text: str) -> None:
    assert redact_text(text) == text


def test_innocent_texts_in_one_are_untouched() -> None:
    text = "\n\n".join([*_INNOCENT, *ORDINARY])

    shown = redact_text(text)

    changed = [one for one in (*_INNOCENT, *ORDINARY) if one not in shown]
    assert len(changed) <= 0.02 * (len(_INNOCENT) + len(ORDINARY))


@pytest.mark.parametrize("size", [1, 5])
def test_secret_in_context_is_masked_however_it_comes(size: int) -> None:
    for case in _CASES:
        stream = StreamRedactor()
        shown = "".join(stream.feed(case.text[at : at + size]) for at in range(0, len(case.text), size))

        assert shown + stream.flush() == redact_text(case.text)


def test_secret_in_context_stays_masked() -> None:
    for case in _CASES:
        once = redact_text(case.text)

        assert redact_text(once) == once


@pytest.mark.parametrize(
    "table",
    [
        "| user | password |\n|---|---|\n| bob | {} |",
        "| user | password |\n|---|---|\n| anna | required |\n| bob | {} |\n\nThat is all.",
        "Name | Passwort\n--- | ---\nbob | {}",
        "| password | user |\n|:--|--:|\n| `{}` | bob |",
        "user;password;role\nbob;{};admin",
    ],
)
def test_column_called_secret_hides_its_values(table: str) -> None:
    shown = redact_text(table.format("hunter2xyz"))

    assert shown == table.format("[redacted]")


@pytest.mark.parametrize(
    "text",
    [
        "npm" + "_" + "a1B2" * 9 + "user\tpassword\nanna\tR0senstolz#",
        "token=" + "a1B2" * 8 + " Kennwort: R0senstolz#\tpassword\nweb1\tblueHeron42",
        "DB_PASSWORD: R0senstolz#\n\tname;passwort;rolle\nanna;blueHeron42;admin",
    ],
)
def test_heading_behind_a_mask_counts_the_first_time(text: str) -> None:
    shown = redact_text(text)

    assert not any(private in shown for private in ("R0senstolz", "blueHeron42"))
    assert redact_text(shown) == shown


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO users (name, password) VALUES ('bob', '{}');",
        "insert into users (`password`,`role`) values\n('{}','admin'),\n('{}','user');",
        "INSERT INTO users (id, secret, note) VALUES (1, '{}', 'it''s Bob''s'), (2, NULL, 'none')",
    ],
)
def test_column_of_an_insert_hides_its_values(statement: str) -> None:
    shown = redact_text(statement.replace("{}", "plain words"))

    assert shown == statement.replace("{}", "[redacted]")


def test_table_without_secrets_is_let_go_row_by_row() -> None:
    stream = StreamRedactor()

    shown = stream.feed("| Ratio | Limit |\n|---|---|\n| Debt service | high |\n")

    assert "| Debt service |" in shown
