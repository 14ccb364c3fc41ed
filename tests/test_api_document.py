"""docs/api.md says what the API does: its addresses, methods, codes and fields exist, and its example runs."""

import re
import subprocess
from pathlib import Path
from typing import get_args

import pytest

from chat.api.urls import ENDPOINTS
from chat.providers.base import Code
from config.settings import env
from reasoning.envelope import FINISH_REASON_OF_CODE, FINISH_REASON_OF_STATUS, AnswerRecord, envelope
from reasoning.visibility import Visibility
from tests.server import running_server

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs/api.md").read_text(encoding="utf-8")
PARAMETERS = {
    "<id>": "<id:conversation_id>",
    "<turn>": "<id:turn_id>",
    "<call>": "<str:call_id>",
    "<collection>": "<id:collection_id>",
    "<document>": "<id:document_id>",
}
ID = "7b0e8f2a-0000-4000-8000-000000000000"
# of pages alone: what they raise is shown to people
PAGE_CODES = {
    "invalid_action",
    "invalid_import",
    "not_queued",
    "unknown_attachment",
    "invalid_command",
    "invalid_profile",
    "not_newest",
    "not_selected",
    "nothing_to_continue",
    "queue_full",
}


def section(heading: str) -> str:
    return PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def first_cells(heading: str, head: str) -> list[str]:
    """Return the codes in the first column of the table of a section whose head begins like this."""
    table = section(heading).partition(f"\n| {head}")[2].partition("\n\n")[0]
    return re.findall(r"^\| `([^`]+)`", table, re.MULTILINE)


def sources(*folders: str) -> str:
    files = (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))
    return "".join(path.read_text(encoding="utf-8") for path in files)


def test_every_error_code_is_documented_and_exists():
    text = sources("chat", "accounts")
    by_status = re.findall(r"ApiError\(\s*\d+,\s*\"(\w+)\"|InvalidInputError\(\s*\"(\w+)\"", text)
    in_form = re.findall(r"\"code\": \"(\w+)\"", sources("chat/api"))
    of_documents = re.findall(r"refusal\(\"(\w+)\"", sources("chat/documents"))
    raised = {code for pair in by_status for code in pair if code} | {*in_form, *of_documents}

    assert len(raised) > 20
    assert set(re.findall(r"^\| \d{3} \| `(\w+)`", section("Errors"), re.MULTILINE)) == raised - PAGE_CODES


def test_every_error_of_a_turn_is_documented_and_exists():
    of_turn = set(re.findall(r"\"error_code\": \"(\w+)\"", sources("chat/turns")))

    assert set(first_cells("The envelope", "`error.code`")) == set(get_args(Code)) | of_turn


def test_every_reason_and_status_is_documented():
    reasons = first_cells("The envelope", "`finishReason` | `status`")

    assert set(reasons) == {*FINISH_REASON_OF_STATUS.values(), *FINISH_REASON_OF_CODE.values()}


def test_settings_that_the_page_names_are_read():
    named = set(re.findall(r"`([A-Z]+_[A-Z_]+)[`=]", PAGE))

    assert named <= {variable.name for variable in env.variables}
    assert "MAX_CONCURRENT_TURNS" in named


def test_every_field_of_the_envelope_is_documented():
    record = AnswerRecord(
        id="t", status="error", finish_reason="error", model="", answer="", summary=(), summary_source="", trace=(),
        citations=(), thinking_tokens=0, input_tokens=None, output_tokens=None, reasoning_tokens=None,
    )  # fmt: skip
    form = envelope(record, Visibility(scratchpad=True), thinking={}, scratchpad="")

    assert set(first_cells("The envelope", "field")) == {*form, "error", "comparedWith"}


def test_every_address_is_documented_with_its_methods(client, db):
    methods = {}
    for method, address in re.findall(r"^\| `([A-Z]+) (/api/[^`]*)`", section("Endpoints"), re.MULTILINE):
        methods.setdefault(address, set()).add(method)
    addresses = {f"/api/{address}/" for address, _view, _name in ENDPOINTS}

    assert {re.sub("<.*?>", lambda found: PARAMETERS[found[0]], address) for address in methods} == addresses
    for address in methods:
        allowed = client.options(re.sub("<.*?>", ID, address))["Allow"].split(", ")
        assert set(allowed) - {"HEAD", "OPTIONS"} == methods[address]


@pytest.fixture
def site(tmp_path):
    with running_server(tmp_path) as running:
        yield running


@pytest.mark.slow
def test_example_runs_as_it_is_written(site, tmp_path):
    [script] = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    token = re.search(r"lgb_\S+", site.manage("create_token", "demo"))
    assert token
    environment = {"PATH": site.environment["PATH"], "BASE": site.base_url, "TOKEN": token[0]}

    done = subprocess.run(  # noqa: S603 - our own page
        ["/bin/bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    answer, reason, layers = done.stdout.rsplit("\n", 3)[:3]
    assert answer
    assert (reason, "'reasoning.effort': 'conversation'" in layers) == ("stop", True)
    assert (tmp_path / "events.txt").read_text().count("\nevent: done\n") == 1
