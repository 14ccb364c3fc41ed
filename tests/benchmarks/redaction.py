"""What redaction costs: steps, traces, texts whole and streamed, hostile texts: `redaction`.

A typical step has ten arguments, a secret and a person's address among them. Times of a step are the 95th percentile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from reasoning.redaction import SECRETS_ONLY, RedactionPolicy, StreamRedactor, redact_args, redact_text, redact_trace
from tests.benchmarks.figures import Figure, best_seconds, load, show
from tests.benchmarks.texts import answer, pieces, trace

_MS, _US = 1e3, 1e6
_SIZE = 6  # characters in a delta, about a token
_SNIPPET = 240  # characters
_KB = 1024
_HOSTILE_CHARS = 100 * _KB
_HOSTILE = ("a", "A", "1", "-", ".", "@", "=", ":", "/", "\\", '"', "'", "<", "%", "&", "+", "_", " ", "\n", "é", "密")
_HOSTILE_RUNS = (
    *("sk-", "a.", "1-", "x=", "password ", "://", "eyJ", "-----BEGIN ", "a@", "1.1.", "\\\\", "key=", "4111 ", "AB "),
    *("the key for ", "password: '", "seed phrase a b ", "| password |\n", "Cookie: a=b;\n", "-u "),
)


def measure(
    *, steps: int = 20, chars: int = 4 * _KB, hostile_chars: int = _HOSTILE_CHARS, rounds: int = 5
) -> list[Figure]:
    """Return the figures for a trace of ``steps`` steps, a text of ``chars``, and hostile text of ``hostile_chars``."""
    done = trace(steps)
    arguments = [step["args"] for step in done]
    unlike = _unlike(done)
    whole_trace, differing, again = best_seconds(
        lambda: redact_trace(done),
        lambda: redact_trace(unlike),
        lambda: redact_trace(redact_trace(done)),
        rounds=rounds,
    )
    return [
        Figure("arguments of a typical step, p95", _p95(arguments, redact_args, rounds) * _MS, "ms", aim=1),
        Figure(f"trace of {steps} steps", whole_trace * _MS, "ms", aim=10),
        Figure("  with no snippet twice", differing * _MS, "ms", aim=10, ratio=differing / whole_trace, beside="alike"),
        Figure("  twice over", again * _MS, "ms", ratio=again / whole_trace, beside="once"),
        *_texts(answer(chars), rounds),
        *_hostile(hostile_chars),
    ]


def _unlike(steps: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the steps with other words in every snippet: what a trace repeats is redacted once."""
    snippets = iter(pieces(answer(len(steps) * 3 * _SNIPPET), _SNIPPET))
    return [
        {**step, "topCitations": [{**cited, "snippet": next(snippets)} for cited in step["topCitations"]]}
        for step in steps
    ]


def _texts(text: str, rounds: int) -> list[Figure]:
    name = f"{len(text) / _KB:g} KB"
    deltas = pieces(text, _SIZE)
    whole, streamed, secrets = best_seconds(
        lambda: redact_text(text), _stream(deltas), _stream(deltas, SECRETS_ONLY), rounds=rounds
    )
    return [
        Figure(f"text of {name}, whole", whole * _MS, "ms"),
        Figure("  in deltas of 6 characters", streamed * _MS, "ms", ratio=streamed / whole, beside="whole"),
        Figure("  a delta", streamed / len(deltas) * _US, "µs", aim=18),
        Figure("  a delta of an answer, secrets alone", secrets / len(deltas) * _US, "µs", aim=18),
    ]


def _hostile(chars: int) -> list[Figure]:
    runs = [(run * (chars // len(run) + 1))[:chars] for run in (*_HOSTILE, *_HOSTILE_RUNS)]
    costs = [best_seconds(partial(redact_text, text), rounds=1)[0] for text in runs]
    worst = max(range(len(runs)), key=costs.__getitem__)
    name = f"worst {chars / _KB:g} KB of one run: {runs[worst][:12].rstrip()!r}…"
    return [Figure(name, costs[worst] * _MS, "ms", aim=50)]


def _stream(deltas: Sequence[str], policy: RedactionPolicy | None = None) -> Callable[[], None]:
    def run() -> None:
        redactor = StreamRedactor(policy) if policy else StreamRedactor()
        for delta in deltas:
            redactor.feed(delta)
        redactor.flush()

    return run


def _p95(values: Sequence[object], work: Callable[[object], object], rounds: int) -> float:
    times: list[float] = []
    for value in list(values) * rounds:
        start = time.process_time()
        work(value)
        times.append(time.process_time() - start)
    return sorted(times)[int(len(times) * 0.95)]


if __name__ == "__main__":
    show("Redaction", measure(), load())
