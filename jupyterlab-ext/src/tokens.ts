/** What the parts of this extension, and other extensions, know of each other. */
import type { NotebookPanel } from '@jupyterlab/notebook';
import { Token } from '@lumino/coreutils';
import type { ISignal } from '@lumino/signaling';

import type { RewindModel } from './model';
import type { DocumentVote, Patch } from './protocol';

/** The notebook that is open, as a move sees it. */
export interface OpenNotebook {
  /** The path as the server's contents name it. */
  readonly path: string;
  /** Save it where it needs saving, and say what stands on the disk. Rejects where the person stopped the saving. */
  vote(): Promise<DocumentVote>;
  /** Bring it in line with the kernel, and save it. Carrying out the same patch twice is fine. */
  apply(patch: Patch): Promise<{ agreed: boolean; missing: string[] }>;
  /** The names of open documents among *subjects* that hold unsaved edits. */
  unsaved(subjects: readonly string[]): string[];
  /** Save those documents. */
  saveUnsaved(subjects: readonly string[]): Promise<void>;
  /** Show what the disk has now in open documents; those with unsaved edits are asked about. */
  reload(files: readonly string[]): Promise<void>;
}

/** The rewinds of the notebooks that are open. */
export interface Rewinds {
  /** The model of the notebook in front, null where none is. */
  readonly current: RewindModel | null;
  /** Raised when another notebook comes to the front, and when what its model shows changes. */
  readonly changed: ISignal<Rewinds, void>;
  /** Return the model of a notebook. */
  of(panel: NotebookPanel): RewindModel | null;
}

export const Rewinds = new Token<Rewinds>(
  'nbrewind:Rewinds',
  'The points of the open notebooks: what the kernel offers to go back to, and going there.'
);

export const Commands = {
  open: 'nbrewind:open',
  undo: 'nbrewind:undo',
  redo: 'nbrewind:redo',
  beforeCell: 'nbrewind:before-cell',
  afterCell: 'nbrewind:after-cell',
  name: 'nbrewind:name',
  protect: 'nbrewind:protect',
  pause: 'nbrewind:pause',
  fileHistory: 'nbrewind:file-history',
  status: 'nbrewind:status',
  sessions: 'nbrewind:sessions'
} as const;
