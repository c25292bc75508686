"""What a value's type says: plain data, code made in cells, an object of a library, or of a module of the user's."""

from __future__ import annotations

import os
import sys
import sysconfig
import types
import weakref
from dataclasses import dataclass
from typing import Any, Final

from nbrewind.resources.variables.facts import ByIdentity

__all__ = ["PURE", "QUIET", "Kind", "is_user_module", "kind_of", "module_name", "name_of_module", "user_modules"]

QUIET: Final[frozenset[type]] = frozenset(
    {
        *(int, float, complex, bool, str, bytes, bytearray, range, slice, type(None), type(...), type(NotImplemented)),
        *(
            types.CodeType,
            types.FrameType,
            types.TracebackType,
            types.GetSetDescriptorType,
            types.WrapperDescriptorType,
        ),
        *(types.MemberDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType),
    }
)
"""Types whose values lead nowhere."""

PURE: Final = frozenset(
    {
        *("builtins", "numpy", "pandas", "polars", "pyarrow", "scipy", "sklearn", "datetime", "collections", "decimal"),
        *("fractions", "uuid", "pathlib", "re", "functools", "itertools", "operator", "types", "enum", "dataclasses"),
        *("typing", "string", "array", "math", "cmath", "statistics", "random", "copy", "json", "csv", "io", "abc"),
        *("time", "calendar", "zoneinfo", "heapq", "bisect", "queue", "struct", "hashlib", "base64", "textwrap"),
        *("_io", "_random", "_thread", "_collections", "_functools", "_operator", "_struct", "_hashlib", "_decimal"),
        *("PIL", "_csv", "os", "posixpath", "glob", "shutil", "tempfile", "warnings", "contextlib", "inspect"),
        *("__main__", "nbrewind", "joblib", "tqdm", "dateutil", "pytz", "numbers", "_abc", "weakref", "_weakref"),
    }
)
"""Roots of libraries whose objects are linked by references only, where these are seen."""


@dataclass(frozen=True, slots=True)
class Kind:
    """*roots*: packages of the class and its bases; *own*: made in a cell; *foreign*: from a module of the user's."""

    roots: frozenset[str]
    own: bool
    foreign: bool


def module_name(cls: type) -> str:
    """Return the module of a class without running code of its own."""
    name = type.__getattribute__(cls, "__module__") if isinstance(cls, type) else None
    return name if isinstance(name, str) else ""


def _kind(cls: type) -> Kind:
    names = [module_name(base) for base in type.__getattribute__(cls, "__mro__")]
    own = names[0] == "__main__"
    foreign = any(is_user_module(name) for name in names)
    return Kind(frozenset(name.partition(".")[0] for name in names), own, foreign)


kind_of: ByIdentity[Kind] = ByIdentity(_kind)
"""The kind of a type; computed once for each."""


# -- modules ----------------------------------------------------------------------------------------------------------

_ROOTS: Final = tuple(
    os.path.realpath(path) + os.sep
    for path in {sys.prefix, sys.base_prefix, *sysconfig.get_paths().values()}
    if path and os.path.realpath(path) != os.sep
)
_LIBRARY_FOLDERS: Final = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)
_counted = [0]
_found: list[str] = []
_MAIN: Final = frozenset({"__main__", "__mp_main__"})
_judged: dict[str, tuple[weakref.ref[types.ModuleType], bool]] = {}


def is_user_module(name: str) -> bool:
    """Return whether *name* is a loaded module of the user's own: neither a library nor the standard library."""
    module = sys.modules.get(name)
    if not isinstance(module, types.ModuleType):
        return False
    known = _judged.get(name)
    if known is not None and known[0]() is module:
        return known[1]
    answer = _is_own(name, module)
    _judged[name] = (weakref.ref(module), answer)
    return answer


def user_modules() -> tuple[str, ...]:
    """Return the names of all loaded modules of the user's own."""
    if _counted[0] != len(sys.modules):
        _counted[0] = len(sys.modules)
        _found[:] = [name for name in list(sys.modules) if is_user_module(name)]
    return tuple(_found)


def _is_own(name: str, module: types.ModuleType) -> bool:
    root, dot, _ = name.partition(".")
    if root in PURE or root in _MAIN or root in sys.stdlib_module_names:
        return False
    own = types.ModuleType.__getattribute__(module, "__dict__")
    file = own.get("__file__")
    if not isinstance(file, str):
        # Made by hand. A package's own (`torch._C._nn`) are as it is; compilers leave some too (`_cython_3_1`).
        made_by_hand = own.get("__spec__") is None and not name.startswith(("_", "cython"))
        return is_user_module(root) if dot else made_by_hand
    path = os.path.realpath(file)
    return not path.startswith(_ROOTS) and not any(folder in path for folder in _LIBRARY_FOLDERS)


def name_of_module(module: Any) -> str:
    """Return the name of a module object without running code of its own."""
    name = types.ModuleType.__getattribute__(module, "__dict__").get("__name__")
    return name if isinstance(name, str) else ""
