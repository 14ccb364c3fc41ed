"""Static files out of memory: a page asks for a dozen at once, and Django's own handler takes a thread for each.

A file is looked up and packed once, and read again when it has changed. Other methods than GET are left to Django's
handler.
"""

from __future__ import annotations

import gzip
import mimetypes
import posixpath
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.contrib.staticfiles.finders import find
from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler
from django.core.exceptions import SuspiciousFileOperation
from django.utils.http import http_date
from django.views.static import was_modified_since

Headers = list[tuple[bytes, bytes]]
_NOT_FOUND: tuple[int, Headers, bytes] = (404, [(b"Content-Type", b"text/plain")], b"Not found")
_PACKED = ("text/", "application/javascript", "application/json", "image/svg+xml")


@dataclass(frozen=True, slots=True)
class Asset:
    """One file as it is sent. ``packed`` is its gzip form, empty where that saves nothing."""

    changed_ns: int
    kind: str
    content: bytes
    packed: bytes

    @classmethod
    def read(cls, path: Path, changed_ns: int) -> Asset:
        kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        content = path.read_bytes()
        packed = gzip.compress(content, 6, mtime=0) if kind.startswith(_PACKED) else b""
        return cls(changed_ns, kind, content, packed if len(packed) < len(content) else b"")

    def answer(self, asked: dict[bytes, bytes]) -> tuple[int, Headers, bytes]:
        """Return status, headers and body for a request's headers."""
        changed_s = self.changed_ns // 10**9
        headers = [
            (b"Content-Type", self.kind.encode()),
            (b"Last-Modified", http_date(changed_s).encode()),
            (b"X-Content-Type-Options", b"nosniff"),
            (b"Vary", b"Accept-Encoding"),
        ]
        if not was_modified_since(asked.get(b"if-modified-since", b"").decode("latin-1") or None, changed_s):
            return 304, headers, b""
        is_packed = self.packed and b"gzip" in asked.get(b"accept-encoding", b"")
        body = self.packed if is_packed else self.content
        encoding = [(b"Content-Encoding", b"gzip")] if is_packed else []
        return 200, [*headers, *encoding, (b"Content-Length", str(len(body)).encode())], body


class Assets(ASGIStaticFilesHandler):
    """See the module."""

    def __init__(self, application: Any) -> None:
        super().__init__(application)
        self._paths: dict[str, Path] = {}
        self._assets: dict[Path, Asset] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if not self._is_ours(scope):
            await super().__call__(scope, receive, send)
            return
        asset = self._asset(scope["path"])
        status, headers, body = asset.answer(dict(scope["headers"])) if asset else _NOT_FOUND
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _is_ours(self, scope: Any) -> bool:
        return scope["type"] == "http" and scope["method"] == "GET" and bool(self._should_handle(scope["path"]))

    def _asset(self, url: str) -> Asset | None:
        name = posixpath.normpath(self.file_path(url)).lstrip("/")
        try:
            path = self._paths.get(name) or self._find(name)
            changed_ns = path.stat().st_mtime_ns
        except (LookupError, OSError, SuspiciousFileOperation, ValueError):
            return None
        asset = self._assets.get(path)
        if asset is None or asset.changed_ns != changed_ns:
            asset = self._assets[path] = Asset.read(path, changed_ns)
        return asset

    def _find(self, name: str) -> Path:
        found = find(name)
        if not found or not Path(found).is_file():
            raise LookupError(name)
        self._paths[name] = Path(found)
        return self._paths[name]
