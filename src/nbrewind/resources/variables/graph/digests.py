"""The digest by which equal memory is known without reading what is stored; in a store it only serves to compare."""

from __future__ import annotations

import hashlib
from importlib import import_module
from typing import Any

__all__ = ["digest"]


def _blake2b(data: Any) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


try:
    # It has a binary part: protection must not hang on it. The way without is thirty times as slow.
    digest: Any = import_module("xxhash").xxh3_128_digest
except ImportError:
    digest = _blake2b
