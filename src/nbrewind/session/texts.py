"""The texts of a turn as they go into the log: without secrets, and long ones as objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from nbrewind.capture.span import SpanRecord
from nbrewind.model import Note, ObjectId
from nbrewind.session.redaction import redacted

__all__ = ["Texts", "texts_of"]

_INLINE_CODE = 4 << 10
_INLINE_OUTPUTS = 8 << 10


@dataclass(frozen=True, slots=True)
class Texts:
    """What is kept of the words of a turn, and the objects that hold the rest. *secrets* are in none of it."""

    code: str
    outputs: str
    error: str
    ran: tuple[str, ...]
    secrets: tuple[str, ...] = ()
    code_at: ObjectId | None = None
    outputs_at: ObjectId | None = None

    def clean(self, notes: Iterable[Note]) -> tuple[Note, ...]:
        """Return *notes* without secrets: a reason may quote a command."""
        return tuple(Note(note.subject, redacted(note.reason, self.secrets)) for note in notes)


def texts_of(span: SpanRecord, secrets: tuple[str, ...], store: Callable[[bytes], ObjectId] | None = None) -> Texts:
    """Return the texts of *span* without *secrets*; *store* takes what is too long for the log."""
    code = redacted(span.header.code, secrets)
    outcome = span.outcome
    outputs = redacted(outcome.outputs, secrets) if outcome else "[]"
    error = redacted(outcome.error, secrets) if outcome else "the kernel ended in the middle of it"
    code_at = outputs_at = None
    if store is not None and len(code) > _INLINE_CODE:
        code_at = store(code.encode("utf-8", "surrogatepass"))
        code = code[:_INLINE_CODE]
    if store is not None and len(outputs) > _INLINE_OUTPUTS:
        outputs_at = store(outputs.encode("utf-8", "surrogatepass"))
        outputs = "[]"
    ran = tuple(redacted(command, secrets) for command in span.ran)
    return Texts(code, outputs, error, ran, secrets, code_at, outputs_at)
