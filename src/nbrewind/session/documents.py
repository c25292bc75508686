"""Documents: what an open notebook has to become after a move, until it says that it has."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from nbrewind.errors import InconsistentState, RewindError, StoreError
from nbrewind.model import EntryKind, Note, Operation, OperationId, RewindPlan
from nbrewind.resources.notebook import Insertion, NotebookCell, cells_of, insertions
from nbrewind.rewind.timeline import MOVES
from nbrewind.session.document import CellState, DocumentPatch, cells_of_turns, last_runs, moved_turns, with_later_runs
from nbrewind.session.document_record import DocumentRecord, NotedMove
from nbrewind.session.housekeeping import Housekeeping
from nbrewind.session.pulse import Pulse
from nbrewind.session.redaction import PLACE
from nbrewind.store.layout import StorePaths

__all__ = ["Documents"]

_LARGEST = 64 << 20
"""Bytes of a notebook that is read for its texts."""


class Documents(Housekeeping):
    """The notebook that front ends hold open. Its file is never rewritten: they get patches.

    Invariant: a move that concerns the document is noted before its commit point, and stays noted as not agreed until
    a front end acknowledges the patch. The patch itself is computed from the log each time, so that it says what the
    line in force says, whatever ran since.
    """

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._document = DocumentRecord(self._parts.paths.document)
        self.front_end: Callable[[], bool] | None = None

    @property
    def document_is_open(self) -> bool:
        """Whether a front end is there that carries patches out."""
        return self.front_end is not None and self.front_end()

    @property
    def store(self) -> StorePaths:
        """Where this session and its neighbours are kept."""
        return self._parts.store

    def variables_left(self, plan: RewindPlan) -> tuple[str, ...]:
        """Return the bound names that the turns of *plan* bind, and that a move would leave as they are."""
        return self._variables_left(plan)

    # -- moves that concern it ------------------------------------------------------------------------------------

    def _carry_out(self, plan: RewindPlan) -> tuple[Operation, tuple[Note, ...]]:
        noted = self._note_move(plan)
        try:
            done = super()._carry_out(plan)
        except InconsistentState:
            # Whether it came true is for the log to say, when somebody reads it again.
            raise
        except BaseException:
            if noted is not None:
                self._document.drop(noted)
            raise
        self._stir()
        return done

    def _note_move(self, plan: RewindPlan) -> OperationId | None:
        if plan.kind not in MOVES or self.head is None:
            return None
        texts = "cells" in plan.options.only or self._moved_texts(plan.undone)
        turns = [self.timeline.operation(turn) for turn in (*plan.taken_back, *plan.brought_back)]
        outputs = "outputs" in plan.options.only and bool(cells_of_turns(turns))
        if not outputs and not (texts and self.notebook):
            return None
        self._document.note(NotedMove(previous=self.head, outputs=outputs, texts=texts))
        return self.head

    def _moved_texts(self, undone: OperationId | None) -> bool:
        """Return whether the move that is undone moved texts, so that its undo does too."""
        if undone is None or undone not in self.timeline:
            return False
        start = self.timeline.operation(undone).previous
        return any(move.texts for move in self._document.moves if move.previous == start)

    # -- the patch ------------------------------------------------------------------------------------------------

    @property
    def pending_document(self) -> OperationId | None:
        """The newest move that the open document has not agreed to; None where it agrees."""
        found = self._pending_moves()
        return found[-1][1].id if found else None

    def _pending_moves(self) -> list[tuple[NotedMove, Operation]]:
        waiting = [move for move in self._document.moves if not move.agreed]
        if not waiting:
            return []
        starts = {found.previous: found for found in self.operations if found.kind in MOVES}
        return [(move, starts[move.previous]) for move in waiting if move.previous in starts]

    def document_patch(self) -> DocumentPatch | None:
        """Return what the open document has to become; None where it agrees already."""
        moves = self._pending_moves()
        if not moves:
            return None
        timeline = self.timeline
        cells: dict[str, None] = {}
        for noted, move in moves:
            if noted.outputs:
                cells |= dict.fromkeys(cells_of_turns(moved_turns(timeline, move)))
        # A cell that runs, or is not saved yet, shows what is newer than the log.
        newer = {start.cell_id for start in list(self._started.values())}
        states = self._states([name for name in cells if name not in newer], timeline.line)
        missing: tuple[Insertion, ...] = ()
        texts = next((move for noted, move in reversed(moves) if noted.texts), None)
        if texts is not None:
            # What cannot be read stays as it is: the move is made, and the outputs go with it.
            with suppress(RewindError):
                states, missing = self._with_texts(states, self._texts(timeline.operation(texts.parent or texts.id)))
        return DocumentPatch(
            id=moves[-1][1].id, cells=tuple(states.values()), insertions=missing, texts=texts is not None
        )

    def acknowledge(self, patch: OperationId) -> OperationId | None:
        """Take note that the document agrees to the patch; return the one that it has still to agree to, if any."""
        with self._mutex:
            moves = self._pending_moves()
            upto = next((move.seq for _, move in moves if move.id == patch), -1)
            self._document.agree(frozenset(noted.previous for noted, move in moves if move.seq <= upto))
        self._stir()
        return self.pending_document

    # -- outputs --------------------------------------------------------------------------------------------------

    def cell_states(self, cells: Sequence[str], target: str = "") -> dict[str, CellState]:
        """Return what *cells* showed, with their text, at *target* (now by default); unknown ones are left out.

        A cell that did not run on that line is given as it ran last anywhere: deleted cells, cells taken back.

        Raises:
            TargetError: no such point.
        """
        self._finish_capture()
        goal = self.resolve(target).operation if target else self.head
        line = self.timeline.line_of(goal) if goal is not None else ()
        runs = last_runs(self.operations) | last_runs(line)
        return {name: self._state_of(name, runs[name], source=True) for name in cells if name in runs}

    def moved_cells(self, plan: RewindPlan) -> dict[str, CellState]:
        """Return what the cells that *plan* takes back or brings back will show."""
        turns = [self.timeline.operation(turn) for turn in (*plan.taken_back, *plan.brought_back)]
        return self._states(cells_of_turns(turns), self.timeline.line_of(plan.target))

    def _states(self, cells: Iterable[str], line: Sequence[Operation]) -> dict[str, CellState]:
        runs = last_runs(line)
        return {
            name: self._state_of(name, runs[name])
            if name in runs
            else CellState(id=name, outputs=())
            for name in cells
        }  # fmt: skip

    def _state_of(self, name: str, run: Operation, *, source: bool = False) -> CellState:
        assert run.turn is not None
        try:
            outputs = json.loads(self.outputs_of(run))
            code = self.code_of(run) if source else None
        except (ValueError, StoreError):
            outputs, code = [], None
        shown = tuple(found for found in outputs if isinstance(found, dict)) if isinstance(outputs, list) else ()
        return CellState(id=name, outputs=shown, number=run.turn.number, source=code)

    # -- texts ----------------------------------------------------------------------------------------------------

    def moved_texts(self, plan: RewindPlan) -> tuple[tuple[CellState, ...], tuple[Insertion, ...]]:
        """Return the cells whose text *plan* would change if texts were asked for, and those that would come back."""
        try:
            states, missing = self._with_texts({}, self._texts(self.timeline.operation(plan.target)))
        except RewindError:
            return (), ()
        return tuple(states.values()), missing

    def _with_texts(
        self, states: dict[str, CellState], wanted: Sequence[NotebookCell]
    ) -> tuple[dict[str, CellState], tuple[Insertion, ...]]:
        """Return *states* with the texts of *wanted* that the document has otherwise, and the cells that it lacks."""
        present = self._present()
        if present is None:
            return states, ()
        now = {cell.id: cell.source for cell in present}
        found = dict(states)
        for cell in wanted:
            if cell.id in now and now[cell.id] != cell.source:
                known = states.get(cell.id) or CellState(id=cell.id, outputs=None)
                found[cell.id] = CellState(
                    id=cell.id, outputs=known.outputs, number=known.number, source=cell.source
                )  # fmt: skip
        # What is not in the document gets its outputs with the cell.
        missing = insertions(wanted, now)
        for one in missing:
            found.pop(one.cell.id, None)
        return found, missing

    def _texts(self, goal: Operation) -> tuple[NotebookCell, ...]:
        """Return the cells as they were at *goal*: of the file that was saved last, with what ran after that."""
        names = [inside for name in (goal.notebook, self.notebook) if name and (inside := self._inside(name))]
        tree = self.tree(goal)
        saved: tuple[NotebookCell, ...] | None = None
        since = -1
        for name in dict.fromkeys(names):
            state = tree.lookup(name) if tree is not None else None
            if state is not None and state.kind is EntryKind.FILE and state.object and state.size <= _LARGEST:
                saved = cells_of(b"".join(self.content(state)))
                since = self._saved_at(goal, name)
            if saved is not None:
                break
        runs = last_runs(self.timeline.line_of(goal.id))
        codes = {name: code for name, run in runs.items() if PLACE not in (code := self.code_of(run))}
        cells = with_later_runs(saved or (), runs, since, codes)
        return tuple(self._with_outputs(cell, runs) for cell in cells)

    def _with_outputs(self, cell: NotebookCell, runs: dict[str, Operation]) -> NotebookCell:
        """Return a cell with what it showed when it ran last, which the file may not have seen."""
        run = runs.get(cell.id)
        if run is None:
            return cell
        state = self._state_of(cell.id, run)
        return NotebookCell(cell.id, cell.kind, cell.source, cell.metadata, state.outputs or (), state.number)

    def _saved_at(self, goal: Operation, name: str) -> int:
        """Return the `seq` of the last operation on the line of *goal* that saw the file *name* saved."""
        for operation in self.timeline.ancestors(goal.id):
            try:
                if any(change.path == name for change in self.changes_of(operation)):
                    return operation.seq
            except StoreError:
                continue
        return 0

    def _present(self) -> tuple[NotebookCell, ...] | None:
        """Return the cells of the document as it was saved last; None where it cannot be read."""
        try:
            path = Path(self.notebook)
            if not self.notebook or path.stat().st_size > _LARGEST:
                return None
            return cells_of(path.read_bytes())
        except OSError:
            return None

    def _inside(self, notebook: str) -> str | None:
        return self._parts.coverage.within(notebook)

    def notebook_is_at(self, path: str) -> bool:
        """Go on with the notebook under another name, where a file stands there; return whether that is so."""
        real = posixpath.normpath(path)
        if not real.startswith("/") or not real.endswith(".ipynb") or not Path(real).is_file():
            return False
        self.notebook = real
        return True

    # -- the pulse ------------------------------------------------------------------------------------------------

    def pulse(self) -> Pulse:
        """Return how the session is at this moment; waits for nothing, from any thread."""
        health, tracker, opened = self._health, self._parts.tracker, self._open
        scan = tracker.last_scan
        shell = self._parts.shell
        running = f"[{opened.number}] is running" if opened is not None and opened.number is not None else ""
        running = running or ("A cell is running" if opened is not None else "")
        running = running or (shell.may_move().rstrip(".").replace(" still", "") if shell is not None else "")
        listings = list(scan.folders.values()) if scan is not None else []
        files = sum(len(listing.signatures) - len(listing.folders) for listing in listings)
        return Pulse(
            state=self._state(),
            running=running,
            number=opened.number if opened is not None else None,
            since=opened.started if opened is not None else 0.0,
            frozen=health.frozen,
            not_protected=health.not_protected,
            read_only=self.readonly,
            copying=self._copying,
            files=files,
            copied=max(0, files - len(tracker.missing)) if self._copying else files,
            bytes=sum(listing.size for listing in listings),
        )
