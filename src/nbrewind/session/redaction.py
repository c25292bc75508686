"""Values of secret files that a turn touched are taken out of what is stored of that turn. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["redacted", "secret_values"]

_PLACE = "[secret]"
_SHORTEST = 6
_PAIR = re.compile(r"""^\s*(?:export\s+)?["']?[\w.\-]+["']?\s*[=:]\s*["']?(.*?)["']?,?\s*$""")


def secret_values(contents: Iterable[bytes]) -> tuple[str, ...]:
    """Return the values that stand in secret files, longest first; short ones would hit ordinary words."""
    found: set[str] = set()
    for content in contents:
        for line in content.decode("utf-8", "replace").splitlines():
            match = _PAIR.match(line)
            value = (match[1] if match else line).strip()
            if len(value) >= _SHORTEST:
                found.add(value)
    return tuple(sorted(found, key=len, reverse=True))


def redacted(text: str, values: Iterable[str]) -> str:
    """Return *text* without *values*, also where they stand escaped in JSON."""
    for value in values:
        for form in {value, value.encode("unicode_escape").decode("ascii"), value.replace('"', '\\"')}:
            text = text.replace(form, _PLACE)
    return text
