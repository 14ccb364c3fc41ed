"""Make long conversations of the demo person: ``python -m tests.browser.histories TURNS KIND…``; prints their ids."""

import subprocess
import sys
from typing import Any

from tests.browser.sites import Site
from tests.server import ROOT


def long_conversation(site: Site, turns: int, *, like_demo: bool = False) -> str:
    """Return the address of a new conversation with so many turns, each a question and an answer.

    ``like_demo``: each a copy of the demo's conversation, with its steps and thinking.
    """
    return long_conversations(site, turns, "like-demo" if like_demo else "plain")[0]


def long_conversations(site: Site, turns: int, *kinds: str) -> list[str]:
    """Return the addresses of new conversations, one of each of these kinds: ``plain`` or ``like-demo``."""
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "tests.browser.histories", str(turns), *kinds],
        cwd=ROOT,
        env=dict(site.environment),
        capture_output=True,
        check=True,
        text=True,
    )
    return [f"/chats/{made}/" for made in done.stdout.split()]


def _make(turns: int) -> str:
    import django  # noqa: PLC0415 - only this process needs it

    django.setup()
    from accounts.models import User  # noqa: PLC0415
    from chat.models import Conversation  # noqa: PLC0415
    from tests.factories import make_turn  # noqa: PLC0415

    conversation = Conversation.objects.create(owner=User.objects.get(username="demo"))
    for number in range(1, turns + 1):
        make_turn(conversation, question=f"Question number {number}?", answer=f"Answer {number}.\n\n" + "Words. " * 40)
    return str(conversation.pk)


def _make_like_demo(turns: int) -> str:
    import django  # noqa: PLC0415 - only this process needs it

    django.setup()
    from chat.models import Conversation, Event, Turn  # noqa: PLC0415

    # What other tests import may be older, but has no steps.
    first = Turn.objects.filter(conversation__owner__username="demo", events__type="tool_result").earliest("started_at")
    events = list(first.events.order_by("seq"))
    conversation = Conversation.objects.create(owner=first.conversation.owner, title="A long one")
    made, parent = [], None
    for number in range(1, turns + 1):
        parent = _copy(first, conversation=conversation, number=number, parent=parent, client_id=f"copy-{number}")
        made.append(parent)
    rows = [(turn, event) for turn in made for event in events]
    Turn.objects.bulk_create(made)
    Event.objects.bulk_create(
        _copy(event, conversation=conversation, turn=turn, seq=seq) for seq, (turn, event) in enumerate(rows, start=1)
    )
    return str(conversation.pk)


def _copy(row: Any, **changes: Any) -> Any:
    """Return a row like this one, not stored yet, with a key of its own."""
    kind = type(row)
    own = {kind._meta.pk.name, *changes}
    kept = {field.attname: getattr(row, field.attname) for field in kind._meta.concrete_fields if field.name not in own}
    return kind(**kept, **changes)


if __name__ == "__main__":
    import os

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    for kind in sys.argv[2:]:
        sys.stdout.write((_make_like_demo if kind == "like-demo" else _make)(int(sys.argv[1])) + "\n")
