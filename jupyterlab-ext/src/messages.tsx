/** The lines between head and list: what runs, what worked, what did not and the way out, what is offered. */
import * as React from 'react';

import type { RewindModel } from './model';
import { span, useShell } from './shell';

export function Messages(props: { model: RewindModel }): React.ReactElement {
  const { model } = props;
  const { trans } = useShell();
  const { board, success, trouble, working } = model;
  const copy = board?.first_copy ?? null;
  return (
    <div className="jp-nbrewind-messages">
      {board !== null && !['on', 'saving'].includes(board.state) && (
        <Line tone="warning" text={board.state_text}>
          {board.state === 'paused' && (
            <button className="jp-nbrewind-link" onClick={() => void model.pauseOrGoOn()}>
              {trans.__('Record again')}
            </button>
          )}
        </Line>
      )}
      {board?.busy != null && <Running text={board.busy.text} since={board.busy.since} />}
      {copy !== null && copy.done < copy.total && (
        <Line tone="plain" text={trans.__('First copy %1 %', Math.floor((100 * copy.done) / copy.total))}>
          <progress value={copy.done} max={copy.total} aria-label={trans.__('First copy')} />
        </Line>
      )}
      {working !== null && <Work model={model} />}
      {trouble !== null && (
        <Line tone="problem" text={trouble.message} hint={trouble.hint} close={() => model.dismiss()}>
          {trouble.way === 'stop' && model.question !== null && (
            <button className="jp-nbrewind-link" onClick={() => void model.stopAndAgain()}>
              {trans.__('Stop it, preview again')}
            </button>
          )}
          {trouble.way === 'again' && model.question !== null && (
            <button className="jp-nbrewind-link" onClick={() => model.again()}>
              {trans.__('New preview')}
            </button>
          )}
        </Line>
      )}
      {success !== null && (
        <Line tone="success" text={success.sentence} notes={success.notes} close={() => model.dismiss()}>
          {success.operation !== '' && board?.undo != null && (
            <button className="jp-nbrewind-link" onClick={() => void model.undo()}>
              {trans.__('Undo')}
            </button>
          )}
        </Line>
      )}
      {model.preview === null &&
        board?.offers.map(offer => (
          <Line key={offer.kind} tone="offer" text={offer.text}>
            <button className="jp-nbrewind-link" onClick={() => model.accept(offer)}>
              {offer.action}
            </button>
          </Line>
        ))}
    </div>
  );
}

function Work(props: { model: RewindModel }): React.ReactElement {
  const { model } = props;
  const { trans } = useShell();
  const progress = model.working?.progress ?? null;
  return (
    <Line tone="plain" text={progress?.text ?? model.working?.text ?? ''}>
      {progress !== null && progress.total > 0 ? (
        <progress value={progress.done} max={progress.total} aria-label={progress.text} />
      ) : (
        <progress aria-label={model.working?.text} />
      )}
      {progress?.cancel === true && (
        <button className="jp-nbrewind-link" onClick={() => model.stopWork()}>
          {trans.__('Cancel')}
        </button>
      )}
    </Line>
  );
}

/** A cell that runs, with how long it does; short ones are not worth a line. */
function Running(props: { text: string; since: number }): React.ReactElement | null {
  const { text, since } = props;
  const [now, setNow] = React.useState(() => Date.now());
  React.useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const seconds = now / 1000 - since;
  return seconds < 1 ? null : <Line tone="plain" text={`${text} ${span(Math.round(seconds))}`} />;
}

function Line(props: {
  tone: 'plain' | 'success' | 'problem' | 'warning' | 'offer';
  text: string;
  hint?: string;
  notes?: string[];
  close?: () => void;
  children?: React.ReactNode;
}): React.ReactElement {
  const { tone, text, hint, notes, close, children } = props;
  const { trans } = useShell();
  const signs = { plain: '', success: '✓', problem: '!', warning: '!', offer: '⟲' };
  return (
    <div className={`jp-nbrewind-message jp-mod-${tone}`}>
      {signs[tone] !== '' && (
        <span className="jp-nbrewind-sign" aria-hidden="true">
          {signs[tone]}
        </span>
      )}
      <div className="jp-nbrewind-text">
        {text}
        {hint !== undefined && hint !== '' && <div className="jp-nbrewind-muted">{hint}</div>}
        {notes !== undefined && notes.length > 0 && (
          <details className="jp-nbrewind-kept">
            <summary>{trans._n('%1 note', '%1 notes', notes.length)}</summary>
            {notes.map(note => (
              <div key={note} className="jp-nbrewind-muted">
                {note}
              </div>
            ))}
          </details>
        )}
        {React.Children.toArray(children).length > 0 && <div className="jp-nbrewind-links">{children}</div>}
      </div>
      {close !== undefined && (
        <button className="jp-nbrewind-close" aria-label={trans.__('Dismiss')} title={trans.__('Dismiss')} onClick={close}>
          ×
        </button>
      )}
    </div>
  );
}
