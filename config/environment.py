"""Read environment variables; an invalid value stops the process with one line.

The line names the variable, its value and what is allowed; a secret's value is never printed. ``.env`` is read with
django-environ; the real environment wins over it. An empty value means the default.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
import zoneinfo
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, NoReturn, TypeVar
from urllib.parse import urlsplit

import environ
from cryptography.fernet import Fernet

from chat.providers.address import check_address, check_host, in_brackets, port_of, split

EXIT_INVALID_SETTING = 2
BOOLEANS = {"true": True, "on": True, "yes": True, "1": True, "false": False, "off": False, "no": False, "0": False}
DATABASE_SCHEMES = {"sqlite", "postgres", "postgresql", "pgsql"}
REMARK = re.compile(r"\s*(#.*)?\Z")
# systemd reads the rest of a line as value, a shell reads " #" as a remark: in quotation marks both read the same.
ASSIGNMENT = re.compile(r"""(export )?[A-Za-z_0-9]+=(\s*(".*"|'.*')|(?!.*\s#).*)\Z""")
URL_PREFIX = re.compile(r"(?:/[A-Za-z0-9_-]+)+")
BEARER_TOKEN_TEXT = re.compile(r"[A-Za-z0-9._~+/=-]{16,}")
HEADER_TEXT = re.compile(r"[ -~]*")
HOST = re.compile(r"\*|\.?[\w-]+(?:\.[\w-]+)*\.?|\[[0-9A-Fa-f:.]+\]|[0-9A-Fa-f:]*::[0-9A-Fa-f:]*")
ENVIRONMENT_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")
DATABASE_ADVICE = (  # SQLite's words and PostgreSQL's
    (re.compile(r"no such (table|column)|(relation|column) .* does not exist"), ". Run `manage.py migrate`"),
    (re.compile(r"not a database|malformed"), ". Restore a backup (docs/deployment.md)"),
)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ValueType(Generic[T]):
    """What a value may be: ``allowed`` describes it, ``parse`` raises ValueError for everything else.

    ``documented``: what the page of settings says instead, where the words depend on what is installed.
    """

    allowed: str
    parse: Callable[[str], T]
    documented: str = ""


class Variable(NamedTuple):
    """One variable. ``default`` is spelled as in ``.env``; ``description`` is for ``.env.example`` and the docs."""

    name: str
    default: str
    type: ValueType[Any]
    description: str


def read_environment(env_file: Path) -> Mapping[str, str]:
    """Return the environment merged with ``.env``: a copy, so that child processes don't inherit the file's secrets."""
    try:
        lines = env_file.read_text(encoding="utf-8-sig").splitlines()  # some editors begin a file with a mark
    except FileNotFoundError:
        return dict(os.environ)
    except (OSError, UnicodeDecodeError) as error:
        refuse_start(f"{env_file.name}: {type(error).__name__} while reading; allowed: a readable file in UTF-8")
    assignments = []
    for number, line in enumerate(map(str.rstrip, lines), start=1):
        # django-environ would skip any other line, an indented remark too, and log its text, which may be a secret.
        if ASSIGNMENT.match(line):
            assignments.append(line)
        elif not REMARK.match(line):
            refuse_start(
                f"{env_file.name}: line {number} (not shown) is not allowed; allowed: NAME=value, with a value that "
                "contains ' #' in quotation marks; or # and a remark"
            )

    class EnvironmentCopy(environ.Env):
        ENVIRON: ClassVar[dict[str, str]] = dict(os.environ)

    EnvironmentCopy.read_env(io.StringIO("\n".join(assignments)))
    return EnvironmentCopy.ENVIRON


def refuse_start(line: str) -> NoReturn:
    """Stop the process: one line on stderr, exit code 2."""
    sys.stderr.write(line + "\n")
    raise SystemExit(EXIT_INVALID_SETTING)


class Environment:
    """The variables of this site: each is declared by a call, which returns its value.

    ``sections``: what was declared, for the documents.
    """

    def __init__(self, env_file: Path) -> None:
        self.source = read_environment(env_file)
        self.sections: dict[str, list[Variable]] = {}

    def section(self, name: str) -> None:
        """Begin a section of variables."""
        self.sections[name] = []

    @property
    def variables(self) -> tuple[Variable, ...]:
        return tuple(variable for section in self.sections.values() for variable in section)

    def __call__(
        self, name: str, default: str, value_type: ValueType[T], description: str, *, is_secret: bool = False
    ) -> T:
        """Return the value of a variable; stop the process with one line where it is invalid."""
        *_before, section = self.sections.values()
        section.append(Variable(name, default, value_type, description))
        text = self.source.get(name, "").strip() or default
        try:
            return value_type.parse(text)
        except ValueError:
            shown = "(not shown)" if is_secret else repr(text[:60])
            refuse_start(f"{name}: {shown} is not allowed; allowed: {value_type.allowed}")


class KeyBinding(NamedTuple):
    """An environment variable with an API key, and the host that its value may be sent to; port None: any."""

    variable: str
    host: str
    port: int | None


def describe_database_error(error: Exception) -> str:
    """Return one line about a database that can't be used: the driver's first line says why, without any row."""
    reason = str(error).strip().partition("\n")[0] or type(error).__name__
    # Whoever restores a backup because of a lock or a full disk would lose what was written since.
    advice = next((text for pattern, text in DATABASE_ADVICE if pattern.search(reason)), "")
    return f"The database cannot be used: {reason}{advice}"


class ApiKeys:
    """API keys of model services by variable name, from the environment or ``.env``.

    Staff choose both the variable and the address that its value is sent to, so the operator says which belong together
    (``MODEL_KEYS``). No other variable is ever read. ``own_address``: where ``OPENAI_API_KEY`` belongs.
    """

    def __init__(self, environment: Environment, bindings: Sequence[KeyBinding], own_address: str) -> None:
        reserved = {variable.name for variable in environment.variables} - {"OPENAI_API_KEY"}
        for binding in bindings:
            if binding.variable in reserved:
                refuse_start(f"MODEL_KEYS: {binding.variable!r} is not allowed; allowed: none of this server's own")
        host = urlsplit(own_address).hostname or ""
        self._bindings = (*bindings, KeyBinding("OPENAI_API_KEY", host, port_of(own_address)))
        names = {binding.variable for binding in self._bindings}
        self._at_start = {name: text for name, text in environment.source.items() if name in names}
        for name, text in self._at_start.items():
            # Quotation marks of a text editor, for one: each request would fail as if the service were at fault.
            if not HEADER_TEXT.fullmatch(text.strip()):
                refuse_start(f"{name}: (not shown) is not allowed; allowed: ASCII characters in one line")

    def hosts_of(self, variable: str) -> tuple[str, ...]:
        """Return the hosts that the key of this variable may be sent to."""
        found = [binding for binding in self._bindings if binding.variable == variable]
        return tuple(f"{in_brackets(one.host)}{f':{one.port}' if one.port else ''}" for one in found)

    def variables_for(self, address: str) -> tuple[str, ...]:
        """Return the variables whose keys may be sent to this address."""
        host, port = (split(address).hostname or "").rstrip("."), port_of(address)
        return tuple(
            binding.variable
            for binding in self._bindings
            if host and binding.host == host and binding.port in (None, port)
        )

    def get(self, variable: str, address: str) -> str:
        """Return the key; empty if the variable is unset or not bound to the host of this address."""
        if variable not in self.variables_for(address):
            return ""
        return (os.environ.get(variable) or self._at_start.get(variable, "")).strip()


def one_of(*words: str) -> ValueType[Any]:
    """Allow exactly these words."""

    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(text)
        return text

    return ValueType(" or ".join(words), parse)


def words_of(*words: str, documented: str) -> ValueType[list[str]]:
    """Allow some of these words, or none, with commas between. ``documented`` as of ``ValueType``."""

    def parse(text: str) -> list[str]:
        found = parse_list(text)
        if unknown := set(found) - set(words):
            raise ValueError(unknown)
        return found

    return ValueType(f"{', '.join(words)}, with commas between", parse, documented)


def integer(low: int, high: int) -> ValueType[int]:
    """Allow whole numbers from ``low`` to ``high``."""

    def parse(text: str) -> int:
        # int() would also accept underscores, signs and digits of other scripts.
        if not re.fullmatch(r"[0-9]{1,12}", text) or not low <= int(text) <= high:
            raise ValueError(text)
        return int(text)

    return ValueType(f"a whole number from {low} to {high}", parse)


def optional(value_type: ValueType[T]) -> ValueType[T | None]:
    """Allow an empty value, parsed to None."""
    return ValueType(f"{value_type.allowed}, or nothing", lambda text: value_type.parse(text) if text else None)


def parse_boolean(text: str) -> bool:
    if text.lower() not in BOOLEANS:
        raise ValueError(text)
    return BOOLEANS[text.lower()]


def parse_fraction(text: str) -> float:
    # float() would also accept underscores, exponents and digits of other scripts.
    if not re.fullmatch(r"[0-9]?\.?[0-9]{1,12}", text) or not 0 < float(text) <= 1:
        raise ValueError(text)
    return float(text)


def parse_commands(text: str) -> dict[str, list[str]]:
    commands = {}
    for part in filter(None, map(str.strip, text.split(";"))):
        name, equals, line = part.partition("=")
        words = shlex.split(line)
        if not (equals and words and re.fullmatch(r"[a-z][a-z0-9-]{0,39}", name)) or name in commands:
            raise ValueError(part)
        commands[name] = words
    return commands


def parse_list(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def parse_key_bindings(text: str) -> list[KeyBinding]:
    """Read ``NAME@host`` and ``NAME@host:port``. No wildcards: a key belongs to the services that are named."""
    bindings = []
    for item in parse_list(text):
        variable, _at, place = item.partition("@")
        if not ENVIRONMENT_NAME.fullmatch(variable) or "/" in place:
            raise ValueError(item)
        address = check_address(f"https://{place}")
        parts = urlsplit(address)
        bindings.append(KeyBinding(variable, (parts.hostname or "").rstrip("."), parts.port))
    return bindings


def parse_redis_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme == "unix":
        is_complete = bool(parts.path)
    else:
        # A database that is no number would be read as number 0.
        is_complete = bool(parts.hostname and parts.port != 0 and re.fullmatch(r"/?[0-9]*/?", parts.path))
    if parts.scheme not in ("redis", "rediss", "unix") or not is_complete:
        raise ValueError(text)
    # Here, since it takes 6 MB, and most servers use no Redis.
    from redis import ConnectionPool, RedisError, asyncio  # noqa: PLC0415

    try:
        # The options of an address are arguments of a connection, which fails late where one is wrong. None is opened.
        for pool in (ConnectionPool, asyncio.ConnectionPool):
            pool.from_url(text).make_connection()
    except (TypeError, RedisError) as error:
        raise ValueError(text) from error
    return text


def parse_database_url(text: str) -> dict[str, Any]:
    parts = urlsplit(text)
    name = parts.path.removeprefix("/")
    # A database of SQLite without a file, as with two slashes, is in memory: each process has its own, and loses it.
    is_in_memory = parts.scheme == "sqlite" and (parts.netloc != "" or name == ":memory:")
    if parts.scheme not in DATABASE_SCHEMES or not name or is_in_memory:
        raise ValueError(text)
    config = dict(environ.Env.db_url_config(text))
    # Django's pool is no text and needs CONN_MAX_AGE 0: each command would end with a traceback.
    if "pool" in config.get("OPTIONS", {}):
        raise ValueError(text)
    return config


def parse_hosts(text: str) -> list[str]:
    hosts = parse_list(text)
    if not all(HOST.fullmatch(host) for host in hosts):
        raise ValueError(text)
    return hosts


def parse_link_hosts(text: str) -> list[str]:
    """Read hosts as the addresses of links have them; a pattern or an address would match none of these."""
    return [in_brackets(check_host(host)) for host in parse_list(text)]


def parse_fernet_keys(text: str) -> list[str]:
    keys = parse_list(text)
    for key in keys:
        Fernet(key)  # raises ValueError
    return keys


def parse_url_prefix(text: str) -> str:
    prefix = text.rstrip("/")
    if prefix and not URL_PREFIX.fullmatch(prefix):
        raise ValueError(text)
    return prefix


def parse_bearer_token(text: str) -> str:
    # Nobody counts who guesses: a short one would be found.
    if not BEARER_TOKEN_TEXT.fullmatch(text):
        raise ValueError(text)
    return text


def parse_time_zone(text: str) -> str:
    if text not in zoneinfo.available_timezones():
        raise ValueError(text)
    return text


TEXT = ValueType("any text", str)
COMMANDS = ValueType(
    "name=program arguments, with semicolons between; a name is small letters and digits", parse_commands
)
BOOLEAN = ValueType("true or false", parse_boolean)
BEARER_TOKEN = ValueType("16 or more ASCII letters, digits and . _ ~ + / - =", parse_bearer_token)
FRACTION = ValueType("a number above 0, at most 1", parse_fraction)
HOSTS = ValueType(
    "names of hosts without scheme, port and path, with commas between", parse_hosts, "words with commas between"
)
LINK_HOSTS = ValueType(
    "names of hosts without scheme, port, path and wildcards, with commas between",
    parse_link_hosts,
    "words with commas between",
)
ENDPOINT = ValueType("an http:// or https:// address without user, query or fragment", check_address)
KEY_BINDINGS = ValueType(
    "NAME@host or NAME@host:port with commas between, without wildcards: variables with keys, each with the host that "
    "its key may be sent to",
    parse_key_bindings,
)
REDIS_ADDRESS = ValueType("redis://…, rediss://… or unix://…", parse_redis_url)
DATABASE_URL = ValueType(
    "sqlite:///… or postgres://…, with / # ? of a password written as %2F %23 %3F, and without pool",
    parse_database_url,
    "sqlite:///… or postgres://…",
)
TIME_ZONE_NAME = ValueType("a name of the IANA database, such as Europe/Berlin or UTC", parse_time_zone)
PATH_PREFIX = ValueType("empty, or a path such as /chat", parse_url_prefix)
FERNET_KEYS = ValueType("Fernet keys (32 bytes in URL-safe base64) with commas between", parse_fernet_keys)
