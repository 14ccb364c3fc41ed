"""No code of ours hands a scratchpad to something that prints, stores or sends it, or logs what was written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.privacy_lint import faults

ROOT = Path(__file__).resolve().parent.parent
APPS = ("accounts", "chat", "config", "reasoning")
SOURCES = sorted(path for app in APPS for path in (ROOT / app).rglob("*.py") if "migrations" not in path.parts)

# Where something named after the scratchpad may be an argument, and why. A writer is never allowed.
FLAG = "a switch or a flag: true or false, no text"
HANDED_ON = "the value itself on its way, in memory, to a socket that holds a grant"
GATE = "the gate, or the type's own file"
ALLOWED = {
    ("accounts/preferences.py", "site_flags"): FLAG,
    ("accounts/preferences.py", "visibility"): FLAG,
    ("accounts/preferences.py", "_is_scratchpad_on"): FLAG,
    ("accounts/scratchpad.py", "reveal"): GATE,
    ("accounts/scratchpad.py", "switch"): FLAG,
    ("accounts/urls.py", ""): "the name of a view",
    ("chat/api.py", "__init__"): "a bound method: where a request takes scratchpads, if its viewer may",
    ("chat/api.py", "_take"): HANDED_ON,
    ("chat/api.py", "_revealed"): "asks the gate for a grant of the request's session, for its own envelope",
    ("chat/audit/findings.py", ""): "the name of a kind of finding",
    ("chat/consumers.py", "connect"): "a bound method: where the socket takes scratchpads",
    ("chat/consumers.py", "_take_scratchpad"): HANDED_ON,
    ("chat/consumers.py", "_reveal"): "calls the page, which asks the gate; frames go to this socket alone",
    ("chat/export.py", "envelope_of"): "what the gate revealed to the API; the envelope asks Visibility again",
    ("chat/page.py", "reveal"): HANDED_ON,
    ("chat/page.py", "_revealed"): HANDED_ON,
    ("chat/runner.py", "_launch"): "a bound method: how a turn reaches sockets",
    ("chat/turns.py", "_show"): HANDED_ON,
    ("chat/watchers.py", "take_scratchpad"): HANDED_ON,
    ("reasoning/leakguard.py", "guard_bullets"): "compared with bullets through the type's own method",
    ("reasoning/outlets.py", "add_scratchpad"): "where text becomes the type",
    ("reasoning/policy.py", "visibility"): FLAG,
    ("reasoning/prompt.py", "instructions"): "the sentence of our prompt that asks for one",
    ("reasoning/scratchpad.py", "join"): GATE,
    ("reasoning/scratchpad.py", "reveal"): GATE,
    ("reasoning/scratchpad.py", "_text_of"): GATE,
    ("reasoning/sections.py", "parse_sections"): "kept in the type",
    ("reasoning/turn.py", "_channel"): HANDED_ON,
    ("reasoning/turn.py", "_summarise"): "compared with bullets through the type's own method",
}


def _faults_of(source: str, file: str = "chat/turns.py") -> list[str]:
    return [fault.rule for fault in faults(source, file, ALLOWED)]


@pytest.mark.spec("004 scratchpad")
def test_no_code_lets_a_scratchpad_or_private_text_out() -> None:
    found = [
        str(fault)
        for path in SOURCES
        for fault in faults(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix(), ALLOWED)
    ]

    assert found == []


def test_every_exception_is_needed() -> None:
    needed = {
        (fault.file, fault.function.rpartition(".")[2])
        for path in SOURCES
        for fault in faults(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix(), {})
    }

    assert set(ALLOWED) - needed == set()


@pytest.mark.parametrize(
    "code",
    [
        "print(scratchpad)",
        "str(self._scratchpad)",
        "repr(turn.scratchpad)",
        "format(scratchpad, '')",
        "json.dumps({'notes': scratchpad})",
        "pickle.dump(scratchpad, file)",
        "msgspec.json.encode([scratchpad])",
        "Event.objects.create(public={'notes': scratchpad})",
        "Event.objects.filter(pk=1).update(public=scratchpad)",
        "Event.objects.create(scratchpad=text)",
        "event.save(scratchpad)",
        "Event.objects.bulk_create([row(scratchpad)])",
        "cache.set('key', scratchpad)",
        "layer.group_send('group', {'pad': scratchpad})",
        "layer.send(name, scratchpad)",
        "logger.info('ended', extra={'note': scratchpad})",
        "session.setdefault('pad', scratchpad)",
    ],
)
def test_writer_of_a_scratchpad_is_caught_even_where_handing_on_is_allowed(code: str) -> None:
    found = _faults_of(f"def _show():\n    {code}")

    assert any(rule.startswith("gives a scratchpad to") for rule in found)


@pytest.mark.parametrize(
    "code",
    [
        "x = f'{scratchpad}'",
        "x = f'{delta.scratchpad!r:>10}'",
        "x = 'notes: %s' % scratchpad",
        "request.session['pad'] = scratchpad",
        "session['pad'] = [scratchpad]",
    ],
)
def test_formatted_or_kept_scratchpad_is_caught(code: str) -> None:
    assert _faults_of(f"def _show():\n    {code}")


@pytest.mark.parametrize(
    "code",
    [
        "def f(notes: Scratchpad): keep(notes)",
        "def f(notes: 'Scratchpad | None'): keep(notes)",
        "def f(text):\n    pad = Scratchpad(text)\n    keep(pad)",
        "def f(parts):\n    pad = Scratchpad.join(parts)\n    keep(pad)",
        "def f(delta):\n    if isinstance(delta.text, Scratchpad):\n        keep(delta.text)",
        "def f(update):\n    pad = update.scratchpad\n    keep(pad)",
        "def f(update):\n    match update:\n        case Scratchpad() as pad:\n            keep(pad)",
        "class A:\n    def __init__(self):\n        self._pads: list[Scratchpad] = []\n"
        "    def f(self):\n        keep(self._pads)",
        "async def f(scratchpad): await keep(scratchpad)",
        "keep(scratchpad)",
    ],
)
def test_scratchpad_under_any_name_is_followed(code: str) -> None:
    assert _faults_of(code) == ["hands a scratchpad to keep"]


@pytest.mark.parametrize(
    "code",
    [
        "logger.info(f'asked {n}')",
        "logger.info(text)",
        "logger.warning('asked: ' + text)",
        "logger.info('asked: %s', text)",
        "logger.log(logging.INFO, text)",
        "logging.getLogger(__name__).error(str(error))",
        "self._logger.exception(error)",
        "logger.info('ended', extra={'text': 'x'})",
        "logger.info('ended', extra={'arguments': 1})",
        "logger.info('ended', extra={'note': call.arguments})",
        "logger.info('ended', extra={'length': 1, **more})",
        "logger.info('ended', extra=figures)",
        "logger.info('ended', stack_info=True)",
    ],
)
def test_log_call_that_may_carry_text_is_caught(code: str) -> None:
    assert _faults_of(code)


@pytest.mark.parametrize(
    "code",
    [
        "logger.info('turn ended', extra={'turn': turn.public_id, 'output_tokens': turn.output_tokens})",
        "logger.exception('turn broke')",
        "logger.warning('not rendered: %s', type(error).__name__, exc_info=True)",
        "log.append(turn, events)",
        "if isinstance(delta.text, Scratchpad):\n    count += 1\nelse:\n    keep(delta.text)",
    ],
)
def test_plain_code_is_left_in_peace(code: str) -> None:
    assert _faults_of(code) == []


@pytest.mark.spec("product 9")
@pytest.mark.parametrize(
    "code", ["from reasoning.scratchpad import GRANT_KEY", "core.GRANT_KEY", "ScratchpadGrant(GRANT_KEY)"]
)
def test_key_of_grants_is_taken_by_the_gate_alone(code: str) -> None:
    assert "takes the key of grants" in _faults_of(code)
    assert _faults_of(code, "accounts/scratchpad.py") == []


@pytest.mark.spec("product 9")
@pytest.mark.parametrize("code", ["gate.reveal(pad, grant)", "reveal(pad, grant)"])
def test_scratchpads_are_revealed_in_two_places_alone(code: str) -> None:
    assert _faults_of(code) == ["reveals outside the gate"]
    assert _faults_of(code, "chat/page.py") == []
