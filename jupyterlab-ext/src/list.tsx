/** The list of points: one listbox, moved through with the arrows, chosen with Enter. */
import * as React from 'react';

import type { RewindModel } from './model';
import type { Row } from './protocol';
import { entries, isFold, isTarget, type Entry, type Line } from './rows';
import { clock, span, useShell } from './shell';

const NOW = 'now';
const PAGE = 10;
const NONE: readonly Row[] = [];

/** Returns the element's id for a key; keys hold spaces. */
function elementId(key: string): string {
  return `jp-nbrewind-row-${key.replace(/[^\w-]/g, '_')}`;
}

export function PointList(props: { model: RewindModel; filter: string }): React.ReactElement {
  const { model, filter } = props;
  const { trans, actions } = useShell();
  const [open, setOpen] = React.useState<ReadonlySet<string>>(new Set());
  const [active, setActive] = React.useState(NOW);
  const list = React.useRef<HTMLDivElement>(null);
  const rows = model.board?.rows ?? NONE;
  const words = React.useMemo(() => ({ today: trans.__('Today'), yesterday: trans.__('Yesterday') }), [trans]);
  const hour = Math.floor(Date.now() / 3_600_000);
  const shown = React.useMemo(
    () => entries(rows, filter, open, words, new Date(hour * 3_600_000)),
    [rows, filter, open, words, hour]
  );
  const lines = shown.filter((entry): entry is Line => entry.kind === 'line');
  const keys = [NOW, ...lines.map(line => line.key)];
  const current = keys.includes(active) ? active : NOW;

  const toggle = React.useCallback((key: string, wanted?: boolean): void => {
    setOpen(before => {
      const after = new Set(before);
      if (wanted ?? !before.has(key)) {
        after.add(key);
      } else {
        after.delete(key);
      }
      return after;
    });
  }, []);
  const choose = React.useCallback(
    (line: Line): void => {
      setActive(line.key);
      if (isTarget(line.row)) {
        model.select(line.row);
        if (line.row.cell_id !== null) {
          actions.reveal(line.row.cell_id);
        }
      } else if (line.open !== null) {
        toggle(line.key);
      }
    },
    [model, actions, toggle]
  );
  const go = (key: string): void => {
    setActive(key);
    document.getElementById(elementId(key))?.scrollIntoView({ block: 'nearest' });
  };
  const onKeyDown = (event: React.KeyboardEvent): void => {
    const index = keys.indexOf(current);
    const line = lines.find(one => one.key === current);
    const to: Record<string, number> = {
      ArrowDown: index + 1,
      ArrowUp: index - 1,
      PageDown: index + PAGE,
      PageUp: index - PAGE,
      Home: 0,
      End: keys.length - 1
    };
    const next = to[event.key];
    if (next !== undefined) {
      go(keys[Math.max(0, Math.min(keys.length - 1, next))]);
    } else if (event.key === 'Enter' || event.key === ' ') {
      if (line === undefined) {
        model.cancel();
      } else {
        choose(line);
      }
    } else if ((event.key === 'ArrowRight' || event.key === 'ArrowLeft') && line?.open != null) {
      toggle(line.key, event.key === 'ArrowRight');
    } else if (event.key === 'Escape') {
      model.cancel();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const selected = lines.find(line => line.row.id === model.selected)?.key;
  const isPreviewed = model.preview !== null;
  React.useEffect(() => {
    // The preview takes room from the list: what was chosen stays in view.
    if (isPreviewed && selected !== undefined) {
      document.getElementById(elementId(selected))?.scrollIntoView({ block: 'nearest' });
    }
  }, [isPreviewed, selected]);
  const isNow = model.selected === null && model.preview === null;

  return (
    <div
      ref={list}
      className="jp-nbrewind-list"
      role="listbox"
      tabIndex={0}
      aria-label={trans.__('Points to go back to, newest first')}
      aria-activedescendant={elementId(current)}
      onKeyDown={onKeyDown}
    >
      <div
        id={elementId(NOW)}
        role="option"
        aria-selected={isNow}
        className={`jp-nbrewind-row jp-mod-now${current === NOW ? ' jp-mod-active' : ''}`}
        onClick={() => {
          setActive(NOW);
          model.cancel();
        }}
      >
        <div className="jp-nbrewind-first">
          <span className="jp-nbrewind-number" aria-hidden="true">
            ●
          </span>
          <span className="jp-nbrewind-code">{trans.__('Now')}</span>
        </div>
      </div>
      {grouped(shown).map(group => (
        <div key={group.key} role="group" aria-label={group.label || trans.__('Points')}>
          {group.label !== '' && (
            <div className="jp-nbrewind-heading" aria-hidden="true">
              {group.label}
            </div>
          )}
          {group.lines.map(line => (
            <PointRow
              key={line.key}
              line={line}
              isActive={line.key === current}
              isSelected={line.row.id === model.selected && isTarget(line.row)}
              choose={choose}
              toggle={toggle}
            />
          ))}
        </div>
      ))}
      {lines.length === 0 && (
        <div className="jp-nbrewind-empty" role="presentation">
          {filter === '' ? trans.__('Run a cell; it will appear here.') : trans.__('No point has “%1”.', filter)}
        </div>
      )}
    </div>
  );
}

interface Group {
  key: string;
  label: string;
  lines: Line[];
}

function grouped(shown: readonly Entry[]): Group[] {
  const groups: Group[] = [];
  for (const entry of shown) {
    if (entry.kind === 'heading') {
      groups.push({ key: entry.key, label: entry.label, lines: [] });
    } else {
      if (groups.length === 0) {
        groups.push({ key: 'all', label: '', lines: [] });
      }
      groups[groups.length - 1].lines.push(entry);
    }
  }
  return groups.filter(group => group.lines.length > 0);
}

interface RowProps {
  line: Line;
  isActive: boolean;
  isSelected: boolean;
  choose: (line: Line) => void;
  toggle: (key: string) => void;
}

/** A click on the triangle folds, a click elsewhere chooses; with the keyboard the arrows to the sides fold. */
function PlainRow(props: RowProps): React.ReactElement {
  const { line, isActive, isSelected, choose, toggle } = props;
  const { row } = line;
  const { trans } = useShell();
  const classes = ['jp-nbrewind-row', `jp-mod-${row.kind}`];
  classes.push(...(isActive ? ['jp-mod-active'] : []), ...(line.depth > 0 ? ['jp-mod-inside'] : []));
  classes.push(...(row.is_now ? ['jp-mod-head'] : []));
  const isBack = row.kind === 'left' && isTarget(row);
  const state = line.open === null ? '' : line.open ? trans.__('open') : trans.__('folded');
  return (
    <div
      id={elementId(line.key)}
      role="option"
      aria-selected={isSelected}
      aria-label={[spoken(row, trans.__('cell %1', row.number ?? '')), state].filter(Boolean).join(', ')}
      className={classes.join(' ')}
      title={tooltip(row, trans.__('took %1', row.duration === null ? '' : span(row.duration)))}
      data-kind={row.kind}
      data-number={row.number ?? undefined}
      onClick={() => choose(line)}
    >
      <div className="jp-nbrewind-first">
        <span
          className="jp-nbrewind-number"
          onClick={event => {
            if (isFold(row) && isTarget(row)) {
              event.stopPropagation();
              toggle(line.key);
            }
          }}
        >
          {line.open === null ? (row.number === null ? symbol(row) : `[${row.number}]`) : line.open ? '▾' : '▸'}
        </span>
        <span className="jp-nbrewind-code">{row.code}</span>
        <span className="jp-nbrewind-time">{clock(row.at)}</span>
      </div>
      {(row.what !== '' || isBack || row.mark !== null || row.names.length > 0) && (
        <div className="jp-nbrewind-second">
          {row.mark !== null && <span className={`jp-nbrewind-mark jp-mod-${row.mark.tone}`}>{row.mark.text}</span>}
          {row.what !== '' && <span>{row.what}</span>}
          {row.names.map(name => (
            <span key={name} className="jp-nbrewind-name">
              ★ {name}
            </span>
          ))}
          {isBack && <span className="jp-nbrewind-action">{trans.__('Bring back')}</span>}
        </div>
      )}
    </div>
  );
}

const PointRow = React.memo(
  PlainRow,
  (before, after) =>
    before.line.row === after.line.row &&
    before.line.key === after.line.key &&
    before.line.open === after.line.open &&
    before.line.depth === after.line.depth &&
    before.isActive === after.isActive &&
    before.isSelected === after.isSelected &&
    before.choose === after.choose
);

function symbol(row: Row): string {
  const symbols: Partial<Record<Row['kind'], string>> = {
    external: '✎',
    start: '○',
    attach: '⏻',
    restore: '⟲',
    move: '⟲',
    name: '★',
    damaged: '✕',
    left: '↶'
  };
  // Some texts begin with their symbol.
  return /^[\p{L}\p{N}]/u.test(row.code) ? (symbols[row.kind] ?? '·') : '';
}

function spoken(row: Row, cell: string): string {
  const parts = [row.number === null ? '' : cell, row.code, row.what, ...row.names];
  return [...parts, row.mark?.text ?? '', clock(row.at)].filter(Boolean).join(', ');
}

function tooltip(row: Row, took: string): string {
  const code = row.full || row.code;
  const facts = [row.duration === null ? '' : took, ...row.reasons].filter(Boolean);
  return [code, ...facts].join('\n');
}
