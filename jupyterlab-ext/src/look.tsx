/** Lines and tables that the kernel wrote, as plain text: nothing stored is ever taken for HTML. */
import * as React from 'react';

import type { Asking } from './inquiries';
import type { LookLine, LookTable } from './protocol';
import { useShell } from './shell';

export function LookView(props: { asking: Asking }): React.ReactElement {
  const { asking } = props;
  const { trans } = useShell();
  if (asking === 'waiting') {
    return <div className="jp-nbrewind-muted">{trans.__('Looking…')}</div>;
  }
  if ('error' in asking) {
    return <div className="jp-nbrewind-muted">{asking.error}</div>;
  }
  const { parts } = asking.look;
  if (parts.length === 0) {
    return <div className="jp-nbrewind-muted">{trans.__('Nothing more to tell.')}</div>;
  }
  return (
    <div className="jp-nbrewind-look" tabIndex={0}>
      {parts.map((part, index) => ('rows' in part ? <Table key={index} table={part} /> : <Text key={index} line={part} />))}
    </div>
  );
}

function Text(props: { line: LookLine }): React.ReactElement {
  const { text, tone, indent } = props.line;
  return (
    <div className={`jp-nbrewind-line jp-mod-${tone}`} style={{ paddingLeft: `${indent * 12}px` }}>
      {text}
    </div>
  );
}

function Table(props: { table: LookTable }): React.ReactElement {
  const { rows, heads, tones } = props.table;
  return (
    <table className="jp-nbrewind-table">
      {heads.some(Boolean) && (
        <thead>
          <tr>
            {heads.map((head, index) => (
              <th key={index} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
      )}
      <tbody>
        {rows.map((row, index) => (
          <tr key={index} className={`jp-mod-${tones[index] ?? 'plain'}`}>
            {row.map((value, column) => (
              <td key={column}>{value}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
