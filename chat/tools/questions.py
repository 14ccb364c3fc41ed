"""A question of a tool to its user: a form from a JSON schema, and the answers that a person typed. Pure.

The schema is that of MCP's elicitation: an object whose properties are texts, numbers, yes or no, or choices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from chat.tools.schemas import UnfitSchemaError, check_schema, first_error

MAX_FIELDS = 20
MAX_CHOICES = 50
MAX_MESSAGE_CHARS = 1_000
MAX_LABEL_CHARS = 200
FieldKind = Literal["text", "number", "boolean", "choice", "choices"]


class UnfitAnswerError(ValueError):
    """An answer that the schema doesn't allow. The text names the field."""


@dataclass(frozen=True, slots=True)
class AllowedAnswer:
    """One of the answers that a field allows."""

    value: str
    label: str
    is_default: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the form. ``default`` is what it holds at first."""

    name: str
    label: str
    kind: FieldKind
    help: str = ""
    is_required: bool = False
    default: str = ""
    choices: tuple[AllowedAnswer, ...] = ()


def check_question(schema: Any) -> None:
    """Check that a form can be made of a schema. Raises UnfitSchemaError."""
    check_schema(schema)
    properties = schema.get("properties", {})
    if not isinstance(properties, dict) or len(properties) > MAX_FIELDS:
        raise UnfitSchemaError(f"a question has at most {MAX_FIELDS} fields")
    for each in properties.values():
        if not isinstance(each, dict) or len(_choices(each)) > MAX_CHOICES:
            raise UnfitSchemaError("a field of the question can’t be shown")


def fields_of(schema: Mapping[str, Any]) -> tuple[Field, ...]:
    """Return the fields of a schema that ``check_question`` has let pass."""
    required = schema.get("required", ())
    return tuple(_field(name, each, name in required) for name, each in schema.get("properties", {}).items())


def field_from_json(form: Mapping[str, Any]) -> Field:
    """Return a field of the form that ``dataclasses.asdict`` has made of one."""
    return Field(**{**form, "choices": tuple(AllowedAnswer(**choice) for choice in form["choices"])})


def answers_of(schema: Mapping[str, Any], given: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the answers that were typed into the form, as JSON values. Raises UnfitAnswerError."""
    answers: dict[str, Any] = {}
    for field in fields_of(schema):
        texts = [text for text in given.get(field.name, ()) if text.strip()]
        if field.kind == "boolean":
            answers[field.name] = bool(texts) and texts[-1] not in ("false", "off")
        elif field.kind == "choices":
            answers[field.name] = texts
        elif texts:
            answers[field.name] = _number(field.name, texts[-1]) if field.kind == "number" else texts[-1]
    return checked_answers(schema, answers)


def checked_answers(schema: Mapping[str, Any], answers: Any) -> dict[str, Any]:
    """Return answers that the schema allows. Raises UnfitAnswerError."""
    if not isinstance(answers, dict):
        raise UnfitAnswerError("answers: an object is needed")
    if unknown := answers.keys() - schema.get("properties", {}).keys():
        raise UnfitAnswerError(f"{min(unknown)}: not asked for")
    if error := first_error(schema, answers):
        raise UnfitAnswerError(error)
    return answers


def _field(name: str, schema: Mapping[str, Any], is_required: bool) -> Field:
    default = schema.get("default")
    choices = _choices(schema)
    kind: FieldKind = "text"
    if choices:
        kind = "choices" if schema.get("type") == "array" else "choice"
    elif schema.get("type") in ("number", "integer"):
        kind = "number"
    elif schema.get("type") == "boolean":
        kind = "boolean"
    chosen = default if isinstance(default, list) else [default]
    return Field(
        name=name,
        label=str(schema.get("title") or name)[:MAX_LABEL_CHARS],
        kind=kind,
        help=str(schema.get("description") or "")[:MAX_LABEL_CHARS],
        is_required=is_required and kind != "boolean",
        default="" if default in (None, False) else str(default),
        choices=tuple(AllowedAnswer(value, label, value in chosen) for value, label in choices),
    )


def _choices(schema: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return values and labels of a choice, in any of the three ways in which a schema writes them."""
    of = schema.get("items") if schema.get("type") == "array" else schema
    if not isinstance(of, dict):
        return []
    titled = of.get("oneOf") or of.get("anyOf")
    if isinstance(titled, list):
        pairs = [(each.get("const"), each.get("title")) for each in titled if isinstance(each, dict)]
    else:
        values, names = (list(of[key]) if isinstance(of.get(key), list) else [] for key in ("enum", "enumNames"))
        pairs = [(value, names[at] if at < len(names) else None) for at, value in enumerate(values)]
    return [(value, str(label or value)[:MAX_LABEL_CHARS]) for value, label in pairs if isinstance(value, str)]


def _number(name: str, text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise UnfitAnswerError(f"{name}: a number is needed") from None
