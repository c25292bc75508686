"""JSON text of the model's values, and back.

Fields that have their default are left out, so that a field added later costs nothing in old records; unknown keys are
ignored, so that a record of a later version with additions still reads. Lone surrogates (file names that are not UTF-8)
survive, because the text is pure ASCII.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin

from nbrewind.errors import DamagedObject
from nbrewind.model import Operation

if TYPE_CHECKING:
    from cattrs import Converter

__all__ = ["dump_operation", "from_json", "load_operation", "to_json"]

T = TypeVar("T")
_AS_IT_IS = frozenset({str, int, float, bool, type(None)})


def to_json(value: object) -> str:
    """Return *value*, made of the model's dataclasses, as one line of ASCII JSON."""
    return json.dumps(_plain(value), separators=(",", ":"))


def from_json(cls: type[T], text: str | bytes) -> T:
    """Return the value of type *cls* that `to_json` wrote as *text*.

    Raises:
        DamagedObject: The text is not JSON, or a field is missing or of another type.
    """
    try:
        return _converter().structure(json.loads(text), cls)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise DamagedObject(f"A record of kind {getattr(cls, '__name__', cls)} cannot be read ({reason}).") from error


def dump_operation(operation: Operation) -> bytes:
    """Return *operation* as the line that its frame holds."""
    return to_json(operation).encode("ascii") + b"\n"


def load_operation(line: bytes) -> Operation:
    """Return the operation that a frame holds.

    Raises:
        DamagedObject: The line is not an operation.
    """
    return from_json(Operation, line)


def _plain(value: Any) -> Any:
    """Return what `json` takes of *value*. By hand: a new session only writes, and need not wait for cattrs."""
    kind: Any = type(value)
    if kind in _AS_IT_IS:
        return value
    fields = _fields(kind)
    if fields is not None:
        found = ((name, getattr(value, name), default) for name, default in fields)
        return {name: _plain(content) for name, content, default in found if content != default}
    if isinstance(value, dict):
        return {key: _plain(content) for key, content in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


@functools.cache
def _fields(kind: type[Any]) -> tuple[tuple[str, Any], ...] | None:
    """Return the fields of a dataclass with their defaults, None for another class."""
    if not dataclasses.is_dataclass(kind):
        return None
    return tuple((field.name, _default(field)) for field in dataclasses.fields(kind) if field.init)


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    # Equal to nothing else where there is no default.
    return field.default


@functools.cache
def _converter() -> Converter:
    # Imported at first use: loading the extension must not wait for it.
    from cattrs import Converter
    from cattrs.gen import make_dict_structure_fn

    converter = Converter(detailed_validation=False)

    def from_object(cls: type[Any]) -> Any:
        fields = make_dict_structure_fn(cls, converter)
        return lambda value, _: fields(_of_kind(value, dict), cls)

    def from_array(cls: Any) -> Any:
        element_type = get_args(cls)[0]
        element = converter.get_structure_hook(element_type)
        return lambda value, _: tuple([element(one, element_type) for one in _of_kind(value, list)])

    converter.register_structure_hook_factory(dataclasses.is_dataclass, from_object)
    converter.register_structure_hook_factory(_is_array, from_array)
    for kind, structure in ((str, _text), (int, _integer), (float, _number), (bool, _truth)):
        converter.register_structure_hook(kind, structure)
    return converter


def _is_array(cls: object) -> bool:
    return get_origin(cls) is tuple and get_args(cls)[1:] == (...,)


# cattrs would call str(), int() ... on what is there: a list would become a path, and a text a tuple of letters.
def _of_kind(value: object, kind: type[T]) -> T:
    if isinstance(value, kind):
        return value
    raise TypeError(f"expected {kind.__name__}, not {type(value).__name__}")


def _text(value: object, cls: type[str]) -> str:
    # A hook for `str` also serves every StrEnum, whose members must not come back as plain text.
    text = _of_kind(value, str)
    return text if cls is str else cls(text)


def _integer(value: object, cls: type[int]) -> int:
    if isinstance(value, bool):
        raise TypeError("expected int, not bool")
    number = _of_kind(value, int)
    return number if cls is int else cls(number)


def _number(value: object, _: type[float]) -> float:
    return value if isinstance(value, float) else float(_integer(value, int))


def _truth(value: object, _: type[bool]) -> bool:
    return _of_kind(value, bool)
