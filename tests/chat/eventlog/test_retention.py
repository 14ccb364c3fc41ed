"""Encrypted payloads over time: key rotation, and retention of thinking."""

from datetime import timedelta
from io import StringIO

import pytest
from cryptography.fernet import Fernet, InvalidToken
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.models import User
from chat import eventlog
from chat.eventlog import encryption, maintenance, read
from chat.eventlog.link_tokens import token_of
from chat.models import Event, Turn
from chat.sharing.export import Choice
from chat.sharing.links import create_link, find_link
from reasoning.events import AssistantMessage, Reasoning, ToolCall
from reasoning.visibility import SiteFlags, Viewer, visibility
from tests.factories import make_conversation, make_turn, open_turn, save_checkpoint

pytestmark = pytest.mark.engine

WHOLE = visibility(SiteFlags(thinking_for_users="full"), Viewer())


def make_thought(owner: User) -> Turn:
    turn = open_turn(make_conversation(owner=owner).pk, text="q")
    thought = Reasoning(kind="text", text="Hm.", source_field="reasoning", model="m", provider="p", step=0)
    eventlog.append(turn, [thought, ToolCall(call_id="c", name="f", arguments='{"a": 1}', step=0)])
    return turn


def test_rotation_without_the_old_key_is_one_line_and_goes_on_once_it_is_back(alice, settings):
    make_thought(alice)
    old, new = settings.CONTENT_KEYS[0], Fernet.generate_key().decode()

    for keys, words in (([new], "CONTENT_KEYS lacks the key"), ([], "at least one Fernet key is needed")):
        settings.CONTENT_KEYS = keys
        with pytest.raises(CommandError, match=words) as refused:
            call_command("rotate_keys")
        assert "\n" not in str(refused.value)

    settings.CONTENT_KEYS = [new, old]
    call_command("rotate_keys", stdout=(said := StringIO()))
    assert "Encrypted 2 payloads" in said.getvalue()


def test_rotation_encrypts_what_it_can_read_where_a_key_is_lost(alice, settings):
    lost, old, new = (Fernet.generate_key().decode() for _key in range(3))
    turns = []
    for key in (lost, old, lost):
        settings.CONTENT_KEYS = [key]
        turns.append(make_thought(alice))

    settings.CONTENT_KEYS = [new, old]
    with pytest.raises(CommandError, match=r"Encrypted 2 payloads .* 4 more can't be decrypted"):
        call_command("rotate_keys")
    settings.CONTENT_KEYS = [new]

    assert eventlog.history(turns[1].conversation_id)[2].arguments == '{"a": 1}'  # type: ignore[union-attr]


def test_answers_are_rendered_again_without_the_old_key(alice, settings):
    turn = make_thought(alice)
    eventlog.close_turn(turn, [AssistantMessage(text="Yes.", step=0)], status="completed")

    settings.CONTENT_KEYS = [Fernet.generate_key().decode()]
    call_command("rerender", stdout=(said := StringIO()))

    assert said.getvalue().startswith("1 answers rendered")


def test_old_key_is_not_needed_after_rotation(alice, settings):
    turn = make_thought(alice)
    old, new = settings.CONTENT_KEYS[0], Fernet.generate_key().decode()
    talk = make_conversation(owner=alice)
    make_turn(talk)
    link = create_link(alice, talk, Choice(), days=7)
    settings.CONTENT_KEYS = [new, old]

    call_command("rotate_keys")
    settings.CONTENT_KEYS = [new]

    link.refresh_from_db()
    assert find_link(token_of(link) or "") == link
    assert eventlog.history(turn.conversation_id)[2].arguments == '{"a": 1}'  # type: ignore[union-attr]


def test_without_rotation_the_old_key_is_needed(alice, settings):
    turn = make_thought(alice)
    settings.CONTENT_KEYS = [Fernet.generate_key().decode()]

    with pytest.raises(InvalidToken):
        eventlog.history(turn.conversation_id)


def test_old_thinking_is_purged_and_the_rest_stays(alice, settings):
    settings.THINKING_RETENTION_DAYS = 30
    old, fresh = make_thought(alice), make_thought(alice)
    Event.objects.filter(turn=old).update(created_at=timezone.now() - timedelta(days=31))

    call_command("purge_thinking")

    assert eventlog.thinking_for(old, WHOLE) is None
    assert eventlog.thinking_for(fresh, WHOLE) is not None
    assert eventlog.history(old.conversation_id)[2].arguments == '{"a": 1}'  # type: ignore[union-attr]


def test_unset_retention_deletes_nothing(alice, settings):
    settings.THINKING_RETENTION_DAYS = None
    turn = make_thought(alice)
    Event.objects.update(created_at=timezone.now() - timedelta(days=9999))

    call_command("purge_thinking")

    assert eventlog.thinking_for(turn, WHOLE) is not None


# Key rotation while turns run
@pytest.mark.engine
def test_checkpoint_that_is_stored_during_a_rotation_stays(alice, monkeypatch):
    turn = open_turn(make_conversation(owner=alice).pk, text="q")
    save_checkpoint(turn, answer="a", thinking="older")
    rotate = encryption.rotate

    def rotate_late(sealed):
        rotated = rotate(sealed)
        save_checkpoint(turn, answer="ab", thinking="newer")
        return rotated

    monkeypatch.setattr(encryption, "rotate", rotate_late)

    assert maintenance.rotate_keys() == (0, 0)
    assert read.checkpoint_thinking(turn.pk) == "newer"
    monkeypatch.undo()
    assert maintenance.rotate_keys() == (1, 0)
    assert read.checkpoint_thinking(turn.pk) == "newer"
