"""Values that stand in secret files, and texts without them. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

__all__ = ["PLACE", "is_key", "literal_values", "redacted", "secret_values"]

PLACE = "[secret]"
_SHORTEST = 6
_KEY = 8
_LONG_KEY = 20
_PAIR = re.compile(r"""^\s*(?:export\s+)?["']?[\w.\-]+["']?\s*[=:]\s*["']?(.*?)["']?,?\s*$""")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)+)"(\s*:)?')
_LITERAL = re.compile(r"('''|\"\"\"|'|\")((?:\\.|(?!\1).)*)\1", re.DOTALL)


def secret_values(contents: Iterable[bytes]) -> tuple[str, ...]:
    """Return the values that stand in secret files, longest first; short ones would hit ordinary words."""
    found: set[str] = set()
    for content in contents:
        for line in content.decode("utf-8", "replace").splitlines():
            found.update(value for value in map(str.strip, _values(line)) if len(value) >= _SHORTEST)
    return _longest_first(found)


def literal_values(code: str) -> tuple[str, ...]:
    """Return the values in string literals of *code* that read like lines of a secret file, or like a key.

    A cell that writes a secret file twice holds a value that stands in it neither before nor after.
    """
    found: set[str] = set()
    for match in _LITERAL.finditer(code):
        for line in match[2].replace("\\n", "\n").splitlines():
            pair = _PAIR.match(line)
            value = (pair[1] if pair else line).strip()
            if is_key(value) or (pair and len(value) >= _SHORTEST):
                found.add(value)
    return _longest_first(found)


def is_key(value: str) -> bool:
    """Return whether *value* is so unlike a word, number or path that it may be taken out of any text."""
    if len(value) < _KEY or any(map(str.isspace, value)) or value.startswith(("/", "~", ".")):
        return False
    if "://" in value:
        return "@" in value
    letters = any(map(str.isalpha, value))
    mixed = any(map(str.islower, value)) and any(map(str.isupper, value))
    return (letters and any(map(str.isdigit, value))) or (len(value) >= _LONG_KEY and mixed)


def redacted(text: str, values: Iterable[str]) -> str:
    """Return *text* without *values*, also where they stand escaped in JSON or in a literal."""
    for value in values:
        for form in _forms(value):
            text = text.replace(form, PLACE)
    return text


@lru_cache(maxsize=1000)
def _forms(value: str) -> tuple[str, ...]:
    once = (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1])
    # Outputs are JSON, and hold what a cell shows as a literal.
    twice = (json.dumps(form)[1:-1] for form in once)
    return tuple(dict.fromkeys((*once, *twice)))


def _values(line: str) -> Iterator[str]:
    if line.lstrip().startswith(("#", "-----")):
        return
    match = _PAIR.match(line)
    if match:
        yield match[1]
    else:
        yield line
        yield from filter(is_key, line.split())
    for quoted, colon in _QUOTED.findall(line):
        if not colon:
            # A key in a JSON file is one string with its line ends escaped.
            yield from (part for part in quoted.split("\\n") if not part.startswith("-----"))


def _longest_first(found: set[str]) -> tuple[str, ...]:
    return tuple(sorted(found, key=len, reverse=True))
