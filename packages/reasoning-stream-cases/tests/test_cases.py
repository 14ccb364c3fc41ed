"""The data has the form that the README describes; the command lists it."""

import json
import re
import sys
from pathlib import Path

import pytest

from reasoning_stream_cases import CASES, RULES, __main__, read_document, recut

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_ids_are_unique_and_rules_known():
    assert len({case.id for case in CASES}) == len(CASES) > 200
    assert {rule for case in CASES for rule in case.rules} == set(RULES)
    assert all(case.id.startswith(f"{case.group}-") for case in CASES)


def test_readme_describes_every_key_and_group():
    described = set(re.findall(r"^\| `([\w-]+)` ", README, re.MULTILINE))

    assert described == {key for case in read_document()["cases"] for key in case} | {case.group for case in CASES}


def test_recut_stream_has_the_same_text():
    for case in CASES:
        for seed in range(3):
            cut = list(recut(case.deltas, seed))
            for field in ("content", "reasoning", "reasoning_content", "thinking"):
                assert _text(cut, field) == _text(case.deltas, field)


def _text(deltas, field):
    return "".join(delta[field] for delta in deltas if isinstance(delta.get(field), str))


@pytest.mark.parametrize("group", sorted({case.group for case in CASES}))
def test_command_lists_the_cases_of_a_group(capsys, monkeypatch, group):
    monkeypatch.setattr(sys, "argv", ["", "--json", "--group", group])
    __main__.main()

    listed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [case["id"] for case in listed] == [case.id for case in CASES if case.group == group]


def test_command_lists_the_cases_of_a_rule_for_people(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["", "--rule", "normaliser 12"])
    __main__.main()

    listed = capsys.readouterr().out
    assert re.findall(r"^(\S+) \(", listed, re.MULTILINE) == [
        case.id for case in CASES if "normaliser 12" in case.rules
    ]
    assert listed.isascii()
