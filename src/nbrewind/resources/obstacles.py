"""What stood in the way of a rewind, as a reason of the closed list and a sentence that names the path."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from nbrewind import fs
from nbrewind.errors import DamagedObject, MissingObject, RefusalReason, RewindRefused, StoreError, StoreReadOnly
from nbrewind.store.shadow.objects import Unstable

__all__ = ["blaming", "refusal"]

_REASONS = {
    errno.ENOSPC: RefusalReason.DISK_FULL,
    errno.EDQUOT: RefusalReason.DISK_FULL,
    errno.EFBIG: RefusalReason.DISK_FULL,
    errno.EROFS: RefusalReason.READ_ONLY,
    errno.EACCES: RefusalReason.READ_ONLY,
    errno.EPERM: RefusalReason.READ_ONLY,
    errno.ENOENT: RefusalReason.STALE_PLAN,
    errno.EEXIST: RefusalReason.STALE_PLAN,
    errno.ENOTDIR: RefusalReason.STALE_PLAN,
    errno.EISDIR: RefusalReason.STALE_PLAN,
    errno.ENOTEMPTY: RefusalReason.STALE_PLAN,
    errno.ELOOP: RefusalReason.OUTSIDE_WORKSPACE,
    errno.EMFILE: RefusalReason.BUSY,
    errno.ENFILE: RefusalReason.BUSY,
    errno.ENOMEM: RefusalReason.BUSY,
    errno.ETXTBSY: RefusalReason.BUSY,
}
_HINTS = {
    RefusalReason.DISK_FULL: "Free some space and try again.",
    RefusalReason.READ_ONLY: "Make it writable and try again.",
    RefusalReason.STALE_PLAN: "Look at the preview again: something changed since.",
    RefusalReason.DAMAGED: "`%rewind verify` tells what else is damaged.",
}


def refusal(subject: str, error: Exception) -> RewindRefused:
    """Return the refusal that names *subject* for *error*, a failure of the disk or of the store."""
    reason = _reason(error)
    refused = RewindRefused(reason, f"{subject}: {_said(error)}.", hint=_HINTS.get(reason, ""))
    refused.__cause__ = error
    return refused


@contextmanager
def blaming(subject: str) -> Iterator[None]:
    """Turn failures of the disk or the store inside the block into a `RewindRefused` that names *subject*."""
    try:
        yield
    except (OSError, StoreError) as error:
        raise refusal(subject, error) from error


def _reason(error: BaseException) -> RefusalReason:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, fs.OutsideRoot):
            return RefusalReason.OUTSIDE_WORKSPACE
        if isinstance(cause, OSError) and cause.errno in _REASONS:
            return _REASONS[cause.errno]
        if isinstance(cause, StoreReadOnly):
            return RefusalReason.READ_ONLY
        if isinstance(cause, Unstable):
            return RefusalReason.STALE_PLAN
        if isinstance(cause, MissingObject | DamagedObject):
            return RefusalReason.DAMAGED
        cause = cause.__cause__
    return RefusalReason.DAMAGED


def _said(error: BaseException) -> str:
    if isinstance(error, OSError):
        text = error.strerror or os.strerror(error.errno or 0)
        return text[:1].lower() + text[1:]
    return str(error).rstrip(".")
