"""Random histories against the contract server's rules: whatever the log contains, the next request is accepted.

Only what a person's own settings hold back may be refused where a service insists on it.
"""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reasoning.events import Reasoning
from reasoning.replay.plan import RequestTarget, plan_request
from reasoning.replay.selection import Refused
from reasoning.settings import ReasoningSettings
from replay_contract_server.ledger import account_of
from replay_contract_server.modes import MODES
from replay_contract_server.rules.base import CheckedRequest, verdict
from replay_contract_server.state import Record
from tests.chat.histories import KINDS, Kind
from tests.reasoning.egress_histories import HERE, KEY, Log, logs

TOOLS = [{"type": "function", "function": {"name": "searchFilings", "parameters": {"type": "object"}}}]
SETTINGS = st.builds(
    ReasoningSettings,
    enabled=st.booleans(),
    effort=st.sampled_from([None, "none", "low", "max"]),
    max_tokens=st.sampled_from([None, 1000]),
    include_in_context=st.sampled_from([True, True, None, False]),
    strip_from_context=st.sampled_from([None, "none", "all", "allButLast"]),
    summary=st.sampled_from([None, "auto", "none"]),
)
ROUND_TRIP = ReasoningSettings(include_in_context=True)
INSISTING = frozenset({"K1", "K3", "E1", "F1", "O1"})
OPAQUE = frozenset({"O1", "Q1"})


def target_of(kind: Kind) -> RequestTarget:
    api = "responses" if kind.speaks_responses else "chat"
    return RequestTarget(api=api, model=kind.model, provider=HERE, dialect=kind.dialect)


def asked(kind: Kind, log: Log, chosen: ReasoningSettings, **more: Any) -> CheckedRequest:
    """Return the next request as the service's rules see it: as it comes out of its JSON, with a prompt and tools."""
    plan = plan_request(log.events, chosen, target_of(kind), **more)
    body: dict[str, Any] = json.loads(json.dumps(plan.body))
    if plan.offers_tools:
        body["tools"] = TOOLS
    if not kind.speaks_responses:
        body["messages"] = [{"role": "system", "content": "Answer."}, *body["messages"]]
    record = Record(serial=1, path=MODES[kind.dialect].path, headers={})
    return CheckedRequest(body, account_of(KEY), kind.model, kind.dialect, log.ledger, record)


def broken_rule(request: CheckedRequest) -> tuple[str, str] | None:
    broken = verdict(MODES[request.mode].rules, request)
    return (broken[0].id, broken[1].message) if broken else None


@pytest.mark.spec("replay 10")
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@settings(suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_next_request_is_accepted_after_any_history(kind, data):
    request = asked(kind, data.draw(logs(kind.model)), ROUND_TRIP)

    assert broken_rule(request) is None
    assert request.record.lost_reasoning == []


@settings(suppress_health_check=list(HealthCheck), max_examples=4 * settings.default.max_examples)
@given(data=st.data())
def test_only_what_settings_hold_back_is_refused(data):
    kind, chosen = data.draw(st.sampled_from(list(KINDS.values()))), data.draw(SETTINGS)
    request = asked(kind, data.draw(logs(kind.model)), chosen)

    holds_back = not chosen.include_in_context or chosen.strip_from_context in ("all", "allButLast")
    allowed = INSISTING if holds_back else frozenset()
    broken = broken_rule(request)
    assert broken is None or broken[0] in allowed | ({"K0"} if chosen.effort == "none" else set())


@pytest.mark.spec("product 21")
@pytest.mark.parametrize("model", ["gpt-5-mini", "gpt-5.4", "vendor/model-a", "signed-model"])
@settings(suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_request_without_refused_items_is_accepted(model, data):
    log, border = data.draw(logs(model)), data.draw(st.integers(0, 40))
    request = asked(KINDS[model], log, ROUND_TRIP, refused=Refused(items=border))

    refused = [event.item for event in log.events if isinstance(event, Reasoning) and event.seq <= border]
    broken = broken_rule(request)
    # A step of the running turn stays without what was refused: the model would ask for its results again.
    running = next(event.seq for event in log.events if event.turn == "now")
    assert broken is None or (broken[0] in OPAQUE and border > running)
    assert not [item for item in request.body.get("input", ()) if item.get("type") == "reasoning" and item in refused]


@settings(suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_plan_depends_on_no_order_and_changes_nothing(data):
    kind = data.draw(st.sampled_from(list(KINDS.values())))
    log = data.draw(logs(kind.model))
    before, shuffled = repr(log.events), data.draw(st.permutations(log.events))

    plan = plan_request(log.events, ROUND_TRIP, target_of(kind))

    assert plan_request(shuffled, ROUND_TRIP, target_of(kind)) == plan
    assert repr(log.events) == before
    assert plan.repairs == ()
    assert plan.stored_tokens >= plan.effective_tokens
