"""What this process reports at ``GET /metrics``: every figure, with its labels. Numbers and our own short words.

A label takes few values, all of them known to the code or to staff: never a text, a name or an id of a user. Figures
change where a turn, a request or a page ends, never for a token. The import is cheap and needs no framework.
"""

from __future__ import annotations

import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector
from prometheus_client import disable_created_metrics as leave_out_times_of_creation

leave_out_times_of_creation()  # they would double the lines, and Prometheus reads them from few
REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)  # memory, processor time, open files, and when the process started
STARTED_AT = time.time()
MAX_HOSTS = 50  # of model services; staff may change addresses for as long as a process runs
_FIRST_WORD_S = (0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 180)
_TURN_S = (1, 2, 5, 10, 20, 40, 60, 120, 300, 600, 1200, 1800)


def _counter(name: str, about: str, *labels: str) -> Counter:
    return Counter(name, about, labels, namespace="legible", registry=REGISTRY)


def _gauge(name: str, about: str, *labels: str) -> Gauge:
    return Gauge(name, about, labels, namespace="legible", registry=REGISTRY)


def _histogram(name: str, about: str, buckets: tuple[float, ...]) -> Histogram:
    return Histogram(name, about, buckets=buckets, namespace="legible", unit="seconds", registry=REGISTRY)


BUILD = Info("build", "The version that runs.", namespace="legible", registry=REGISTRY)

TURNS_RUNNING = _gauge("turns_running", "Turns that this process runs, so the leases that it holds.")
TURN_ENDS = _counter("turn_ends", "Turns that this process ended, by status and by error code.", "status", "code")
FIRST_WORD = _histogram("turn_first_word", "Time from the start of a turn to its first word.", _FIRST_WORD_S)
TURN_TIME = _histogram("turn_duration", "Time that turns took, with their tools.", _TURN_S)
TOKENS = _counter("tokens", "Tokens that model services reported; cached and reasoning are parts of others.", "kind")
TOOL_CALLS = _counter("tool_calls", "Tool calls of turns that ended.")
REDACTIONS = _counter("redactions", "Places masked in answers, thinking and traces, by kind.", "kind")
LEAKS = _counter("leaks_stopped", "What a guard removed before anybody saw it.", "guard")

MODEL_REQUESTS = _counter("model_requests", "Requests to model services, by their end.", "host", "code")
MODEL_SUCCESS = _gauge("model_last_success_timestamp_seconds", "When a service last answered this process.", "host")
MODEL_FAILURE = _gauge("model_last_failure_timestamp_seconds", "When a service last failed this process.", "host")

LEASES_TAKEN_OVER = _counter("leases_taken_over", "Turns of other processes, dead or silent, that this one ended.")
LEASES_LOST = _counter("leases_lost", "Turns of this process that another one took over.")
REFUSALS = _counter("refusals", "What was refused because somebody had too much of it.", "reason")
PAGES = _counter("pages", "Pages that cost much: drawn, or refused since too many were drawn at once.", "outcome")
SOCKETS_OPEN = _gauge("sockets_open", "Conversation pages whose socket this process serves.")
EVENT_STREAMS_OPEN = _gauge("event_streams_open", "Responses of server-sent events that are being written.")
DATABASE_ERRORS = _counter("database_errors", "Failures because the database was unavailable.", "during")

# Of all processes together: read from the database when they are asked for.
DATABASE_UP = _gauge("database_up", "1 where the database answers.")
DATABASE_TURNS = _gauge("database_turns_running", "Turns that run, in all processes.")
DATABASE_PROCESSES = _gauge("database_processes_running_turns", "Processes that run a turn.")
DATABASE_MESSAGES = _gauge("database_messages_queued", "Messages that wait for a turn, or for their user.", "state")

_hosts: set[str] = set()


def count_refusal(door: str, **_signal: object) -> None:
    """Count an attempt that a limit refused. Receiver of ``accounts.access.attempts.refused``."""
    REFUSALS.labels(door).inc()


def note_model_request(host: str, code: str, *, has_answered: bool | None) -> None:
    """Count a request to a model service. ``has_answered``: None where the request was given up without an end."""
    if len(_hosts) < MAX_HOSTS:
        _hosts.add(host)
    host = host if host in _hosts else "other"
    MODEL_REQUESTS.labels(host, code).inc()
    if has_answered is not None:
        (MODEL_SUCCESS if has_answered else MODEL_FAILURE).labels(host).set_to_current_time()
