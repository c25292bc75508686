import { YNotebook } from '@jupyter/ydoc';
import { expect, test } from 'vitest';

import { patchNotebook } from '../patching';
import { contentsPath, kernelPath } from '../paths';

test('only listed cells change, ids stay, and one undo in the cell takes all back', () => {
  const notebook = YNotebook.create({ disableDocumentWideUndoRedo: true });
  const output = { output_type: 'stream', name: 'stdout', text: 'x' };
  for (const id of ['a', 'b']) {
    notebook.addCell({ id, cell_type: 'code', source: `${id} = 1`, outputs: [output], execution_count: 1 });
  }
  const patch = {
    id: 'p',
    sentence: '',
    cells: [
      { id: 'b', outputs: [], execution_count: null, source: 'b = 0' },
      { id: 'gone', outputs: [], execution_count: null, source: null }
    ],
    insert: [],
    texts: true,
    files: []
  };

  expect(patchNotebook(notebook, patch)).toEqual(['gone']);
  const [a, b] = notebook.cells.map(cell => cell.toJSON());
  expect([a.execution_count, b.execution_count]).toEqual([1, null]);
  expect([a.id, b.id, b.source, (b.outputs as unknown[]).length]).toEqual(['a', 'b', 'b = 0', 0]);
  notebook.cells[1].undo();
  expect([notebook.cells[1].source, notebook.cells[1].toJSON().execution_count]).toEqual(['b = 1', 1]);
});

test('paths lead from kernel to contents and back', () => {
  expect(contentsPath('data/x.csv', '/home/u/w', '/home/u/w/n.ipynb', 'w/n.ipynb')).toBe('w/data/x.csv');
  expect(contentsPath('/etc/x', '/home/u/w', '/home/u/w/n.ipynb', 'w/n.ipynb')).toBeNull();
  expect(kernelPath('w/data/x.csv', '/home/u/w', '/home/u/w/n.ipynb', 'w/n.ipynb')).toBe('data/x.csv');
});
