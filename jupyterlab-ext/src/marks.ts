/** Marks on cells whose last run is not covered in full: a stripe, and words on hover. */
import type { NotebookPanel } from '@jupyterlab/notebook';

import type { RewindModel } from './model';
import type { Row } from './protocol';
import { turnOfCell } from './rows';

const CLASSES = { warning: 'jp-nbrewind-cell-partly', problem: 'jp-nbrewind-cell-none' } as const;

/** Keep the marks of *panel* in line with *model*; return what takes them away. */
export function markCells(panel: NotebookPanel, model: RewindModel, isWanted: () => boolean): () => void {
  let rows: readonly Row[] | null = null;
  const draw = (): void => {
    const shown = model.isOn && isWanted() ? (model.board?.rows ?? []) : [];
    rows = model.board?.rows ?? null;
    for (const cell of panel.content.widgets) {
      const row = shown.length > 0 ? turnOfCell(shown, cell.model.id) : null;
      const mark = row?.mark ?? null;
      cell.toggleClass(CLASSES.warning, mark?.tone === 'warning');
      cell.toggleClass(CLASSES.problem, mark?.tone === 'problem');
      if (mark !== null && row !== null) {
        cell.node.dataset.nbrewind = [mark.text, ...row.reasons].join('\n');
        cell.node.title = cell.node.dataset.nbrewind;
      } else if (cell.node.dataset.nbrewind !== undefined) {
        delete cell.node.dataset.nbrewind;
        cell.node.removeAttribute('title');
      }
    }
  };
  const onModel = (): void => {
    // Ticks and previews change the model often, rows seldom.
    if (rows !== (model.isOn ? model.board?.rows : null)) {
      draw();
    }
  };
  model.changed.connect(onModel);
  panel.content.modelContentChanged.connect(draw);
  draw();
  return () => {
    model.changed.disconnect(onModel);
    if (!panel.isDisposed) {
      panel.content.modelContentChanged.disconnect(draw);
    }
  };
}
