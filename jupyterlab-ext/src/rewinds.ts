/** One model for each open notebook, made and given up with it. */
import type { ISessionContext } from '@jupyterlab/apputils';
import type { IDocumentManager } from '@jupyterlab/docmanager';
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import { UUID } from '@lumino/coreutils';
import { Signal, type ISignal } from '@lumino/signaling';

import { NotebookDocument } from './document';
import { markCells } from './marks';
import { RewindModel } from './model';
import type { Success } from './state';
import { texts } from './texts';
import type { Rewinds } from './tokens';

export interface Choices {
  /** Whether each notebook is protected when it is opened. */
  always: boolean;
  /** Whether cells that are not covered in full are marked. */
  marks: boolean;
}

export interface RewindsOptions {
  tracker: INotebookTracker;
  manager: IDocumentManager | null;
  opened: () => Iterable<DocumentRegistry.Context>;
  trans: TranslationBundle;
  frontEnd: string;
  choices: Choices;
}

export class OpenRewinds implements Rewinds {
  constructor(private readonly options: RewindsOptions) {
    const { tracker } = options;
    tracker.forEach(panel => this.add(panel));
    tracker.widgetAdded.connect((_, panel) => this.add(panel));
    tracker.currentChanged.connect(() => this.signal.emit());
  }

  get current(): RewindModel | null {
    const panel = this.options.tracker.currentWidget;
    return panel === null ? null : this.of(panel);
  }

  get changed(): ISignal<this, void> {
    return this.signal;
  }

  /** Raised after a move in any notebook. */
  get moved(): ISignal<this, { model: RewindModel; success: Success }> {
    return this.moves;
  }

  of(panel: NotebookPanel): RewindModel | null {
    // Two views of one notebook have one context, and so one model.
    return this.models.get(panel.context) ?? null;
  }

  /** Protect what is open, after "always" was chosen. */
  protectAll(): void {
    for (const model of this.models.values()) {
      this.protectWhereWanted(model);
    }
  }

  private add(panel: NotebookPanel): void {
    const { context } = panel;
    const known = this.models.get(context);
    const model = known ?? this.make(panel);
    this.models.set(context, model);
    const unmark = markCells(panel, model, () => this.options.choices.marks);
    panel.disposed.connect(unmark);
    this.signal.emit();
  }

  private make(panel: NotebookPanel): RewindModel {
    const { context } = panel;
    const { manager, opened, trans, frontEnd } = this.options;
    const whereabouts = () =>
      model.board === null ? null : { workspace: model.board.workspace_path, notebook: model.board.notebook };
    const document = new NotebookDocument(panel, manager, opened, whereabouts, trans);
    const model: RewindModel = new RewindModel({ document, texts: texts(trans), client: UUID.uuid4(), frontEnd });
    const session: ISessionContext = context.sessionContext;
    const follow = (): void => void model.follow(session.session?.kernel ?? null);
    session.kernelChanged.connect(follow);
    void session.ready.then(follow);
    follow();
    const onRenamed = (): void => model.renamed();
    context.pathChanged.connect(onRenamed);
    model.changed.connect(() => {
      if (model === this.current) {
        this.signal.emit();
      }
      this.protectWhereWanted(model);
    });
    model.moved.connect((_, success) => this.moves.emit({ model, success }));
    context.disposed.connect(() => {
      session.kernelChanged.disconnect(follow);
      this.models.delete(context);
      model.dispose();
      this.signal.emit();
    });
    return model;
  }

  /** "Always" protects each kernel once: one that says no is not asked again. */
  private protectWhereWanted(model: RewindModel): void {
    if (model.phase !== 'unknown') {
      this.tried.delete(model);
    } else if (this.options.choices.always && model.working === null && !this.tried.has(model)) {
      this.tried.add(model);
      void model.protect();
    }
  }

  private readonly models = new Map<NotebookPanel['context'], RewindModel>();
  private readonly tried = new WeakSet<RewindModel>();
  private readonly signal = new Signal<this, void>(this);
  private readonly moves = new Signal<this, { model: RewindModel; success: Success }>(this);
}
