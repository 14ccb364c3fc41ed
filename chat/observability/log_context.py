"""Which request and which turn the log lines of a task are about. ``config.logs`` adds both to each line."""

from contextvars import ContextVar

request_id: ContextVar[str] = ContextVar("request_id", default="")  # of the request or socket that is being handled
turn_id: ContextVar[str] = ContextVar("turn_id", default="")  # of the turn that is running
