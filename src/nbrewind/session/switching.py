"""Switching: recording begins, pauses, goes on and ends."""

from __future__ import annotations

import time

from nbrewind.capture import hook
from nbrewind.capture.span import TurnOutcome
from nbrewind.model import TurnStatus
from nbrewind.session.recording import Recording

__all__ = ["Switching"]


class Switching(Recording):
    """Turns recording on and off, and gives the session back at the end."""

    def start_recording(self) -> None:
        """Watch this process from now on, if the settings say so."""
        if self._parts.recorder is not None and self.settings.recording:
            with self._fence("Files cannot be watched"), hook.suspended():
                self._parts.recorder.start()

    # -- on and off -----------------------------------------------------------------------------------------------

    def pause(self) -> None:
        """Stop recording; points stay and can be gone back to."""
        self.settle()
        self._health.paused = True
        if self._parts.recorder is not None:
            self._parts.recorder.stop()
        self._stir()

    def resume(self) -> None:
        """Record again; what changed meanwhile is logged as an external change."""
        self._health.paused = False
        if self._parts.recorder is not None and self.settings.recording:
            self._parts.recorder.start()
        self.settle()
        self._stir()

    def close(self, *, flush: float = 3.0) -> None:
        """Finish the last capture within *flush* seconds and give the session back. Twice is fine. Never raises."""
        if self.is_child or self._health.closed:
            return
        with self._fence("The session could not be closed"):
            if self._open is not None:
                self.scheduler = None
                self._end_unfinished()
            # In a signal handler, in the middle of a capture: its journal is on the disk, and the next attach takes it.
            if not self._mutex.held_here and self._mutex.acquire(flush):
                try:
                    with hook.suspended():
                        if self._pending:
                            self._capture_pending()
                        if not self.readonly:
                            self._parts.tracker.remember()
                finally:
                    self._mutex.release()
        with self._fence("The session could not be given back"):
            self._health.closed = True
            if self._parts.variables is not None:
                self._parts.variables.guard.release()
            self._worker.close(0.0)
            for part in (self._parts.recorder,):
                if part is not None:
                    part.stop()
            self._parts.tracker.close()
            self._parts.repository.close()
            if self._parts.log is not None:
                self._parts.log.close()
            if self._parts.lock is not None:
                self._parts.lock.release()

    def _end_unfinished(self) -> None:
        opened, self._open = self._open, None
        if opened is not None and self._parts.recorder is not None:
            self._parts.recorder.end(TurnOutcome(status=TurnStatus.INTERRUPTED, ended=time.time()))
            self._pending += 1
