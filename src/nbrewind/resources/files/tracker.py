"""The reading side of the files resource: scans, snapshots, and what the last one says of a path."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace

from nbrewind.model import FilesAddress, FileState, FileStep, Note, ObjectId, OperationId
from nbrewind.resources.files.comparison import differs
from nbrewind.resources.files.coverage import Coverage
from nbrewind.resources.files.folder import parent_of, sighted_folder
from nbrewind.resources.files.known import Known, load
from nbrewind.resources.files.mounts import mount_of, mounts
from nbrewind.resources.files.projection import project
from nbrewind.resources.files.scan import Listing, RawSignature, Scan, look_at, scan
from nbrewind.resources.files.signature_index import SignatureIndex, believed
from nbrewind.resources.files.snapshot import Snapshot, SnapshotOrder, take_snapshot
from nbrewind.resources.files.tree import SnapshotTree
from nbrewind.resources.files.watch import Watch
from nbrewind.store.shadow.repository import ShadowRepository
from nbrewind.store.shadow.writer import PackWriter

__all__ = ["FileTracker", "Snapshot"]

_WORTH_WATCHING = 64
"""Below so many entries a full walk costs no more than asking for hints."""
_CHEAP = 2000
"""Below so many entries a full walk costs less than three milliseconds: any doubt is worth one."""
_HINTED_AT_MOST = 50
_HINTED_WHERE_CHEAP = 8
"""So many scans in a row go by hints, then one looks everywhere."""


class FileTracker:
    """Knows what the last commit holds of the workspace, and finds what differs from it.

    Invariant: it believes only what `load` and `adopt` were given, so a snapshot whose pack never became durable leaves
    it as it was. `state` and `held` may be called from any thread, also while another makes a snapshot; all
    else belongs to one thread at a time.
    """

    def __init__(
        self, root: str, coverage: Coverage, repository: ShadowRepository, index: SignatureIndex | None = None
    ) -> None:
        self.root = root
        self.coverage = coverage
        self._repository = repository
        self._known = Known()
        self._scan: Scan | None = None
        # Filled by the audit hook in the middle of anything: no lock there, `append` is atomic.
        self._sighted: deque[tuple[str, Listing]] = deque()
        table = mounts()
        mount = mount_of(root, table)
        self._slack_ns = mount.slack_ns
        inside = [other for other in table if other.point.startswith(root.rstrip("/") + "/")]
        self._may_watch = all(place.tells_changes or place.pseudo for place in (mount, *inside))
        # A proof for later kernels needs stamps that tell of every write, by whomever.
        self._index = index if all(place.stamps_mappings or place.pseudo for place in (mount, *inside)) else None
        # What is mapped is written to without a new stamp, also after our last look.
        self._doubted: set[str] = set()
        self._watch: Watch | None = None
        self._hinted = 0
        coverage.on_focus = self._sight
        if mount.network:
            coverage.narrow(f"the workspace is on a network drive ({mount.type})")

    @property
    def address(self) -> FilesAddress | None:
        """Where the last snapshot is; None before the first."""
        return self._known.address

    @property
    def last_scan(self) -> Scan | None:
        """The last scan."""
        return self._scan

    @property
    def missing(self) -> tuple[Note, ...]:
        """Every entry of the last snapshot whose bytes are not kept, with the reason."""
        return tuple(
            Note(f"{rel}/{name}" if rel else name, state.missing)
            for rel, folder in sorted(self._known.folders.items())
            for name, state in sorted(folder.states.items())
            if state.missing
        )

    def state(self, rel: str) -> FileState | None:
        """Return what the last snapshot says of *rel*."""
        return self._known.state(rel)

    def names(self, rel: str) -> frozenset[str]:
        """Return the names in the folder *rel*, as of the last snapshot."""
        return frozenset(self._known.folder(rel).states)

    def held(self, rel: str, signature: RawSignature) -> FileState | None:
        """Return the state of *rel* if the repository provably holds its present bytes.

        That is so where the *signature* (of `os.lstat`, just taken) is that of the last snapshot and was old enough
        then. It proves nothing for files that are mapped, or open for writing and not flushed.
        """
        folder, name = parent_of(rel)
        return self._known.folder(folder).held(name, signature)

    def _sight(self, folder: str) -> None:
        """Note what stands in a folder that comes into focus. Called by the audit hook, before a cell's effect."""
        listing = look_at(self.root, self.coverage, folder)
        if listing is not None:
            self._sighted.append((folder, listing))

    def load(self, address: FilesAddress) -> None:
        """Take over the states of the checkpoint at *address*; the next snapshot reads all that no signature proves.

        Raises:
            StoreError: The checkpoint cannot be read; nothing changed.
        """
        known = load(SnapshotTree(self._repository, address))
        signatures = {} if self._index is None else self._index.read(address)
        self._known = believed(known, signatures, self.coverage, self._repository)

    def remember(self, *, pause: float = 0.0) -> None:
        """Keep the signatures for the next kernel, unless that was done less than *pause* seconds ago."""
        if self._index is not None:
            self._index.write(self._known, self._doubted, pause=pause)

    def scan(self, force: Iterable[str] = (), *, full: bool = False, doubtful: bool = False) -> Scan:
        """Walk the workspace. *force* names paths to read whatever their signature says; *full* distrusts hints.

        Where it is *doubtful* whether hints tell everything (another process may write through a mapping), a small
        workspace is walked in full.
        """
        self._admit_sighted()
        forced = frozenset(force)
        self._doubted |= forced
        found = self._walk(forced, None if full else self._dirty(doubtful))
        if not found.full and self._scan is not None and _has_new_links(self._scan, found):
            # The file's other name may stand in a folder that inotify says nothing of.
            found = self._walk(forced, None)
        if found.truncated:
            self.coverage.narrow(found.truncated, self._known.folders)
            found = self._walk(forced, None)
        self._scan = found
        return found

    def _walk(self, forced: frozenset[str], dirty: set[str] | None) -> Scan:
        watch = self._watch
        if watch is not None and dirty is None:
            watch.begin()
        on_folder = None if watch is None else watch.add
        found = scan(self.root, self.coverage, previous=self._scan, dirty=dirty, on_folder=on_folder, forced=forced)
        if found.full:
            self._hinted = 0
            if watch is not None:
                watch.trust()
            elif self._may_watch and len(found) >= _WORTH_WATCHING and len(found.folders) <= Watch.room():
                with contextlib.suppress(OSError):
                    self._watch = Watch(self.root)
        return found

    def _dirty(self, doubtful: bool) -> set[str] | None:
        """Return the folders that have to be looked at; None: all."""
        if self._watch is None or self._scan is None or self._hinted >= _HINTED_AT_MOST:
            return None
        if (doubtful or self._hinted >= _HINTED_WHERE_CHEAP) and len(self._scan) < _CHEAP:
            return None
        if not self._watch.usable:
            self._watch.close()
            self._watch, self._may_watch = None, False
            return None
        dirty = self._watch.dirty()
        if dirty is None:
            return None
        self._hinted += 1
        # A write through another name of a file is told in that name's folder only.
        restless = {rel for rel, listing in self._scan.folders.items() if listing.linked or listing.blind}
        return dirty | restless

    def close(self) -> None:
        """Let go of descriptors; twice is fine."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def changed(self, scan: Scan) -> bool:
        """Return whether a snapshot of *scan* has anything to look at; False proves that nothing changed."""
        known = self._known
        return known.address is None or known.range != self.coverage.range or differs(known.folders, scan)

    def snapshot(
        self,
        writer: PackWriter,
        scan: Scan,
        *,
        operation_id: OperationId,
        label: str = "",
        force: frozenset[str] = frozenset(),
        before_images: Mapping[str, FileState | None] | None = None,
        extra: Mapping[str, ObjectId] | None = None,
        extra_trees: Mapping[str, ObjectId] | None = None,
        trailers: Mapping[str, str] | None = None,
        deadline: float | None = None,
    ) -> Snapshot:
        """Store what differs from the last snapshot; `adopt` makes it believed.

        Args:
            writer: Takes all objects; the caller finishes or aborts it.
            scan: What to take a snapshot of.
            operation_id: The operation that this is for.
            label: A line for people who look at the commit.
            force: Paths to read whatever their signature says (mapped, or open for writing here).
            before_images: What the journal kept of paths whose first copy was not made yet; None: nothing stood there.
            extra: Blobs that the side manifest has to hold, by a name.
            extra_trees: Trees, likewise.
            trailers: More lines for the commit's message.
            deadline: Of `time.monotonic`; after it no first copies are made, and the next snapshot goes on.

        Raises:
            StoreError: The repository cannot be written.
        """
        self._doubted |= force
        order = SnapshotOrder(
            operation_id=operation_id, label=label, force=force, before_images=before_images or {}, extra=extra or {},
            extra_trees=extra_trees or {}, trailers=trailers or {}, deadline=deadline,
        )  # fmt: skip
        return take_snapshot(self._known, scan, self.coverage, writer, self._slack_ns, order)

    def project(
        self,
        writer: PackWriter,
        steps: Iterable[FileStep],
        *,
        operation_id: OperationId,
        label: str = "",
        trailers: Mapping[str, str] | None = None,
        times: Mapping[str, int] | None = None,
    ) -> Snapshot:
        """Return the snapshot of what will stand when the *steps* of a rewind are through; for `adopt` as any other.

        The last scan must be that of the last snapshot: settle first.

        Raises:
            StoreError: The repository cannot be read or written.
        """
        order = SnapshotOrder(operation_id=operation_id, label=label, trailers=trailers or {})
        scan = self._scan if self._scan is not None else self.scan()
        return project(self._known, steps, scan, self._repository, writer, order, times or {})

    def adopt(self, snapshot: Snapshot) -> None:
        """Believe *snapshot*, whose objects are durable now."""
        if snapshot.base.address != self._known.address:
            raise RuntimeError("BUG: the snapshot was made on other ground")
        came = {rel: folder for rel, folder in self._known.folders.items() if folder.sighted}
        self._known = snapshot.known
        if came:
            self._known = replace(self._known, folders={**came, **self._known.folders})

    def _admit_sighted(self) -> None:
        while self._sighted:
            rel, listing = self._sighted.popleft()
            if rel not in self._known.folders:
                folders = {**self._known.folders, rel: sighted_folder(listing)}
                self._known = replace(self._known, folders=folders)


def _has_new_links(before: Scan, now: Scan) -> bool:
    """Return whether a file with several names stands in *now* at a name where *before* had none."""
    for rel, listing in now.folders.items():
        known = before.folders.get(rel)
        if listing is known or not listing.linked:
            continue
        if known is None or any(
            name not in known.linked or known.signatures[name][4] != listing.signatures[name][4]
            for name in listing.linked
        ):
            return True
    return False
