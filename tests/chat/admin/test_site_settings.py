"""The site's own name, greeting, placeholder and starter questions, set in the admin."""

from django.contrib.auth.models import Permission
from django.test import Client

from chat.filings.models import Filing
from chat.models import Conversation
from tests.factories import client_of, make_conversation, make_profile

LIST, ADDRESS = "/admin/chat/sitesettings/", "/admin/chat/sitesettings/add/"
WORDS = {
    "name": "Ledger & Co",
    "greeting": "Ask the ledger",
    "introduction": "",
    "placeholder": "Which account?",
    "starters": "Who owes us?\n\nWhat is <late>?",
}


def test_words_of_the_site_are_shown_in_an_empty_chat(alice, sam):
    sam.user_permissions.add(*Permission.objects.filter(codename__in=("view_sitesettings", "add_sitesettings")))
    staff = client_of(sam)
    address = make_conversation(owner=alice).get_absolute_url()
    assert "What would you like to know?" in client_of(alice).get(address).content.decode()

    assert staff.get(LIST)["Location"] == ADDRESS
    assert staff.post(ADDRESS, WORDS).status_code == 302
    assert staff.post(ADDRESS, WORDS).status_code == 403
    assert "Ask the ledger" in staff.get(LIST, follow=True).content.decode()
    assert client_of(alice).get(LIST).status_code == 302

    page = client_of(alice).get(address).content.decode()
    assert "Ledger &amp; Co" in page
    assert "Ask the ledger" in page
    assert 'placeholder="Which account?"' in page
    assert page.count('name="text" value="') == 2
    assert "What is &lt;late&gt;?" in page
    assert "Ledger &amp; Co" in Client().get("/accounts/login/").content.decode()


def test_staff_who_may_only_read_them_are_told_that_nothing_is_set(sam):
    sam.user_permissions.add(Permission.objects.get(codename="view_sitesettings"))

    assert "Nobody has changed the site settings yet" in client_of(sam).get(LIST, follow=True).text


def test_filings_are_spoken_of_only_where_the_analyst_answers(alice):
    Filing.objects.create(slug="f", company="Northwind", form="10-K", digest="d", is_demo=True)
    conversation = make_conversation(owner=alice)
    address = conversation.get_absolute_url()
    assert "of invented companies is loaded" in client_of(alice).get(address).text

    Conversation.objects.filter(pk=conversation.pk).update(profile=make_profile("general"))

    page = client_of(alice).get(address).text
    assert "What would you like to know?" in page
    assert "filings" not in page.partition('id="hello"')[2].partition("</section>")[0]


def test_too_many_starters_are_refused(sam):
    sam.user_permissions.add(*Permission.objects.filter(codename__in=("view_sitesettings", "add_sitesettings")))

    answer = client_of(sam).post(ADDRESS, WORDS | {"starters": "\n".join(f"Question {n}?" for n in range(9))})

    assert "At most 8 questions." in answer.content.decode()
    assert client_of(sam).post(ADDRESS, WORDS | {"starters": "x" * 201}).status_code == 200


def test_hosts_whose_pages_may_be_read_are_checked(sam):
    sam.user_permissions.add(*Permission.objects.filter(codename__in=("view_sitesettings", "add_sitesettings")))
    staff = client_of(sam)

    refused = staff.post(ADDRESS, WORDS | {"web_hosts": "example.org\nhttps://example.org/"}).text
    many = staff.post(ADDRESS, WORDS | {"web_hosts": "\n".join(f"h{n}.example" for n in range(51))}).text
    assert "This is no host: https://example.org/" in refused
    assert "At most 50 hosts." in many
    assert staff.post(ADDRESS, WORDS | {"web_hosts": "example.org\n*.example.org"}).status_code == 302
