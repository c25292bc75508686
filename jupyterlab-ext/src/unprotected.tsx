/** What stands where there are no points: why, and the way to have some. */
import * as React from 'react';

import type { RewindModel } from './model';
import { useShell } from './shell';

export function Unprotected(props: { model: RewindModel }): React.ReactElement {
  const { model } = props;
  const { trans, actions } = useShell();
  if (model.working !== null) {
    return <Blank text={model.working.text} />;
  }
  switch (model.phase) {
    case 'no-kernel':
      return <Blank text={trans.__('No kernel. Start one, and the points of this notebook appear here.')} />;
    case 'other-language':
      return <Blank text={trans.__('Points are kept for Python kernels.')} />;
    case 'dead':
      return <Blank text={trans.__('The kernel died. Restart it: its points are kept.')} />;
    case 'lost':
      return <Blank text={trans.__('Waiting for the kernel…')} />;
    case 'connecting':
      return <Blank text={trans.__('Waiting for the kernel; a running cell comes first.')} />;
    default:
      break;
  }
  const why = model.board?.state_text ?? '';
  return (
    <div className="jp-nbrewind-blank">
      <p className="jp-nbrewind-strong">{trans.__('This notebook is not protected.')}</p>
      <p className="jp-nbrewind-muted">
        {trans.__('Protected, every cell that runs becomes a point: files, variables and outputs can go back to it.')}
      </p>
      <div className="jp-nbrewind-buttons jp-mod-stacked">
        <button className="jp-nbrewind-button jp-mod-accept" onClick={() => void model.protect()}>
          {trans.__('Protect')}
        </button>
        {!actions.isAlways && (
          <button className="jp-nbrewind-button" onClick={() => actions.alwaysProtect()}>
            {trans.__('Always protect my notebooks')}
          </button>
        )}
      </div>
      {model.trouble !== null && (
        <p className="jp-nbrewind-note jp-mod-warning" role="alert">
          {model.trouble.message}
        </p>
      )}
      {[model.said, why].filter(Boolean).map(text => (
        <p key={text} className="jp-nbrewind-note jp-mod-warning">
          {text}
        </p>
      ))}
    </div>
  );
}

function Blank(props: { text: string }): React.ReactElement {
  return (
    <div className="jp-nbrewind-blank" role="status">
      <p className="jp-nbrewind-muted">{props.text}</p>
    </div>
  );
}
