"""From a scripted reply to a whole answer, in the API of the request."""

from __future__ import annotations

from tests.contract_server.composing_chat import compose_chat
from tests.contract_server.composing_responses import compose_response
from tests.contract_server.modes import MODES
from tests.contract_server.rules.base import RESPONSES_PATH, Asked
from tests.contract_server.script import Pending
from tests.contract_server.state import State
from tests.contract_server.stream import Answer


def compose(state: State, asked: Asked, pending: Pending) -> Answer:
    """Return the reply as an answer in the request's mode, its form spoilt as its faults say; note it as issued."""
    speaks_responses = MODES[asked.mode].path == RESPONSES_PATH
    return (compose_response if speaks_responses else compose_chat)(state, asked, pending)
