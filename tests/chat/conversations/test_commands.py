"""Commands of the composer: what is one, what it asks for, and what is said to those that are wrong."""

import pytest

from accounts import preferences
from chat.conversations.commands import Command, parse, parse_change
from chat.validation import InvalidInputError
from reasoning.settings import SETTINGS


@pytest.mark.spec("001 BR-007")
@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/set", Command("settings")),
        ("/set reasoning.format", Command("settings", "reasoning.format")),
        ("/set reasoning.format field", Command("set", "reasoning.format", "field")),
        ("/set reasoning.format native", Command("set", "reasoning.format", "native")),
        ("/SET Format=native", Command("set", "reasoning.format", "native")),
        ("/set  reasoning.includeInResponse   off", Command("set", "reasoning.includeInResponse", False)),
        ("/set maxTokens 2000", Command("set", "reasoning.maxTokens", 2000)),
        ("/set reasoning.effort unset", Command("set", "reasoning.effort", None)),
        ("/set reasoning.effort default", Command("set", "reasoning.effort", None)),
        ("/set reasoning.effort none", Command("set", "reasoning.effort", "none")),
        ("/profile", Command("profiles")),
        ("/profile save mine", Command("save", "mine")),
        ("/profile load llama.cpp", Command("load", "llama.cpp")),
        ("/profile delete mine", Command("delete", "mine")),
        ("/help", Command("help")),
    ],
)
def test_command_is_parsed(text, command):
    assert parse(text) == command


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
def test_text_that_merely_begins_with_a_slash_is_a_message(text):
    assert parse(text) is None


@pytest.mark.spec("001 ERR-001")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/set reasoning.format xml", "reasoning.format: 'xml' is not allowed; 'field' or 'native' only."),
        ("/set reasoning.includeInContext perhaps", "'perhaps' is not allowed; 'true' or 'false' only."),
        ("/set reasoning.maxTokens 0", "'0' is not allowed; a whole number from 1 to 1000000000 only."),
        ("/set reasoning.colour red", "colour: no such setting; there are reasoning.enabled, "),
        ("/set reasoning.format field native", "reasoning.format needs one value: 'field' or 'native'."),
        ("/profile forget mine", "/profile save, load or delete with one name"),
        ("/profile save", "/profile save, load or delete with one name"),
        ("/help me", "/help has no arguments."),
        ("/sett", "/sett: no such command; there are /set, /profile, /prompt, /help."),
        ("/sett reasoning.format field", "/sett: no such command; there are /set, /profile, /prompt, /help."),
    ],
)
def test_wrong_command_is_refused_and_says_what_is_allowed(text, said):
    with pytest.raises(InvalidInputError) as refused:
        parse(text)

    assert said in refused.value.message


@pytest.mark.parametrize("value", [[], {}, [["low"]], True, 3, "LOW"])
@pytest.mark.spec("001 ERR-001")
def test_odd_values_of_a_script_are_refused_by_field(value):
    with pytest.raises(InvalidInputError) as refused:
        parse_change("reasoning.effort", value)

    assert refused.value.field == "reasoning.effort"


@pytest.mark.django_db
def test_every_completion_is_a_command_or_the_beginning_of_one(client, alice):
    preferences.save_profile(alice, "mine", {})
    client.force_login(alice)

    offers = [text for text, _hint in client.get("/chats/completions/").json()]

    whole = {text for text in offers if not text.endswith(" ")}
    assert all(parse(text) is not None for text in whole)
    assert all(any(text.startswith(start) for text in whole) for start in offers if start.endswith(" "))
    assert {"/profile load kimi", "/profile delete mine", "/help"} <= whole
    assert {f"/set {name} {word}" for name, setting in SETTINGS.items() for word in setting.allowed} <= whole
    assert "/profile delete kimi" not in whole
