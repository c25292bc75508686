"""The protocol: what a message may look like, read from protocol.json, which both languages are tested against."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from nbrewind.errors import UsageError, clipped
from nbrewind.ui.counter.request import Request

__all__ = ["VERSION", "checked", "checked_hello"]

VERSION = 1

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "array": (list, tuple),
    "object": (dict,),
}


def checked(data: object) -> Request:
    """Return the request that *data* is.

    Raises:
        UsageError: it is none; the message says what is wrong with it.
    """
    if not isinstance(data, dict):
        raise UsageError("A message has to be an object.")
    verb = data.get("verb")
    known = _verbs()
    if not isinstance(verb, str) or verb not in known:
        raise UsageError(f"{_short(verb)} is no verb of this protocol.")
    identifier = data.get("id")
    _check(identifier, {"type": "string", "minLength": 1, "maxLength": 80}, "id")
    fields = {name: value for name, value in data.items() if name not in ("id", "verb")}
    _check(fields, known[verb]["request"], "")
    return Request(str(identifier), verb, fields)


def checked_hello(data: object) -> Request:
    """Return the hello that a comm was opened with.

    Raises:
        UsageError: it is none.
    """
    if not isinstance(data, dict):
        raise UsageError("A message has to be an object.")
    return checked({**data, "verb": "hello", "id": "hello"})


@cache
def _verbs() -> dict[str, Any]:
    text = resources.files("nbrewind.ui").joinpath("protocol.json").read_text("utf-8")
    verbs: dict[str, Any] = json.loads(text)["verbs"]
    return verbs


def _check(value: object, schema: Mapping[str, Any], name: str) -> None:
    """Check *value* against the part of JSON Schema that requests need."""
    said = name or "the message"
    kind = schema.get("type")
    if kind is not None and (not isinstance(value, _TYPES[kind]) or (kind == "integer" and isinstance(value, bool))):
        raise UsageError(f"{said} has to be of type {kind}.")
    if "enum" in schema and value not in schema["enum"]:
        raise UsageError(f"{said} may not be {_short(value)}.")
    if isinstance(value, str):
        _check_text(value, schema, said)
    elif isinstance(value, list):
        if len(value) > schema.get("maxItems", len(value)):
            raise UsageError(f"{said} has more than {schema['maxItems']} entries.")
        for found in value:
            _check(found, schema.get("items", {}), f"an entry of {said}")
    elif isinstance(value, dict):
        _check_object(value, schema, name)


def _check_text(value: str, schema: Mapping[str, Any], said: str) -> None:
    if len(value) > schema.get("maxLength", len(value)):
        raise UsageError(f"{said} is longer than {schema['maxLength']} characters.")
    if len(value) < schema.get("minLength", 0):
        raise UsageError(f"{said} is empty.")
    if "pattern" in schema and re.fullmatch(schema["pattern"], value) is None:
        raise UsageError(f"{said} may not be {_short(value)}.")
    if "\0" in value:
        raise UsageError(f"{said} may not hold a NUL.")


def _check_object(value: dict[str, Any], schema: Mapping[str, Any], name: str) -> None:
    properties = schema.get("properties", {})
    for needed in schema.get("required", ()):
        if needed not in value:
            raise UsageError(f"{needed} is missing.")
    for key, found in value.items():
        if key not in properties:
            raise UsageError(f"{_short(key)} is no field of {name or 'this request'}.")
        _check(found, properties[key], key)


def _short(value: object) -> str:
    return clipped(repr(value))
