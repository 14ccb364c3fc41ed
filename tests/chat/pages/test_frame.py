"""The sidebar and the top bar around every page of a signed-in person."""

import pytest
from lxml import html as markup

from chat.filings.models import Filing
from chat.models import Project
from tests.factories import make_conversation, make_turn

pytestmark = pytest.mark.django_db

PLACES = [
    ("/projects/", "Projects"),
    ("/chats/", "All chats"),
    ("/chats/archived/", "Archived"),
    ("/filings/", "Filings"),
    ("/filings/gone/", "Filings"),
    ("/accounts/settings/", "Settings"),
    ("/accounts/settings/reasoning/", "Settings"),
    ("/accounts/password/", "Settings"),
    ("/accounts/tokens/", "Settings"),
    ("/prompts/", "Settings"),
    ("/shares/", "Settings"),
    ("/data/", "Settings"),
    ("/data/import/", "Settings"),
]


@pytest.fixture
def conversation(alice):
    made = make_conversation(owner=alice)
    make_turn(made, question="Which ferries run?")
    made.refresh_from_db()
    return made


@pytest.fixture
def get(client, alice):
    client.force_login(alice)
    return lambda path: markup.fromstring(client.get(path).text)


def current(page: markup.HtmlElement) -> list[str]:
    """Return what the sidebar marks as the place that is shown."""
    return [" ".join(link.text_content().split()) for link in page.xpath("//aside[@id='side']//a[@aria-current]")]


@pytest.mark.parametrize(("path", "place"), PLACES)
def test_page_has_the_sidebar_with_its_place_marked(get, conversation, path, place):
    page = get(path)

    assert current(page) == [place]
    assert page.xpath(f"//aside[@id='side']//li[@id='c-{conversation.pk.hex}']")
    assert len(page.xpath("//h1")) == 1


@pytest.mark.parametrize("path", ["manage/", "share/", "system-prompt/"])
def test_page_about_a_conversation_marks_it_and_leads_back(get, conversation, path):
    page = get(f"/chats/{conversation.pk}/{path}")

    assert current(page) == ["Which ferries run?"]
    assert page.xpath(f"//header//a[@href='/chats/{conversation.pk}/']")


@pytest.mark.parametrize("asked", [True, False], ids=["with a conversation", "without one"])
def test_sidebar_leads_to_the_filings_where_there_are_some(get, alice, asked):
    if asked:
        make_turn(made := make_conversation(owner=alice))
    link = "//aside[@id='side']//a[@href='/filings/']"
    Filing.objects.all().delete()
    assert not get("/projects/").xpath(link)

    Filing.objects.create(slug="tidal", company="Tidal", form="10-K", filed_on="2026-01-01")

    assert get("/projects/").xpath(link)
    assert not asked or get(f"/chats/{made.pk}/").xpath(link)


def test_page_of_a_project_is_marked_though_it_is_empty(get, alice):
    project = Project.objects.create(owner=alice, name="Harbour")

    assert current(get(project.get_absolute_url())) == ["Projects"]
    assert current(get(f"{project.get_absolute_url()}?after=x")) == ["Projects"]


def test_drawer_of_a_phone_opens_without_script(get):
    (button,) = get("/projects/").xpath("//header//button[@popovertarget='side']")

    assert button.get("aria-label") == "Conversations"


def test_missing_page_has_the_frame_for_those_who_are_signed_in(client, alice):
    stranger = client.get("/nowhere/")
    client.force_login(alice)
    own = client.get("/nowhere/")

    assert (stranger.status_code, own.status_code) == (404, 404)
    assert 'id="side"' not in stranger.text
    assert 'id="side"' in own.text
    assert all("Page not found" in answer.text for answer in (stranger, own))


@pytest.mark.parametrize("path", ["/accounts/login/", "/s/nobody-made-this/"])
def test_sign_in_and_shared_links_stay_bare(client, path):
    assert 'id="side"' not in client.get(path).text


def test_frame_costs_one_query(client, alice, conversation, django_assert_max_num_queries):
    client.force_login(alice)
    Project.objects.create(owner=alice, name="Harbour", system_prompt="")
    Filing.objects.all().delete()

    with django_assert_max_num_queries(5):  # session, user, name of the site, sidebar, and the filings
        client.get("/filings/")


@pytest.mark.django_db(transaction=True)
def test_deleting_the_conversation_of_a_page_leaves_that_page(client, alice, conversation):
    client.force_login(alice)
    url = f"/chats/{conversation.pk}/"
    headers = {"HX-Request": "true", "HX-Current-URL": f"http://testserver{url}system-prompt/"}

    answer = client.post(f"{url}manage/", {"do": "delete"}, headers=headers)

    assert answer["HX-Redirect"] == f"/?deleted={conversation.pk}"
