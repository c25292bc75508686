/** A page in place of the list: which cells changed a file, how the session stands, which other sessions there are. */
import * as React from 'react';

import type { Page } from './inquiries';
import { LookView } from './look';
import type { RewindModel } from './model';
import type { SessionRow } from './protocol';
import { clock, useShell } from './shell';

export function PagePane(props: { model: RewindModel; page: Page }): React.ReactElement {
  const { model, page } = props;
  const { trans } = useShell();
  const titles = {
    history: trans.__('Which cells changed %1', page.subject),
    status: trans.__('What is protected'),
    sessions: trans.__('Other sessions of this folder')
  };
  return (
    <section className="jp-nbrewind-page" aria-label={titles[page.kind]}>
      <div className="jp-nbrewind-pagehead">
        <span>{titles[page.kind]}</span>
        <button className="jp-nbrewind-button" onClick={() => model.inquiries.close()}>
          {trans.__('Back to the list')}
        </button>
      </div>
      {page.kind === 'sessions' && page.asking !== 'waiting' && !('error' in page.asking) ? (
        <Sessions rows={page.sessions} />
      ) : (
        <LookView asking={page.asking} />
      )}
    </section>
  );
}

function Sessions(props: { rows: SessionRow[] }): React.ReactElement {
  const { trans } = useShell();
  return (
    <ul className="jp-nbrewind-sessions">
      {props.rows.map(row => (
        <li key={row.id}>
          <span className="jp-nbrewind-subject">{row.notebook || trans.__('without a notebook')}</span>
          <span className="jp-nbrewind-muted">
            {`${new Date(row.at * 1000).toLocaleDateString()} ${clock(row.at)} · `}
            {trans._n('%1 point', '%1 points', row.points)}
            {row.is_this ? ` · ${trans.__('this one')}` : row.held === '' ? '' : ` · ${row.held}`}
          </span>
        </li>
      ))}
    </ul>
  );
}
