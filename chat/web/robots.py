"""What a robots.txt allows, as RFC 9309 says. Linear in its size: a hostile one can't hold up a turn.

Neither ``urllib.robotparser`` of the supported Pythons nor a regular expression for each pattern will do: the first
knows no wildcards, the second needs a time that grows with a power of their number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import quote

PRODUCT = "legible"  # the name by which a robots.txt can speak of this server
_ESCAPE = re.compile("%([0-9A-Fa-f]{2})")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")


class PathRule(NamedTuple):
    """A line ``Allow`` or ``Disallow``. In its pattern ``*`` is any text, and ``$`` at the end the end."""

    allows: bool
    pattern: str

    def matches(self, path: str) -> bool:
        first, *others = self.pattern.removesuffix("$").split("*")
        if not path.startswith(first):
            return False
        is_anchored = self.pattern.endswith("$")
        last = others.pop() if others and is_anchored else None
        at = len(first)
        for part in others:
            # The first place is as good as any later one, since what follows is any text.
            at = path.find(part, at)
            if at < 0:
                return False
            at += len(part)
        if last is not None:
            return len(path) - len(last) >= at and path.endswith(last)
        return not is_anchored or at == len(path)


Rules = tuple[PathRule, ...]


def parse(text: str) -> Rules:
    """Return the rules for this server: those of the groups that name it, else those for everybody."""
    named: list[PathRule] = []
    others: list[PathRule] = []
    agents: set[str] = set()
    has_rules = True  # of the group so far, so that the next user agent begins another one
    for field, value in _fields(text.splitlines()):
        if field == "user-agent":
            agents = {value.lower()} if has_rules else agents | {value.lower()}
            has_rules = False
        elif field in ("allow", "disallow"):
            has_rules = True
            rule = PathRule(field == "allow", normal(value))
            for agent, rules in ((PRODUCT, named), ("*", others)):
                if agent in agents and value:
                    rules.append(rule)
            # A group that names this server counts even where it disallows nothing.
            if PRODUCT in agents and not value:
                named.append(PathRule(True, "/"))
    return tuple(named or others)


def allows(rules: Rules, path: str) -> bool:
    """Whether a path with its query may be read: the longest pattern decides, of equally long ones one that allows."""
    wanted = normal(path)
    matching = [(len(rule.pattern), rule.allows) for rule in rules if rule.matches(wanted)]
    return max(matching, default=(0, True))[1]


def normal(path: str) -> str:
    """Return a path or pattern in the one of its spellings by which it is compared."""
    ascii_path = quote(path, safe="%/?#[]@!$&'()*+,;=:~")
    return _ESCAPE.sub(_normal_escape, ascii_path)


def _normal_escape(found: re.Match[str]) -> str:
    char = chr(int(found[1], 16))
    return char if _UNRESERVED.fullmatch(char) else found[0].upper()


def _fields(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        name, colon, value = line.partition("#")[0].partition(":")
        if colon:
            yield name.strip().lower(), value.strip()
