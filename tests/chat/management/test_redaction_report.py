"""``manage.py redaction_report``: what would be masked in files, by rule, and never the masked parts."""

import pytest
from django.core.management import CommandError, call_command

TEXT = """The plan is ready.
password=hunter2hunter
Write to bob@example.com, or pay with 4111 1111 1111 1111.
-----BEGIN PRIVATE KEY-----
MIIEvQIBADANBg
-----END PRIVATE KEY-----
{"pin": 4711, "note": "the password is Maple!77tree"}
"""
SECRETS = ["hunter2", "bob@", "4111 1111", "MIIEvQ", "4711", "Maple"]


def report(capsys, tmp_path, *arguments, text=TEXT):
    path = tmp_path / "data.txt"
    path.write_text(text, encoding="utf-8")
    call_command("redaction_report", path, *arguments)
    return capsys.readouterr().out


def test_report_counts_masks_by_rule_and_shows_them_in_their_lines(capsys, tmp_path):
    shown = report(capsys, tmp_path)

    assert "data.txt: 6 masks" in shown
    assert "1 e-mail address" in shown
    assert "line 2, assignment: The plan is ready. password=[redacted] Write to b***@example.com" in shown
    assert "line 3, card number: " in shown
    assert "line 4, key block: " in shown
    assert not [secret for secret in SECRETS if secret in shown]


def test_policy_of_answers_masks_secrets_alone(capsys, tmp_path):
    shown = report(capsys, tmp_path, "--policy", "answers")

    assert "data.txt: 4 masks" in shown
    assert "bob@example.com" in shown
    assert "hunter2" not in shown


def test_each_reported_place_is_that_of_a_mask(capsys, tmp_path):
    lines = [f"row {number}: token=k{number}x9Zq4Lm2Pw7 for user{number}@example.org" for number in range(500)]

    shown = report(capsys, tmp_path, text="\n".join(lines))

    assert "data.txt: 1000 masks" in shown
    places = [line for line in shown.splitlines() if line.startswith("  line ")]
    assert [int(line.split()[1].strip(",")) for line in places] == [number // 2 + 1 for number in range(1000)]
    assert all("token=[redacted]" in line for line in places[::2])
    assert all("***@example.org" in line for line in places[1::2])


def test_file_that_cannot_be_read_is_named(tmp_path):
    image = tmp_path / "image.png"
    image.write_bytes(b"\x89PNG")

    with pytest.raises(CommandError, match=r"image\.png: not UTF-8"):
        call_command("redaction_report", image)
    with pytest.raises(CommandError, match=r"missing\.txt: No such file"):
        call_command("redaction_report", tmp_path / "missing.txt")
