/** The top of the sidebar: whose points these are, how well it stands, undo and redo, the filter. */
import { ellipsesIcon, redoIcon, undoIcon, type LabIcon } from '@jupyterlab/ui-components';
import { PathExt } from '@jupyterlab/coreutils';
import * as React from 'react';

import type { RewindModel } from './model';
import { useShell } from './shell';

export function Head(props: {
  model: RewindModel;
  filter: string;
  setFilter: (filter: string) => void;
}): React.ReactElement {
  const { model, filter, setFilter } = props;
  const { trans, actions } = useShell();
  const board = model.board;
  const status = board?.status;
  const isFree = model.isOn && model.working === null;
  return (
    <div className="jp-nbrewind-head">
      <div className="jp-nbrewind-title">
        <span className="jp-nbrewind-notebook" title={board?.workspace_path}>
          {PathExt.basename(model.document.path)}
        </span>
        {status !== undefined && (
          <span
            className={`jp-nbrewind-health jp-mod-${model.isOn ? status.tone : 'warning'}`}
            title={status.reasons.join('\n')}
          >
            {model.isOn ? status.text : trans.__('not connected')}
          </span>
        )}
      </div>
      <div className="jp-nbrewind-tools">
        <Tool
          icon={undoIcon}
          label={trans.__('Undo')}
          title={board?.undo?.text ?? trans.__('Nothing to undo')}
          isOn={isFree && board?.undo != null}
          run={() => void model.undo()}
        />
        <Tool
          icon={redoIcon}
          label={trans.__('Redo')}
          title={board?.redo?.text ?? trans.__('Nothing to redo')}
          isOn={isFree && board?.redo != null}
          run={() => void model.redo()}
        />
        <input
          className="jp-nbrewind-input jp-nbrewind-filter"
          type="search"
          placeholder={trans.__('Filter')}
          title={trans.__('Filter by code, file, variable or name')}
          aria-label={trans.__('Show only points with this code, file, variable or name')}
          value={filter}
          onChange={event => setFilter(event.target.value)}
        />
        <button
          className="jp-nbrewind-tool"
          title={trans.__('More')}
          aria-label={trans.__('More')}
          aria-haspopup="menu"
          onClick={event => {
            const box = event.currentTarget.getBoundingClientRect();
            actions.menu(box.left, box.bottom);
          }}
        >
          <ellipsesIcon.react tag="span" />
        </button>
      </div>
    </div>
  );
}

function Tool(props: {
  icon: LabIcon;
  label: string;
  title: string;
  isOn: boolean;
  run: () => void;
}): React.ReactElement {
  const { icon, label, title, isOn, run } = props;
  return (
    <button className="jp-nbrewind-tool" title={title} aria-label={label} disabled={!isOn} onClick={run}>
      <icon.react tag="span" />
    </button>
  );
}
