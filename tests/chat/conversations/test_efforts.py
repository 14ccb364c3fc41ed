"""The effort picker beside the composer: what each model accepts, and that it is sent."""

import re

import pytest

from chat.conversations import model_choice
from chat.models import Conversation, ModelProfile
from chat.request_preview import summary
from chat.request_preview.summary import model_view
from chat.turns.requests import planning
from tests.factories import make_profile

pytestmark = pytest.mark.django_db
EVERY = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def talk_to(conversation: Conversation, **fields: object) -> ModelProfile:
    """Let a model of this kind answer in a conversation."""
    conversation.profile = make_profile("told", **fields)
    conversation.save()
    return conversation.profile


def offered(html: str) -> list[str]:
    picker = re.search(r'<select[^>]*id="effort-pick".*?</select>', html, re.DOTALL)
    assert picker
    return re.findall(r"<option value=\"(\w*)\"", picker[0])


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"dialect": "openai"}, EVERY),
        ({"dialect": "ollama"}, EVERY),
        ({"dialect": "openai-chat"}, ()),
        ({"dialect": "glm-preserved"}, EVERY),
        ({"dialect": "vllm"}, ("none", "medium")),
        ({"api": "responses"}, EVERY),
    ],
)
def test_efforts_are_those_that_the_model_accepts(fields, words):
    assert summary.efforts_of(model_choice.of_profile(make_profile("told", **fields))) == words


@pytest.mark.spec("001 BR-008")
def test_chosen_effort_is_asked_for_from_the_next_request_on(signed_in, conversation):
    talk_to(conversation, dialect="openai")

    answer = signed_in.post(f"{conversation.get_absolute_url()}effort/", {"effort": "low"})
    conversation.refresh_from_db()
    chosen = model_choice.chosen_model(conversation)
    plan = planning.plan_next_question(conversation, chosen, planning.target_of(chosen))

    assert (answer.status_code, answer["Location"]) == (303, conversation.get_absolute_url())
    assert plan.body["reasoning_effort"] == "low"
    html = signed_in.get(conversation.get_absolute_url()).content.decode()
    assert offered(html) == ["", *EVERY]
    assert '<option value="low" selected>Effort: Low</option>' in html


def test_empty_effort_leaves_it_to_the_other_layers(signed_in, conversation):
    talk_to(conversation, dialect="openai")
    conversation.reasoning = {"reasoning.effort": "high", "reasoning.format": "native"}
    conversation.save()

    signed_in.post(f"{conversation.get_absolute_url()}effort/", {"effort": ""})

    conversation.refresh_from_db()
    assert conversation.reasoning == {"reasoning.format": "native"}


@pytest.mark.spec("001 ERR-001")
def test_unknown_effort_is_refused_with_the_allowed_ones(signed_in, conversation):
    answer = signed_in.post(f"{conversation.get_absolute_url()}effort/", {"effort": "heroic"})

    conversation.refresh_from_db()
    assert answer.status_code == 400
    assert "&#x27;low&#x27;" in answer.content.decode()
    assert not conversation.reasoning


@pytest.mark.spec("001 BR-006")
def test_nothing_is_offered_where_reasoning_is_not_asked_for(conversation, settings):
    talk_to(conversation, dialect="openai")
    settings.REASONING_ENABLED = False

    assert model_view(conversation, *model_choice.resolve(conversation)).efforts == ()
