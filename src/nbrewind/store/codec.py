"""JSON text of the model's values, and back.

Fields that have their default are left out, so that a field added later costs nothing in old records; unknown keys are
ignored, so that a record of a later version with additions still reads. Lone surrogates (file names that are not UTF-8)
survive, because the text is pure ASCII.
"""

from __future__ import annotations

import dataclasses
import json
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from nbrewind.errors import DamagedObject
from nbrewind.model import Operation

if TYPE_CHECKING:
    from cattrs import Converter

__all__ = ["dump_operation", "from_json", "load_operation", "to_json"]

T = TypeVar("T")


def to_json(value: object) -> str:
    """Return *value*, made of the model's dataclasses, as one line of ASCII JSON."""
    return json.dumps(_converter().unstructure(value), separators=(",", ":"))


def from_json(cls: type[T], text: str | bytes) -> T:
    """Return the value of type *cls* that `to_json` wrote as *text*.

    Raises:
        DamagedObject: The text is not JSON, or a field is missing or of another type.
    """
    try:
        return _converter().structure(json.loads(text), cls)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
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


@cache
def _converter() -> Converter:
    # Imported at first use: loading the extension must not wait for it.
    from cattrs import Converter
    from cattrs.gen import make_dict_unstructure_fn

    converter = Converter(detailed_validation=False)

    def omitting_defaults(cls: type[Any]) -> Any:
        return make_dict_unstructure_fn(cls, converter, _cattrs_omit_if_default=True)

    converter.register_unstructure_hook_factory(dataclasses.is_dataclass, omitting_defaults)
    converter.register_structure_hook(str, _text)
    converter.register_structure_hook(int, _integer)
    converter.register_structure_hook(float, _number)
    converter.register_structure_hook(bool, _truth)
    return converter


# cattrs would call str(), int() ... on whatever is there: a list would silently become a path.
def _text(value: object, _: object) -> str:
    if isinstance(value, str):
        return value
    raise TypeError(f"expected a text, not {type(value).__name__}")


def _integer(value: object, _: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise TypeError(f"expected an integer, not {type(value).__name__}")


def _number(value: object, _: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise TypeError(f"expected a number, not {type(value).__name__}")


def _truth(value: object, _: object) -> bool:
    if isinstance(value, bool):
        return value
    raise TypeError(f"expected true or false, not {type(value).__name__}")
