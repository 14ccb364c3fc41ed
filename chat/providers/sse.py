"""Server-sent events from bytes, in whatever pieces they arrive.

Promises: any cutting of the same bytes gives the same payloads; lines may end in LF, CR or CRLF; comments and other
fields are dropped; an event that never ends is refused at ``MAX_EVENT_BYTES`` instead of being collected for ever.
Works on bytes, so a code point that two pieces share needs no care.
"""

from __future__ import annotations

from chat.providers.base import ProviderError

MAX_EVENT_BYTES = 8 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"


class SSEDecoder:
    """Feed bytes, get the ``data`` of each finished event. ``finish`` hands out an event that was left open."""

    __slots__ = ("_after_carriage", "_at_start", "_data", "_held", "_tail")

    def __init__(self) -> None:
        self._tail: list[bytes] = []  # pieces of a line whose end has not come
        self._data: list[bytes] = []  # data lines of the event in progress
        self._held = 0  # bytes in both
        self._after_carriage = False  # the last piece ended in CR; an LF that comes next belongs to it
        self._at_start = True

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the payloads that ``piece`` completes. Raises ProviderError ``malformed`` past the bound."""
        if self._after_carriage and piece:
            piece = piece.removeprefix(b"\n")
            self._after_carriage = False
        payloads: list[bytes] = []
        for line in self._lines(piece):
            self._line(line, payloads)
        if self._held > MAX_EVENT_BYTES:
            raise _too_large()
        return payloads

    def finish(self) -> list[bytes]:
        """Return the payload of an event whose closing blank line never came, if there is one."""
        payloads: list[bytes] = []
        if self._tail:
            self._line(self._take_tail(), payloads)
        self._line(b"", payloads)
        return payloads

    def _lines(self, piece: bytes) -> list[bytes]:
        """Return the lines that ``piece`` completes, without their ends; keep the rest."""
        if b"\n" not in piece and b"\r" not in piece:
            self._keep(piece)
            return []
        lines = (self._take_tail() + piece).splitlines(keepends=True)
        if not lines[-1].endswith((b"\n", b"\r")):
            self._keep(lines.pop())
        else:
            self._after_carriage = lines[-1].endswith(b"\r")
        return [line.rstrip(b"\r\n") for line in lines]

    def _keep(self, piece: bytes) -> None:
        if piece:
            self._tail.append(piece)
            self._held += len(piece)

    def _take_tail(self) -> bytes:
        tail = b"".join(self._tail)
        self._tail.clear()
        self._held -= len(tail)
        return tail

    def _line(self, line: bytes, payloads: list[bytes]) -> None:
        if self._at_start:
            line = line.removeprefix(_BOM)
            self._at_start = False
        if line:
            self._field(line)
        elif self._data:
            payloads.append(b"\n".join(self._data))
            self._held -= sum(map(len, self._data))
            self._data.clear()

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name != b"data":
            return
        self._data.append(value.removeprefix(b" "))
        self._held += len(self._data[-1])
        if self._held > MAX_EVENT_BYTES:
            raise _too_large()


def _too_large() -> ProviderError:
    message = "The model service sent one event of more than 8 MiB, which is not a chat answer."
    return ProviderError("malformed", message, retryable=False)
