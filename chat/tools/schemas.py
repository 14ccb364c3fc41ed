"""Check JSON values against schemas that others have written. Pure.

Neither a schema nor a value may cost much: a ``pattern`` isn't run, since a regular expression can take for ever, and
properties that are named by patterns are refused for the same reason; ``uniqueItems`` compares each item with all
others, so it isn't checked, nor is ``format``. A schema refers to nothing outside itself and to little inside.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

MAX_CHARS = 20_000  # about 5,000 tokens in each request
MAX_DEPTH = 20
MAX_REFS = 20  # each may double the work


class UnfitSchemaError(ValueError):
    """A schema that isn't used. The text says why, in English."""


@cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - 4 MB that servers without such tools save
    from jsonschema.validators import extend  # noqa: PLC0415 - as above

    return extend(Draft202012Validator, dict.fromkeys(("pattern", "uniqueItems"), lambda *_args: ()))


def check_schema(schema: Any) -> None:
    """Check that a schema is one, small, and refers to nothing outside itself. Raises UnfitSchemaError."""
    if not isinstance(schema, dict):
        raise UnfitSchemaError("a schema is no object")
    refs = 0
    for name, value, depth in _walk(schema):
        if depth > MAX_DEPTH:
            raise UnfitSchemaError(f"a schema is nested more than {MAX_DEPTH} deep")
        if name == "patternProperties":
            raise UnfitSchemaError("a schema names properties by patterns")
        if name in ("$ref", "$dynamicRef"):
            refs += 1
            if not str(value).startswith("#"):
                raise UnfitSchemaError("a schema refers to another document")
    if refs > MAX_REFS:
        raise UnfitSchemaError(f"a schema has more than {MAX_REFS} references")
    if len(json.dumps(schema)) > MAX_CHARS:
        raise UnfitSchemaError(f"a schema has more than {MAX_CHARS} characters")
    try:
        _validator().check_schema(schema)
    except Exception as error:  # of several kinds, for instance where a reference leads nowhere
        raise UnfitSchemaError("a schema is not valid") from error


def first_error(schema: Mapping[str, Any], value: Any) -> str:
    """Return where a value doesn't fit a schema and why, in a line; empty where it fits."""
    try:
        for error in _validator()(schema).iter_errors(value):
            place = ".".join(map(str, error.absolute_path))
            return f"{place}: {error.message[:200]}" if place else str(error.message)[:200]
    except Exception:  # noqa: BLE001 - a reference that leads nowhere, or in a circle
        return "the schema can’t be used"
    return ""


def _walk(value: Any, depth: int = 0) -> Iterator[tuple[str, Any, int]]:
    items = value.items() if isinstance(value, dict) else (("", each) for each in value)
    for name, each in items:
        yield name, each, depth
        if isinstance(each, dict | list) and depth <= MAX_DEPTH:
            yield from _walk(each, depth + 1)
