"""Statistics of turns: the admin's pages and ``manage.py turn_stats``. Numbers, never a text."""

import datetime as dt
import io
import json
import re
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from lxml import html as markup

from accounts.models import User
from chat.models import QueuedMessage, Turn
from chat.turns.statistics import guards, last_days, recent_turns, usage
from tests.factories import make_conversation, open_turn, sign_in_staff

TODAY = dt.date(2026, 3, 31)  # the day after Europe's clocks changed; the site's days are UTC's
NOW = timezone.now().replace(hour=12, minute=0, second=0, microsecond=0)
USAGE, GUARDS_PAGE = "/admin/chat/turn/usage/", "/admin/chat/turn/guards/"
STATUS = "/admin/chat/turn/status/"


def make(owner: User, *, ago: int = 0, count: int = 1, today: dt.date = TODAY, hour: int = 12, **fields: Any) -> None:
    """Make turns of so many days ago."""
    at = dt.datetime.combine(today - dt.timedelta(days=ago), dt.time(hour), tzinfo=dt.UTC)
    known = {"status": "completed", "model": "m", "provider": "p", **fields}
    Turn.objects.bulk_create(
        Turn(conversation=make_conversation(owner=owner), number=1, started_at=at, **known) for _turn in range(count)
    )


def test_usage_is_added_up_by_person_model_and_day(alice, bob):
    make(alice, count=3, input_tokens=100, cached_tokens=40, output_tokens=10, reasoning_tokens=4)
    make(bob, ago=1, model="n", input_tokens=7, output_tokens=None, status="errored")

    found = usage(last_days(TODAY, 7))
    hers, of_n = usage(last_days(TODAY, 7), person="alice"), usage(last_days(TODAY, 7), model="n")

    assert (hers.everybody.turns, [row.name for row in of_n.people]) == (3, ["bob"])
    assert [(line.name, line.turns, line.failed) for line in found.people] == [("alice", 3, 0), ("bob", 1, 1)]
    assert [(line.name, sum(line.tokens_by_day)) for line in found.models] == [("m", 330), ("n", 7)]
    assert found.everybody.turns_by_day == (0, 0, 0, 0, 0, 1, 3)
    assert found.everybody.tokens_by_day == (0, 0, 0, 0, 0, 7, 330)
    assert found.people[0].tokens == {
        "input_tokens": 300,
        "output_tokens": 30,
        "reasoning_tokens": 12,
        "cached_tokens": 120,
    }


@pytest.mark.parametrize(("ago", "hour", "counted"), [(6, 0, 1), (7, 23, 0), (0, 23, 1), (-1, 0, 0)])
def test_span_holds_whole_days(alice, ago, hour, counted):
    make(alice, ago=ago, hour=hour)

    assert usage(last_days(TODAY, 7)).everybody.turns == counted


@pytest.mark.parametrize(
    ("before", "now", "worse"),
    [
        ((10, 1), (10, 1), False),
        ((10, 1), (10, 2), True),  # 100 of 100, then 200
        ((10, 2), (20, 2), False),  # more of them, as there are more answers
        ((10, 0), (10, 1), True),  # new
        ((10, 0), (4, 1), False),  # too few to mean something
        ((0, 0), (10, 1), False),  # a provider without a week before
    ],
)
def test_provider_is_worse_where_its_rate_grew_by_half(alice, before, now, worse):
    for ago, (count, each) in ((8, before), (1, now)):
        make(alice, ago=ago, count=count, stripped_delimiters=each)

    [found] = guards(TODAY)

    assert (found.turns, found.turns_before) == (now[0], before[0])
    assert found.is_worse is worse


def test_usage_page_leads_to_a_person_and_a_model(client, alice, bob):
    make(alice, today=timezone.localdate(), count=2, input_tokens=12_345, output_tokens=1)
    make(bob, today=timezone.localdate(), model="n&1")
    sign_in_staff(client)

    page = client.get(USAGE).content.decode()
    hers = client.get(USAGE, {"person": "alice", "days": "7"})

    assert 'href="?days=30&amp;person=alice"' in page
    assert 'href="?days=30&amp;model=n%261"' in page
    assert "<td>12,345</td>" not in page  # two turns
    assert "<td>24,690</td>" in page
    assert hers.context["everybody"].turns == 2
    assert len(re.findall("<rect", page)) == 30 * 6  # two charts, two people, two models


@pytest.mark.parametrize("query", [{"days": "1000000000"}, {"days": "x"}, {"person": "\0'\""}, {"model": "<b>"}])
def test_odd_query_is_harmless(client, db, query):
    sign_in_staff(client)

    answer = client.get(USAGE, query)

    assert answer.status_code == 200
    assert answer.context["span"] == 30
    assert "<b>" not in answer.content.decode()


def test_guards_page_names_who_is_worse(client, alice):
    today = timezone.localdate()
    for ago, each in ((8, 1), (1, 3)):
        make(alice, today=today, ago=ago, count=5, provider="api.example.com", stripped_delimiters=each)
    sign_in_staff(client)

    page = client.get(GUARDS_PAGE).content.decode()

    assert "Worse than the week before: api.example.com" in page
    assert "+200 %" in page
    assert page.count('class="worse"') == 1


# manage.py turn_stats


def make_turn_row(owner: User, *, lasted_ms: int = 1000, ago: dt.timedelta = dt.timedelta(), **fields: Any) -> Turn:
    began: dt.datetime = NOW - ago
    ended = None if fields.get("status") == "running" else began + dt.timedelta(milliseconds=lasted_ms)
    return Turn.objects.create(
        conversation=make_conversation(owner=owner, title="plover-canary"),
        number=1,
        started_at=began,
        ended_at=ended,
        **{"status": "completed", "model": "m", "provider": "p", **fields},
    )


def run_command(*arguments: str) -> str:
    out = io.StringIO()
    call_command("turn_stats", *arguments, stdout=out)
    return out.getvalue()


def test_recent_turns_are_counted_by_status_code_and_model(alice):
    make_turn_row(alice)
    make_turn_row(alice, status="errored", error_code="timeout")
    make_turn_row(alice, status="running", model="other")
    make_turn_row(alice, ago=dt.timedelta(hours=3))

    found = recent_turns(NOW - dt.timedelta(hours=1))

    assert (found["turns"], recent_turns(NOW - dt.timedelta(hours=3))["turns"]) == (3, 4)
    assert found["statuses"] == {"completed": 1, "errored": 1, "running": 1}
    assert found["codes"] == {"timeout": 1}
    assert [(each["model"], each["turns"]) for each in found["models"]] == [("m", 2), ("other", 1)]


def test_times_are_those_of_whole_answers(alice):
    for lasted in (100, 200, 300, 400):
        make_turn_row(alice, lasted_ms=lasted, first_token_ms=lasted // 10, thinking_ms=lasted // 2)
    make_turn_row(alice, lasted_ms=90_000, status="interrupted", first_token_ms=9000)

    (model,) = recent_turns(NOW)["models"]

    assert model["duration_ms"] == {"p50": 200, "p95": 400}
    assert model["first_token_ms"] == {"p50": 20, "p95": 40}
    assert model["thinking_ms"] == {"p50": 100, "p95": 200}


def test_command_prints_the_same_figures_as_text_and_json(alice):
    make_turn_row(alice, lasted_ms=1234, input_tokens=77, cached_tokens=7, stripped_delimiters=5, error_code="length")

    text, form = run_command("--since", "2d"), json.loads(run_command("--since", "2d", "--format", "json"))

    assert form["models"][0]["duration_ms"] == {"p50": 1234, "p95": 1234}
    for words in (
        "completed 1",
        "length 1",
        "m at p, turns: 1",
        "1234",
        "input_tokens 77",
        "(9%)",
        "stripped_delimiters",
    ):
        assert words in text
    assert "canary" not in text + json.dumps(form)


@pytest.mark.parametrize("since", ["yesterday", "24", "-1h", "1.5h", "999999d"])
def test_unknown_span_is_refused_with_what_is_allowed(db, since):
    with pytest.raises(CommandError, match="such as 90m, 24h or 7d"):
        run_command(f"--since={since}")


def test_status_page_shows_queues_processes_and_the_last_failure_of_a_service(client, alice):
    conversation = make_conversation(owner=alice)
    open_turn(conversation.pk, text="q")
    QueuedMessage.objects.create(conversation=conversation, text="q")
    one, two = "https://one.example/v1#abc", "https://two.example/v1#def"
    for provider, status, code, hours_ago in (
        (one, "errored", "timeout", 3),
        (one, "completed", "", 2),
        (two, "completed", "", 3),
        (two, "errored", "rate_limited", 2),
    ):
        ended_at = NOW - dt.timedelta(hours=hours_ago)
        make(alice, today=NOW.date(), provider=provider, status=status, error_code=code, ended_at=ended_at)
    sign_in_staff(client)

    page = markup.fromstring(client.get(STATUS).content)

    rows = [" ".join(row.text_content().split()) for row in page.iter("tr")]
    assert {"Running answers 1", "Messages that wait for an answer to end 1", "Database works"} <= set(rows)
    assert [row[-1] for row in rows if row.startswith("of process this process, ")] == ["1"]
    failing, well = (row for row in rows if ".example" in row)
    assert failing.startswith("https://two.example/v1 ")
    assert failing.endswith(" rate_limited not answered since")
    assert well.endswith(" timeout")
