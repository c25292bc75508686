/** The messages between kernel and front end, as `src/nbrewind/ui/protocol.json` has them; a test compares the two. */

/** The version of the protocol that this front end speaks. */
export const VERSION = 1;
/** The comm that the front end opens. */
export const TARGET = 'nbrewind';
/** The comm that the kernel opens, and closes at once, to say that it is there. */
export const HELLO_TARGET = 'nbrewind.hello';
/** The reply to the hello that rides in `comm_open`. */
export const HELLO_ID = 'hello';
export const POLL_SECONDS = 4;

export type Part = 'files' | 'variables' | 'outputs' | 'cells';
export const PARTS: readonly Part[] = ['files', 'variables', 'outputs', 'cells'];

export interface Note {
  text: string;
}

export interface Mark {
  text: string;
  tone: 'warning' | 'problem';
}

export type RowKind =
  'turn' | 'external' | 'start' | 'attach' | 'restore' | 'move' | 'name' | 'damaged' | 'folded' | 'left';

export interface Row {
  id: string;
  kind: RowKind;
  number: number | null;
  code: string;
  full: string;
  what: string;
  at: number;
  duration: number | null;
  names: string[];
  cell_id: string | null;
  status: 'ok' | 'error' | 'interrupted';
  mark: Mark | null;
  reasons: string[];
  files: string[];
  variables: string[];
  earlier_run: boolean;
  is_now: boolean;
  rows: Row[];
  target: string | null;
  seq: number;
}

export interface Offer {
  kind: 'recover' | 'take-back' | 'unfreeze' | 'free-space';
  text: string;
  action: string;
  target: string | null;
}

export interface Health {
  text: string;
  tone: 'ok' | 'busy' | 'warning' | 'problem';
  reasons: string[];
}

export interface Busy {
  number: number | null;
  since: number;
  text: string;
}

export interface FirstCopy {
  done: number;
  total: number;
}

export interface Totals {
  points: number;
  files: number;
  bytes: number;
}

export interface Board {
  version: number;
  revision: string;
  base: string | null;
  keep: number;
  session: string;
  workspace: string;
  workspace_path: string;
  notebook: string;
  head: string | null;
  state: 'on' | 'saving' | 'paused' | 'off' | 'frozen' | 'read-only' | 'not-protected';
  state_text: string;
  status: Health;
  busy: Busy | null;
  rows: Row[];
  undo: Note | null;
  redo: Note | null;
  offers: Offer[];
  pending: string | null;
  first_copy: FirstCopy | null;
  totals: Totals;
}

export interface Item {
  subject: string;
  name: string;
  text: string;
  tone: 'added' | 'removed' | 'changed' | 'kept' | 'problem';
  diff: boolean;
  children?: number;
}

export interface Groups {
  files: Item[];
  variables: Item[];
  outputs: Item[];
  cells: Item[];
}

export interface Counts {
  files: number;
  variables: number;
  outputs: number;
  cells: number;
  bytes: number;
}

export interface Preview {
  token: string;
  expires: number;
  kind: 'rewind' | 'undo' | 'redo' | 'restore' | 'recover';
  target: string;
  sentence: string;
  button: string;
  careful: boolean;
  needs_force: string | null;
  lost: Item[];
  conflicts: Item[];
  groups: Groups;
  only: Part[];
  kept: Item[];
  notes: string[];
  counts: Counts;
  empty: boolean;
}

/** An output as nbformat 4 has it. */
export interface Output {
  output_type: string;
  [key: string]: unknown;
}

export interface PatchedCell {
  id: string;
  outputs: Output[];
  execution_count: number | null;
  source: string | null;
}

export interface NewCell {
  id: string;
  cell_type: 'code' | 'markdown' | 'raw';
  source: string;
  outputs: Output[];
  execution_count: number | null;
  metadata: Record<string, unknown>;
}

export interface Insertion {
  cell: NewCell;
  after: string | null;
}

export interface Patch {
  id: string;
  sentence: string;
  cells: PatchedCell[];
  insert: Insertion[];
  texts: boolean;
  files: string[];
}

export interface Result {
  operation: string;
  sentence: string;
  notes: string[];
  board: Board;
  patch: Patch | null;
  files: string[];
}

export interface CellState {
  outputs: Output[];
  execution_count: number | null;
  source: string;
}

export interface SessionRow {
  id: string;
  notebook: string;
  at: number;
  points: number;
  held: string;
  is_this: boolean;
}

export type Tone = 'plain' | 'strong' | 'muted' | 'warning' | 'problem' | 'code' | 'added' | 'removed';

export interface LookLine {
  text: string;
  tone: Tone;
  indent: number;
}

export interface LookTable {
  rows: string[][];
  heads: string[];
  tones: Tone[];
}

export interface Look {
  parts: (LookLine | LookTable)[];
  data: Record<string, unknown>;
}

export interface Progress {
  of: string;
  text: string;
  done: number;
  total: number;
  cancel: boolean;
}

export interface RewindErrorData {
  code: string;
  reason: string | null;
  message: string;
  hint: string;
  exit_status: number;
}

export interface DocumentVote {
  path: string;
  hash: string;
  saved: boolean;
}

export interface Hello {
  version: number;
  nbrewind: string;
  board: Board;
  patch: Patch | null;
}

interface Told {
  text: string;
  board: Board;
}

type Nothing = Record<string, never>;

/** What each verb asks with, and what it gets. */
export interface Verbs {
  hello: [
    { client: string; version: number; path?: string; front_end?: string; patches?: boolean },
    Hello
  ];
  board: [{ revision?: string; session?: string }, Board | { unchanged: true }];
  sessions: [Nothing, { sessions: SessionRow[] }];
  preview: [{ target: string; only?: Part[]; everything?: boolean; overwrite?: boolean }, Preview];
  preview_undo: [{ only?: Part[] }, Preview];
  preview_redo: [{ only?: Part[] }, Preview];
  preview_restore: [{ from: string; paths?: string[]; names?: string[]; as?: string }, Preview];
  preview_recover: [{ target?: string }, Preview];
  confirm: [{ token: string; force?: boolean; document?: DocumentVote }, Result];
  undo: [{ document?: DocumentVote }, Result | Preview];
  redo: [{ document?: DocumentVote }, Result | Preview];
  cancel: [{ token?: string; of?: string }, { cancelled: boolean; text: string }];
  name: [{ text: string }, Told];
  show: [{ point: string }, Look];
  diff: [{ point: string; path?: string; name?: string }, Look];
  history: [{ path?: string; name?: string }, Look];
  status: [Nothing, Look];
  pause: [Nothing, Told];
  on: [Nothing, Told];
  unfreeze: [Nothing, Told];
  free_space: [Nothing, Told];
  outputs: [{ cells: string[]; at?: string }, { cells: Record<string, CellState> }];
  ack: [{ patch: string; agreed: boolean; missing?: string[] }, { pending: string | null }];
  path: [{ path: string }, Nothing];
}

export type Verb = keyof Verbs;
export type Asked<V extends Verb> = Verbs[V][0];
export type Answer<V extends Verb> = Verbs[V][1];

export interface Pushes {
  board: Board;
  progress: Progress;
  patch: Patch;
  files: { paths: string[] };
  bye: { text: string };
}

export type Push = { [P in keyof Pushes]: { push: P; data: Pushes[P] } }[keyof Pushes];

/** An error that the kernel answered with: one of the closed list of `docs/commands.md`. */
export class Refusal extends Error {
  constructor(readonly data: RewindErrorData) {
    super(data.message);
    this.name = 'Refusal';
  }
}

/** The kernel that was asked is not there any more. */
export class Gone extends Error {
  constructor() {
    super('The kernel is gone.');
    this.name = 'Gone';
  }
}

/** Return whether a move asked back instead of being carried out. */
export function isPreview(answer: Result | Preview): answer is Preview {
  return 'token' in answer;
}

/** Return *pushed* with all its rows, given the board before it; null where that is another one than it counts from. */
export function joined(pushed: Board, before: Board | null): Board | null {
  if (pushed.base === null) {
    return pushed;
  }
  if (before === null || before.revision !== pushed.base || before.rows.length < pushed.keep) {
    return null;
  }
  const kept = pushed.keep > 0 ? before.rows.slice(-pushed.keep) : [];
  return { ...pushed, rows: [...pushed.rows, ...kept], base: null, keep: 0 };
}
