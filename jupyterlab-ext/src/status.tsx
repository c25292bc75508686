/** The item in the status bar: how well the notebook in front is protected; a click shows its points. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';

import type { Rewinds } from './tokens';

export class StatusItem extends ReactWidget {
  constructor(
    private readonly rewinds: Rewinds,
    private readonly trans: TranslationBundle,
    private readonly open: () => void
  ) {
    super();
    this.addClass('jp-nbrewind-status');
    rewinds.changed.connect(() => {
      const { text, title } = this.said();
      if (text !== this.text || title !== this.detail) {
        this.update();
      }
    });
  }

  protected override render(): React.ReactElement | null {
    const { text, title } = this.said();
    this.text = text;
    this.detail = title;
    return text === '' ? null : (
      <button className="jp-nbrewind-statusbutton" title={title} onClick={this.open}>
        {text}
      </button>
    );
  }

  private said(): { text: string; title: string } {
    const model = this.rewinds.current;
    if (model === null) {
      return { text: '', title: '' };
    }
    if (model.phase === 'unknown') {
      return { text: this.trans.__('⟲ not protected'), title: this.trans.__('Show how to protect this notebook') };
    }
    const board = model.board;
    if (!model.isOn || board === null) {
      return { text: '', title: '' };
    }
    const copy = board.first_copy;
    const text =
      copy !== null && copy.done < copy.total
        ? this.trans.__('⟲ first copy %1 %', Math.floor((100 * copy.done) / copy.total))
        : board.status.text;
    return { text, title: [this.trans.__('Points of this notebook'), ...board.status.reasons].join('\n') };
  }

  private text = '';
  private detail = '';
}
