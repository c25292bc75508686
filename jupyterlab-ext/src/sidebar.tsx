/** The sidebar: follows the notebook in front. A fault in it shows itself here and touches nothing else. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';

import { Head } from './head';
import { rewindIcon } from './icon';
import { PointList } from './list';
import { Messages } from './messages';
import type { RewindModel } from './model';
import { PagePane } from './page';
import { PreviewPane } from './preview';
import { ShellContext, useModel, useShell, type Actions } from './shell';
import type { Rewinds } from './tokens';
import { Unprotected } from './unprotected';

export class Sidebar extends ReactWidget {
  constructor(
    private readonly rewinds: Rewinds,
    private readonly trans: TranslationBundle,
    private readonly actions: Actions
  ) {
    super();
    this.id = 'nbrewind-sidebar';
    this.addClass('jp-nbrewind');
    this.title.icon = rewindIcon;
    this.title.caption = trans.__('Go back to a point of this notebook');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', trans.__('nbrewind'));
    // The view follows its model itself; here only another one matters.
    rewinds.changed.connect(() => {
      if (rewinds.current !== this.shown) {
        this.update();
      }
    });
  }

  protected override render(): React.ReactElement {
    const model = this.rewinds.current;
    this.shown = model;
    return (
      <ShellContext.Provider value={{ trans: this.trans, actions: this.actions }}>
        <Boundary key={model?.id ?? ''} trans={this.trans}>
          {model === null ? <NoNotebook /> : <NotebookView key={model.id} model={model} />}
        </Boundary>
      </ShellContext.Provider>
    );
  }

  private shown: RewindModel | null = null;
}

/** Stops a fault of the view from reaching the rest of the page. */
class Boundary extends React.Component<
  { trans: TranslationBundle; children: React.ReactNode },
  { error: Error | null }
> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error): { error: Error } {
    return { error };
  }

  override componentDidCatch(error: Error): void {
    console.error('nbrewind: the sidebar failed.', error);
  }

  override render(): React.ReactNode {
    const { trans, children } = this.props;
    if (this.state.error === null) {
      return children;
    }
    return (
      <div className="jp-nbrewind-blank" role="alert">
        <p>{trans.__('The sidebar failed. Your notebook is not touched by it, and %rewind works in a cell.')}</p>
        <p className="jp-nbrewind-muted">{this.state.error.message}</p>
        <button className="jp-nbrewind-button jp-mod-accept" onClick={() => this.setState({ error: null })}>
          {trans.__('Show it again')}
        </button>
      </div>
    );
  }
}

function NoNotebook(): React.ReactElement {
  const { trans } = useShell();
  return (
    <div className="jp-nbrewind-blank">
      <p>{trans.__('Open a notebook; the points to go back to appear here.')}</p>
    </div>
  );
}

function NotebookView(props: { model: RewindModel }): React.ReactElement {
  const { model } = props;
  useModel(model);
  const [filter, setFilter] = React.useState('');
  if (model.board === null || model.board.state === 'not-protected') {
    return <Unprotected model={model} />;
  }
  return (
    <>
      <Head model={model} filter={filter} setFilter={setFilter} />
      <Messages model={model} />
      {model.inquiries.page === null ? (
        <PointList model={model} filter={filter} />
      ) : (
        <PagePane model={model} page={model.inquiries.page} />
      )}
      {model.preview !== null && model.inquiries.page === null && (
        <PreviewPane key={model.preview.target} model={model} preview={model.preview} />
      )}
      <Spoken model={model} />
    </>
  );
}

/** Says to screen readers what others see happen. */
function Spoken(props: { model: RewindModel }): React.ReactElement {
  const { success, trouble, preview } = props.model;
  return (
    <div className="jp-nbrewind-spoken" role="status" aria-live="polite">
      {success?.sentence ?? trouble?.message ?? preview?.sentence ?? ''}
    </div>
  );
}
