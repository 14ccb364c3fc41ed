"""Commands of the composer: what is one, what it asks for, and what is said to those that are wrong."""

from __future__ import annotations

from typing import Any

import pytest

from chat.commands import COMMANDS, Order, completions, help_rows, parse, parse_change
from chat.forms import MessageRefused
from reasoning.policy import SETTINGS


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("/set", Order("settings")),
        ("/set reasoning.format", Order("setting", "reasoning.format")),
        ("/set reasoning.format field", Order("set", "reasoning.format", "field")),
        ("/SET Format=native", Order("set", "reasoning.format", "native")),
        ("/set  reasoning.includeInResponse   off", Order("set", "reasoning.includeInResponse", False)),
        ("/set maxTokens 2000", Order("set", "reasoning.maxTokens", 2000)),
        ("/set reasoning.effort unset", Order("set", "reasoning.effort", None)),
        ("/set reasoning.effort default", Order("set", "reasoning.effort", None)),
        ("/set reasoning.effort none", Order("set", "reasoning.effort", "none")),
        ("/profile", Order("profiles")),
        ("/profile save mine", Order("save", "mine")),
        ("/profile load llama.cpp", Order("load", "llama.cpp")),
        ("/profile delete mine", Order("delete", "mine")),
        ("/help", Order("help")),
    ],
)
def test_command_becomes_an_order(text: str, order: Order) -> None:
    assert parse(text) == order


@pytest.mark.parametrize(
    "text",
    [
        "/etc/hosts is what?",
        "/home is where the heart is",
        "/setting suns and other stories",
        "/2024 was it better?",
        "set reasoning.format field",
        "What does /set do?",
        "//",
        "/",
        "",
    ],
)
def test_text_that_merely_begins_with_a_slash_is_a_message(text: str) -> None:
    assert parse(text) is None


@pytest.mark.spec("001 ERR-001")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/set reasoning.format xml", "reasoning.format: 'xml' is not allowed; 'field' or 'native' only."),
        ("/set reasoning.includeInContext perhaps", "'perhaps' is not allowed; 'true' or 'false' only."),
        ("/set reasoning.maxTokens 0", "'0' is not allowed; a whole number from 1 to 1000000000 only."),
        ("/set reasoning.colour red", "colour: no such setting; there are reasoning.enabled, "),
        ("/set reasoning.format field native", "reasoning.format takes one value: 'field' or 'native'."),
        ("/profile forget mine", "/profile save, load or delete with one name"),
        ("/profile save", "/profile save, load or delete with one name"),
        ("/help me", "/help takes nothing after it."),
        ("/sett", "/sett: no such command; there are /set, /profile, /help."),
        ("/sett reasoning.format field", "/sett: no such command; there are /set, /profile, /help."),
    ],
)
def test_wrong_command_is_refused_and_says_what_is_allowed(text: str, said: str) -> None:
    with pytest.raises(MessageRefused) as refused:
        parse(text)

    assert said in refused.value.message


@pytest.mark.spec("001 BR-007")
@pytest.mark.parametrize("value", ["field", "native"])
def test_both_formats_are_taken(value: str) -> None:
    assert parse(f"/set reasoning.format {value}") == Order("set", "reasoning.format", value)


@pytest.mark.parametrize("value", [[], {}, [["low"]], True, 3, "LOW"])
@pytest.mark.spec("001 ERR-001")
def test_odd_values_of_a_script_are_refused_by_field(value: Any) -> None:
    with pytest.raises(MessageRefused) as refused:
        parse_change("reasoning.effort", value)

    assert refused.value.field == "reasoning.effort"


def test_every_offer_is_a_command_or_the_beginning_of_one() -> None:
    offers = [text for text, _hint in completions(["mine"], ["kimi"])]

    whole = [text for text in offers if not text.endswith(" ")]
    assert all(parse(text) is not None for text in whole)
    assert all(any(text.startswith(start) for text in whole) for start in offers if start.endswith(" "))
    assert {"/profile load kimi", "/profile delete mine", "/set reasoning.effort low"} <= set(whole)
    assert "/profile delete kimi" not in whole


def test_offers_name_every_setting_and_every_value() -> None:
    offers = {text.strip() for text, _hint in completions([], [])}

    assert {f"/set {name}" for name in SETTINGS} <= offers
    assert {f"/set {name} {word}" for name, setting in SETTINGS.items() for word in setting.allowed} <= offers


def test_help_tells_every_command() -> None:
    assert {row[0].split()[0] for row in help_rows()} == set(COMMANDS)
