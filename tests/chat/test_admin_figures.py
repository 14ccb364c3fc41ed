"""Usage by user and model, and whose answers the guards had to mend: from turns' rows, never a text."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from chat.admin.charts import chart
from chat.models import Turn
from chat.turnstats import GUARDS, turn_stats
from chat.usage import guards, last_days, usage
from tests.chat.test_admin_pages import sam_with_rights
from tests.factories import make_conversation

TODAY = dt.date(2026, 3, 31)  # the day after Europe's clocks changed; the site's days are UTC's
USAGE, GUARDS_PAGE = "/admin/chat/turn/usage/", "/admin/chat/turn/guards/"


def make(owner: User, *, ago: int = 0, count: int = 1, today: dt.date = TODAY, hour: int = 12, **fields: Any) -> None:
    """Make turns of so many days ago."""
    at = dt.datetime.combine(today - dt.timedelta(days=ago), dt.time(hour), tzinfo=dt.UTC)
    known = {"status": "completed", "model": "m", "provider": "p", **fields}
    Turn.objects.bulk_create(
        Turn(conversation=make_conversation(owner=owner), number=1, started_at=at, **known) for _turn in range(count)
    )


def test_usage_is_added_up_by_person_model_and_day(alice: User, bob: User) -> None:
    make(alice, count=3, input_tokens=100, cached_tokens=40, output_tokens=10, reasoning_tokens=4)
    make(bob, ago=1, model="n", input_tokens=7, output_tokens=None, status="errored")

    found = usage(last_days(TODAY, 7))

    assert [(line.name, line.turns, line.failed) for line in found.people] == [("alice", 3, 0), ("bob", 1, 1)]
    assert [(line.name, line.tokens_total) for line in found.models] == [("m", 330), ("n", 7)]
    assert found.everybody.turns_by_day == (0, 0, 0, 0, 0, 1, 3)
    assert found.everybody.tokens_by_day == (0, 0, 0, 0, 0, 7, 330)
    assert found.people[0].tokens == {
        "input_tokens": 300,
        "output_tokens": 30,
        "reasoning_tokens": 12,
        "cached_tokens": 120,
    }


def test_usage_of_one_person_or_model_alone(alice: User, bob: User) -> None:
    make(alice, model="m")
    make(alice, model="n")
    make(bob, model="n")

    hers, of_n = usage(last_days(TODAY, 7), person="alice"), usage(last_days(TODAY, 7), model="n")

    assert [line.name for line in hers.models] == ["m", "n"]
    assert [line.name for line in of_n.people] == ["alice", "bob"]
    assert (hers.everybody.turns, of_n.everybody.turns) == (2, 2)


@pytest.mark.parametrize(("ago", "hour", "counted"), [(6, 0, 1), (7, 23, 0), (0, 23, 1), (-1, 0, 0)])
def test_span_holds_whole_days(alice: User, ago: int, hour: int, counted: int) -> None:
    make(alice, ago=ago, hour=hour)

    assert usage(last_days(TODAY, 7)).everybody.turns == counted


def test_nothing_used_is_nothing(db: None) -> None:
    found = usage(last_days(TODAY, 7))

    assert (found.everybody.turns, found.everybody.turns_by_day, found.people) == (0, (0,) * 7, ())


def test_guards_agree_with_the_figures_of_the_command(alice: User) -> None:
    make(alice, count=2, stripped_delimiters=3, masked=1)
    make(alice, ago=9, provider="q", extracted_blocks=4, dropped_bullets=2)
    since = dt.datetime.combine(last_days(TODAY, 14)[0], dt.time(), tzinfo=dt.UTC)

    ours = {
        (day.isoformat(), one.provider): {guard.name: guard.by_day[place] for guard in one.guards}
        for one in guards(TODAY)
        for place, day in enumerate(last_days(TODAY, 14))
        if one.turns_by_day[place]
    }

    theirs = turn_stats(since)["guards"]
    assert ours == {(row["day"], row["provider"]): {name: row[name] for name in GUARDS} for row in theirs}
    assert len(ours) == 2


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
def test_provider_is_worse_where_its_rate_grew_by_half(
    alice: User, before: tuple[int, int], now: tuple[int, int], worse: bool
) -> None:
    for ago, (count, each) in ((8, before), (1, now)):
        make(alice, ago=ago, count=count, stripped_delimiters=each)

    [found] = guards(TODAY)

    assert (found.turns, found.turns_before) == (now[0], before[0])
    assert found.is_worse is worse


def test_worse_provider_comes_first(alice: User) -> None:
    make(alice, ago=8, count=30, provider="steady", masked=1)
    make(alice, ago=1, count=30, provider="steady", masked=1)
    make(alice, ago=8, count=10, provider="turned")
    make(alice, ago=1, count=10, provider="turned", masked=2)

    found = guards(TODAY)

    assert [(one.provider, one.is_worse) for one in found] == [("turned", True), ("steady", False)]
    assert [guard.change for guard in found[1].guards if guard.name == "masked"] == [0]


def test_chart_stands_on_its_line() -> None:
    drawn = chart((0, 1, 50, 100), list("abcd"), "Answers", bar=5, height=20)

    assert [(bar.x, bar.y, bar.height) for bar in drawn.bars] == [(0, 20, 0), (6, 19, 1), (12, 10, 10), (18, 0, 20)]
    assert (drawn.width, drawn.height) == (23, 20)
    assert drawn.bars[3].label == "d: 100"


def test_usage_page_leads_to_a_person_and_a_model(client: Client, alice: User, bob: User) -> None:
    make(alice, today=timezone.localdate(), count=2, input_tokens=12_345, output_tokens=1)
    make(bob, today=timezone.localdate(), model="n&1")
    sam_with_rights(client)

    page = client.get(USAGE).content.decode()
    hers = client.get(USAGE, {"person": "alice", "days": "7"})

    assert 'href="?days=30&amp;person=alice"' in page
    assert 'href="?days=30&amp;model=n%261"' in page
    assert "<td>12,345</td>" not in page  # two turns
    assert "<td>24,690</td>" in page
    assert hers.context["everybody"].turns == 2
    assert len(re.findall("<rect", page)) == 30 * 6  # two charts, two people, two models


@pytest.mark.parametrize("query", [{"days": "1000000000"}, {"days": "x"}, {"person": "\0'\""}, {"model": "<b>"}])
def test_odd_query_is_harmless(client: Client, db: None, query: dict[str, str]) -> None:
    sam_with_rights(client)

    answer = client.get(USAGE, query)

    assert answer.status_code == 200
    assert answer.context["span"] == 30
    assert "<b>" not in answer.content.decode()


def test_guards_page_names_who_is_worse(client: Client, alice: User) -> None:
    today = timezone.localdate()
    for ago, each in ((8, 1), (1, 3)):
        make(alice, today=today, ago=ago, count=5, provider="api.example.com", stripped_delimiters=each)
    sam_with_rights(client)

    page = client.get(GUARDS_PAGE).content.decode()

    assert "Worse than the week before: api.example.com" in page
    assert "+200 %" in page
    assert page.count('class="worse"') == 1


@pytest.mark.parametrize(("path", "told"), [(USAGE, "Nothing in this time."), (GUARDS_PAGE, "No answers in these")])
def test_empty_site_says_so(client: Client, db: None, path: str, told: str) -> None:
    sam_with_rights(client)

    assert told in client.get(path).content.decode()
