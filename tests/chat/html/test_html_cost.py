"""Rendering takes bounded time: counted before it is parsed, done in a process that can be ended, and only so much."""

import asyncio
import os
import random
import signal
import threading
from multiprocessing import Pipe
from unittest.mock import Mock

import pytest
from channels.db import database_sync_to_async

from chat import processes
from chat.html import BlockSplitter, render, render_markdown
from chat.html.cost import MAX_ANSWER_CHARS, is_heavy, is_too_dense
from chat.models import StoredCard
from tests.chat.asking import ask
from tests.chat.html_reader import faults, read, tags, words
from tests.factories import make_conversation

SIZE = 64_000
HOSTILE = {
    "quotes between table rows": "|a|b|\n>> \n",
    "quotes between paragraphs": "$5\n>###### \n",
    "quotes in a list": "- > a\n- b\n",
    "deep quotes": ">>>>> a\nb\n",
    "list items": "- a\n",
    "formulas": "$x^2$ ",
    "table": "|a|b|\n|-|-|\n",
    "addresses": "<a@b.cd>",
    "emphasis": "***a ",
    "brackets": "[a](",
    "entities": "&amp;",
    "escapes": "\\*",
    "html": "<b>",
    "markers": "[1, 2] ",
}
QUICK = ("quotes between table rows", "formulas", "emphasis", "html")
TABLE = "| a | b | c |\n|---|---|---|\n" + "| 1 | 2 | 3 |\n" * 500
# Its marks hide nothing: it is rendered in a process for its size alone.
LONG = "word " * 4_000
ATOMS = r"""
> >> >>> - * + 1. 1) # --- === *** ``` ~~~ ` `` _ __ ** ~~ [ ] ]( ](a) ![ [a](https://a.example) ( ) < > <a <b> <!--
<http://a.example> & &amp; &# \ \\ \( \) \[ \] $ $$ $x$ \frac{ { } ^ _ a 1 $5 “ ” " ' [1] | |- |a|b| |-|-|
""".split()


class SlowProcess:
    """Stands in for the processes: works until it is ended."""

    def __init__(self) -> None:
        self.started, self.ended = threading.Event(), threading.Event()

    def __call__(self, *_args: object) -> str:
        self.started.set()
        assert self.ended.wait(60)
        raise processes.RenderTimeoutError


def kill_oneself() -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


@pytest.fixture(autouse=True)
def _no_cache():
    render.render_block.cache_clear()
    yield
    render.render_block.cache_clear()


@pytest.fixture
def _end_processes():
    yield
    for each in list(processes.BLOCKS.queue):
        each.stop()


@pytest.mark.usefixtures("_end_processes")
@pytest.mark.parametrize(
    "unit",
    [pytest.param(unit, id=name, marks=[] if name in QUICK else pytest.mark.slow) for name, unit in HOSTILE.items()],
)
def test_hostile_block_is_text_in_time(unit):
    text = unit * (SIZE // len(unit))

    html = render_markdown(text)

    assert not list(faults(html))
    assert words(html)


@pytest.mark.parametrize("unit", [unit for name, unit in HOSTILE.items() if name.startswith(("quotes", "deep"))])
def test_quotes_are_counted_before_they_are_parsed(unit):
    assert is_too_dense(unit * (SIZE // len(unit)))
    assert tags(render_markdown(unit * (SIZE // len(unit)))) == ["p"]


@pytest.mark.parametrize(
    "text",
    [
        "> a line of a letter that is quoted\n" * 900,
        "```\n" + ">>> f(x)\n1\n" * 60 + "```\n",
        TABLE,
        LONG,
        "- a\n" * 900,
    ],
)
def test_long_ordinary_block_is_not_too_dense(text):
    assert not is_too_dense(text)


def test_splitter_does_not_parse_what_is_too_dense():
    splitter = BlockSplitter()

    blocks = splitter.feed("|a|b|\n>> \n" * 6_000 + "\nx\n\ny\n\nz\n")

    assert blocks[1] == "x\n\n"


@pytest.mark.usefixtures("_end_processes")
class TestProcess:
    def test_heavy_block_is_rendered_as_any_other(self):
        assert is_heavy(TABLE)

        html = render_markdown(TABLE)

        assert html == render.render_markup(TABLE, render.EMPTY, "en")
        assert tags(html).count("tr") == 501

    @pytest.mark.slow
    def test_block_that_takes_too_long_is_plain_text(self, monkeypatch):
        monkeypatch.setattr(processes, "TIME_LIMIT_S", 0.001)

        html = render_markdown(f"*One*\n\n{TABLE}\n\n*Two*\n")

        assert [tag for tag, _ in read(html)] == ["p", "em", "p", "p", "em"]
        assert "| 1 | 2 | 3 |" in html

        monkeypatch.undo()
        render.render_block.cache_clear()
        assert "table" in tags(render_markdown(TABLE))

    @pytest.mark.slow
    def test_block_whose_process_is_killed_is_plain_text(self):
        worker = processes.RenderProcess()
        assert worker.run(render.render_markup, TABLE, render.EMPTY, "en")

        with pytest.raises(processes.RenderTimeoutError):
            worker.run(kill_oneself)

        assert worker.run(render.render_markup, "*a*", render.EMPTY, "en") == '<p dir="auto"><em>a</em></p>\n'
        worker.stop()

    def test_process_works_where_its_priority_may_not_be_changed(self, monkeypatch):
        """As under a filter of system calls that refuses to."""
        monkeypatch.setattr(os, "nice", Mock(side_effect=PermissionError))
        ours, theirs = Pipe()
        received = []

        def ask() -> None:
            with ours:
                ours.send((len, ("abc",), 3.0))
                received.append(ours.recv())

        asking = threading.Thread(target=ask)
        asking.start()
        with theirs:
            processes.serve(theirs, 0)
        asking.join()

        assert received == [3]

    def test_ordinary_answers_start_no_process(self, monkeypatch):
        started = []
        monkeypatch.setattr(render, "run_in_process", lambda *call: started.append(call))

        render_markdown("# A\n\n" + "A *word* and **more**, `code` and [1].\n\n- a\n- b\n\n" * 100 + TABLE[:1_500])

        assert started == []


@pytest.mark.slow
def test_rest_of_a_very_long_answer_is_plain_text():
    text = "A *word*.\n\n" * (2 * MAX_ANSWER_CHARS // 11)

    html = render_markdown(text)

    assert html.startswith('<p dir="auto">A <em>word</em>.</p>')
    assert html.endswith("A *word*.\n\n</p>\n")
    assert words(html).count("word") == text.count("word")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("_end_processes")
def test_generated_texts_render_in_time():
    """Repeat random constructs at sizes where a quadratic rule would run for minutes."""
    chance = random.Random(20)  # noqa: S311  # reproducible
    for _round in range(100):
        pieces = chance.choices(ATOMS, k=chance.randint(1, 4))
        unit = chance.choice(["", " "]).join(pieces) + chance.choice(["", " ", "\n", "\n", "\n\n"])
        text = chance.choice(["", "a\n", "- ", "> ", "|a|b|\n|-|-|\n"]) + unit * (16_000 // len(unit))
        assert words(render_markdown(text)) or not text.strip()


@pytest.mark.slow
@pytest.mark.usefixtures("_end_processes")
@pytest.mark.django_db(transaction=True)
async def test_hostile_answers_do_not_hold_up_another_user(upstream, conversation, bob, monkeypatch):
    slow = SlowProcess()
    monkeypatch.setattr(render, "run_in_process", slow)
    upstream.script([*[{"content": f"{TABLE}\n\nx\n\ny\n\n"}] * 2, {"content": "Short. " * 60}])
    other = await database_sync_to_async(make_conversation)(owner=conversation.owner)
    of_bob = await database_sync_to_async(make_conversation)(owner=bob)
    hostile = [asyncio.create_task(ask(each)) for each in (conversation, other)]
    await asyncio.to_thread(slow.started.wait, 30)
    while len(upstream.requests()) < 2:  # noqa: ASYNC110 - no event for it
        await asyncio.sleep(0.02)

    turn = await ask(of_bob)

    assert not any(task.done() for task in hostile)
    card = await StoredCard.objects.aget(turn=turn)
    assert "Short." in card.answer_html["en"]
    slow.ended.set()
    await asyncio.gather(*hostile)
