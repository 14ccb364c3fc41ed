"""Every page of the admin, as Sam and as a superuser have it: public halves, masked, and nothing that is sealed."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.db.models import Model
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from lxml import html as markup

from accounts.access import tokens
from accounts.models import AuditEntry, User
from chat import eventlog
from chat.admin import conversations
from chat.eventlog import documents
from chat.eventlog.link_tokens import token_of
from chat.models import Collection, Conversation, Event, Feedback, SiteSettings, Turn
from chat.sharing.export import Choice
from chat.sharing.links import create_link
from reasoning.events import AssistantMessage, Reasoning, ToolCall, ToolResult
from tests.factories import (
    make_conversation,
    make_profile,
    make_turn,
    make_user,
    open_turn,
    save_checkpoint,
    sign_in_staff,
)

THOUGHT, ARGUMENT, RESULT = "plover-thought-canary", "plover-argument-canary", "plover-result-canary"
PARTIAL = "plover-checkpoint-canary"
SECRET = "sk-proj-Pl0verOfTheQuestion7Wq2Zx9Lm3Rt8"
TRACE = {"tool": "searchFilings", "args": {"query": "turbines"}, "durationMs": 12, "results": 1, "status": "ok"}
FIGURES = ("usage", "guards", "status")


@pytest.fixture
def turn(alice):
    """A finished turn with something in every private channel, and another that still runs."""
    conversation = make_conversation(owner=alice, title=f"Key {SECRET}")
    turn = open_turn(conversation.pk, text=f"What of {SECRET}?")
    eventlog.append(
        turn,
        [
            Reasoning(kind="text", text=THOUGHT, source_field="reasoning", model="m", provider="p", step=0),
            ToolCall(call_id="c1", name="searchFilings", arguments=f'{{"q":"{ARGUMENT}"}}', step=0),
            ToolResult(call_id="c1", output=RESULT, ok=True, step=0),
        ],
        {"c1": TRACE},
    )
    eventlog.close_turn(turn, [AssistantMessage(text="Because so.", summary=("Looked.",), step=1)], status="completed")
    Conversation.objects.filter(pk=conversation.pk).update(title=f"Key {SECRET}")
    running = open_turn(conversation.pk, text="And?")
    save_checkpoint(running, answer="So far", thinking=PARTIAL)
    return turn


@pytest.fixture
def everything(turn, alice):
    """What no page may hold, with a row of every kind there."""
    link = create_link(alice, turn.conversation, Choice(summary=True, trace=True, thinking=True), days=7)
    _token, plaintext = tokens.create_token(alice, "laptop")
    Feedback.objects.create(turn=turn, is_good=False, reason="wrong", note=f"It said {SECRET}")
    AuditEntry.record(alice, AuditEntry.Action.SHARE_CREATED, turn.conversation_id)
    make_profile("kimi")
    leases = Collection.objects.create(owner=alice, name=f"Leases {SECRET}")
    documents.store(leases, f"{SECRET}.txt", b"Its lease ends.", media_type="text/plain", digest="0")
    return [THOUGHT, ARGUMENT, RESULT, PARTIAL, SECRET, token_of(link), plaintext]


def _pages() -> Iterator[str]:
    yield reverse("admin:index")
    for model, field in (("turn", "conversation"), ("share", "conversation")):
        query = {"app_label": "chat", "model_name": model, "field_name": field}
        yield reverse("admin:autocomplete", query=query)
    yield from (reverse(f"admin:chat_turn_{name}") for name in FIGURES)
    for model, page in admin.site._registry.items():
        yield from _pages_of(model, page)


def _pages_of(model: type[Model], page: ModelAdmin) -> Iterator[str]:
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    yield reverse(f"{name}_changelist")
    yield reverse(f"{name}_add")
    for row in model._default_manager.all():
        for action in ("change", "history", "delete"):
            try:
                yield reverse(f"{name}_{action}", args=[row.pk])
            except NoReverseMatch:
                assert action == "delete"


@pytest.mark.spec("product 14")
@pytest.mark.parametrize("is_superuser", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_no_page_holds_what_is_private(client, everything, is_superuser):
    viewer = sign_in_staff(client)
    User.objects.filter(pk=viewer.pk).update(is_superuser=is_superuser)

    pages = {url: client.get(url, follow=True) for url in _pages()}

    opened = [url for url, answer in pages.items() if answer.status_code == 200]
    assert {answer.status_code for answer in pages.values()} <= {200, 403}
    assert len(opened) > 30
    for url in opened:
        text = pages[url].content.decode()
        assert [canary for canary in everything if canary in text] == [], url


def test_events_are_described_in_words(client, turn):
    sign_in_staff(client)

    page = client.get(reverse("admin:chat_turn_change", args=[turn.pk])).content.decode()

    for words in ("What of", "Because so.", "Looked.", "searchFilings", "turbines", "Thinking (sealed)"):
        assert words in page


def test_conversation_reads_as_a_dialogue(client, turn):
    sign_in_staff(client)

    page = client.get(reverse("admin:chat_conversation_change", args=[turn.conversation_id])).content.decode()

    assert page.index("What of") < page.index("Because so.") < page.index("And?") < page.index("Newest turns")
    assert SECRET not in page


def test_first_page_shows_the_figures_of_the_week(client, turn):
    Turn.objects.filter(pk=turn.pk).update(first_token_ms=412, masked=1)
    Feedback.objects.create(turn=turn, is_good=False)
    old = open_turn(make_conversation(owner=turn.conversation.owner).pk, text="Then?")
    Turn.objects.filter(pk=old.pk).update(started_at=timezone.now() - timedelta(days=8))
    sign_in_staff(client)

    tiles = markup.fromstring(client.get(reverse("admin:index")).content.decode()).xpath("//nav[@class='tiles']/a")

    figures = {tile.text.strip(): tile.find("b").text_content().strip() for tile in tiles}
    assert figures == {
        "Answers": "2",
        "Failed": "0",
        "Wait for the first word": "412 ms",
        "Redacted or filtered": "1",
        "Status of the server": "1",
        "Rated bad": "1",
    }
    assert {client.get(tile.get("href")).status_code for tile in tiles} == {200}


@pytest.mark.spec("product 13")
def test_summary_and_steps_are_hidden_where_the_site_shows_no_reasoning(client, turn, settings):
    settings.REASONING_ENABLED = False
    sign_in_staff(client)

    page = client.get(reverse("admin:chat_turn_change", args=[turn.pk])).content.decode()

    assert "Because so." in page
    assert [word for word in ("Looked.", "turbines", "searchFilings") if word in page] == []


@pytest.mark.parametrize("change", [{"deleted_at": -1}, {"expires_at": -1}, {"expires_at": 24}], ids=str)
def test_deleted_and_temporary_conversations_are_hidden_from_staff(client, turn, change):
    sign_in_staff(client)
    Conversation.all_objects.update(**{at: timezone.now() + timedelta(hours=hours) for at, hours in change.items()})

    for model, row in (("conversation", turn.conversation), ("turn", turn), ("event", turn.events.first())):
        listed = client.get(reverse(f"admin:chat_{model}_changelist"))
        assert listed.context["cl"].result_count == 0
        assert client.get(reverse(f"admin:chat_{model}_change", args=[row.pk])).status_code == 302


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_for_staff_who_may_see_turns(client, alice, sam, name):
    url = reverse(f"admin:chat_turn_{name}")
    statuses = [client.get(url).status_code]
    for person in (alice, sam):
        client.force_login(person)
        statuses.append(client.get(url).status_code)

    assert statuses == [302, 302, 403]


@pytest.mark.slow
def test_lists_take_only_the_lookups_that_they_offer(client, everything):
    # a superuser, who may open every list
    client.force_login(make_user("root", is_staff=True, is_superuser=True))
    ours = {
        model: page
        for model, page in admin.site._registry.items()
        if model._meta.app_label in ("accounts", "chat") and model is not SiteSettings  # which has one row and no list
    }
    assert len(ours) > 8

    for model, page in ours.items():
        url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        names = [field.name for field in model._meta.get_fields()]
        for name in [*names, "public__text", "conversation__title", "user__password", "owner__password"]:
            for kind in ("regex", "gt"):
                assert client.get(url, {f"{name}__{kind}": "a"}).status_code == 400, (url, name, kind)
        for choice in page.list_filter:
            offered = (
                choice.parameter_name if isinstance(choice, type) else choice if isinstance(choice, str) else choice[0]
            )
            for kind in ("", "__exact", "__isnull", "__isempty", "__gte", "__year", "__id__exact"):
                for value in ("", "x", "-1", "9999", "99999999999999999999", "\0", "[1]"):
                    status = client.get(url, {f"{offered}{kind}": value}).status_code
                    assert status in (200, 302, 400), (url, offered, kind, value)
        for query in ("o=-1.99.x", "p=-5", "p=999999", "all=1", "e=1", "q=%00", "q='", "_facets=1", "_to_field=token"):
            assert client.get(f"{url}?{query}").status_code in (200, 302, 400), (url, query)


@pytest.mark.parametrize("model", ["conversation", "turn", "event", "share", "feedback"])
def test_search_finds_only_what_is_shown(client, everything, model):
    sign_in_staff(client)
    url = reverse(f"admin:chat_{model}_changelist")

    def found(words):
        return int(client.get(url, {"q": words}).context["cl"].result_count)

    assert found("key") == found('"key"') > 0
    assert found(SECRET) == found(SECRET[:12]) == found(SECRET[12:]) == found(f"key {SECRET[9:14]}") == 0


def test_events_and_turns_are_found_by_the_id_of_their_conversation_or_turn(client, turn, alice):
    sign_in_staff(client)
    make_turn(make_conversation(owner=alice))

    def found(model, words):
        return {
            row.pk for row in client.get(reverse(f"admin:chat_{model}_changelist"), {"q": words}).context["cl"].queryset
        }

    own = Turn.objects.filter(conversation=turn.conversation)
    assert found("turn", turn.conversation_id) == {each.pk for each in own}
    assert found("turn", turn.pk) == {turn.pk}
    assert found("event", turn.pk.hex) == {event.pk for event in turn.events.all()}
    assert found("event", turn.conversation_id) == set(Event.objects.filter(turn__in=own).values_list("pk", flat=True))
    assert found("event", alice.pk) == set()


def test_page_of_a_long_conversation_lists_its_newest_turns(client, alice, monkeypatch):
    monkeypatch.setattr(conversations, "NEWEST_TURNS", 5)
    sign_in_staff(client)
    conversation = make_conversation(owner=alice)
    for _number in range(8):
        make_turn(conversation)

    page = client.get(reverse("admin:chat_conversation_change", args=[conversation.pk]))

    shown = [form.instance.number for form in page.context["inline_admin_formsets"][0].formset.forms]
    assert shown == list(range(4, 9))
    assert f"/admin/chat/turn/?q={conversation.pk}" in page.text
    assert client.get(f"/admin/chat/turn/?q={conversation.pk}").context["cl"].result_count == 8


def test_collections_are_listed_with_their_documents(client, alice):
    own = Collection.objects.create(owner=alice, name=f"Leases {SECRET}")
    Collection.objects.create(owner=None, name="Manuals")
    for name in ("a.txt", "b.txt"):
        documents.store(own, name, b"Its lease ends.", media_type="text/plain", digest="0")
    sign_in_staff(client)

    page = client.get(reverse("admin:chat_collection_changelist"))

    rows = markup.fromstring(page.text).xpath("//table[@id='result_list']/tbody/tr")
    cells = [[cell.text_content() for cell in row.xpath("./th | ./td")][1:4] for row in rows]
    assert sorted(cells) == [["alice", "2", "30\xa0bytes"], ["the site", "0", "0\xa0bytes"]]
    assert SECRET not in page.text
    assert client.get(reverse("admin:chat_collection_change", args=[own.pk])).status_code == 200


@pytest.mark.parametrize("model", ["collection", "document"])
def test_lists_are_in_no_order_of_what_they_mask(client, alice, model):
    for name in (f"B {SECRET}", f"A {SECRET}", f"C {SECRET}"):
        own = Collection.objects.create(owner=alice, name=name)
        documents.store(own, f"{name}.txt", b"Its lease ends.", media_type="text/plain", digest="0")
    sign_in_staff(client)

    url = reverse(f"admin:chat_{model}_changelist")
    listed = [client.get(url, {"o": column} if column else {}).context["cl"].queryset for column in range(10)]

    assert [row.name[0] for row in listed[0]] == ["C", "A", "B"]
    orders = {field.lstrip("-") for found in listed for field in found.query.order_by}
    assert "created_at" in orders
    assert orders & {"name", "title", "collection"} == set()
