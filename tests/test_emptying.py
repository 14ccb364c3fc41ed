"""What a test commits is gone before the next one, but for what migrating makes."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.contrib.auth.models import Permission

from accounts.models import User
from chat.models import Conversation, Event
from tests.emptying import KEPT, empty_tables
from tests.factories import make_conversation, make_turn


@pytest.mark.django_db(transaction=True)
def test_rows_that_refer_to_each_other_are_gone_and_permissions_stay(ada: User) -> None:
    before = Permission.objects.count()
    make_turn(make_conversation(owner=ada))
    assert Conversation.objects.exists()
    assert Event.objects.exists()

    empty_tables()

    models = apps.get_models(include_auto_created=True)
    assert [one for one in models if one._meta.db_table not in KEPT and one._base_manager.exists()] == []
    assert Permission.objects.count() == before > 0
