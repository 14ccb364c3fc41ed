"""The viewers of many open pages, read in one batch."""

import pytest

from chat.models import Project
from chat.socket.reauthorize import PageKey, PageViewer, read_viewers
from tests.chat.asking import session_key_of
from tests.factories import make_conversation, make_profile


@pytest.mark.django_db
def test_many_pages_cost_as_many_queries_as_one(alice, django_assert_num_queries):
    profile, project, key = (
        make_profile("swift"),
        Project.objects.create(owner=alice, name="River"),
        session_key_of(alice),
    )
    pages = []
    for _ in range(6):
        conversation = make_conversation(owner=alice)
        conversation.project, conversation.profile = project, profile
        conversation.save()
        pages.append(PageKey(alice.pk, key, conversation.pk))

    for some in (pages[:1], pages):
        with django_assert_num_queries(5):
            viewers = read_viewers(some)

        assert [type(viewers[page]) for page in some] == [PageViewer] * len(some)
