"""Read environment variables by a schema, and refuse a value that is not allowed with one line.

The line names the variable, its value and what is allowed; the value of a secret is never printed. ``.env`` is read
with django-environ and loses to the real environment. An empty value means the default. Contracts, Environment.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NoReturn
from urllib.parse import urlsplit

import environ  # type: ignore[import-untyped]  # it ships no types
from cryptography.fernet import Fernet

EXIT_REFUSED = 2
_READABLE_LINE = re.compile(r"\s*(#.*)?\Z|(export )?[A-Za-z_0-9]+=")
_KEY_NAME = re.compile(r"(KEY|TOKEN)\Z")
_DATABASES = {"sqlite", "postgres", "postgresql", "pgsql"}


@dataclass(frozen=True, slots=True)
class Kind:
    """What a value may be: ``allowed`` in words, ``parse`` raising ValueError for everything else."""

    allowed: str
    parse: Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Variable:
    """One line of the schema. ``default`` is written as it would stand in ``.env``."""

    name: str
    default: str
    kind: Kind
    is_secret: bool = False


def load(schema: Sequence[Variable], env_file: Path) -> dict[str, Any]:
    """Return the parsed values by name; stop the process with one line at the first that is not allowed."""
    _refuse_unreadable_lines(env_file)
    source = _environment_with(env_file)
    return {variable.name: _value(variable, source) for variable in schema}


class Keys:
    """Keys of model services by the name of their variable: the environment's, else ``.env``'s.

    Staff choose the name, and with it what is sent to an address that they choose as well: so our own secrets are no
    keys, and nothing is that isn't named like one.
    """

    def __init__(self, schema: Sequence[Variable], env_file: Path) -> None:
        self._reserved = {variable.name for variable in schema} - {"OPENAI_API_KEY"}
        self._at_start = {name: text for name, text in _environment_with(env_file).items() if self.may_be(name)}

    def may_be(self, name: str) -> bool:
        """Return whether a variable of this name may hold a key for a model service."""
        return bool(_KEY_NAME.search(name)) and name not in self._reserved

    def get(self, name: str) -> str:
        """Return the key that this variable holds; empty where it holds none, or may not."""
        if not self.may_be(name):
            return ""
        return (os.environ.get(name) or self._at_start.get(name, "")).strip()


def refuse(line: str) -> NoReturn:
    """Stop the start: one line on stderr, exit code 2."""
    sys.stderr.write(line + "\n")
    raise SystemExit(EXIT_REFUSED)


def one_of(*words: str) -> Kind:
    """Allow exactly these words."""

    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(text)
        return text

    return Kind(" or ".join(words) if len(words) > 1 else f"only {words[0]}", parse)


def whole(low: int, high: int) -> Kind:
    """Allow whole numbers from ``low`` to ``high``."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,12}", text) or not low <= int(text) <= high:
            raise ValueError(text)
        return int(text)

    return Kind(f"a whole number from {low} to {high}", parse)


def optional(kind: Kind) -> Kind:
    """Allow nothing as well, which becomes None."""
    return Kind(f"{kind.allowed}, or nothing", lambda text: kind.parse(text) if text else None)


def _boolean(text: str) -> bool:
    words = {"true": True, "on": True, "yes": True, "1": True, "false": False, "off": False, "no": False, "0": False}
    if text.lower() not in words:
        raise ValueError(text)
    return words[text.lower()]


def _share(text: str) -> float:
    if not 0 < float(text) <= 1:
        raise ValueError(text)
    return float(text)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _address(*schemes: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        parts = urlsplit(text)
        has_place = bool(parts.hostname) or (parts.scheme == "unix" and parts.path)
        if parts.scheme not in schemes or not has_place or (parts.port or 1) < 1:
            raise ValueError(text)
        return text

    return parse


def _endpoint(text: str) -> str:
    parts = urlsplit(_address("http", "https")(text))
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError(text)
    return text.rstrip("/")


def _database(text: str) -> dict[str, Any]:
    if urlsplit(text).scheme not in _DATABASES:
        raise ValueError(text)
    return dict(environ.Env.db_url_config(text))


def _fernet_keys(text: str) -> list[str]:
    keys = _words(text)
    for key in keys:
        Fernet(key)
    return keys


BOOLEAN = Kind("true or false", _boolean)
SHARE = Kind("a number above 0, at most 1", _share)
WORDS = Kind("words with commas between", _words)
TEXT = Kind("any text", str)
ENDPOINT = Kind("an http:// or https:// address without user, query or fragment", _endpoint)
REDIS = Kind("redis://…, rediss://… or unix://…", _address("redis", "rediss", "unix"))
DATABASE = Kind("sqlite:///… or postgres://…", _database)
FERNET_KEYS = Kind("Fernet keys (32 bytes in URL-safe base64) with commas between", _fernet_keys)


def _value(variable: Variable, source: Mapping[str, str]) -> Any:
    text = source.get(variable.name, "").strip() or variable.default
    try:
        return variable.kind.parse(text)
    except ValueError:
        shown = "(not shown)" if variable.is_secret else repr(text[:60])
    refuse(f"{variable.name}: {shown} is not allowed; allowed: {variable.kind.allowed}")


def _environment_with(env_file: Path) -> Mapping[str, str]:
    """Join ``.env`` under a copy of the environment, so that its secrets are not handed to child processes."""

    class _Copy(environ.Env):  # type: ignore[misc]  # untyped, see the import
        ENVIRON: ClassVar[dict[str, str]] = dict(os.environ)

    _Copy.read_env(env_file)
    return _Copy.ENVIRON


def _refuse_unreadable_lines(env_file: Path) -> None:
    """Name a line that would be passed over by its number alone: django-environ would log its text, secrets and all."""
    try:
        lines = env_file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError) as cause:
        refuse(f"{env_file.name}: {type(cause).__name__} while reading; allowed: a readable file in UTF-8")
    for number, line in enumerate(lines, start=1):
        if not _READABLE_LINE.match(line):
            refuse(f"{env_file.name}: line {number} (not shown) is not allowed; allowed: NAME=value, or # and a remark")
