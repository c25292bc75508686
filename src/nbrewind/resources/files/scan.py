"""A walk over the workspace that looks at every covered entry and opens none."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from nbrewind.model import Note
from nbrewind.resources.files.coverage import Coverage
from nbrewind.resources.files.listing import Listing, under
from nbrewind.resources.files.mounts import Mount, mount_of, mounts
from nbrewind.resources.files.range import Matcher, Range
from nbrewind.resources.files.signature import FORMAT, RawSignature, Signature, raw_signature, signature

__all__ = ["Listing", "RawSignature", "Scan", "Signature", "look_at", "raw_signature", "scan", "signature", "under"]

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NONBLOCK
_NO_NAMES: Mapping[str, RawSignature] = {}


@dataclass(frozen=True, slots=True)
class Scan:
    """The workspace as one walk saw it. Folders are keyed by their relative path, the workspace itself by "".

    *unreadable* folders have no listing; what was known of them still stands. *truncated* says why the walk was given
    up (the budget of the settings). *full* is False where hints said which folders to look at.
    """

    root: str
    started_ns: int
    folders: dict[str, Listing]
    unreadable: dict[str, str] = field(default_factory=dict)
    truncated: str = ""
    full: bool = True
    matcher: Matcher = field(default_factory=lambda: Matcher(Range()), repr=False)
    forced: frozenset[str] = frozenset()

    @property
    def entries(self) -> dict[str, Signature]:
        """Return every entry by its relative path."""
        return {
            f"{folder}/{name}" if folder else name: Signature(*raw)
            for folder, listing in self.folders.items()
            for name, raw in listing.signatures.items()
        }

    @property
    def excluded(self) -> tuple[Note, ...]:
        """Return what stands in the workspace and is not covered, with the reason."""
        return tuple(note for folder in sorted(self.folders) for note in self.folders[folder].excluded)

    @property
    def range(self) -> Range:
        """Return what was covered."""
        return self.matcher.range

    def signature(self, rel: str) -> Signature | None:
        """Return what was seen at *rel*, None if nothing stands there."""
        folder, _, name = rel.rpartition("/")
        listing = self.folders.get(folder)
        raw = None if listing is None else listing.signatures.get(name)
        return None if raw is None else Signature(*raw)

    def __len__(self) -> int:
        """Return the number of entries."""
        return sum(len(listing.signatures) for listing in self.folders.values())


def scan(
    root: str,
    coverage: Coverage,
    *,
    previous: Scan | None = None,
    dirty: Iterable[str] | None = None,
    on_folder: Callable[[str], None] | None = None,
    forced: frozenset[str] = frozenset(),
) -> Scan:
    """Walk the workspace; never open a file, never follow a symlink, never raise for what cannot be read.

    Args:
        root: The workspace, absolute and real.
        coverage: What to look at.
        previous: An earlier scan; its listings are used again where nothing differs.
        dirty: With *previous*: the only folders in which something may have changed.
        on_folder: Called with each folder before it is listed (to watch it first).
        forced: Paths that are to be read whatever their signature says; only passed on.
    """
    started = time.time_ns()
    matcher = coverage.matcher
    if previous is not None and (previous.matcher is not matcher or previous.root != root or previous.truncated):
        previous = None
    walk = _Walk(root, coverage, matcher, previous, on_folder)
    if previous is None or dirty is None:
        walk.descend("")
    else:
        walk.follow(previous, set(dirty))
    full = previous is None or dirty is None
    return Scan(root, started, walk.folders, walk.unreadable, walk.truncated, full, matcher, forced)


def look_at(root: str, coverage: Coverage, folder: str) -> Listing | None:
    """Return the listing of one folder alone, None if it cannot be read."""
    walk = _Walk(root, coverage, coverage.matcher, None, None)
    walk.visit(folder)
    return walk.folders.get(folder)


class _Walk:
    """One walk in progress."""

    def __init__(
        self,
        root: str,
        coverage: Coverage,
        matcher: Matcher,
        previous: Scan | None,
        on_folder: Callable[[str], None] | None,
    ) -> None:
        self.folders: dict[str, Listing] = {}
        self.unreadable: dict[str, str] = {}
        self.truncated = ""
        self._root = root
        self._settings = coverage.settings
        self._matcher = matcher
        self._previous = {} if previous is None else previous.folders
        self._on_folder = on_folder
        self._device = -1
        self._mounts: tuple[Mount, ...] | None = None
        self._count = 0
        self._size = 0

    def descend(self, top: str) -> None:
        """List *top* and everything below it."""
        stack = [top]
        while stack and not self.truncated:
            folder = stack.pop()
            listing = self.visit(folder)
            if listing is not None:
                stack.extend(f"{folder}/{name}" if folder else name for name in listing.folders)

    def follow(self, previous: Scan, dirty: set[str]) -> None:
        """Take *previous* over and list the *dirty* folders anew, with the subfolders that are new in them."""
        self.folders = dict(previous.folders)
        self._count = len(previous)
        self._size = sum(listing.size for listing in previous.folders.values())
        root = self.folders.get("")
        self._device = next((raw[5] for raw in root.signatures.values()), -1) if root is not None else -1
        gone: set[str] = set()
        # Parents first: a folder that its parent no longer holds is not looked at.
        for folder in sorted(dirty | previous.unreadable.keys(), key=lambda name: (name.count("/"), name)):
            if folder not in previous.folders and folder not in previous.unreadable:
                continue
            if folder in gone or any(folder.startswith(top + "/") for top in gone):
                continue
            before = previous.folders.get(folder)
            listing = self.visit(folder)
            now = () if listing is None else listing.folders
            if listing is not None and before is not None:
                gone |= {_join(folder, name) for name in set(before.folders) - set(now)}
            for name in now:
                rel = _join(folder, name)
                if rel not in previous.folders and rel not in previous.unreadable:
                    self.descend(rel)
        if gone:
            self._forget(gone)

    def _forget(self, gone: set[str]) -> None:
        for folder in [name for name in self.folders if under(name, gone)]:
            del self.folders[folder]
        for folder in [name for name in self.unreadable if under(name, gone)]:
            del self.unreadable[folder]

    def visit(self, folder: str) -> Listing | None:
        """List one folder."""
        if self._on_folder is not None:
            self._on_folder(folder)
        known = self._previous.get(folder)
        path = f"{self._root.rstrip('/')}/{folder}" if folder else self._root
        try:
            # A symlink in the place of a folder is not followed; the workspace itself is given as a real path.
            fd = os.open(path, _OPEN_FOLDER | (os.O_NOFOLLOW if folder else 0))
        except FileNotFoundError:
            return self._absent(folder)
        except OSError as problem:
            self._unreadable(folder, problem)
            return None
        try:
            status = os.fstat(fd)
            if not folder:
                self._device = status.st_dev
            listing = self._list(fd, folder, status.st_mtime_ns, known)
        except OSError as problem:
            self._unreadable(folder, problem)
            return None
        finally:
            os.close(fd)
        self._account(known if folder in self.folders else None, listing)
        self.folders[folder] = listing
        return listing

    def _absent(self, folder: str) -> Listing | None:
        """Take the folder out of its parent's listing: it went while we walked."""
        if not folder:
            self.folders[""] = Listing({})
            return self.folders[""]
        parent, _, name = folder.rpartition("/")
        listing = self.folders.get(parent)
        if listing is None:
            return None
        signatures = {key: raw for key, raw in listing.signatures.items() if key != name}
        names = tuple(key for key in listing.folders if key != name)
        self.folders[parent] = Listing(
            signatures, names, listing.linked, listing.excluded, listing.blind, listing.mtime_ns, listing.size
        )
        self.folders.pop(folder, None)
        return None

    def _unreadable(self, folder: str, problem: OSError) -> None:
        denied = isinstance(problem, PermissionError)
        self.unreadable[folder] = "unreadable" if denied else f"unreadable ({problem.strerror})"
        self.folders.pop(folder, None)

    def _account(self, before: Listing | None, listing: Listing) -> None:
        self._count += len(listing.signatures) - (0 if before is None else len(before.signatures))
        self._size += listing.size - (0 if before is None else before.size)
        settings = self._settings
        if self._matcher.range.focus is not None:
            return
        if self._count > settings.max_workspace_files:
            self.truncated = f"more than {settings.max_workspace_files} files"
        elif self._size > settings.max_workspace_size:
            self.truncated = f"more than {settings.max_workspace_size >> 30} GiB of files"

    def _list(self, fd: int, folder: str, mtime_ns: int, known: Listing | None) -> Listing:
        seen = _NO_NAMES if known is None else known.signatures
        signatures: dict[str, RawSignature] = {}
        folders: list[str] = []
        linked: list[str] = []
        excluded: list[Note] = []
        blind: list[Note] = []
        with os.scandir(fd) as entries:
            for entry in entries:  # The hot loop: ten thousand rounds in some 25 ms. Known names were judged before.
                name = entry.name
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                except OSError as problem:
                    if not self._matcher.reason_here(folder, name, False):
                        blind.append(Note(_join(folder, name), f"unreadable ({problem.strerror})"))
                    continue
                mode = status.st_mode
                before = seen.get(name)
                if (before is None or (before[0] ^ mode) & FORMAT) and (why := self._judge(folder, name, status)):
                    excluded.append(Note(_join(folder, name), why))
                    continue
                if mode & FORMAT == stat.S_IFREG:
                    signatures[name] = (
                        *(mode, status.st_mtime_ns, status.st_ctime_ns, status.st_size),
                        *(status.st_ino, status.st_dev, links := status.st_nlink),
                    )
                    if links > 1:
                        linked.append(name)
                else:
                    signatures[name] = raw_signature(status)
                    if mode & FORMAT == stat.S_IFDIR:
                        folders.append(name)
        if known is not None and known.signatures == signatures and known.mtime_ns == mtime_ns and not blind:
            return known
        size = sum(raw[3] for raw in signatures.values() if raw[3] <= self._settings.max_file_size)
        left_out = tuple(sorted(excluded, key=lambda note: note.subject))
        return Listing(signatures, tuple(folders), tuple(linked), left_out, tuple(blind), mtime_ns, size)

    def _judge(self, folder: str, name: str, status: os.stat_result) -> str:
        is_dir = stat.S_ISDIR(status.st_mode)
        if why := self._matcher.reason_here(folder, name, is_dir):
            return why
        if is_dir and status.st_dev != self._device and self._device != -1:
            if self._mounts is None:
                self._mounts = mounts()
            mount = mount_of(f"{self._root.rstrip('/')}/{_join(folder, name)}", self._mounts)
            if mount.network or mount.pseudo:
                return f"another file system ({mount.type})"
        return ""


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
