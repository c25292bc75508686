"""Options of libraries: some live in context variables, so they are read and set in the context that cells run in."""

from __future__ import annotations

import contextvars
import sys
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from nbrewind.model import Note
from nbrewind.resources.variables.providers import Undo, decode, encode, note_differences
from nbrewind.resources.variables.providers.live import LiveObjects, Lost

__all__ = ["DecimalContext", "NumpyOptions", "PandasOptions", "SklearnOptions", "TorchOptions", "loaded"]


class _Options:
    """Named options of the library *module*. A state without it stands for the library's own defaults."""

    name: ClassVar[str]
    module: ClassVar[str]

    def __init__(self) -> None:
        self._live = LiveObjects()

    def capture(self) -> bytes:
        """Return the options; empty while the library is not loaded."""
        module = loaded(self.module)
        return encode(self._encoded(self._get(module))) if module is not None else b""

    def describe(self, before: bytes, after: bytes) -> tuple[Note, ...]:
        """Return the options that differ."""
        if not before or not after:
            return ()
        return note_differences(decode(before), decode(after), f"{self.name}: {{}}")

    def restore(self, state: bytes) -> Undo:
        """Set the options that differ."""
        module = loaded(self.module)
        if module is None or state == self.capture():
            return Undo(lambda: None)
        before = self._get(module)
        notes: list[Note] = []
        wanted = self._decoded(decode(state), notes) if state else self._defaults(module)
        self._set_all(module, {key: value for key, value in wanted.items() if not _same(before.get(key), value)}, notes)
        return Undo(lambda: self._set_all(module, before, []), notes)

    def _set_all(self, module: Any, options: dict[str, Any], notes: list[Note]) -> None:
        for key, value in options.items():
            try:
                self._set(module, key, value)
            except (ValueError, TypeError, KeyError, AttributeError, RuntimeError) as error:
                notes.append(Note(f"{self.name}: {key}", str(error)))

    def _encoded(self, options: dict[str, Any]) -> dict[str, Any]:
        return {key: self._plain(value) for key, value in options.items()}

    def _plain(self, value: Any) -> Any:
        """Return something for JSON; what is none is named by a token in a list of one."""
        if value is None or type(value) in (int, float, str, bool):
            return value
        if type(value) in (list, tuple) and all(type(one) in (int, float, str, bool, type(None)) for one in value):
            return {type(value).__name__: list(value)}
        if type(value) is dict and all(type(key) is str for key in value):
            return {"dict": {key: self._plain(one) for key, one in value.items()}}
        return [self._live.token(value)]

    def _value(self, plain: Any) -> Any:
        if isinstance(plain, list):
            return self._live.value(plain[0])
        if isinstance(plain, dict):
            (kind, inner), *_ = plain.items()
            if kind == "dict":
                return {key: self._value(one) for key, one in inner.items()}
            return tuple(inner) if kind == "tuple" else list(inner)
        return plain

    def _decoded(self, options: Mapping[str, Any], notes: list[Note]) -> dict[str, Any]:
        values = {}
        for key, plain in options.items():
            try:
                values[key] = self._value(plain)
            except Lost as lost:
                notes.append(Note(f"{self.name}: {key}", f"{lost.args[0]} is gone; kept as it is now"))
        return values

    def _get(self, module: Any) -> dict[str, Any]:
        raise NotImplementedError

    def _set(self, module: Any, key: str, value: Any) -> None:
        raise NotImplementedError

    def _defaults(self, module: Any) -> dict[str, Any]:
        """Return what the library starts with; by default what an empty context shows."""
        defaults: dict[str, Any] = contextvars.Context().run(self._get, module)
        return defaults


def loaded(name: str) -> Any:
    """Return a module that is loaded completely: one that another thread is just importing has half of its names."""
    module = sys.modules.get(name)
    return None if getattr(getattr(module, "__spec__", None), "_initializing", False) else module


def _same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and bool(one == other))


class NumpyOptions(_Options):
    """Printing and error handling of numpy: context variables."""

    name = "numpy"
    module = "numpy"
    _ERRORS: Final = ("divide", "over", "under", "invalid")

    def _get(self, module: Any) -> dict[str, Any]:
        options: dict[str, Any] = dict(module.get_printoptions())
        # One call sets them all: without *formatter*, each call takes the formatter away.
        printing = {key: value for key, value in options.items() if key != "override_repr"}
        errors: dict[str, Any] = dict(module.geterr())
        return errors | {"printing": printing, "errcall": module.geterrcall(), "bufsize": module.getbufsize()}

    def describe(self, before: bytes, after: bytes) -> tuple[Note, ...]:
        """Return the options that differ; those of printing one by one."""
        if not before or not after:
            return ()
        was, now = (_spread(decode(state)) for state in (before, after))
        return note_differences(was, now, "numpy: {}")

    def _set(self, module: Any, key: str, value: Any) -> None:
        if key in self._ERRORS:
            module.seterr(**{key: value})
        elif key == "errcall":
            module.seterrcall(value)
        elif key == "bufsize":
            module.setbufsize(value)
        else:
            module.set_printoptions(**value)


def _spread(options: dict[str, Any]) -> dict[str, Any]:
    printing = options.pop("printing", {})
    return options | dict(printing.get("dict", {}))


class DecimalContext(_Options):
    """The current decimal context: restored in place, since code may hold the object."""

    name = "decimal"
    module = "decimal"
    _PLAIN: Final = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")

    def _get(self, module: Any) -> dict[str, Any]:
        context = module.getcontext()
        options: dict[str, Any] = {key: getattr(context, key) for key in self._PLAIN}
        for key in ("flags", "traps"):
            options[key] = sorted(signal.__name__ for signal, on in getattr(context, key).items() if on)
        return options

    def _set(self, module: Any, key: str, value: Any) -> None:
        context = module.getcontext()
        if key in self._PLAIN:
            setattr(context, key, value)
        else:
            signals = getattr(context, key)
            for signal in signals:
                signals[signal] = signal.__name__ in value


class PandasOptions(_Options):
    """All options that pandas registered."""

    name = "pandas"
    module = "pandas"

    def __init__(self) -> None:
        super().__init__()
        self._last: Any = None
        self._state = b""

    def capture(self) -> bytes:
        """Return the options; empty while pandas is not loaded."""
        if loaded(self.module) is None:
            return b""
        present = _tree(sys.modules["pandas._config.config"]._global_config)
        if present != self._last:
            self._state = super().capture()
            # A function as an option is the user's.
            self._last = None if b'["object:' in self._state else present
        return self._state

    def _get(self, module: Any) -> dict[str, Any]:
        return _flat(sys.modules["pandas._config.config"]._global_config, "")

    def _set(self, module: Any, key: str, value: Any) -> None:
        with _Silence():
            module.set_option(key, value)

    def _defaults(self, module: Any) -> dict[str, Any]:
        registered = sys.modules["pandas._config.config"]._registered_options
        return {key: option.defval for key, option in registered.items()}


def _tree(options: dict[str, Any]) -> dict[str, Any]:
    return {key: _tree(value) if type(value) is dict else value for key, value in options.items()}


def _flat(options: dict[str, Any], before: str) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in options.items():
        flat |= _flat(value, f"{before}{key}.") if type(value) is dict else {before + key: value}
    return flat


class _Silence:
    """Ignores warnings without the side effects of catch_warnings on what was shown once."""

    def __enter__(self) -> None:
        self._entry: Any = ("ignore", None, Warning, None, 0)
        filters: Any = warnings.filters
        filters.insert(0, self._entry)

    def __exit__(self, *_: object) -> None:
        filters: Any = warnings.filters
        filters[:] = [entry for entry in filters if entry is not self._entry]


class TorchOptions(_Options):
    """Default type, gradients on or off, threads, deterministic algorithms."""

    name = "torch"
    module = "torch"

    def _get(self, module: Any) -> dict[str, Any]:
        return {
            "default dtype": str(module.get_default_dtype()).partition(".")[2],
            "gradients": module.is_grad_enabled(),
            "threads": module.get_num_threads(),
            "deterministic": module.are_deterministic_algorithms_enabled(),
            "anomalies": module.is_anomaly_enabled(),
        }

    def _set(self, module: Any, key: str, value: Any) -> None:
        match key:
            case "default dtype":
                module.set_default_dtype(getattr(module, value))
            case "gradients":
                module.set_grad_enabled(value)
            case "threads":
                module.set_num_threads(value)
            case "deterministic":
                module.use_deterministic_algorithms(value)
            case _:
                module.autograd.set_detect_anomaly(value)

    def _defaults(self, module: Any) -> dict[str, Any]:
        return {"default dtype": "float32", "gradients": True, "deterministic": False, "anomalies": False}


class SklearnOptions(_Options):
    """The configuration of scikit-learn, which is per thread."""

    name = "sklearn"
    module = "sklearn"

    def _get(self, module: Any) -> dict[str, Any]:
        return dict(module.get_config())

    def _set(self, module: Any, key: str, value: Any) -> None:
        module.set_config(**{key: value})

    def _defaults(self, module: Any) -> dict[str, Any]:
        return dict(sys.modules["sklearn._config"]._global_config)
