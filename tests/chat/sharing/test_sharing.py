"""Shared links: what they show, when they end, and who may create and revoke them."""

import re
import uuid
from dataclasses import replace
from datetime import timedelta

import pytest
from cryptography.fernet import Fernet
from django.test import Client
from django.utils import timezone

from accounts.models import AuditEntry, User
from chat import eventlog
from chat.conversations import actions
from chat.eventlog import link_tokens
from chat.eventlog.link_tokens import token_of
from chat.models import Conversation, Share, Turn
from chat.sharing import links
from chat.sharing.export import Choice
from reasoning.citations import citation_to_json
from reasoning.events import AssistantMessage, Reasoning
from tests.chat.audits import audit
from tests.chat.shared_talk import CITED, SECRET, make_talk
from tests.factories import client_of, end_turn, make_conversation, make_turn, open_turn

EVERYTHING = Choice(summary=True, trace=True, thinking=True)
PRIVATE = ("raw-arguments-canary", "raw-result-canary", SECRET)


def make_link(conversation: Conversation, choice: Choice = EVERYTHING, days: int | None = 7) -> Share:
    return links.create_link(conversation.owner, conversation, choice, days=days)


def opened(link: Share, query: str = "", client: Client | None = None) -> str:
    answer = (client or Client()).get(f"/s/{token_of(link)}/{query}")
    assert answer.status_code == 200
    return answer.content.decode()


def status_of(link: Share) -> int:
    return Client().get(f"/s/{token_of(link)}/").status_code


def test_a_stranger_reads_the_question_the_answer_and_its_sources(alice):
    page = opened(make_link(make_talk(alice), Choice(summary=False)))

    assert "What would breach\nthe covenants?" in page
    assert "<mark>It fell.</mark>" in page  # the cited passage, without a session
    answer, sources = page.split('class="evidence"')
    assert re.search(r'data-citation="" href="#(m-\w+-source-1)"', answer)[1] in sources
    assert "/filings/northwind/" not in answer
    assert 'data-role="assistant"' in page


def test_source_of_a_failed_quotation_leads_to_its_excerpt_too(alice):
    conversation = make_conversation(owner=alice)
    cited = [CITED, replace(CITED, quote="It rose.", verified=False)]
    said = "It says “It fell.” [7]\n\nIt says “It rose.” [7]"
    turn = open_turn(conversation.pk, text="Why?")
    end_turn(turn, [AssistantMessage(text=said, citations=tuple(map(citation_to_json, cited)))])

    page = opened(make_link(conversation))

    assert len(re.findall(r'data-citation="" href="#m-\w+-source-1"', page)) == 2
    assert "Unverified source" in page
    assert "/filings/northwind/" not in page.split('class="evidence"')[0]


def test_a_shared_page_has_nothing_to_do_on_it_and_no_list(alice):
    page = opened(make_link(make_talk(alice)), client=client_of(alice))

    for absent in (
        "/chats/",
        "data-retry",
        "data-composer",
        "data-copy-trace",
        'id="conversations"',
        "alice",
        "data-copy=",
    ):
        assert absent not in page


@pytest.mark.parametrize("chosen", [Choice(False, False, False), Choice(), EVERYTHING])
def test_a_link_shows_what_its_owner_chose(alice, chosen):
    page = opened(make_link(make_talk(alice), chosen))

    assert ("Looked in Item 7." in page) == chosen.summary
    assert ("searchFilings" in page) == chosen.trace
    assert ("data-ai-reasoning" in page) == chosen.thinking
    assert not [private for private in PRIVATE if private in page]


@pytest.mark.spec("product 4")
def test_thinking_is_for_anybody_what_it_is_for_users(ada, settings):
    link = make_link(make_talk(ada))
    turn = link.last_turn
    address = f"/s/{token_of(link)}/{turn.pk}/thinking/"

    assert Client().get(address).content.decode().endswith("…(truncated)")
    assert "…(truncated)" in opened(link, f"?open={turn.public_id}")
    settings.REASONING_THINKING_FOR_USERS = "hidden"
    assert Client().get(address).status_code == 404
    assert "Reasoning is hidden" not in opened(link)


def test_thinking_stays_closed_where_it_was_not_chosen(alice):
    link = make_link(make_talk(alice), Choice())
    turn = link.last_turn

    assert Client().get(f"/s/{token_of(link)}/{turn.pk}/thinking/").status_code == 404
    assert "thought-canary" not in opened(link, f"?open={turn.public_id}")


@pytest.mark.spec("product 13")
def test_a_site_without_reasoning_shows_none_by_old_links_either(alice, settings):
    link = make_link(make_talk(alice))
    settings.REASONING_ENABLED = False

    page = opened(link)

    assert not [part for part in ("Looked in Item 7.", "searchFilings", "data-ai-reasoning") if part in page]


def test_later_turns_are_not_added(alice):
    conversation = make_talk(alice)
    link = make_link(conversation)
    make_turn(conversation, question="And later?", answer="Later.")

    assert "And later?" not in opened(link)


@pytest.mark.spec("product 41")
@pytest.mark.parametrize("is_running", [False, True])
@pytest.mark.parametrize("status", ["aborted", "errored", "interrupted", "iteration_capped", "completed"])
def test_what_continues_the_last_answer_is_not_added(alice, status, is_running):
    conversation = make_conversation(owner=alice)
    turn = open_turn(conversation.pk, text="Why?")
    Turn.objects.filter(pk=turn.pk).update(model="early-model", model_label="Early label")
    error_code = "length" if status == "completed" else ""
    thought = Reasoning(kind="text", text="early-thought", source_field="reasoning", model="m", provider="p", step=0)
    said = AssistantMessage(text="Because of the", summary=("Looked early.",))
    eventlog.close_turn(turn, [thought, said], status=status, error_code=error_code, thinking_ms=7_000)
    link = make_link(conversation)
    before = opened(link)
    eventlog.reopen_turn(turn)
    Turn.objects.filter(pk=turn.pk).update(model="late-model", model_label="Late label", thinking_ms=93_000)
    later = [replace(thought, text="late-thought"), AssistantMessage(text=" tide-canary.", continues=True)]
    eventlog.append(turn, [*later, AssistantMessage(text="More-canary.", summary=("Looked late.",))])
    if not is_running:
        end_turn(turn, [])

    page, address = opened(link, f"?open={turn.public_id}"), f"/s/{token_of(link)}/{turn.pk}"

    assert "Because of the" in page
    assert "early-thought" in page
    assert "Early label" in page
    assert "7 s" in page
    late = ("tide-canary", "More-canary", "Looked late.", "late-thought", "Late label", "late-model", "93 s")
    assert not [words for words in late if words in page]
    assert re.findall(r'data-status="\w+"', page) == re.findall(r'data-status="\w+"', before)
    assert Client().get(f"{address}/answer/").text == "Because of the"
    assert Client().get(f"{address}/thinking/").text == "early-thought"
    if not is_running:
        assert "tide-canary" in client_of(alice).get(f"/chats/{conversation.pk}/").text
        assert "tide-canary" in opened(make_link(conversation))


def test_the_title_stays_that_was_shared(alice):
    conversation = make_talk(alice)
    link = make_link(conversation)
    actions.rename(conversation, "Dismissal of Mr. Rivers")

    assert "Rivers" not in opened(link)
    assert "Debt covenants" in opened(link)
    assert "Dismissal of Mr. Rivers" in opened(make_link(conversation))


def test_the_branch_stays_that_was_shared(alice):
    conversation = make_conversation(owner=alice)
    first = make_turn(conversation, question="Asked first?", answer="The first.")
    link = make_link(conversation)
    again = open_turn(conversation.pk, text="Asked otherwise?", replaces=first)
    eventlog.close_turn(again, [], status="completed")

    page = opened(link)

    assert "Asked first?" in page
    assert "Asked otherwise?" not in page


def test_a_new_link_shows_the_selected_branch(alice):
    conversation = make_conversation(owner=alice)
    first = make_turn(conversation, question="Asked first?", answer="The first.")
    make_turn(conversation, question="Then?", answer="Left with the first branch.")
    again = open_turn(conversation.pk, text="Asked otherwise?", replaces=first)
    end_turn(again, [AssistantMessage(text="The second.")])

    page = opened(make_link(conversation))

    assert "Asked otherwise?" in page
    assert "Left with the first branch." not in page


def test_a_running_turn_is_not_shared(alice):
    conversation = make_talk(alice)
    open_turn(conversation.pk, text="Still asked?")

    assert "Still asked?" not in opened(make_link(conversation))


def test_secrets_in_titles_and_questions_are_masked(alice):
    conversation = make_conversation(owner=alice, title=f"Key {SECRET}")
    make_turn(conversation, question=f"Why does {SECRET} fail?")

    page = opened(make_link(conversation))

    assert SECRET not in page
    assert "Why does" in page


def test_strangers_read_no_service_words_on_what_failed(alice):
    conversation = make_conversation(owner=alice)
    turn = open_turn(conversation.pk, text="Why?")
    eventlog.close_turn(turn, [], status="errored", error_code="x", error_message="host-canary:8080 refused")

    page = opened(make_link(conversation))

    assert "host-canary" not in page
    assert "This answer could not be finished." in page


def test_a_link_is_excluded_from_search_engines_and_shared_caches(alice):
    answer = Client().get(f"/s/{token_of(make_link(make_talk(alice)))}/")

    assert "noindex" in answer["X-Robots-Tag"]
    assert "no-store" in answer["Cache-Control"]
    assert '<meta name="robots" content="noindex' in answer.content.decode()


@pytest.mark.parametrize("end", ["revoked", "expired", "deleted", "conversation expired", "person gone"])
def test_an_ended_link_looks_like_an_unknown_one(alice, end):
    link = make_link(make_talk(alice))
    assert status_of(link) == 200
    past = timezone.now() - timedelta(seconds=1)
    match end:
        case "revoked":
            links.revoke_link(alice, link)
        case "expired":
            Share.objects.update(expires_at=past)
        case "deleted":
            Conversation.objects.update(deleted_at=past)
        case "conversation expired":
            Conversation.objects.update(expires_at=past)
        case _:
            User.objects.update(is_active=False)

    ended = Client().get(f"/s/{token_of(link)}/")
    unknown = Client().get(f"/s/{'x' * 32}/")

    assert (ended.status_code, unknown.status_code) == (404, 404)
    assert b"can create a new one" in ended.content
    csrf = rb'"X-CSRFToken": "\w+"'  # drawn anew for each page
    assert re.sub(csrf, b"", ended.content) == re.sub(csrf, b"", unknown.content)
    assert Client().get(f"/s/{token_of(link)}/{link.last_turn_id}/thinking/").status_code == 404


def test_links_are_created_and_revoked_by_forms_and_both_are_audited(alice):
    conversation, client = make_talk(alice), client_of(alice)

    made = client.post(f"/chats/{conversation.pk}/share/", {"summary": "on", "expires": "never"})
    link = Share.objects.get()
    listed = client.get(f"/chats/{conversation.pk}/share/").content.decode()
    ended = client.post(f"/shares/{link.pk}/revoke/")

    assert (made.status_code, ended.status_code) == (303, 303)
    assert (link.with_summary, link.with_trace, link.expires_at) == (True, False, None)
    assert f"http://testserver/s/{token_of(link)}/" in listed
    assert status_of(link) == 404
    entries = AuditEntry.objects.order_by("created_at").values_list("action", "conversation", "user__username")
    assert list(entries) == [("share_created", conversation.pk, "alice"), ("share_revoked", conversation.pk, "alice")]


def test_a_link_expires_in_a_week_unless_said_otherwise(alice):
    conversation = make_talk(alice)
    client_of(alice).post(f"/chats/{conversation.pk}/share/", {"expires": "soon"})

    expires_at = Share.objects.get().expires_at
    assert expires_at is not None
    assert timedelta(days=6) < expires_at - timezone.now() <= timedelta(days=7)


def test_without_an_answer_there_is_nothing_to_share(alice):
    conversation, client = make_conversation(owner=alice), client_of(alice)

    refused = client.post(f"/chats/{conversation.pk}/share/", {"summary": "on"})

    assert refused.status_code == 409
    assert "There is no answer to share yet." in refused.content.decode()
    assert client.get(f"/chats/{conversation.pk}/share/preview/").status_code == 404


def test_there_are_only_so_many_links(alice):
    conversation = make_talk(alice)
    for _each in range(links.MAX_LINKS):
        make_link(conversation)

    with pytest.raises(links.ShareError):
        make_link(conversation)
    links.revoke_link(alice, Share.objects.all()[0])
    assert make_link(conversation)


def test_only_the_users_links_are_listed(alice, bob):
    mine, theirs = make_link(make_talk(alice)), make_link(make_talk(bob))

    page = client_of(alice).get("/shares/").content.decode()

    assert token_of(mine) in page
    assert token_of(theirs) not in page


def test_only_turns_of_the_shared_branch_give_their_thinking(alice):
    link = make_link(make_talk(alice))
    other = make_link(make_talk(alice)).last_turn

    assert Client().get(f"/s/{token_of(link)}/{other.pk}/thinking/").status_code == 404


@pytest.mark.slow
def test_long_conversation_is_read_page_by_page_up_to_the_shared_turn(alice):
    conversation = make_conversation(owner=alice)
    first = make_turn(conversation, question="Question 1?")
    for number in range(2, 54):
        make_turn(conversation, question=f"Question {number}?")
    link = make_link(conversation)
    make_turn(conversation, question="Question 54?")
    preview = client_of(alice).get(f"/chats/{conversation.pk}/share/preview/?thinking=1").text
    again = open_turn(conversation.pk, text="Question 1 otherwise?", replaces=first)
    end_turn(again, [AssistantMessage(text="Because.")])

    def numbers(query: str) -> list[int]:
        return [
            int(number) for number in re.findall(r'class="question" dir="auto">Question (\d+)', opened(link, query))
        ]

    newest, middle, oldest = [*range(29, 54)], [*range(4, 29)], [1, 2, 3]
    shown = {"": newest, "?before=29": middle, "?before=4": oldest, "?before=999": newest, "?before=1": [1]}
    shown |= {
        "?before=x": newest,
        f"?open={first.public_id}": [*range(1, 26)],
        f"?open={again.public_id}": [*range(1, 26)],
    }
    assert {query: numbers(query) for query in shown} == shown
    assert 'href="?before=29"' in opened(link)
    assert 'href="?since=29"' in opened(link, "?before=29")
    assert numbers("?since=29") == newest
    assert numbers("?since=99") == [53]
    assert "Load earlier" not in opened(link, "?before=4")
    assert "Load later" not in opened(link)
    # what is opened on a page without JavaScript stays on that page
    assert '<input type="hidden" name="since" value="4">' in opened(link, "?before=29")
    assert 'href="?summary=1&amp;trace=0&amp;thinking=1&amp;before=30"' in preview


def test_the_database_alone_opens_no_link(alice, settings):
    link = make_link(make_talk(alice))
    token, client = token_of(link), client_of(alice)
    (row,) = Share.objects.values()

    assert token not in str(row)
    assert f"/s/{token}/" in client.get("/shares/").text
    assert Client().get(f"/s/{row['digest']}/").status_code == 404

    settings.CONTENT_KEYS = [Fernet.generate_key().decode()]
    assert "can no longer be shown" in client.get("/shares/").text
    assert Client().get(f"/s/{token}/").status_code == 200, "a link doesn't need the key"


def test_the_audit_finds_nothing_in_200_links(alice):
    link = make_link(make_talk(alice))
    for _each in range(200):
        link.pk = uuid.uuid4()
        link_tokens.add_token(link)
        link.save(force_insert=True)

    assert audit() == ""


@pytest.mark.parametrize(("header", "scheme"), [(None, "http"), (("HTTP_X_FORWARDED_PROTO", "https"), "https")])
def test_link_has_the_scheme_that_the_proxy_may_say(alice, settings, header, scheme):
    settings.SECURE_PROXY_SSL_HEADER = header
    link = make_link(make_talk(alice))

    page = client_of(alice).get("/shares/", headers={"Host": "testserver", "X-Forwarded-Proto": "https"})

    assert f'"{scheme}://testserver/s/{token_of(link)}/"' in page.text
