"""Choosing a model on the page: owner-scoped, named errors, in force with the next request."""

import pytest
from asgiref.sync import sync_to_async
from django.urls import reverse

from accounts.models import User
from chat.conversations import model_choice
from chat.models import Conversation, Turn
from chat.providers.connections import close_clients
from chat.texts.error_texts import turn_error_text
from tests.chat.asking import ask, opened_page
from tests.factories import make_conversation, make_profile, make_turn

offer = sync_to_async(make_profile)
HTMX = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def url(conversation):
    return reverse("chat:model", args=[conversation.pk])


def _profile_of(conversation: Conversation) -> str | None:
    conversation.refresh_from_db()
    return conversation.profile.name if conversation.profile else None


def test_picker_is_shown_when_more_than_one_model_is_offered(signed_in, conversation):
    alone = signed_in.get(conversation.get_absolute_url()).content.decode()
    make_profile("kimi", label="Kimi at home")
    offered = signed_in.get(conversation.get_absolute_url()).content.decode()

    assert 'id="model-pick" name="model"' not in alone
    assert "Offline analyst" in alone
    assert '<label class="visually-hidden" for="model-pick">Model</label>' in offered
    assert '<option value="" selected>Offline analyst</option>' in offered
    assert '<option value="kimi" >Kimi at home</option>' in offered


def test_model_that_an_endpoint_chooses_is_named_once_it_has_answered_its_user(signed_in, conversation, bob, settings):
    settings.OPENAI_BASE_URL = "http://127.0.0.1:9/v1"
    provider = model_choice.request_target(model_choice.of_environment()).provider
    for owner, name in ((conversation.owner, "hers"), (bob, "his")):
        turn = make_turn(make_conversation(owner=owner))
        Turn.objects.filter(pk=turn.pk).update(model=name, provider=provider)

    assert "<bdi>hers</bdi>" in signed_in.get(conversation.get_absolute_url()).content.decode()


def test_choice_can_be_reset_to_the_sites_model(signed_in, conversation, url):
    conversation.profile = make_profile("kimi")
    conversation.save()

    shown = signed_in.get(conversation.get_absolute_url()).content.decode()
    answer = signed_in.post(url, {"model": ""})

    assert '<option value="kimi" selected>kimi</option>' in shown
    assert (answer.status_code, answer["Location"]) == (303, conversation.get_absolute_url())
    assert _profile_of(conversation) is None


def test_script_gets_the_meter_of_the_chosen_model(signed_in, conversation, url):
    make_profile("big", context_limit=987_654)
    make_turn(conversation)

    answer = signed_in.post(url, {"model": "big"}, **HTMX)

    assert (answer.status_code, answer.headers["HX-Reswap"]) == (200, "none")
    assert 'hx-swap-oob="outerHTML"' in answer.content.decode()
    assert "/987,654<" in answer.content.decode()


@pytest.mark.parametrize("name", ["nobody", "retired", "KIMI"])
def test_unknown_or_disabled_model_is_refused_with_those_there_are(signed_in, conversation, url, name):
    conversation.profile = make_profile("kimi")
    conversation.save()
    make_profile("retired", is_enabled=False)

    plain, scripted = signed_in.post(url, {"model": name}), signed_in.post(url, {"model": name}, **HTMX)

    for answer in (plain, scripted):
        assert answer.status_code == 400
        assert "model: one of offline-analyst, kimi." in answer.content.decode()
    assert scripted.content.decode().lstrip().startswith('<span class="row model"')
    assert _profile_of(conversation) == "kimi"


@pytest.mark.django_db(transaction=True)
class TestNextRequest:
    """With two model services to tell apart."""

    @pytest.fixture
    async def services(self, upstream):
        yield upstream
        await close_clients()

    async def test_missing_key_is_an_error_card_that_names_the_variable(self, services, conversation):
        conversation.profile = await offer("keyless", api_key_env="ABSENT_API_KEY")
        await conversation.asave()

        turn = await ask(conversation)

        assert (turn.status, turn.error_code) == ("errored", "authentication")
        assert turn.error_params["variable"] == "ABSENT_API_KEY"
        assert services.requests() == []

    async def test_error_of_a_profiles_model_names_what_staff_can_change(self, services, conversation):
        conversation.profile = await offer("away", model="no-such-model", base_url=services.base_url)
        await conversation.asave()

        turn = await ask(conversation)

        assert turn.status == "errored"
        text = turn_error_text(turn, for_staff=True)
        assert "Check the model’s name in the model profile “away”." in text
        assert "OPENAI_" not in text

    async def test_other_open_pages_are_updated(self, conversation, services):
        owner = await User.objects.aget(pk=conversation.owner_id)
        conversation.profile = await offer("kimi", label="Kimi <3", context_limit=5000)
        await conversation.asave()
        page = await opened_page(conversation, owner)

        meter, model, *_title = await page.on_event({"kind": "model"})

        assert "0/5,000" in meter
        others = '"others":[{"value":"plain-model","label":"plain-model","chosen":false}]}'
        assert model == r'{"type":"model","model":"kimi","label":"Kimi \u003c3","efforts":[],' + others
