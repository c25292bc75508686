"""Which variables a cell may have changed: those its code names, and those that the code it runs can reach.

Nothing watches the namespace while a cell runs. Instead its code is read, and the objects it names are walked:
functions to the globals they mention, methods, closures, callbacks, iterators. Where code can reach names without
spelling them, the answer is "all". What a call through C code reaches without any reference that can be seen is found
later, by comparing everything.
"""

from __future__ import annotations

import contextlib
import functools
import io
import queue
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import compress
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Final

from nbrewind.resources.variables.ambient import ambient, busy_thread
from nbrewind.resources.variables.facts import NOTHING, CodeFacts, compile_cell, facts_of
from nbrewind.resources.variables.families import drawing, family, overlapping
from nbrewind.resources.variables.foreign import SharedState
from nbrewind.resources.variables.kinds import PURE, QUIET, user_modules
from nbrewind.resources.variables.magic_words import without_magics
from nbrewind.resources.variables.patches import Patches, holders
from nbrewind.resources.variables.reaching import Walk, targets_of_proxies

__all__ = ["NameReader", "Reach", "reach"]

_BUDGET: Final = 5_000
_AMBIENT_BUDGET: Final = 500
_RESULTS: Final = re.compile(r"_(\d+|_{0,2}|oh|dh|ih|i{1,3}|i\d+)\Z|Out\Z")
_HOOKS: Final = re.compile(
    r"regist|hook|callback|callable|subscrib|listen|connect|observe|^on_|^add_|atexit|^signal$|finalize|patch|trace"
    r"|profile|sched|call_later|call_soon|submit|^bind|handler|seterrcall|dispatch|plugin|_factory$"
    r"|create_(?:function|aggregate|collation|window)|authorizer"
)
"""Words of calls that may keep a function of a cell somewhere in a library, to be called by another cell."""


_CALLED: Final = (FunctionType, MethodType, BuiltinFunctionType, functools.partial, type)
_METHODS: Final = frozenset({"append", "appendleft", "extend", "add", "update", "put", "put_nowait", "write", "pop"})
_FILLED: Final = (list, dict, set, deque, io.StringIO, io.BytesIO, queue.Queue)
"""What is filled through a bound method that was handed over: `set_trace_callback(log.append)`."""


@dataclass(frozen=True, slots=True)
class Reach:
    """The variables that may have changed: *names*, or None for all, and then *reason* says why."""

    names: frozenset[str] | None
    reason: str = ""

    def __or__(self, other: Reach) -> Reach:
        """Return what one or the other reaches."""
        if self.names is None:
            return self
        return other if other.names is None else Reach(self.names | other.names)


def reach(code: str, namespace: dict[str, object]) -> Reach:
    """Return what the transformed cell *code* can reach in *namespace*, knowing nothing of earlier cells. Never raises.

    Call it before the cell runs and again after it: functions called may be bound anew by the cell, and code it imports
    may not be there before.
    """
    return NameReader(complete=False).before(code, namespace)


class NameReader:
    """Reads the cells of one session. It holds names and weak references, never an object of the user.

    *roots* gives more functions that may run in any cell (callbacks registered with the shell). *complete*: every cell
    that made functions was, or will be, read or noted, so that functions that cannot be found are known by the names
    they mention. *watch* is told, before a cell that sets attributes runs, which modules and classes of libraries it
    can get at, and the attributes.
    """

    def __init__(
        self,
        *,
        roots: Callable[[], Iterable[object]] = tuple,
        watch: Callable[[Any, frozenset[str]], None] | None = None,
        complete: bool = True,
    ) -> None:
        self._roots = roots
        self._watch = watch
        self._complete = complete
        self._later: set[str] = set()
        self._hooked: set[str] = set()
        self._patches = Patches()
        self._code: str | None = None
        self._facts = NOTHING

    def note(self, code: str) -> None:
        """Take in a cell that ran earlier or elsewhere: functions that it made may live."""
        self._read(code)

    def before(self, code: str, namespace: dict[str, object]) -> Reach:
        """Return what the transformed cell *code*, which is about to run, can reach. Never raises."""
        self._code = code
        self._facts = facts = self._read(code)
        if facts.patches and self._watch is not None:
            with contextlib.suppress(Exception):  # a lying class; then nothing is known of it
                for holder in holders(facts.loads, facts.words, namespace):
                    self._watch(holder, facts.patches)
        return self._reach(facts, namespace)

    def after(self, namespace: dict[str, object]) -> Reach:
        """Return what the cell given to `before` can reach now that it ran; unite it with the answer before.

        Never raises.
        """
        try:
            self._remember(namespace)
        except Exception as error:  # noqa: BLE001  as in `_reach`
            return Reach(None, type(error).__name__)
        return self._reach(self._facts, namespace)

    def _remember(self, namespace: dict[str, object]) -> None:
        """Take in what the cell may have left where it runs in other cells."""
        if self._facts.patches:
            self._patches.look(self._facts.loads, self._facts.words, namespace)
        if any(_HOOKS.search(word) for word in self._facts.words):
            own = _METHODS & self._facts.words
            self._hooked |= self._facts.later
            self._hooked |= {
                name
                for name in self._facts.loads | self._facts.stores
                if issubclass(type(namespace.get(name)), _CALLED + (_FILLED if own else ()))
            }

    def around(self, namespace: dict[str, object]) -> Reach:
        """Return what callbacks and tasks can reach that run without a cell. Never raises."""
        return self._reach(NOTHING, namespace)

    def _read(self, code: str) -> CodeFacts:
        try:
            facts = _cell_facts(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            # Such a cell does not run; what else it might be is not for us to guess.
            return CodeFacts(escape="not Python")
        self._later |= facts.later
        return facts

    def _reach(self, facts: CodeFacts, namespace: dict[str, object]) -> Reach:
        if facts.escape:
            return Reach(None, facts.escape)
        try:
            return self._walk(facts, namespace)
        except Exception as error:  # noqa: BLE001  a hostile class may raise from anywhere: then all may have changed
            return Reach(None, type(error).__name__)

    def _walk(self, facts: CodeFacts, namespace: dict[str, object]) -> Reach:
        busy = busy_thread(namespace)
        if busy:
            return Reach(None, f"thread {busy}")
        walk = Walk(namespace, _BUDGET)
        walk.code(facts)
        walk.visit(self._patches.met(facts.loads, walk.words, namespace))
        own, others = ambient(namespace)
        around = Walk(namespace, _BUDGET)
        around.visit([*own, *self._patches.present(namespace), *self._roots()])
        around.name(self._hooked)
        if not around.over:
            around.extend(_AMBIENT_BUDGET)
            around.visit(others)
            around.over = False  # libraries' own callbacks lead far, and to the user's variables hardly ever
        reason = walk.escape or around.escape or _unnamed_result(facts, namespace)
        if reason:
            return Reach(None, reason)
        walk.join(around)  # but for its libraries: what these do by themselves is no cell's doing
        return self._close(walk, facts, namespace)

    def _close(self, walk: Walk, facts: CodeFacts, namespace: dict[str, object]) -> Reach:
        """Follow links other than references until nothing is added."""
        names = {name for name in facts.loads | facts.stores | walk.loads if name in namespace or name in facts.stores}
        linked: set[str] = set()
        shared = False
        while True:
            if walk.over:
                if not self._complete:
                    return Reach(None, "too much to look through")
                walk.extend(_BUDGET)
                walk.name(self._later)
                walk.over = False
            more = _linked(walk, namespace, linked)
            if (walk.modules or walk.over) and not shared and user_modules():
                shared = True
                walk.escape = walk.escape or _share(walk, namespace)
            if walk.proxies:
                more |= set(targets_of_proxies(namespace.items()))
            # No loop of ours over what may be thousands of names: this runs twice in every turn.
            more.update(compress(namespace, map(walk.seen.__contains__, map(id, namespace.values()))))
            more |= {name for name in walk.loads if name in namespace}
            if walk.escape:
                return Reach(None, walk.escape)
            if more <= names:
                return Reach(frozenset(names))
            walk.name(more - names)
            names |= more


def _cell_facts(code: str) -> CodeFacts:
    if "get_ipython" not in code:
        return facts_of(compile_cell(code))
    plain, magics = without_magics(code)
    facts = facts_of(compile_cell(plain)) | CodeFacts(loads=frozenset(magics.names), escape=magics.escape)
    for source in magics.sources:
        facts |= _cell_facts(source)
    return facts


def _unnamed_result(facts: CodeFacts, namespace: dict[str, object]) -> str:
    """Return the name of an earlier cell's result that the cell uses and that may be part of a variable's value."""
    for name in facts.loads:
        if _RESULTS.match(name) and name in namespace:
            value = namespace[name]
            results = list(value.values()) if isinstance(value, dict) and name in ("Out", "_oh") else [value]
            known = {id(other) for key, other in namespace.items() if not _RESULTS.match(key)}
            if any(type(one) not in QUIET and id(one) not in known for one in results):
                return name
    return ""


def _linked(walk: Walk, namespace: dict[str, object], done: set[str]) -> set[str]:
    """Return the names that libraries met may link to what was met; *done* are the libraries asked already."""
    roots = walk.linked - PURE
    names: set[str] = set()
    if drawing() and (roots or walk.linked & {"pandas", "scipy", "sklearn"}):
        roots |= {"matplotlib", "mpl_toolkits"}
    if "PIL core" in roots:
        roots = (roots - {"PIL core"}) | {"PIL"}
    if "decimal" in walk.linked:
        # Every sum may set a flag of the current context, whatever name that has.
        names.update(name for name, value in namespace.items() if type(value).__qualname__ == "Context")
    fresh = frozenset(roots - done)
    done |= fresh
    if fresh:
        names.update(family(namespace, fresh))
    if "torch" in fresh:
        names.update(overlapping(namespace))
    return names


def _share(walk: Walk, namespace: dict[str, object]) -> str:
    state = SharedState(namespace)
    state.walk(Counter(map(id, namespace.values())), Counter(map(id, walk.kept)))
    walk.visit(state.cells)
    walk.seen.update(state.seen)
    return state.escape
