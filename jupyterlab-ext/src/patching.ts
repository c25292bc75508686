/** Bringing a notebook in line cell by cell, in its shared model: ids, widgets, scroll and Ctrl+Z stay. */
import type { ISharedCodeCell, ISharedNotebook } from '@jupyter/ydoc';
import type { IOutput } from '@jupyterlab/nbformat';
import { JSONExt } from '@lumino/coreutils';

import type { Insertion, Patch, PatchedCell } from './protocol';

/** Carry out *patch*; return the ids of cells that *notebook* does not have. Cells that agree already stay untouched. */
export function patchNotebook(notebook: ISharedNotebook, patch: Patch): string[] {
  const cells = new Map(notebook.cells.map(cell => [cell.id, cell]));
  const missing: string[] = [];
  for (const wanted of patch.cells) {
    const cell = cells.get(wanted.id);
    if (cell === undefined) {
      missing.push(wanted.id);
    } else if (cell.cell_type === 'code') {
      patchCode(cell as ISharedCodeCell, wanted);
    } else if (wanted.source !== null && wanted.source !== cell.getSource()) {
      const { source } = wanted;
      cell.transact(() => cell.setSource(source), true);
    }
  }
  insert(notebook, patch.insert);
  const inserted = new Set(patch.insert.map(one => one.cell.id));
  return missing.filter(id => !inserted.has(id));
}

/** The cell's own transaction: one Ctrl+Z in the cell takes text, outputs and number back together. */
function patchCode(cell: ISharedCodeCell, wanted: PatchedCell): void {
  const { source, execution_count: count } = wanted;
  const outputs = wanted.outputs as unknown as IOutput[];
  const newText = source !== null && source !== cell.getSource();
  const newOutputs = !JSONExt.deepEqual(cell.getOutputs(), outputs);
  const newCount = cell.execution_count !== count;
  if (!newText && !newOutputs && !newCount) {
    return;
  }
  cell.transact(() => {
    if (newText) {
      cell.setSource(source);
    }
    if (newOutputs) {
      cell.setOutputs(outputs);
    }
    if (newCount) {
      cell.execution_count = count;
    }
  }, true);
}

function insert(notebook: ISharedNotebook, wanted: readonly Insertion[]): void {
  const present = new Set(notebook.cells.map(cell => cell.id));
  const missing = wanted.filter(one => !present.has(one.cell.id));
  if (missing.length === 0) {
    return;
  }
  notebook.transact(() => {
    for (const { cell, after } of missing) {
      const { id, cell_type, source, metadata } = cell;
      const before = after === null ? -1 : notebook.cells.findIndex(one => one.id === after);
      const index = after !== null && before < 0 ? notebook.cells.length : before + 1;
      const code =
        cell_type === 'code'
          ? { outputs: cell.outputs as unknown as IOutput[], execution_count: cell.execution_count }
          : {};
      notebook.insertCell(index, { id, cell_type, source, metadata: metadata as never, ...code });
    }
  }, true);
}
