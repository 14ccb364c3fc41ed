"""One answer from question to end: queue, start, run, tools, retry, finish, recover."""
