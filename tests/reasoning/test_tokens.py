"""Four characters to a token."""

from __future__ import annotations

import pytest

from reasoning.replay.tokens import estimate_tokens


@pytest.mark.spec("000 rule 5")
@pytest.mark.parametrize(("chars", "tokens"), [(0, 0), (1, 1), (4, 1), (5, 2), (8, 2), (400, 100), (401, 101)])
def test_estimate_rounds_up(chars: int, tokens: int) -> None:
    assert estimate_tokens("x" * chars) == tokens


@pytest.mark.spec("001 ERR-002")
def test_estimate_takes_any_text() -> None:
    assert estimate_tokens("\ud800\x00é🙂") == 1
