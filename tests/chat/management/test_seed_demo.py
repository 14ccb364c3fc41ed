import pytest
from django.core.management import call_command

from accounts.models import User
from chat.filings.models import Filing
from chat.models import Conversation, Turn


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_seeding_makes_people_corpus_and_one_finished_conversation_once(settings):
    settings.DEMO_PASSWORD = "for the demo"
    settings.OPENAI_BASE_URL = "http://127.0.0.1:1/v1"  # a real model is never asked

    call_command("seed_demo", verbosity=0)
    call_command("seed_demo", verbosity=0)

    conversation = Conversation.objects.get()
    turn = conversation.turns.get()
    assert conversation.owner == User.objects.get(username="demo")
    assert turn.status == Turn.Status.COMPLETED
    assert Filing.objects.filter(is_demo=True).count() == 3
    answer = turn.events.get(type="assistant_message", public__partial=False).public
    assert answer["citations"]
    assert all(citation["verified"] is not False for citation in answer["citations"])
