"""Schemas of others: checked without their patterns, and without a document of elsewhere."""

import pytest

from chat.tools.schemas import UnfitSchemaError, check_schema, first_error

EVIL = "^(a+)+$"
TEXT = "a" * 40 + "!"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": EVIL},
        {"type": "object", "properties": {"x": {"type": "string", "pattern": EVIL}}},
        {"type": "array", "items": {"anyOf": [{"pattern": EVIL}, {"type": "null"}]}},
    ],
)
def test_pattern_is_not_run(schema):
    check_schema(schema)
    value = {"string": TEXT, "object": {"x": TEXT}, "array": [TEXT]}[schema["type"]]

    assert first_error(schema, value) == ""


def test_items_are_not_compared_with_one_another():
    schema = {"type": "array", "uniqueItems": True, "items": {"type": "object"}}
    check_schema(schema)

    assert first_error(schema, [{"a": 1}, {"a": 1}]) == ""


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"patternProperties": {EVIL: {}}, "additionalProperties": False}, "by patterns"),
        ({"properties": {"x": {"patternProperties": {EVIL: {}}}}}, "by patterns"),
        ({"properties": {"x": {"$ref": "https://evil.example/s.json"}}}, "another document"),
        ({"$ref": "file:///etc/passwd"}, "another document"),
        ({"allOf": [{"$ref": "#/$defs/a"}] * 21}, "more than 20 references"),
        ({"type": "no type"}, "not valid"),
        ({"description": "x" * 20_001}, "20000 characters"),
        ([], "no object"),
        (None, "no object"),
    ],
)
def test_schema_that_may_cost_or_fetch_is_refused(schema, reason):
    with pytest.raises(UnfitSchemaError, match=reason):
        check_schema(schema)


def test_deep_schema_is_refused():
    schema: dict = {}
    for _level in range(100):
        schema = {"items": schema}

    with pytest.raises(UnfitSchemaError, match="nested"):
        check_schema(schema)


def test_reference_in_a_circle_is_an_error_and_no_fault():
    schema = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}
    check_schema(schema)

    assert first_error(schema, 1) == "the schema can’t be used"


def test_first_error_names_the_place():
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    assert first_error(schema, {"n": 1}) == ""
    assert first_error(schema, {"n": "x"}).startswith("n: ")
    assert "required" in first_error(schema, {})
