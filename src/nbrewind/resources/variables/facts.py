"""What a code object says of itself: which global names it reads and binds, and whether it can reach any name."""

from __future__ import annotations

import ast
import dis
import sys
import warnings
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any, Final, Generic, TypeVar

__all__ = ["NOTHING", "ByIdentity", "CodeFacts", "compile_cell", "facts_of"]

_T = TypeVar("_T")

_CALLS: Final = frozenset({"exec", "eval", "globals", "locals", "vars", "get_ipython", "__import__", "breakpoint"})
"""Built-in names through which code reaches names that it does not spell."""
_WORDS: Final = frozenset(
    {
        *("f_globals", "f_locals", "f_back", "tb_frame", "gi_frame", "cr_frame", "ag_frame", "__globals__"),
        *("user_ns", "user_global_ns", "user_module", "__main__", "__builtins__", "__subclasses__"),
        *("_getframe", "_current_frames", "currentframe", "get_objects", "get_referrers"),
        *("run_cell", "run_cell_async", "run_code", "runcode", "run_module", "run_path", "set_trace", "post_mortem"),
        *("load_session", "load_module", "dump_module", "dump_session", "InteractiveShell"),
    }
)
"""Attributes, imports and texts of the same kind."""
_MODULES: Final = frozenset(
    {
        *("ctypes", "cProfile", "profile", "pdb", "bdb", "ipdb", "doctest", "unittest", "code", "codeop", "runpy"),
        *("ipytest", "pytest", "trace", "__main__"),
    }
)
"""Modules that run or read code of `__main__` without spelling its names, or write into memory."""
_ONCE: Final = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>"})
_MOST_TEXT: Final = 200


@dataclass(frozen=True, slots=True)
class CodeFacts:
    """Names of one code object and all that is nested in it.

    *loads* and *stores* are global names, *words* all other identifiers (attributes, imported modules); *later* are the
    names that functions and lambdas in it mention, so that they may be used long after it ran. *escape* says why it may
    reach any name, "" if it cannot. *patches* are attributes that it sets or deletes.
    """

    loads: frozenset[str] = frozenset()
    stores: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    later: frozenset[str] = frozenset()
    escape: str = ""
    patches: frozenset[str] = frozenset()

    def __or__(self, other: CodeFacts) -> CodeFacts:
        """Return the facts of two pieces of code that run in one cell."""
        return CodeFacts(
            self.loads | other.loads,
            self.stores | other.stores,
            self.words | other.words,
            self.later | other.later,
            self.escape or other.escape,
            self.patches | other.patches,
        )


NOTHING: Final = CodeFacts()


class ByIdentity(Generic[_T]):
    """A cache by identity that holds nothing alive: code and classes may have an own, slow or hostile `__eq__`."""

    def __init__(self, compute: Callable[[Any], _T]) -> None:
        self._compute = compute
        self._known: dict[int, tuple[weakref.ref[Any], _T]] = {}

    def __call__(self, key: Any) -> _T:
        """Return what was computed for *key*."""
        known = self._known.get(id(key))
        if known is not None and known[0]() is key:
            return known[1]
        value = self._compute(key)
        number = id(key)
        self._known[number] = (weakref.ref(key, lambda _: self._known.pop(number, None)), value)
        return value


def compile_cell(source: str) -> CodeType:
    """Return the compiled cell; the warnings that compiling gives are the user's, and come once, from the cell itself.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: it is no Python.
    """
    # Not catch_warnings: it makes warnings that were shown once be shown again.
    quiet: Any = ("ignore", None, Warning, None, 0)
    filters = warnings.filters
    filters.insert(0, quiet)  # type: ignore[attr-defined]  # typeshed says Sequence; it is a list
    try:
        code: CodeType = compile(source, "<nbrewind>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        return code
    finally:
        for index, entry in enumerate(filters):
            if entry is quiet:
                del filters[index]  # type: ignore[attr-defined]  # as above
                break


def _facts(code: CodeType) -> CodeFacts:
    loads: set[str] = set()
    stores: set[str] = set()
    imports: set[str] = set()
    patches: set[str] = set()
    for operation, name in _named(code):
        if operation in _LOADS:
            loads.add(name)
        elif operation in _STORES:
            stores.add(name)
        elif operation == _IMPORT:
            imports.add(name)
        elif operation in _PATCHES:
            patches.add(name)
    words = frozenset(code.co_names)
    if loads & {"setattr", "delattr"} or "patch" in words:
        texts = {text.rpartition(".")[2] for text in code.co_consts if type(text) is str and len(text) < _MOST_TEXT}
        patches |= {text for text in texts if text.isidentifier()}
        words |= patches
    escape = _escape(loads, words, imports, code)
    facts = CodeFacts(frozenset(loads), frozenset(stores), words - loads, frozenset(), escape, frozenset(patches))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            facts |= _nested(constant, class_body=not constant.co_flags & 1)
    return facts


def _nested(code: CodeType, *, class_body: bool) -> CodeFacts:
    """Return the facts of *code* as seen from the code around it: what a class body binds is no global name."""
    inner = facts_of(code)
    stores = inner.stores
    if class_body:
        own = {name for operation, name in _named(code) if operation == _STORE_NAME}
        stores -= own - {name for operation, name in _named(code) if operation == _STORE_GLOBAL}
    later = inner.later if class_body or code.co_name in _ONCE else inner.later | inner.loads | inner.stores
    return CodeFacts(inner.loads, stores, inner.words, later, inner.escape, inner.patches)


def _escape(loads: set[str], words: frozenset[str], imports: set[str], code: CodeType) -> str:
    found = loads & _CALLS or words & _WORDS
    if found:
        return min(found)
    roots = {name.partition(".")[0] for name in imports} & _MODULES
    if roots:
        return min(roots)
    if "modules" in words and "sys" in words:
        return "sys.modules"
    for text in code.co_consts:
        if type(text) is str and len(text) < _MOST_TEXT and (text in _WORDS or "__main__" in text):
            # `if __name__ == "__main__":` is in every second notebook, and harmless.
            if text == "__main__" and "__name__" in loads:
                continue
            return text
    return ""


# -- bytecode ---------------------------------------------------------------------------------------------------------

_STORE_NAME: Final = dis.opmap["STORE_NAME"]
_STORE_GLOBAL: Final = dis.opmap["STORE_GLOBAL"]
_LOADS: Final = frozenset(
    dis.opmap[name]
    for name in ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS", "DELETE_NAME", "DELETE_GLOBAL")
    if name in dis.opmap
)
_STORES: Final = frozenset({_STORE_NAME, _STORE_GLOBAL})
_IMPORT: Final = dis.opmap["IMPORT_NAME"]
_PATCHES: Final = frozenset({dis.opmap["STORE_ATTR"], dis.opmap["DELETE_ATTR"]})
_WANTED: Final = _LOADS | _STORES | _PATCHES | {_IMPORT}
_EXTENDED: Final = dis.opmap["EXTENDED_ARG"]
_LOAD_GLOBAL: Final = dis.opmap["LOAD_GLOBAL"]
_KNOWN: Final = sys.version_info < (3, 15)


def _named(code: CodeType) -> Iterator[tuple[int, str]]:
    """Yield the instructions of *code* that name a global, an import or a changed attribute."""
    if not _KNOWN:
        for instruction in dis.get_instructions(code):
            if instruction.opcode in _WANTED:
                yield instruction.opcode, str(instruction.argval)
        return
    raw, names, high = code.co_code, code.co_names, 0
    for operation, argument in zip(raw[::2], raw[1::2], strict=True):
        if operation == _EXTENDED:
            high = (high | argument) << 8
            continue
        if operation in _WANTED:
            index = high | argument
            yield operation, names[index >> 1 if operation == _LOAD_GLOBAL else index]
        high = 0


facts_of: ByIdentity[CodeFacts] = ByIdentity(_facts)
"""The facts of a code object; computed once for each."""
