"""Whatever text a frame carries, it reaches the page as text: in JSON and in markup alike."""

from __future__ import annotations

import json

import pytest

from chat.cards.view_models import ModelView
from chat.conversations.commands import CommandAnswer
from chat.models import Conversation
from chat.socket.frames import (
    command_frames,
    error_frame,
    json_frame,
    model_frame,
    queue_frame,
    title_frames,
)
from tests.chat.card_samples import HOSTILE


@pytest.mark.parametrize(
    "text", [HOSTILE, "</script><!--", '<div id="m-1" hx-swap-oob="true">', "&lt;b&gt;", "\u2028<"]
)
def test_json_frame_cannot_be_taken_for_markup(text: str) -> None:
    frame = json_frame(id="m-1-tail", n=1, text=text)

    assert not set("<>&") & set(frame)
    assert json.loads(frame)["text"] == text


def test_name_of_a_model_is_no_markup_either() -> None:
    frame = model_frame(ModelView(HOSTILE, HOSTILE, "/m/"))

    assert not set("<>&") & set(frame)
    assert json.loads(frame) == {"model": HOSTILE, "label": HOSTILE, "efforts": []}


def test_title_is_text_in_header_window_and_list() -> None:
    named, item = title_frames(Conversation(title=HOSTILE), is_new=True)

    assert "<img" not in named + item
    assert "\\u003cimg" in named
    assert "&lt;img" in item


def test_what_waits_what_is_wrong_and_what_a_command_says_is_text() -> None:
    frames = [
        queue_frame([("id", HOSTILE)]),
        error_frame(HOSTILE, HOSTILE),
        *command_frames(CommandAnswer(HOSTILE), [(HOSTILE, HOSTILE)]),
    ]

    assert ["<img" in frame for frame in frames] == [False] * 4
    assert ["&lt;img" in frame for frame in frames] == [True] * 4
