"""``manage.py check_model`` and *Test connection*: what a few calls find, beside what the profile says."""

from io import StringIO
from typing import Any

import lxml.html
import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from accounts.demo import ensure_users
from chat.models import ModelProfile
from chat.providers.model_listing import listed_limit
from replay_contract_server.fixture import ContractHandle
from replay_contract_server.modes import MODES
from tests.factories import bind_keys, make_profile, make_user

pytestmark = pytest.mark.django_db(transaction=True)
CALL = {"tool_calls": [{"name": "add", "arguments": {"a": 2, "b": 3}}]}
FINE = {"content": "Fine."}
ROUND_TRIP = {"reasoning.includeInContext": True, "reasoning.stripFromContext": "none"}


@pytest.fixture
def endpoint(server, settings):
    server.reset()
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY, settings.OPENAI_MODEL = server.base_url, "test-key", None
    return server


def checked(endpoint: ContractHandle, *replies: dict[str, Any], model: str = "plain-model", **knobs: Any) -> str:
    """Return what the command says. The questions after the first one get an answer where no reply is given."""
    endpoint.script([*replies, {**FINE, "repeat": True}], knobs=knobs)
    out = StringIO()
    call_command("check_model", model, stdout=out)
    return out.getvalue()


def rows(said: str) -> dict[str, str]:
    """Return what was found, by name."""
    return {line[2:28].strip(): line[30:66].strip() for line in said.splitlines()[2:-1]}


def marked(said: str) -> list[str]:
    """Return the names of the rows that differ from the profile."""
    return [line[2:28].strip() for line in said.splitlines() if line.startswith("!")]


def test_report_of_a_thinking_model_with_tools(endpoint):
    said = rows(checked(endpoint, {"reasoning": "Add them.", **CALL}))

    assert said["streaming"].endswith("pieces")
    assert said["key"] == "accepted"
    assert said["thinking"] == "field reasoning_content"
    assert said["tools"].startswith("called")
    assert said["token counts"] == "reported"
    assert [said[name] for name in ("system message", "roles in any order", "images")] == ["accepted"] * 3
    assert said["requests"] == "3"
    assert endpoint.refusals() == []
    assert len(endpoint.requests()) == 3


@pytest.mark.parametrize(
    ("reply", "thinking"),
    [({"reasoning": "Hm.", "content": "Five.", "tags": "think"}, "tags inside the answer"), ({"content": "5"}, "none")],
)
def test_report_of_a_model_without_native_thinking(endpoint, reply, thinking):
    said = rows(checked(endpoint, reply))

    assert said["thinking"].startswith(thinking)
    assert said["tools"].startswith("accepted, none called")


def test_report_of_a_profile_that_fits(endpoint):
    make_profile(
        "k",
        base_url=endpoint.base_url,
        model="kimi-k2.6",
        reasoning=ROUND_TRIP,
        is_enabled=False,
        takes_images=True,
    )

    said = checked(endpoint, {"reasoning": "Add.", **CALL}, model="k")

    assert f"Model: kimi-k2.6 at 127.0.0.1:{endpoint.port}" in said
    assert rows(said)["key"] == "none is sent"
    assert said.rstrip().endswith("The profile fits.")


@pytest.mark.parametrize(
    ("fields", "row"),
    [
        ({"reasoning": {"reasoning.includeInContext": False}}, "reasoning.includeInContext"),
        ({"model": "kimi-k2.7-code"}, "reasoning.includeInContext"),
        (
            {"reasoning": {"reasoning.includeInContext": True, "reasoning.stripFromContext": "all"}},
            "reasoning.stripFromContext",
        ),
        ({"reasoning": ROUND_TRIP, "dialect": "deepseek-v4"}, "dialect"),
        ({"reasoning": {**ROUND_TRIP, "reasoning.maxTokens": 9}}, "note"),
        ({"reasoning": ROUND_TRIP, "starts_in_reasoning": True}, "starts in reasoning"),
    ],
)
def test_difference_is_marked(endpoint, fields, row):
    make_profile("k", base_url=endpoint.base_url, **{"model": "kimi-k2.6", "takes_images": True, **fields})

    said = checked(endpoint, {"reasoning": "Add.", **CALL}, model="k")

    assert marked(said) == [row]
    assert "marked with !." in said


def test_responses_are_asked_in_their_own_form(endpoint):
    make_profile("o", base_url=endpoint.base_url, model="gpt-5-mini", api="responses", takes_images=True)

    said = checked(endpoint, {"reasoning": "Add.", **CALL}, model="o")

    assert rows(said)["thinking"] == "opaque items (1, encrypted 1)"
    assert rows(said)["roles in any order"] == "accepted"
    assert "The profile fits." in said


def test_unknown_model_fails_with_its_name(endpoint):
    with pytest.raises(CommandError, match="no-such-model"):
        checked(endpoint, model="no-such-model")


def test_missing_key_is_named_by_its_variable(endpoint, settings, monkeypatch):
    bind_keys(settings, "ABSENT_API_KEY@127.0.0.1")
    monkeypatch.delenv("ABSENT_API_KEY", raising=False)
    make_profile("k", base_url=endpoint.base_url, api_key_env="ABSENT_API_KEY")

    with pytest.raises(CommandError, match="ABSENT_API_KEY is empty"):
        checked(endpoint, model="k")
    assert endpoint.requests() == []


def test_refused_key_is_named_by_its_variable_and_never_printed(endpoint, settings, monkeypatch):
    bind_keys(settings, "PRESENT_API_KEY@127.0.0.1")
    monkeypatch.setenv("PRESENT_API_KEY", "canary-key-4")
    make_profile("k", base_url=endpoint.base_url, model="plain-model", api_key_env="PRESENT_API_KEY")
    refusal = {"kind": "http_error", "status": 401, "message": "bad key canary-key-4", "times": 9}

    with pytest.raises(CommandError) as failed:
        checked(endpoint, {"content": "Five.", "faults": [refusal]}, model="k")

    assert "Check PRESENT_API_KEY" in str(failed.value)
    assert "canary-key-4" not in str(failed.value)


@pytest.mark.parametrize(
    ("row", "limit"),
    [
        ({"id": "m", "context_length": 128_000}, 128_000),
        ({"id": "m", "max_model_len": 32_768}, 32_768),
        ({"model_name": "m", "model_info": {"max_input_tokens": 128_000}}, 128_000),
        ({"id": "m", "max_input_tokens": 128_000}, 128_000),
        ({"id": "m", "context_length": True}, None),
        ({"id": "m", "meta": {"n_ctx": 4096, "n_ctx_train": 131_072}}, 4096),
        ({"id": "m", "context_length": None, "context_window": 8192}, 8192),
        ({"id": "m"}, None),
        ({"id": "m", "context_length": "many", "meta": None}, None),
    ],
)
def test_limit_is_read_under_every_name(row, limit):
    assert listed_limit(row) == limit


def test_words_of_the_service_are_printed(endpoint):
    broken = {"kind": "server_error", "message": "model requires more system memory", "times": 9}

    with pytest.raises(CommandError, match="The service said: model requires more system"):
        checked(endpoint, {"content": "Five.", "faults": [broken]})


def test_request_is_made_without_tools_where_the_service_has_no_place_for_them(endpoint):
    refusal = {"kind": "http_error", "status": 404, "message": "No endpoints found that support tool use."}

    said = rows(checked(endpoint, {"content": "Five.", "faults": [refusal]}))

    assert said["tools"].startswith("refused")


def test_name_may_be_left_out(endpoint):
    endpoint.script([{"content": "5"}], models={"first-model": "openai-chat"})
    out = StringIO()

    call_command("check_model", stdout=out)

    assert out.getvalue().startswith(f"Model: first-model at 127.0.0.1:{endpoint.port}")


def test_name_may_be_left_out_where_a_profile_is_the_default(endpoint):
    make_profile("k", base_url=endpoint.base_url, model="plain-model", is_default=True)
    endpoint.script([{"content": "5"}])
    out = StringIO()

    call_command("check_model", stdout=out)

    assert out.getvalue().startswith("Model: plain-model at ")


def test_without_a_model_there_is_nothing_to_check():
    with pytest.raises(CommandError, match="OPENAI_BASE_URL"):
        call_command("check_model")


@pytest.mark.spec("product 31")
@pytest.mark.parametrize("model", ["kimi-k2.6", "deepseek-v3.2", "deepseek-v4-pro"])
def test_thinking_of_earlier_turns_need_not_be_sent_to_a_service_that_insists(endpoint, model):
    assert "reasoning.includeInContext" not in marked(checked(endpoint, {"reasoning": "Add.", **CALL}, model=model))


# product 28, 29: what a service can't do is found, whether it says why or not
@pytest.mark.parametrize("gives_no_reason", [False, True])
@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize(
    ("knob", "row", "found"),
    [
        ("refuses_tools", "tools", "refused"),
        ("refuses_system", "system message", "refused"),
        ("must_alternate", "roles in any order", "must alternate"),
        ("refuses_user_after_tool", "roles in any order", "no question behind a tool result"),
        ("refuses_images", "images", "refused"),
    ],
)
def test_what_a_service_refuses_is_found(endpoint, api, knob, row, found, gives_no_reason):
    model = "plain-model" if api == "chat" else "gpt-5-mini"
    make_profile("p", base_url=endpoint.base_url, model=model, api=api)

    said = rows(checked(endpoint, CALL, model="p", **{knob: True, "gives_no_reason": gives_no_reason}))

    assert said[row] == ("refused" if gives_no_reason else found)
    others = {"tools", "system message", "roles in any order", "images"} - {row}
    assert {said[name] for name in others} <= {"accepted", "called", "accepted, none called"}
    assert len(endpoint.requests()) <= 6


def test_service_that_refuses_everything_is_asked_at_most_six_times(endpoint):
    knobs = dict.fromkeys(("refuses_tools", "refuses_system", "must_alternate", "refuses_images"), True)

    said = rows(checked(endpoint, **knobs, gives_no_reason=True))

    assert [said[name] for name in ("tools", "system message", "roles in any order", "images")] == ["refused"] * 4
    assert len(endpoint.requests()) == 6


@pytest.mark.parametrize("model", [mode.models[0] for mode in MODES.values() if mode.path.endswith("completions")])
def test_each_service_accepts_the_calls(endpoint, model):
    said = rows(checked(endpoint, {"reasoning": "Add.", **CALL}, model=model))

    # DeepSeek R1 takes no tools, and no two questions in a row.
    assert endpoint.refusals() == (["D4", "D2"] if model == "deepseek-r1" else [])
    assert said["roles in any order"] == ("must alternate" if model == "deepseek-r1" else "accepted")


@pytest.mark.parametrize("status", [401, 429, 500])
def test_failure_ends_the_calls_and_leaves_open_what_was_not_tried(endpoint, status):
    fault = {"kind": "http_error", "status": status}

    said = rows(checked(endpoint, CALL, {**FINE, "faults": [fault]}))

    assert (said["tools"], said["roles in any order"], said["images"]) == ("called", "not known", "not known")
    assert said["stopped"]
    assert len(endpoint.requests()) == 2


def test_refusal_for_another_reason_says_nothing_of_the_order_and_images_are_tried(endpoint):
    refusal = {"kind": "http_error", "status": 400, "message": "Your input was flagged by moderation."}

    said = rows(checked(endpoint, CALL, {**FINE, "faults": [refusal]}))

    assert (said["roles in any order"], said["images"]) == ("not known", "accepted")


@pytest.mark.spec("product 33")
@pytest.mark.parametrize(
    ("answer", "fields", "family", "starts", "differing"),
    [
        ("[THINK]Why?[/THINK]5", {}, "mistral", "no", ["thinking format"]),
        ("[THINK]Why?[/THINK]5", {"thinking_format": "mistral"}, "mistral", "no", []),
        ("[THINK]Why?[/THINK]5", {"thinking_format": "cohere"}, "mistral", "no", ["thinking format"]),
        ("Why?[/THINK]5", {"thinking_format": "mistral"}, "mistral", "yes", ["starts in reasoning"]),
        ("Why?</think>5", {}, "no marks of a family", "yes", ["starts in reasoning"]),
        ("Why?</think>5", {"thinking_format": "opened-think"}, "no marks of a family", "yes", []),
        ("<think>Why?</think>5", {}, "no marks of a family", "no", []),
        ("5", {}, "no marks of a family", "no", []),
    ],
)
def test_marks_of_thoughts_are_found(endpoint, answer, fields, family, starts, differing):
    make_profile("p", base_url=endpoint.base_url, model="plain-model", takes_images=True, **fields)

    said = checked(endpoint, {"content": answer}, model="p")

    assert (rows(said)["thinking format"], rows(said)["starts in reasoning"]) == (family, starts)
    assert marked(said) == differing


@pytest.mark.spec("product 39")
def test_call_that_is_written_as_text_is_reported(endpoint):
    said = checked(endpoint, {"content": '<tool_call>{"name": "add", "arguments": {"a": 2, "b": 3}}</tool_call>'})

    assert rows(said)["tools"] == "called as text: no parser"
    assert "tools" in marked(said)


@pytest.mark.parametrize(
    ("fields", "differing"), [({"takes_tools": True}, ["tools"]), ({"takes_tools": False}, []), ({}, ["tools"])]
)
def test_tools_are_compared_with_what_requests_to_the_model_offer(endpoint, fields, differing):
    make_profile("p", base_url=endpoint.base_url, model="plain-model", takes_images=True, **fields)

    assert marked(checked(endpoint, model="p", refuses_tools=True)) == differing


@pytest.mark.spec("product 23")
def test_limit_of_the_listing_is_found(endpoint):
    make_profile("p", base_url=endpoint.base_url, model="plain-model", context_limit=9_000, takes_images=True)

    listed = checked(endpoint, model="p", context_limit=8_000, lists_limit=True)

    assert rows(listed)["context limit"] == "8000"
    assert marked(listed) == ["context limit"]
    assert marked(checked(endpoint, model="p", context_limit=10_000, lists_limit=True)) == []


@pytest.mark.spec("product 23")
def test_limit_that_a_refusal_stated_is_found(endpoint):
    make_profile("p", base_url=endpoint.base_url, model="plain-model", takes_images=True)
    overflow = {"kind": "context_overflow", "wording": 0}

    said = checked(endpoint, CALL, {**FINE, "faults": [overflow]}, model="p")

    assert rows(said)["context limit"] == "8192"
    assert rows(said)["roles in any order"] == "not known"


def offered(page: str) -> dict[str, str]:
    """Return what the page of a test offers to store."""
    boxes = lxml.html.fromstring(page).xpath("//input[@type='checkbox' and @form='found']")
    return {box.name: box.get("value") for box in boxes if box.checked}


@pytest.fixture
def staff_client(client):
    client.force_login(make_user("root", is_staff=True, is_superuser=True))
    return client


def test_staff_test_a_profile_in_the_admin(endpoint, staff_client):
    profile = make_profile("local", base_url=endpoint.base_url, model="plain-model")
    address = f"/admin/chat/modelprofile/{profile.pk}/test/"
    fault = {"kind": "http_error", "status": 401}
    endpoint.script([{"reasoning": "Add them.", **CALL}, FINE, FINE, {**FINE, "faults": [fault]}])

    assert "Test connection" in staff_client.get(f"/admin/chat/modelprofile/{profile.pk}/change/").content.decode()
    assert staff_client.get(address).status_code == 405
    found = staff_client.post(address).content.decode()
    failed = staff_client.post(address).content.decode()

    assert "field reasoning_content" in found
    assert offered(found) == {"takes_tools": "True", "takes_images": "True"}
    assert "errornote" in failed
    assert offered(failed) == {}


def test_what_a_test_found_is_stored_by_a_click_alone(endpoint, staff_client):
    profile = make_profile(
        "local", base_url=endpoint.base_url, model="plain-model", dialect="kimi", context_limit=9_000
    )
    before = ModelProfile.objects.values().get()
    address = f"/admin/chat/modelprofile/{profile.pk}/test/"
    knobs = {"refuses_tools": True, "refuses_images": True, "context_limit": 8_000, "lists_limit": True}
    endpoint.script([{"content": "Why?[/THINK]5"}, FINE], knobs=knobs)

    found = offered(staff_client.post(address).content.decode())
    assert ModelProfile.objects.values().get() == before
    stored = staff_client.post(f"{address}store/", found, follow=True)

    profile.refresh_from_db()
    assert (profile.takes_tools, profile.takes_images, profile.context_limit) == (False, False, 8_000)
    assert (profile.thinking_format, profile.starts_in_reasoning, profile.dialect) == ("mistral", True, "kimi")
    assert "Stored: " in stored.content.decode()
    endpoint.script([{"content": "Why?[/THINK]5"}, FINE], knobs=knobs)
    assert offered(staff_client.post(address).content.decode()) == {}


def test_known_dialect_is_offered_in_place_of_another(endpoint, staff_client):
    profile = make_profile("k", base_url=endpoint.base_url, model="kimi-k2.6", dialect="glm")
    endpoint.script([CALL, {**FINE, "repeat": True}])

    found = offered(staff_client.post(f"/admin/chat/modelprofile/{profile.pk}/test/").content.decode())

    assert found["dialect"] == "kimi"


@pytest.mark.parametrize(
    ("posted", "stored"),
    [
        ({"takes_tools": "False"}, {"takes_tools": False}),
        ({}, {}),
        ({"thinking_format": "nonsense", "takes_tools": "True"}, {}),
        ({"dialect": "nonsense"}, {}),
        ({"context_limit": "12"}, {}),
        ({"base_url": "http://10.0.0.1/v1", "api_key_env": "SECRET_KEY", "is_default": "on"}, {}),
    ],
)
def test_only_valid_findings_are_stored(staff_client, posted, stored):
    profile = make_profile("local")
    before = ModelProfile.objects.values().get()

    answer = staff_client.post(f"/admin/chat/modelprofile/{profile.pk}/test/store/", posted)

    assert answer.status_code == 302
    assert ModelProfile.objects.values().get() == before | stored


def test_test_and_store_are_for_people_who_may_change_the_profile(client, settings):
    settings.DEMO_PASSWORD = "demo-password-1"
    people = ensure_users()
    profile = make_profile("local")
    addresses = [f"/admin/chat/modelprofile/{profile.pk}/test/{end}" for end in ("", "store/")]
    strict = Client(enforce_csrf_checks=True)

    for name, code in (("sam", 302), ("demo", 302)):
        client.force_login(people[name])
        assert client.post(addresses[1], {"takes_tools": "True"}).status_code == code
    client.force_login(make_user("viewer", is_staff=True))
    strict.force_login(people["sam"])

    assert [client.post(address).status_code for address in addresses] == [403, 403]
    assert [client.get(address).status_code for address in addresses] == [405, 405]
    assert [strict.post(address).status_code for address in addresses] == [403, 403]


def test_report_is_in_the_language_of_the_viewer(endpoint, staff_client):
    profile = make_profile("local", base_url=endpoint.base_url, model="plain-model")
    endpoint.script([CALL, FINE, FINE])
    staff_client.cookies["django_language"] = "de"

    page = staff_client.post(f"/admin/chat/modelprofile/{profile.pk}/test/").content.decode()

    assert "Systemnachricht" in page
    assert "system message" not in page
