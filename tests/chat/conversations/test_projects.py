"""Projects, the archive, and what is done with several conversations at once."""

import pytest

from accounts.models import User
from chat.conversations import model_choice, sidebar
from chat.models import Conversation, Project, SiteSettings
from tests.factories import client_of, make_conversation, make_profile, make_turn

pytestmark = pytest.mark.django_db(transaction=True)
HTMX = {"HX-Request": "true"}


def make(owner: User, title: str, **fields: object) -> Conversation:
    conversation = make_conversation(owner=owner)
    make_turn(conversation)
    Conversation.objects.filter(pk=conversation.pk).update(title=title, is_renamed=True, **fields)
    conversation.refresh_from_db()
    return conversation


def groups(person: User) -> dict[str, list[str]]:
    return {group.label: [one.title for one in group.conversations] for group in sidebar.newest(person).groups}


@pytest.fixture
def client(alice):
    return client_of(alice)


def test_project_groups_its_conversations(alice, client):
    make(alice, "Other")
    conversation = make(alice, "Ferry")
    created = client.post("/projects/", {"name": "Harbour", "system_prompt": "Be brief."}, follow=True)
    project = alice.projects.get()

    client.post(f"/chats/{conversation.pk}/manage/", {"do": "move", "project": project.pk})
    started = client.post("/chats/", {"project": project.pk}, follow=True)

    assert "New chat in this project" in created.text
    assert project.conversations.count() == 2
    assert groups(alice) == {"Harbour": ["Ferry"], "Today": ["Other"]}
    assert f'id="project-{project.pk.hex}"' in started.text
    assert "Ferry" in client.get(project.get_absolute_url()).text
    client.post(project.get_absolute_url(), {"name": "Port", "system_prompt": ""})
    assert "Port" in client.get("/projects/").text
    client.post(project.get_absolute_url(), {"delete": "1"})
    assert groups(alice) == {"Today": ["Ferry", "Other"]}


def test_prompt_of_a_project_is_sent_between_those_of_model_and_conversation(alice):
    SiteSettings(system_prompt="Of the site.").save()
    project = Project.objects.create(owner=alice, name="Harbour", system_prompt="Of the project.")
    profile = make_profile("m", system_prompt="Of the model.")
    conversation = Conversation(owner=alice, project=project, profile=profile, system_prompt="Of the chat.")

    prompt = model_choice.chosen_model(conversation).system_prompt

    assert prompt.split("\n\n") == ["Of the site.", "Of the model.", "Of the project.", "Of the chat."]


def test_projects_are_their_owners_alone(alice, bob, client):
    project = Project.objects.create(owner=bob, name="His")
    conversation = make(alice, "Ferry")
    url = project.get_absolute_url()

    answers = [
        client.get(url),
        client.post(url, {"delete": "1"}),
        client.post("/chats/", {"project": project.pk}),
        client.post(f"/chats/{conversation.pk}/manage/", {"do": "move", "project": project.pk}),
        client.post(f"/chats/{conversation.pk}/manage/", {"do": "move", "project": "x"}),
    ]

    assert [answer.status_code for answer in answers] == [404] * 5
    assert "His" not in client.get("/projects/").text
    assert client.post("/projects/", {"name": "x" * 81}).status_code == 400
    assert client.post("/projects/", {"name": "\u200b\u202e"}).status_code == 400  # nobody would see it
    assert project.conversations.count() == 0


def test_archived_conversation_is_listed_apart_and_found_until_a_new_message(alice, client):
    conversation = make(alice, "Ferry")
    url = f"/chats/{conversation.pk}/"

    archived = client.post(f"{url}manage/", {"do": "archive"}, headers=HTMX)

    assert "Archived: Ferry" in archived.text
    assert f'href="{url}"' not in archived.text
    assert client.get("/")["Location"] != url
    assert "Ferry" in client.get("/chats/archived/").text
    assert "<small>Archived</small>" in client.get("/chats/?q=ferry").text
    make_turn(conversation)
    assert groups(alice) == {"Today": ["Ferry"]}
    client.post(f"{url}manage/", {"do": "archive"})
    client.post(f"{url}manage/", {"do": "unarchive"})
    assert groups(alice) == {"Today": ["Ferry"]}


def test_several_are_archived_and_deleted_at_once(alice, bob, client):
    ferry, tide, kept = (make(alice, title) for title in ("Ferry", "Tide", "Kept"))
    his = make(bob, "His")
    chosen = {"chat": [str(ferry.pk), str(tide.pk), str(his.pk), "x"]}

    client.post("/chats/selected/", {"do": "archive", **chosen})
    assert groups(alice) == {"Today": ["Kept"]}
    client.post("/chats/selected/", {"do": "unarchive", "archived": "1", **chosen})
    deleted = client.post("/chats/selected/", {"do": "delete", **chosen}, follow=True)

    assert [*alice.conversations.all()] == [kept]
    assert his in bob.conversations.all()
    assert "and 1 more" in deleted.text
    restored = client.post(f"/chats/{ferry.pk}/manage/", {"do": "restore", "list": ""})
    assert restored["Location"] == "/chats/"
    assert alice.conversations.count() == 3
    assert client.get("/chats/").text.count(" checked") == 0
    assert client.get("/chats/?all=1").text.count(" checked") == 3
    client.post("/chats/selected/", {"do": "archive", **chosen})
    deleted = client.post("/chats/selected/", {"do": "delete", "archived": "1", **chosen}, follow=True)
    assert deleted.request["PATH_INFO"] == "/chats/archived/"
    assert "and 1 more" in deleted.text
    restored = client.post(f"/chats/{ferry.pk}/manage/", {"do": "restore", "list": "archived"})
    assert restored["Location"] == "/chats/archived/"
    assert "Select conversations first." in client.post("/chats/selected/", {"do": "delete"}, follow=True).text


def test_lists_continue_a_page_at_a_time(alice, client):
    project = Project.objects.create(owner=alice, name="Harbour")
    for number in range(sidebar.PAGE_SIZE + 1):
        make(alice, f"n{number}", project=project)
    first = sidebar.of_project(project, None)

    assert client.get(first.older_url).text.count('class="selectable__title"') == 1
    assert len(groups(alice)["Harbour"]) == sidebar.SHOWN_OF_PROJECT
    alice.conversations.update(archived_at="2026-01-01T00:00Z")
    assert client.get(sidebar.read_archive(alice, None).older_url).text.count('class="selectable__title"') == 1
