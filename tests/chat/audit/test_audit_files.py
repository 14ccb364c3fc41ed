"""The audit of files: logs, and a database's own file with what lies beside it."""

import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from chat.audit.scan import CHUNK_BYTES, scan_file

CANARY = "heron “violet” 4471"


def found(path: Path, *canaries: str) -> list[str]:
    return [str(finding).removeprefix(str(path)).strip() for finding in scan_file(path, canaries)]


def test_clean_file_has_no_findings(tmp_path):
    file = tmp_path / "site.log"
    file.write_text('{"message": "turn ended", "thinking_ms": 12, "html": "<p>scratchpad</p>"}\n')

    assert found(file, CANARY) == []


@pytest.mark.spec("004 scratchpad")
def test_delimiters_and_canaries_are_located_by_byte(tmp_path):
    file = tmp_path / "site.log"
    file.write_bytes(f"\xff ab</THINK>\n<scratchpad>{CANARY}".encode())

    assert found(file, CANARY) == ["byte 5: delimiter", "byte 14: scratchpad", "byte 26: canary"]


@pytest.mark.parametrize("is_ascii", [True, False])
def test_canary_is_found_as_json_writes_it(tmp_path, is_ascii):
    file = tmp_path / "site.log"
    file.write_text(json.dumps({"message": f'"{CANARY}"'}, ensure_ascii=is_ascii), encoding="utf-8")

    assert len(found(file, f'"{CANARY}"')) == 1


@pytest.mark.parametrize(
    "place", [*(CHUNK_BYTES - before for before in (40, 31, 20, 11, 8, 0)), 2 * CHUNK_BYTES - 1, 2 * CHUNK_BYTES - 15]
)
def test_nothing_is_missed_or_reported_twice_at_chunk_boundaries(tmp_path, place):
    file = tmp_path / "large"
    file.write_bytes(b"x" * place + b"<thinking>" + CANARY.encode() + b"x" * CHUNK_BYTES)

    assert sorted(found(file, CANARY)) == sorted([f"byte {place}: delimiter", f"byte {place + 10}: canary"])


def test_write_ahead_log_is_searched_too(tmp_path):
    file = tmp_path / "site.sqlite3"
    file.write_bytes(b"SQLite format 3\x00")
    (tmp_path / "site.sqlite3-wal").write_bytes(b"\x00\x00</think>\x00")

    assert found(file) == ["-wal byte 2: delimiter"]


@pytest.mark.django_db
def test_command_searches_the_files_that_are_named(tmp_path, capsys):
    clean, dirty = tmp_path / "clean.log", tmp_path / "dirty.log"
    clean.write_text("nothing")
    dirty.write_text(f"so {CANARY}")

    call_command("audit_storage", "--canary", CANARY, "--file", str(clean))
    with pytest.raises(SystemExit) as ended:
        call_command("audit_storage", "--canary", CANARY, "--file", str(clean), str(dirty))

    assert ended.value.code == 1
    said = capsys.readouterr().out
    assert said.splitlines() == ["Nothing found.", f"{dirty} byte 3: canary", "Places found: 1."]


@pytest.mark.django_db
def test_missing_file_is_named(tmp_path):
    with pytest.raises(CommandError, match=r"gone\.log: No such file"):
        call_command("audit_storage", "--file", str(tmp_path / "gone.log"))
