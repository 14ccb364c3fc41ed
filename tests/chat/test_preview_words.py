"""Every reason that the core gives for leaving something out has its sentence on the page, in the reader's language."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from chat.preview.words import told

CORE = Path(__file__).resolve().parents[2] / "reasoning"
RULES = ("spec ", "replay ", "product ", "dialect", "compaction")


def _reasons() -> Iterator[str]:
    """Yield what stands behind a rule's id in the source, a name for each value in it."""
    for node in ast.walk(ast.parse((CORE / "selection.py").read_text(encoding="utf-8"))):
        listed = node.elts if isinstance(node, ast.Tuple) else node.args if isinstance(node, ast.Call) else []
        for rule, reason in pairwise(listed):
            if isinstance(rule, ast.Constant | ast.IfExp) and _text(rule).startswith(RULES) and _text(reason):
                yield _text(reason)


def _text(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_text(value) or "some-name" for value in values)
    return ""


REASONS = sorted({*_reasons(), "reasoning.stripFromContext is allButLast"})


def test_reasons_are_found_in_the_core() -> None:
    assert len(REASONS) > 15


@pytest.mark.parametrize("reason", REASONS)
def test_reason_has_its_sentence(reason: str) -> None:
    assert told(reason) != reason
    assert "%" not in told(reason)


def test_reason_without_a_sentence_is_shown_as_it_came() -> None:
    assert told("no such reason yet") == "no such reason yet"
