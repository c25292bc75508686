"""The live kernel as the variables need it: the user's namespace, and which names in it are not the user's."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from sys import getrefcount
from typing import Any

from nbrewind.extension.callbacks import Registrations
from nbrewind.extension.configured import Configured
from nbrewind.extension.shellstate import shell_providers
from nbrewind.resources.variables.providers import Provider

__all__ = ["UserNamespace"]

_OWN = frozenset(
    {"In", "Out", "_ih", "_oh", "_dh", "_i", "_ii", "_iii", "get_ipython", "__name__", "__doc__", "__package__"}
    | {
        "__loader__",
        "__spec__",
        "__builtin__",
        "__builtins__",
        "__session__",
        "__file__",
        "_exit_code",
        "__warningregistry__",
    }
)
_CACHED = re.compile(r"_i?[1-9][0-9]*\Z")
_MISSING = object()


class UserNamespace:
    """`KernelPort` over a live IPython shell."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._configured: Configured | None = None
        self._registrations = Registrations(shell)

    def namespace(self) -> dict[str, object]:
        """Return the live user namespace itself."""
        names: dict[str, object] = self._shell.user_ns
        return names

    def hidden(self) -> frozenset[str]:
        """Return the names that are IPython's, as long as they are bound to what IPython bound them to."""
        names, own = self._shell.user_ns, self._shell.user_ns_hidden
        found = {name for name, value in own.items() if names.get(name, _MISSING) is value}
        hook = self._shell.displayhook
        found.update(name for name in ("_", "__", "___") if names.get(name, _MISSING) is getattr(hook, name, None))
        found.update(name for name in names if type(name) is str and name[:1] == "_" and self._is_cached(name))
        return frozenset(found | _OWN)

    def callbacks(self) -> Iterable[object]:
        """Return functions of the user's that the shell calls."""
        return self._registrations.callbacks()

    def providers(self) -> Iterable[Provider]:
        """Return providers of process state that only the shell knows."""
        self._configured = Configured(self._shell)
        return [*shell_providers(self._shell, self._registrations), self._configured]

    def leave(self) -> None:
        """Take out of the shell what `providers` put there. Twice is fine."""
        if self._configured is not None:
            self._configured.leave()

    def shown(self) -> Mapping[int, int]:
        """Return how many references IPython holds to results that it showed, by address."""
        shell, names = self._shell, self._shell.user_ns
        out = names.get("_oh")
        held = [names[name] for name in self.hidden() if name in names]
        held += [*shell.user_ns_hidden.values(), *(out.values() if type(out) is dict else ())]
        held += [getattr(shell.displayhook, name, None) for name in ("_", "__", "___")]
        held.append(getattr(getattr(shell, "last_execution_result", None), "result", None))
        found = Counter(map(id, held))
        inner = {id(one): one for one in held if type(one) in (list, tuple)}
        del held
        for key in inner:
            # A list that nobody else has (`rows[:3]` was looked at) ties its elements to nothing either. Two references
            # more are those of `inner` and the call.
            if getrefcount(inner[key]) == found[key] + 2:
                found.update(map(id, inner[key]))
        return found

    def _is_cached(self, name: str) -> bool:
        """Return whether *name* is an input or a result that IPython keeps by number."""
        if _CACHED.match(name) is None:
            return False
        value = self._shell.user_ns[name]
        if name[1] == "i":
            return isinstance(value, str)
        out = self._shell.user_ns.get("_oh")
        return isinstance(out, dict) and out.get(int(name[1:]), _MISSING) is value

    def put_back_own(self) -> None:
        """Bind again what IPython has in every namespace and a rewind took away with a variable of that name."""
        for name, value in list(self._shell.user_ns_hidden.items()):
            if _CACHED.match(name) is None:
                self._shell.user_ns.setdefault(name, value)
