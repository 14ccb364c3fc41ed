"""Signing in, up and out; the limit on failures; changing the password."""

import os
import pickle
from urllib.parse import urlencode
from uuid import uuid4

import pytest
import redis
from django.core.cache import cache
from django.core.cache.backends.redis import RedisCache
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils.html import escape
from lxml.html import fromstring

from accounts import forms
from accounts.access import attempts
from accounts.access.attempts import AttemptLimit, fallback_cache
from accounts.models import User
from config.connections import MAX_ANONYMOUS_BYTES
from tests.factories import PASSWORD, client_of

SIGN_IN = "/accounts/login/"
SIGN_UP = "/accounts/signup/"
NEW_ACCOUNT = {"username": "carol", "password1": "nine tall ships at dawn", "password2": "nine tall ships at dawn"}
NEW_PASSWORD = {"new_password1": "a quite different phrase", "new_password2": "a quite different phrase"}


def sign_in(client: Client, password: str = PASSWORD, *, username: str = "alice", **extra: str) -> HttpResponse:
    return client.post(SIGN_IN, {"username": username, "password": password}, **extra)


def user_id(client: Client) -> str | None:
    return client.session.get("_auth_user_id")


def test_right_password_leads_home(client, alice):
    assert sign_in(client)["Location"] == "/"
    assert user_id(client) == str(alice.pk)


def test_wrong_password_is_an_error(client, alice):
    response = sign_in(client, "wrong")

    assert response.status_code == 200
    assert response.context["form"].non_field_errors()
    assert user_id(client) is None


def test_inactive_user_cannot_sign_in(client, alice):
    User.objects.update(is_active=False)

    sign_in(client)

    assert user_id(client) is None


@pytest.mark.parametrize("is_redis_down", [False, True])
def test_tenth_failure_blocks_the_name_at_its_address(client, alice, monkeypatch, is_redis_down):
    if is_redis_down:
        monkeypatch.setattr(attempts, "cache", RedisCache("redis://127.0.0.1:1/0", {}))
    fallback_cache.clear()
    for username in ("alice", "ａｌｉｃｅ", "𝒂𝒍𝒊𝒄𝒆", "ALICE", " alice") * 2:
        assert sign_in(client, "wrong", username=username).status_code == 200

    response = sign_in(client)

    assert response.status_code == 429
    assert "Too many failed attempts" in response.text
    assert user_id(client) is None
    assert sign_in(client, "wrong", username="bob").status_code == 200
    assert sign_in(client, REMOTE_ADDR="192.0.2.8").status_code == 302


def test_success_resets_the_count(client, alice):
    for _round in range(2):
        for _failure in range(9):
            sign_in(client, "wrong")
        assert sign_in(client).status_code == 302
        client.logout()


@pytest.mark.parametrize(
    ("username", "password"),
    [
        ("alice", ""),  # nothing is tried, so nothing is forgotten
        ("", "wrong"),
        ("ａｌｉｃｅ", "wrong"),  # the field turns it into "alice" (NFKC)
        ("𝒂𝒍𝒊𝒄𝒆", "wrong"),
        ("\u00a0alice \t", "wrong"),
        ("Alice", "wrong"),
        ("alice\0", "wrong"),
        ("alice" * 100_000, "wrong"),
    ],
)
def test_no_other_spelling_opens_a_blocked_name(client, alice, username, password):
    for _failure in range(10):
        sign_in(client, "wrong")

    sign_in(client, password, username=username)

    assert sign_in(client).status_code == 429
    assert sign_in(client, username=username).status_code in (200, 429)
    assert user_id(client) is None


def test_attempts_count_while_others_are_still_checked(client, alice, monkeypatch):
    tried = 0

    def check(*_args, **_more):
        nonlocal tried
        tried += 1
        if tried < 50:  # as many requests as there are, none of which has ended yet
            sign_in(client, "wrong")

    monkeypatch.setattr("django.contrib.auth.forms.authenticate", check)
    sign_in(client, "wrong")

    assert tried == 10


def test_failures_of_a_name_from_many_addresses_are_limited_but_not_where_it_has_signed_in(client, alice):
    assert sign_in(client, REMOTE_ADDR="192.0.2.1").status_code == 302
    for number in range(forms.FAILURES_OF_NAME_ALLOWED - 1):  # that success counted, too
        assert sign_in(Client(), "wrong", REMOTE_ADDR=f"198.51.100.{number}").status_code == 200

    refused = sign_in(Client(), REMOTE_ADDR="203.0.113.1")

    assert refused.status_code == 429
    assert "Too many failed attempts for this name." in refused.text
    assert sign_in(Client(), "wrong", username="bob", REMOTE_ADDR="203.0.113.1").status_code == 200
    assert sign_in(Client(), REMOTE_ADDR="192.0.2.1").status_code == 302


@pytest.mark.redis
def test_redis_gets_json_under_keys_that_only_this_site_can_compute(settings, client, alice):
    options = {"serializer": "config.cache.JsonSerializer"}
    shared = RedisCache(os.environ["TEST_REDIS_URL"], {"KEY_PREFIX": f"test-{os.getpid()}", "OPTIONS": options})
    limit = AttemptLimit("sign-in", b"alice", "127.0.0.1")
    settings.SECRET_KEY = "another"
    other = AttemptLimit("sign-in", b"alice", "127.0.0.1")

    shared.set(limit.key, 1, 60)
    client_of_redis = redis.Redis.from_url(os.environ["TEST_REDIS_URL"])
    stored = client_of_redis.get(shared.make_key(limit.key))
    shared.incr(limit.key)
    counted = shared.get(limit.key)
    client_of_redis.set(shared.make_key(limit.key), pickle.dumps(2), ex=60)
    with pytest.raises(ValueError, match="codec"):
        shared.get(limit.key)
    shared.delete(limit.key)

    assert (stored, counted) == (b"1", 2)
    assert limit.key != other.key


def test_window_that_ends_while_counting_starts_a_new_one(monkeypatch):
    limit = AttemptLimit("sign-in", "\ud800" * 10_000, "192.0.2.1")
    cache.set(limit.key, 10)

    def expire(key):
        cache.delete(key)
        raise ValueError(key)

    monkeypatch.setattr(cache, "incr", expire, raising=False)

    assert limit.take()
    assert cache.get(limit.key) == 1


def test_redirect_to_another_site_is_not_followed(client, alice):
    response = client.post(f"{SIGN_IN}?next=https://example.net/", {"username": "alice", "password": PASSWORD})

    assert response["Location"] == "/"


def test_part_of_a_page_without_a_session_sends_the_whole_page_to_the_sign_in(client):
    headers = {"HX-Request": "true", "HX-Current-URL": "http://testserver/chats/?q=a"}

    answer = client.get("/chats/", headers=headers)

    assert (answer.status_code, answer["HX-Redirect"]) == (200, "/accounts/login/?next=/chats/%3Fq%3Da")
    assert answer.content == b""


@pytest.mark.parametrize(
    ("address", "field"),
    [("chats/{id}/messages", "text"), ("prompts", "text"), ("chats/{id}/system-prompt", "system_prompt")],
)
def test_text_of_a_form_without_a_session_survives_the_sign_in(client, alice, address, field):
    path = f"/{address.format(id=uuid4())}/"
    text = "<b>Why</b> & how?\n\nIn two paragraphs."

    answer = client.post(path, {field: text}, headers={"Referer": "http://testserver/prompts/"})
    form = {"next": answer.context["next"], "unsent": answer.context["unsent"], "username": "alice"}
    refused = client.post(SIGN_IN, form | {"password": "wrong"})
    signed_in = client.post(SIGN_IN, form | {"password": PASSWORD})

    for page in (answer, refused, signed_in):
        assert f">{escape(text)}</textarea>" in page.text
    assert answer.status_code == 401
    assert 'href="http://testserver/prompts/"' in signed_in.text
    assert user_id(client) == str(alice.pk)
    assert text not in str(dict(client.session))


@pytest.mark.parametrize(("characters", "is_carried"), [(8_000, True), (20_000, False)])
def test_text_that_the_sign_in_cannot_carry_is_to_be_copied_before(client, db, characters, is_carried):
    text = "ä" * characters  # six bytes each in a form

    answer = client.post(f"/chats/{uuid4()}/messages/", {"text": text})
    [form] = fromstring(answer.text).xpath("//form[.//textarea]")

    assert form.get_element_by_id("unsent").text == text
    assert ("unsent" in dict(form.form_values())) == is_carried
    assert ("copy it before you sign in" in answer.text) != is_carried
    # Without a session the server accepts no more.
    assert len(urlencode(form.form_values())) < MAX_ANONYMOUS_BYTES


def test_form_without_a_session_leads_back_to_its_page(client, alice):
    chat = f"/chats/{uuid4()}/"
    headers = {"Referer": f"http://testserver{chat}"}

    answer = client.post(f"{chat}stop/", headers=headers)
    signed_in = client.post(answer["Location"], {"username": "alice", "password": PASSWORD})

    assert answer["Location"].startswith(SIGN_IN)
    assert signed_in["Location"] == headers["Referer"]


def test_sign_in_needs_a_csrf_token(alice):
    assert sign_in(Client(enforce_csrf_checks=True)).status_code == 403


def test_sign_out_is_a_post(alice):
    client = client_of(alice)

    assert client.get("/accounts/logout/").status_code == 405
    assert client.post("/accounts/logout/").status_code == 302
    assert user_id(client) is None


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("get", "settings"),
        ("get", "password"),
        ("post", "tokens"),
        ("post", "toggle_show_reasoning"),
        ("post", "toggle_show_trace"),
        ("post", "toggle_show_scratchpad"),
    ],
)
def test_view_needs_a_session(client, db, method, name):
    response = getattr(client, method)(reverse(f"accounts:{name}"), {"on": "true"})

    assert response["Location"].startswith(SIGN_IN)


def test_admin_uses_the_same_sign_in(client, alice, sam):
    response = client.get("/admin/", follow=True)

    assert response.redirect_chain[-1][0].startswith(SIGN_IN)
    assert client_of(alice).get("/admin/", follow=True).status_code == 404
    assert client_of(sam).get("/admin/").status_code == 200


def test_password_change_needs_the_old_one_and_ends_other_sessions(alice):
    here, elsewhere = client_of(alice), client_of(alice)

    here.post("/accounts/password/", {"old_password": "wrong", **NEW_PASSWORD})
    alice.refresh_from_db()
    assert alice.check_password(PASSWORD)

    here.post("/accounts/password/", {"old_password": PASSWORD, **NEW_PASSWORD})
    alice.refresh_from_db()
    assert alice.check_password(NEW_PASSWORD["new_password1"])
    assert here.get("/accounts/settings/").status_code == 200
    assert elsewhere.get("/accounts/settings/").status_code == 302


def test_wrong_old_passwords_are_limited(alice):
    client = client_of(alice)
    wrong = {"old_password": "wrong", **NEW_PASSWORD}
    for number in range(10):
        address = f"192.0.2.{number}"  # whoever has the session may come from anywhere
        assert client.post("/accounts/password/", wrong, REMOTE_ADDR=address).status_code == 200

    response = client.post("/accounts/password/", wrong | {"old_password": PASSWORD})

    alice.refresh_from_db()
    assert response.status_code == 429
    assert "Too many attempts" in response.text
    assert alice.check_password(PASSWORD)


def test_admin_changes_passwords_on_the_same_page(sam):
    for answer in (client_of(sam).get("/admin/password_change/"), client_of(sam).post("/admin/password_change/")):
        assert answer["Location"] == "/accounts/password/"


def test_sign_ups_are_limited_before_a_name_is_looked_up(client, alice, settings):
    settings.SIGNUP_ENABLED = True
    for _attempt in range(forms.SIGN_UPS_ALLOWED):
        assert client.post(SIGN_UP, NEW_ACCOUNT | {"username": "ALICE"}).status_code == 200

    taken, free = (client.post(SIGN_UP, NEW_ACCOUNT | {"username": name}) for name in ("alice", "carol"))

    assert (taken.status_code, free.status_code) == (429, 429)
    assert taken.context["form"].errors == free.context["form"].errors
    assert User.objects.get() == alice


@pytest.mark.parametrize("method", ["get", "post"])
def test_sign_up_is_not_found_unless_enabled(client, db, method):
    assert getattr(client, method)(SIGN_UP, NEW_ACCOUNT).status_code == 404
    assert SIGN_UP not in client.get(SIGN_IN).text
    assert not User.objects.exists()


def test_sign_up_creates_an_ordinary_user_and_signs_in(client, db, settings):
    settings.SIGNUP_ENABLED = True
    assert SIGN_UP in client.get(SIGN_IN).text

    response = client.post(SIGN_UP, NEW_ACCOUNT | {"is_staff": "on", "is_superuser": "on"})

    carol = User.objects.get()
    assert response["Location"] == "/"
    assert user_id(client) == str(carol.pk)
    assert (carol.is_staff, carol.is_superuser) == (False, False)
    assert client.get(SIGN_UP)["Location"] == "/", "a signed-in user is sent home"


@pytest.mark.parametrize("password", ["12345678", "password", "short"])
def test_sign_up_refuses_a_weak_password(client, db, settings, password):
    settings.SIGNUP_ENABLED = True

    response = client.post(SIGN_UP, NEW_ACCOUNT | {"password1": password, "password2": password})

    assert response.context["form"].errors
    assert not User.objects.exists()
