"""All open pages are looked at together; only those for whom something changed are read again."""

from __future__ import annotations

import asyncio

import pytest
from channels.db import database_sync_to_async
from django.conf import LazySettings
from django.contrib.auth.models import Permission
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from chat import standing
from chat.models import Conversation, ModelProfile
from chat.standing import OpenPage, OpenPages, marks
from tests.factories import make_conversation

CHANGES = {
    "sign-out": lambda page: Session.objects.all().delete(),
    "session past its date": lambda page: Session.objects.update(expire_date=timezone.now()),
    "switch of the session": lambda page: Session.objects.update(session_data="other"),
    "password": lambda page: User.objects.update(password="other"),
    "person switched off": lambda page: User.objects.update(is_active=False),
    "superuser": lambda page: User.objects.update(is_superuser=True),
    "show reasoning": lambda page: User.objects.update(show_reasoning=False),
    "settings everywhere": lambda page: User.objects.update(reasoning={"reasoning.includeInResponse": False}),
    "settings here": lambda page: Conversation.objects.update(reasoning={"reasoning.includeInResponse": False}),
    "deletion": lambda page: Conversation.objects.update(deleted_at=timezone.now()),
    "end of a temporary chat": lambda page: Conversation.objects.update(expires_at=timezone.now()),
    "another owner": lambda page: Conversation.objects.update(owner=User.objects.create_user("carol")),
    "a model": lambda page: ModelProfile.objects.create(name="kimi", base_url="http://127.0.0.1:1/v1", is_default=True),
    "the permission": lambda page: User.objects.get(username="alice").user_permissions.add(
        Permission.objects.get(codename="view_scratchpad")
    ),
}


@pytest.fixture
def page(alice: User) -> OpenPage:
    client = Client()
    client.force_login(alice)
    return OpenPage(client.session.session_key, alice.pk, make_conversation(owner=alice).pk)


@pytest.mark.django_db
@pytest.mark.spec("product 15")
@pytest.mark.parametrize("change", CHANGES)
def test_mark_is_another_after_each_change(page: OpenPage, change: str) -> None:
    (before,) = marks([page])
    assert marks([page]) == [before]

    CHANGES[change](page)

    assert marks([page]) != [before]


@pytest.mark.django_db
def test_other_backend_of_permissions_is_always_asked(page: OpenPage, settings: LazySettings) -> None:
    settings.AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.RemoteUserBackend"]

    assert marks([page]) != marks([page])


@pytest.mark.django_db
def test_many_pages_take_as_many_queries_as_one(page: OpenPage, alice: User) -> None:
    pages = [OpenPage(page.session_key, alice.pk, make_conversation(owner=alice).pk) for _ in range(20)]
    with CaptureQueriesContext(connection) as for_one:
        marks([page])

    with CaptureQueriesContext(connection) as for_all:
        marks([page, *pages])

    assert len(for_all) == len(for_one)


@pytest.mark.django_db(transaction=True)
async def test_page_is_told_once_at_first_and_then_of_changes_alone(
    page: OpenPage, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standing, "LOOK_EVERY_S", 0.01)
    looked = _counted(monkeypatch)
    pages = OpenPages()

    with pages.holding(page) as changed:
        async with asyncio.timeout(10):
            await changed.wait()
            changed.clear()
            await looked.wait_for(3)
            assert not changed.is_set()
            await database_sync_to_async(User.objects.filter(pk=alice.pk).update)(show_reasoning=False)
            await changed.wait()


@pytest.mark.django_db(transaction=True)
async def test_page_whose_sight_ends_at_a_time_is_told_each_time(
    page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standing, "LOOK_EVERY_S", 0.01)
    page.may_expire = True

    with OpenPages().holding(page) as changed:
        async with asyncio.timeout(10):
            for _time in range(3):
                await changed.wait()
                changed.clear()


@pytest.mark.django_db(transaction=True)
async def test_database_that_is_away_for_a_while_ends_nothing(page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standing, "LOOK_EVERY_S", 0.01)
    failures = iter([OSError("away")] * 2)

    def sometimes(pages: list[OpenPage]) -> list[standing.Mark]:
        for failure in failures:
            raise failure
        return marks(pages)

    monkeypatch.setattr(standing, "marks", sometimes)

    with OpenPages().holding(page) as changed:
        async with asyncio.timeout(10):
            await changed.wait()


class _Looks:
    def __init__(self) -> None:
        self.count = 0
        self._more = asyncio.Event()

    def one_more(self) -> None:
        self.count += 1
        self._more.set()

    async def wait_for(self, count: int) -> None:
        while self.count < count:
            self._more.clear()
            await self._more.wait()


def _counted(monkeypatch: pytest.MonkeyPatch) -> _Looks:
    looks, compare = _Looks(), OpenPages._compare

    async def counted(self: OpenPages, pages: tuple[OpenPage, ...]) -> None:
        await compare(self, pages)
        looks.one_more()

    monkeypatch.setattr(OpenPages, "_compare", counted)
    return looks
