/** What the list shows of a board's rows: groups by hour and day, folds, and what a filter leaves. No DOM. */
import type { Row } from './protocol';

export interface Heading {
  kind: 'heading';
  key: string;
  label: string;
}

export interface Line {
  kind: 'line';
  key: string;
  row: Row;
  /** 1 inside a fold. */
  depth: number;
  /** Whether a fold is open; null where there is nothing to fold. */
  open: boolean | null;
}

export type Entry = Heading | Line;

/** The words that headings need; the view gives translated ones. */
export interface DayWords {
  today: string;
  yesterday: string;
}

/** Return whether *row* is a fold: its rows show when it is opened. */
export function isFold(row: Row): boolean {
  return row.kind === 'folded' || (row.kind === 'left' && row.rows.length > 0);
}

/** Return whether choosing *row* previews going there. */
export function isTarget(row: Row): boolean {
  return row.target !== null && row.kind !== 'folded';
}

/** Return all rows of a board with those inside folds, newest first. */
export function flattened(rows: readonly Row[]): Row[] {
  return rows.flatMap(row => [row, ...flattened(row.rows)]);
}

/** Return the newest row of a cell that ran on the present line, null where none did. */
export function newestTurn(rows: readonly Row[]): Row | null {
  return (
    rows.flatMap(row => (row.kind === 'folded' ? row.rows : row.kind === 'left' ? [] : [row])).find(isTurn) ?? null
  );
}

/** Return the newest turn of the cell with the id *cell* on the present line. */
export function turnOfCell(rows: readonly Row[], cell: string): Row | null {
  const present = rows.flatMap(row => (row.kind === 'folded' ? row.rows : row.kind === 'left' ? [] : [row]));
  return present.find(row => isTurn(row) && row.cell_id === cell) ?? null;
}

function isTurn(row: Row): boolean {
  return row.kind === 'turn';
}

/** Return the lines for *rows*, with a heading where hour or day change; none where all fall into one. */
export function entries(
  rows: readonly Row[],
  filter: string,
  open: ReadonlySet<string>,
  words: DayWords,
  now: Date
): Entry[] {
  const lines = filter.trim() === '' ? folded(rows, open) : found(rows, filter);
  const result: Entry[] = [];
  let last = '';
  let headings = 0;
  for (const line of lines) {
    const label = line.depth > 0 ? last : heading(new Date(line.row.at * 1000), words, now);
    if (label !== last) {
      result.push({ kind: 'heading', key: `${label} ${line.key}`, label });
      headings++;
      last = label;
    }
    result.push(line);
  }
  return headings > 1 ? result : result.filter(entry => entry.kind === 'line');
}

function folded(rows: readonly Row[], open: ReadonlySet<string>): Line[] {
  return rows.flatMap((row): Line[] => {
    if (!isFold(row)) {
      return [{ kind: 'line', key: row.id, row, depth: 0, open: null }];
    }
    const key = `${row.kind} ${row.id}`;
    const inside: Line[] = open.has(key)
      ? row.rows.map(one => ({ kind: 'line', key: `${key} ${one.id}`, row: one, depth: 1, open: null }))
      : [];
    return [{ kind: 'line', key, row, depth: 0, open: open.has(key) }, ...inside];
  });
}

function found(rows: readonly Row[], filter: string): Line[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.flatMap((row): Line[] =>
    (isFold(row) ? row.rows : [row])
      .filter(one => words.every(word => haystack(one).includes(word)))
      .map(one => ({ kind: 'line', key: `${row.id} ${one.id}`, row: one, depth: row.kind === 'left' ? 1 : 0, open: null }))
  );
}

function haystack(row: Row): string {
  const number = row.number === null ? '' : `[${row.number}]`;
  return [number, row.code, row.full, row.what, ...row.names, ...row.files, ...row.variables].join('\n').toLowerCase();
}

function heading(at: Date, words: DayWords, now: Date): string {
  const day = new Date(at.getFullYear(), at.getMonth(), at.getDate()).getTime();
  const today = new Date(now.getFullYear(), now.getMonth(), now.getDate());
  const yesterday = new Date(today.getFullYear(), today.getMonth(), today.getDate() - 1);
  if (day === today.getTime()) {
    return `${words.today} ${String(at.getHours()).padStart(2, '0')}:00`;
  }
  if (day === yesterday.getTime()) {
    return words.yesterday;
  }
  const year = at.getFullYear() === now.getFullYear() ? undefined : 'numeric';
  return at.toLocaleDateString(undefined, { weekday: 'short', day: 'numeric', month: 'short', year });
}
