"""``manage.py evaluate``: a folder with questions in, figures out, on both databases."""

import json
import os

import pytest
from django.core.management import CommandError, call_command

from chat.evaluation.questions import QuestionsError, read_questions
from chat.models import Collection, Document, Evaluation
from tests.factories import sign_in_staff

LEASE = (
    "# Lease\n\nThe lease of the Bryce site ends on 30 June 2031.\n\n# Storage\n\nThe Bryce site stores 412 pallets.\n"
)
QUESTIONS = (
    "question,document,quotation\n"
    "How many pallets does the Bryce site store?,site.md,412 pallets\n"
    "When does the lease of the Bryce site end?,site.md,30 June 2031\n"
    "Who audits the Skagen ferry terminal?,,\n"
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "site.md").write_text(LEASE)
    (tmp_path / "questions.csv").write_text(QUESTIONS)
    return tmp_path


@pytest.mark.slow
@pytest.mark.django_db
def test_a_folder_is_asked_in_databases_of_its_own_and_the_figures_are_stored(folder, capsys):
    url = os.environ.get("TEST_DATABASE_URL")

    call_command("evaluate", str(folder), **({"postgresql": url} if url else {}))

    runs = list(Evaluation.objects.order_by("pk"))
    assert [run.database for run in runs] == ["sqlite", "postgresql"][: len(runs)]
    assert len(runs) == (2 if url else 1)
    for run in runs:
        assert (run.folder, run.model) == (folder.name, "offline-analyst")
        assert (run.found, run.quoted, run.cited, run.answerable) == (2, 2, 2, 2)
        assert (run.refused, run.unanswerable, run.not_verbatim) == (1, 1, 0)
        assert 0 < run.p50_ms <= run.p95_ms
    printed = capsys.readouterr().out
    assert "found in five                          2 / 2" in printed
    assert "refused                                1 / 1" in printed
    assert not Collection.objects.exists()
    assert not Document.objects.exists()


@pytest.mark.django_db
def test_staff_see_the_runs(client):
    Evaluation.objects.create(
        folder="leases", database="sqlite", model="offline-analyst", answerable=30, found=29, quoted=27, cited=28,
        unanswerable=5, refused=4, not_verbatim=0, p50_ms=3.1, p95_ms=9.4,
    )  # fmt: skip

    sign_in_staff(client)
    page = client.get("/admin/chat/evaluation/").content.decode()

    assert all(shown in page for shown in ("leases", "29 / 30", "27 / 30", "28 / 30", "4 / 5", "9.4"))


@pytest.mark.slow
@pytest.mark.django_db
def test_a_document_that_cannot_be_read_ends_the_evaluation(folder):
    (folder / "scan.pdf").write_bytes(b"%PDF-1.4 nothing")

    with pytest.raises(CommandError, match=r"scan\.pdf was skipped"):
        call_command("evaluate", str(folder))
    assert not Evaluation.objects.exists()


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("other.txt", "", "holds no questions.csv or questions.jsonl"),
        ("questions.jsonl", "{", "can’t be read"),
        ("questions.jsonl", '"why"', "can’t be read"),
        ("questions.csv", "question,document\n,\n", "question 1 is empty"),
        ("questions.csv", "question,document\nWhy?,lease.pdf\n", "there is no file lease.pdf"),
    ],
)
def test_questions_that_cannot_be_read_say_why(tmp_path, name, content, problem):
    (tmp_path / name).write_text(content)

    with pytest.raises(QuestionsError, match=problem):
        read_questions(tmp_path)


def test_lines_of_json_are_read_too(tmp_path):
    row = {"question": "Why?", "document": None, "quotation": "because"}
    (tmp_path / "questions.jsonl").write_text(f"{json.dumps(row)}\n\n")

    (one,) = read_questions(tmp_path)

    assert (one.question, one.document, one.quotation) == ("Why?", "", "because")
