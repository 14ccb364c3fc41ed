"""What operators see of a process: the figures of ``GET /metrics``, traces, and the ids of log lines."""
