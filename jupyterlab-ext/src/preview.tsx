/** What going to a point would do: what cannot come back first, then conflicts, then each part with its tick box. */
import * as React from 'react';

import { LookView } from './look';
import type { RewindModel } from './model';
import { PARTS, type Item, type Part, type Preview } from './protocol';
import { useShell } from './shell';

const MOST = 8;
const SIGNS: Record<Item['tone'], string> = { added: '+', removed: '−', changed: '~', kept: '·', problem: '!' };

export function PreviewPane(props: { model: RewindModel; preview: Preview }): React.ReactElement {
  const { model, preview } = props;
  const { trans } = useShell();
  const unsaved = model.unsaved();
  const isChoice = preview.kind === 'rewind' || preview.kind === 'undo' || preview.kind === 'redo';
  const onKeyDown = (event: React.KeyboardEvent): void => {
    if (event.key === 'Escape') {
      event.stopPropagation();
      model.cancel();
    }
  };
  return (
    <section className="jp-nbrewind-preview" aria-label={trans.__('What would change')} onKeyDown={onKeyDown}>
      <div className="jp-nbrewind-scroll" tabIndex={0} role="region" aria-label={preview.sentence}>
        <div className="jp-nbrewind-sentence">{preview.sentence}</div>
        <Warnings items={preview.lost} sign="!" tone="warning" title={trans.__('Cannot go back')} />
        <Warnings items={preview.conflicts} sign="≠" tone="warning" title={trans.__('Changed by someone else later')}>
          {preview.kind !== 'recover' && (
            <Tick
              label={trans.__('Take these back too (kept for Undo)')}
              isOn={model.question?.fields.overwrite === true}
              set={overwrite => model.refine({ overwrite })}
            />
          )}
        </Warnings>
        {preview.needs_force !== null && <div className="jp-nbrewind-note jp-mod-warning">{preview.needs_force}</div>}
        {unsaved.length > 0 && (
          <div className="jp-nbrewind-note jp-mod-warning">
            {trans.__('Open with unsaved edits: %1.', unsaved.join(', '))}{' '}
            <button className="jp-nbrewind-link" onClick={() => void model.saveAndAgain()}>
              {trans.__('Save and preview again')}
            </button>
          </div>
        )}
        {PARTS.map(part => (
          <PartGroup key={part} part={part} model={model} preview={preview} isChoice={isChoice} />
        ))}
        {preview.kept.length > 0 && (
          <details className="jp-nbrewind-kept">
            <summary>{trans._n('%1 stays as it is', '%1 stay as they are', preview.kept.length)}</summary>
            {preview.kept.map(item => (
              <div key={item.subject} className="jp-nbrewind-warning">
                <span className="jp-nbrewind-subject">{item.name}</span> {item.text}
              </div>
            ))}
          </details>
        )}
        {preview.notes.map(note => (
          <div key={note} className="jp-nbrewind-note">
            {note}
          </div>
        ))}
        {preview.kind === 'rewind' && <PointDetails model={model} target={preview.target} />}
      </div>
      <Confirm model={model} preview={preview} />
    </section>
  );
}

function Confirm(props: { model: RewindModel; preview: Preview }): React.ReactElement {
  const { model, preview } = props;
  const { trans } = useShell();
  const isIdle = model.working === null;
  const nothing = preview.empty || preview.token === '';
  return (
    <div className="jp-nbrewind-confirm">
      {model.armed && (
        <div className="jp-nbrewind-note jp-mod-warning" role="alert">
          {trans.__('See above what this does not bring back. Go on?')}
        </div>
      )}
      {nothing && <div className="jp-nbrewind-muted">{trans.__('Everything is as it was then: nothing to do.')}</div>}
      <div className="jp-nbrewind-buttons">
        {!nothing && (
          <button
            className={`jp-nbrewind-button ${model.armed ? 'jp-mod-careful' : 'jp-mod-accept'}`}
            disabled={!isIdle}
            onClick={() => void model.confirm()}
          >
            {model.armed ? trans.__('Yes: %1', preview.button) : preview.button}
          </button>
        )}
        <button className="jp-nbrewind-button" onClick={() => model.cancel()}>
          {nothing ? trans.__('Close') : trans.__('Cancel')}
        </button>
      </div>
    </div>
  );
}

function PartGroup(props: {
  part: Part;
  model: RewindModel;
  preview: Preview;
  isChoice: boolean;
}): React.ReactElement | null {
  const { part, model, preview, isChoice } = props;
  const { trans } = useShell();
  const [all, setAll] = React.useState(false);
  const items = preview.groups[part];
  const isOn = preview.only.includes(part);
  if (items.length === 0 && preview.counts[part] === 0) {
    return null;
  }
  const titles: Record<Part, string> = {
    files: trans.__('Files'),
    variables: trans.__('Variables'),
    outputs: trans.__('Outputs'),
    cells: trans.__('Cell text')
  };
  const set = (wanted: boolean): void => {
    const only = PARTS.filter(one => (one === part ? wanted : preview.only.includes(one)));
    model.refine({ only });
  };
  const last = isOn && preview.only.length === 1;
  const shown = all ? items : items.slice(0, MOST);
  return (
    <div className={`jp-nbrewind-group${isOn || !isChoice ? '' : ' jp-mod-off'}`} data-part={part}>
      <div className="jp-nbrewind-grouphead">
        {isChoice ? (
          <Tick label={titles[part]} isOn={isOn} set={set} disabled={last || model.working !== null} />
        ) : (
          <span className="jp-nbrewind-tick">{titles[part]}</span>
        )}
        <span className="jp-nbrewind-count">{preview.counts[part]}</span>
      </div>
      {shown.map(item => (
        <ItemView key={item.subject} item={item} part={part} model={model} preview={preview} />
      ))}
      {items.length > shown.length && (
        <button className="jp-nbrewind-link" onClick={() => setAll(true)}>
          {trans._n('%1 more', '%1 more', items.length - shown.length)}
        </button>
      )}
    </div>
  );
}

function Tick(props: {
  label: string;
  isOn: boolean;
  disabled?: boolean;
  set: (on: boolean) => void;
}): React.ReactElement {
  const { label, isOn, disabled, set } = props;
  return (
    <label className="jp-nbrewind-tick">
      <input type="checkbox" checked={isOn} disabled={disabled} onChange={event => set(event.target.checked)} />
      {label}
    </label>
  );
}

function Warnings(props: {
  items: Item[];
  sign: string;
  tone: string;
  title: string;
  children?: React.ReactNode;
}): React.ReactElement | null {
  const { items, sign, tone, title, children } = props;
  if (items.length === 0) {
    return null;
  }
  return (
    <div className={`jp-nbrewind-warnings jp-mod-${tone}`}>
      <div className="jp-nbrewind-warningtitle">
        <span aria-hidden="true">{sign}</span> {title}
      </div>
      {items.map(item => (
        <div key={item.subject} className="jp-nbrewind-warning">
          <span className="jp-nbrewind-subject">{item.name}</span> {item.text}
        </div>
      ))}
      {children}
    </div>
  );
}

interface ItemProps {
  item: Item;
  part: Part;
  model: RewindModel;
  preview: Preview;
}

function ItemView(props: ItemProps): React.ReactElement {
  const { item } = props;
  const [open, setOpen] = React.useState(false);
  return (
    <div className={`jp-nbrewind-item jp-mod-${item.tone}`}>
      <button className="jp-nbrewind-itemhead" aria-expanded={open} onClick={() => setOpen(!open)} title={item.name}>
        <span className="jp-nbrewind-sign" aria-hidden="true">
          {SIGNS[item.tone]}
        </span>
        <span className="jp-nbrewind-subject">{item.name}</span>
        <span className="jp-nbrewind-change">{item.text}</span>
      </button>
      {open && <ItemDetails {...props} />}
    </div>
  );
}

function ItemDetails(props: ItemProps): React.ReactElement {
  const { item, part, model, preview } = props;
  const { trans } = useShell();
  const [beside, setBeside] = React.useState<string | null>(null);
  const target = preview.target;
  const isSingle = (part === 'files' || part === 'variables') && preview.kind === 'rewind';
  React.useEffect(() => {
    if (item.diff) {
      model.inquiries.diff(target, item, part);
    }
  }, [model, target, item, part]);
  const restore = (as: string): void => {
    if (part === 'files' || part === 'variables') {
      model.restore(item, part, target, as);
    }
  };
  return (
    <div className="jp-nbrewind-details">
      {item.diff && <LookView asking={model.inquiries.diffKnown(target, item, part)} />}
      {isSingle && (
        <div className="jp-nbrewind-links">
          <button className="jp-nbrewind-link" onClick={() => restore('')}>
            {trans.__('Bring back only this')}
          </button>
          {item.children === undefined && (
            <button className="jp-nbrewind-link" onClick={() => setBeside(besideName(item.subject, part))}>
              {trans.__('Bring it back beside…')}
            </button>
          )}
          <button className="jp-nbrewind-link" onClick={() => model.inquiries.history(item.subject, part)}>
            {trans.__('Which cells changed it?')}
          </button>
        </div>
      )}
      {beside !== null && (
        <form
          className="jp-nbrewind-form"
          onSubmit={event => {
            event.preventDefault();
            restore(beside.trim());
          }}
        >
          <input
            className="jp-nbrewind-input"
            autoFocus
            aria-label={trans.__('Name of the one that is brought back')}
            value={beside}
            onChange={event => setBeside(event.target.value)}
          />
          <button className="jp-nbrewind-button" type="submit" disabled={beside.trim() === ''}>
            {trans.__('Preview')}
          </button>
        </form>
      )}
    </div>
  );
}

/** A name beside *subject* that says what it is. */
function besideName(subject: string, part: Part): string {
  if (part === 'variables') {
    return `${subject}_then`;
  }
  const dot = subject.lastIndexOf('.');
  return dot > subject.lastIndexOf('/') + 1 ? `${subject.slice(0, dot)}-then${subject.slice(dot)}` : `${subject}-then`;
}

function PointDetails(props: { model: RewindModel; target: string }): React.ReactElement {
  const { model, target } = props;
  const { trans } = useShell();
  const [open, setOpen] = React.useState(false);
  const id = target.replace(/^before:/, '');
  React.useEffect(() => {
    if (open) {
      model.inquiries.point(id);
    }
  }, [model, id, open]);
  return (
    <details className="jp-nbrewind-kept" onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>{trans.__('This point in full')}</summary>
      {open && <LookView asking={model.inquiries.pointKnown(id)} />}
    </details>
  );
}
