"""The section of a rewind in which no signal may interrupt."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType

__all__ = ["critical"]

# Their default action ends the process; a rewind in flight is first brought to an end of its own.
_DEFERRED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
_ALL = tuple(map(int, signal.valid_signals()))
# Not `signal.getsignal`, which makes an enumeration of each answer: sixty questions cost ten times as much then.
_HANDLER_OF: Callable[[int], object] = getattr(sys.modules.get("_signal"), "getsignal", signal.getsignal)


class _Deferring:
    """A handler that only notes that its signal came.

    *former* is what is put back when the section ends; process state that is restored meanwhile is set there.
    """

    def __init__(self) -> None:
        self.arrived: list[int] = []
        self.former: dict[int, object] = {}

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.arrived.append(number)


@contextlib.contextmanager
def critical() -> Iterator[None]:
    """Defer signals during the block, and deliver those that came, in their order, when it ends.

    Deferred are interrupt, termination and hang-up, and every signal whose handler is Python code: such a handler runs
    between two steps of ours and may raise there. Handlers run in the main thread only, so elsewhere nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    remember = _Deferring()
    former = remember.former
    try:
        for number in _ALL:
            handler = _HANDLER_OF(number)
            if callable(handler) or (number in _DEFERRED and handler == signal.SIG_DFL):
                with contextlib.suppress(OSError, ValueError):
                    former[number] = signal.signal(number, remember)
        yield
    finally:
        # The interrupt last: once its handler is back, the next one may break off what stands here.
        for replaced in sorted(former, key=lambda number: number == signal.SIGINT):
            # What a rewind restored as the user's handler stays.
            if signal.getsignal(replaced) is remember:
                signal.signal(replaced, former[replaced])  # type: ignore[arg-type]  # exactly what signal.signal gave
        with contextlib.ExitStack() as deliveries:
            for deferred in reversed(dict.fromkeys(remember.arrived)):
                deliveries.callback(signal.raise_signal, deferred)
