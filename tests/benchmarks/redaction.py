"""What redaction costs: arguments, traces, texts, streams, hostile texts: ``python -m tests.benchmarks.redaction``."""

from collections.abc import Callable, Sequence

from reasoning.redaction import (
    DEFAULT,
    SECRETS_ONLY,
    RedactionPolicy,
    StreamRedactor,
    redact_args,
    redact_text,
    redact_trace,
)
from tests.benchmarks.helpers import KB, MS, US, Figure, answer, best_seconds, pieces, show, trace

# Characters that many rules begin with, and names that announce a secret again and again.
_HOSTILE = (
    *("a", "A", "1", "-", ".", "@", "=", ":", "/", "\\", '"', "<", "%", "&", "_", " ", "\n", "é", "密"),
    *("sk-", "1-", "password ", "://", "eyJ", "-----BEGIN ", "a@", "\\\\", "key=", "4111 ", "AB ", "-u "),
    *("the key for ", "password: '", "seed phrase a b ", "| password |\n", "Cookie: a=b;\n"),
)


def measure(*, steps: int = 20, chars: int = 4 * KB, hostile_chars: int = 100 * KB, rounds: int = 5) -> list[Figure]:
    """Return the figures for a trace of ``steps`` steps, a text of ``chars``, and hostile text of ``hostile_chars``."""
    done = trace(steps)
    text = answer(chars)
    deltas = pieces(text, 6)
    args, whole_trace, whole, streamed, secrets = best_seconds(
        lambda: redact_args(done[0]["args"]),
        lambda: redact_trace(done),
        lambda: redact_text(text),
        stream(deltas, DEFAULT),
        stream(deltas, SECRETS_ONLY),
        rounds=rounds,
    )
    floods = [(unit * (hostile_chars // len(unit) + 1))[:hostile_chars] for unit in _HOSTILE]
    costs = [best_seconds(lambda flood=flood: redact_text(flood), rounds=1)[0] for flood in floods]
    worst = max(range(len(floods)), key=costs.__getitem__)
    return [
        Figure("ten arguments", args * MS, "ms", aim=1),
        Figure(f"trace of {steps} steps", whole_trace * MS, "ms", aim=10),
        Figure(f"text of {chars / KB:g} KB, whole", whole * MS, "ms"),
        Figure("  in deltas of 6 characters", streamed * MS, "ms", ratio=streamed / whole, beside="whole"),
        Figure("  a delta", streamed / len(deltas) * US, "µs", aim=18),
        Figure("  a delta of an answer, secrets alone", secrets / len(deltas) * US, "µs", aim=18),
        Figure(f"worst {hostile_chars / KB:g} KB: {_HOSTILE[worst]!r} again and again", costs[worst] * MS, "ms"),
    ]


def stream(deltas: Sequence[str], policy: RedactionPolicy) -> Callable[[], None]:
    def run() -> None:
        redactor = StreamRedactor(policy)
        for delta in deltas:
            redactor.feed(delta)
        redactor.flush()

    return run


if __name__ == "__main__":
    show("Redaction", measure())
