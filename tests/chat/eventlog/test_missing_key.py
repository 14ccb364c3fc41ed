"""A server that lacks the key of what it stored, as after a restore without it, says so everywhere. Product 40."""

import pytest
from channels.db import database_sync_to_async
from cryptography.fernet import Fernet

from chat.eventlog import attachments
from chat.models import Turn
from tests.chat.asking import ask
from tests.factories import client_of, make_answer, make_conversation, make_history, make_tool_step

WORDS = "a key that the server doesn’t have"


@pytest.fixture
def own(alice):
    return make_conversation(owner=alice)


@pytest.fixture
def lose_key(settings):
    def lose():
        settings.CONTENT_KEYS = [Fernet.generate_key().decode()]

    return lose


@pytest.mark.django_db(transaction=True)
def test_api_answers_503_with_a_code(own, alice, lose_key):
    make_answer(own)
    client = client_of(alice)
    address = f"/api/chats/{own.pk}/messages/"
    assert client.get(address).status_code == 200
    lose_key()

    answer = client.get(address)

    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "missing_key"
    assert WORDS in answer.json()["error"]["message"]
    assert "retryAfter" not in answer.json()["error"]


def test_page_of_a_file_says_it(own, alice, lose_key):
    file = attachments.store(own, name="a.txt", media_type="text/plain", content=b"a", text="a", is_cut=False)
    client = client_of(alice)
    client.raise_request_exception = False
    lose_key()

    page = client.get(file.get_absolute_url())

    assert page.status_code == 503
    assert WORDS in page.text
    assert "Retry-After" not in page.headers


@pytest.mark.django_db(transaction=True)
async def test_question_after_what_cannot_be_read_fails_and_works_again_with_the_key(own, settings, lose_key, upstream):
    await database_sync_to_async(make_history)(own, *make_tool_step())
    upstream.script([{"content": "Because."}])
    keys = settings.CONTENT_KEYS
    lose_key()

    failed = await ask(own)
    assert (failed.status, failed.error_code) == (Turn.Status.ERRORED, "missing_key")

    settings.CONTENT_KEYS = [*settings.CONTENT_KEYS, *keys]
    assert (await ask(own)).status == Turn.Status.COMPLETED
