"""Secrecy: what stands in secret files is taken out of everything that is stored of a turn."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path

from nbrewind.capture.span import SpanRecord
from nbrewind.resources.files.coverage import Coverage
from nbrewind.resources.files.scan import Scan
from nbrewind.session.redaction import is_key, literal_values, redacted, secret_values

__all__ = ["Secrecy"]

_LIMIT = 1 << 16
_MAX_FILES = 64
_MAX_KEYS = 500
_WORD = re.compile(r"[\w./\-]+")


class Secrecy:
    """Knows the values in the secret files of a workspace.

    A turn that touches a secret file, or whose code names one, loses all values of that file, before and after. Every
    other turn loses what looks like a key and was seen in any secret file of this session.
    """

    def __init__(self, root: str, coverage: Coverage) -> None:
        self._root = root
        self._coverage = coverage
        self._files: dict[str, tuple[int, ...]] = {}
        self._keys: dict[str, None] = {}

    def learn(self, paths: Iterable[str]) -> None:
        """Read those of *paths* (relative to the workspace, or absolute) that are secret, for `hide`."""
        for path in paths:
            if self._coverage.secret(path) and len(self._files) < _MAX_FILES:
                self._files.setdefault(self._absolute(path), ())
        for path, known in self._files.items():
            try:
                found = Path(path).stat()
            except OSError:
                continue
            now = (found.st_mtime_ns, found.st_size, found.st_ino)
            if now != known:
                self._files[path] = now
                self._remember(secret_values(_contents([path])))

    def hide(self, text: str) -> str:
        """Return *text* without the keys that are known; reads nothing."""
        return redacted(text, self._keys) if text else text

    def values(self, span: SpanRecord, images: Mapping[str, bytes], scan: Scan | None) -> tuple[str, ...]:
        """Return what has to be taken out of the texts of *span*; *images* are the bytes that secret files had."""
        code = span.header.code
        touched = [path for path, touch in span.touches.items() if touch.secret]
        named = self._named(code)
        changed = self._changed_since(scan, span.started_ns) if scan is not None and (span.ran or span.forked) else []
        self.learn((*touched, *changed))
        about = {*touched, *named, *changed}
        before = (images[path] for path in about if path in images)
        found = dict.fromkeys(secret_values(chain(before, _contents(about))))
        if touched or named:
            found.update(dict.fromkeys(literal_values(code)))
        self._remember(found)
        return tuple(sorted({*found, *self._keys}, key=len, reverse=True))

    def _named(self, code: str) -> list[str]:
        """Return the absolute paths of secret files that *code* names."""
        words = {word for word in _WORD.findall(code) if self._coverage.secret(word)}
        ends = {word.rpartition("/")[2] for word in words}
        known = [path for path in self._files if path.rpartition("/")[2] in ends]
        bases = (self._root, _present_folder())
        return [*known, *(os.path.normpath(f"{base}/{word}") for word in words for base in bases)]

    def _changed_since(self, scan: Scan, since_ns: int) -> list[str]:
        """Return the secret files that a child may have written: no event tells of those."""
        return [
            self._absolute(f"{folder}/{name}" if folder else name)
            for folder, listing in scan.folders.items()
            for name, raw in listing.signatures.items()
            if max(raw[1], raw[2]) >= since_ns and self._coverage.secret(name)
        ]

    def _absolute(self, path: str) -> str:
        return path if path.startswith("/") else f"{self._root.rstrip('/')}/{path}"

    def _remember(self, values: Iterable[str]) -> None:
        self._keys.update(dict.fromkeys(value for value in values if is_key(value)))
        while len(self._keys) > _MAX_KEYS:
            del self._keys[next(iter(self._keys))]


def _contents(paths: Iterable[str]) -> Iterator[bytes]:
    for path in paths:
        try:
            found = Path(path)
            if found.is_file():
                with found.open("rb") as file:
                    yield file.read(_LIMIT)
        except OSError:
            continue


def _present_folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:
        return "/"
