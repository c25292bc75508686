/** The open notebook, and the other documents beside it: saved before a move, in line with the kernel after it. */
import { Dialog, showDialog } from '@jupyterlab/apputils';
import { PathExt } from '@jupyterlab/coreutils';
import type { IDocumentManager } from '@jupyterlab/docmanager';
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';

import { patchNotebook } from './patching';
import { contentsPath, covers } from './paths';
import type { DocumentVote, Patch } from './protocol';
import type { OpenNotebook } from './tokens';

type Context = DocumentRegistry.Context;

/** Where the kernel sees the workspace and the notebook. */
export interface Whereabouts {
  workspace: string;
  notebook: string;
}

export class NotebookDocument implements OpenNotebook {
  constructor(
    private readonly panel: NotebookPanel,
    private readonly manager: IDocumentManager | null,
    private readonly opened: () => Iterable<Context>,
    private readonly whereabouts: () => Whereabouts | null,
    private readonly trans: TranslationBundle
  ) {}

  get path(): string {
    return this.panel.context.localPath;
  }

  async vote(): Promise<DocumentVote> {
    const context = this.panel.context;
    if (this.isShared || context.contentsModel?.writable === false) {
      // The server owns a shared document and saves it itself; what cannot be written is not written.
      return { path: this.path, hash: '', saved: false };
    }
    await this.save();
    const { hash, hash_algorithm: algorithm } = context.contentsModel ?? {};
    return { path: this.path, hash: algorithm === 'sha256' ? (hash ?? '') : '', saved: true };
  }

  async apply(patch: Patch): Promise<{ agreed: boolean; missing: string[] }> {
    await this.panel.context.ready;
    const model = this.panel.context.model;
    const keep = this.keepView();
    const missing = patchNotebook(model.sharedModel, patch);
    keep();
    if (!this.isShared && this.panel.context.contentsModel?.writable !== false) {
      await this.save();
    }
    return { agreed: true, missing };
  }

  unsaved(subjects: readonly string[]): string[] {
    return this.touched(subjects)
      .filter(context => context.model.dirty)
      .map(context => context.localPath);
  }

  async saveUnsaved(subjects: readonly string[]): Promise<void> {
    for (const context of this.touched(subjects).filter(one => one.model.dirty)) {
      await context.save();
    }
  }

  async reload(files: readonly string[]): Promise<void> {
    const ask: Context[] = [];
    for (const context of this.touched(files)) {
      const isNotebook = PathExt.extname(context.path) === '.ipynb';
      if (context.model.dirty || isNotebook) {
        ask.push(context);
      } else if (!context.model.collaborative && (await this.differs(context))) {
        await context.revert();
      }
    }
    for (const context of ask) {
      if (!context.isDisposed && (await this.differs(context))) {
        await this.askToReload(context);
      }
    }
  }

  private get isShared(): boolean {
    return this.panel.context.model.collaborative === true;
  }

  private async save(): Promise<void> {
    if (this.panel.context.model.dirty) {
      await this.panel.context.save();
    }
  }

  /** Return whether the disk has something else than *context*; false for a file that is gone: what is shown stays. */
  private async differs(context: Context): Promise<boolean> {
    try {
      const disk = await this.manager?.services.contents.get(context.path, { content: false, hash: true });
      const shown = context.contentsModel;
      if (disk?.hash != null && shown?.hash != null) {
        return disk.hash !== shown.hash;
      }
      return disk?.last_modified !== shown?.last_modified;
    } catch {
      return false;
    }
  }

  private async askToReload(context: Context): Promise<void> {
    const name = PathExt.basename(context.path);
    const result = await showDialog({
      title: this.trans.__('%1 has changed on the disk', name),
      body: context.model.dirty
        ? this.trans.__('It went back with the rewind, and holds unsaved edits here. Loading it drops these edits.')
        : this.trans.__('It went back with the rewind. Loading it shows it as it is on the disk now.'),
      buttons: [
        Dialog.cancelButton({ label: this.trans.__('Keep what is open') }),
        Dialog.warnButton({ label: this.trans.__('Load from the disk') })
      ],
      defaultButton: 0
    });
    if (result.button.accept && !context.isDisposed) {
      await context.revert();
    }
  }

  /** The contexts of other open documents that lie at or below one of *subjects*. */
  private touched(subjects: readonly string[]): Context[] {
    const where = this.whereabouts();
    if (where === null || subjects.length === 0) {
      return [];
    }
    const paths = subjects
      .map(subject => contentsPath(subject, where.workspace, where.notebook, this.path))
      .filter(path => path !== null);
    return [...this.opened()].filter(
      context => context !== (this.panel.context as unknown) && paths.some(path => covers(path, context.localPath))
    );
  }

  /** Return what puts the first cell in view back to where it is now, whatever grows or shrinks above it. */
  private keepView(): () => void {
    const node = this.panel.content.node;
    const outer = node.querySelector('.jp-WindowedPanel-outer') ?? node;
    const top = outer.getBoundingClientRect().top;
    const anchor = this.panel.content.widgets.find(
      cell => cell.isAttached && cell.node.getBoundingClientRect().bottom > top
    );
    if (anchor === undefined || outer.scrollTop === 0) {
      return () => undefined;
    }
    const before = anchor.node.getBoundingClientRect().top;
    const settle = (): void => {
      if (anchor.isAttached) {
        outer.scrollTop += anchor.node.getBoundingClientRect().top - before;
      }
    };
    return () => requestAnimationFrame(settle);
  }
}
