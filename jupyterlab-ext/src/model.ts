/** What the sidebar knows of one notebook, and what can be asked for. No DOM: the view follows `changed`. */
import type { Kernel } from '@jupyterlab/services';
import { Signal, type ISignal } from '@lumino/signaling';

import { Inquiries } from './inquiries';
import { PatchQueue } from './patches';
import {
  isPreview,
  type Answer,
  type Asked,
  type Board,
  type Item,
  type Offer,
  type Part,
  type Patch,
  type Preview,
  type Progress,
  type Result,
  type Row,
  type Verb
} from './protocol';
import {
  explained,
  newestId,
  type ModelOptions,
  type Question,
  type Success,
  type Trouble,
  type Working
} from './state';
import type { OpenNotebook } from './tokens';
import { Watch, type Phase, type Watcher } from './watch';

const TRIES = 20;

/**
 * The state of one notebook's points.
 *
 * Invariant: nothing moves but through `confirm`, `undo` and `redo`, one at a time; every rejection ends in `trouble`.
 */
export class RewindModel implements Watcher {
  constructor(private readonly options: ModelOptions) {
    const { client, frontEnd, document } = options;
    this.watch = new Watch({ id: client, frontEnd, path: () => document.path }, this);
    this.patches = new PatchQueue(document, this.watch);
  }

  /** The row that is chosen; null is "Now". */
  selected: string | null = null;
  question: Question | null = null;
  preview: Preview | null = null;
  /** Whether the first of two clicks was made. */
  armed = false;
  working: Working | null = null;
  success: Success | null = null;
  trouble: Trouble | null = null;

  get changed(): ISignal<this, void> {
    return this.signal;
  }

  /** Raised after a move, for a notification. */
  get moved(): ISignal<this, Success> {
    return this.moves;
  }

  get phase(): Phase {
    return this.watch.phase;
  }

  get board(): Board | null {
    return this.watch.board;
  }

  /** What the kernel printed or said where it protects nothing. */
  get said(): string {
    return this.watch.said;
  }

  /** Tells this client from others, and this model from others. */
  get id(): string {
    return this.options.client;
  }

  get document(): OpenNotebook {
    return this.options.document;
  }

  get isOn(): boolean {
    return this.phase === 'on' && this.board !== null;
  }

  /** Looks at single files, variables and points. */
  readonly inquiries = new Inquiries(
    (verb, fields) => this.ask(verb, fields),
    () => this.touch(),
    error => explained(error, this.options.texts).message
  );

  /** Follow *kernel*; null where the notebook has none. */
  follow(kernel: Kernel.IKernelConnection | null): Promise<void> {
    return this.watch.follow(kernel);
  }

  /** Load nbrewind into the kernel, without a trace in the notebook. */
  async protect(): Promise<void> {
    if (this.working !== null) {
      return;
    }
    this.begin(this.options.texts.protecting);
    const loaded = await this.watch.protect();
    this.working = null;
    if (loaded?.found === false) {
      this.trouble = { message: this.options.texts.notInstalled, hint: '', way: null };
    }
    this.touch();
  }

  /** Choose a row, and preview what going there would do; null is "Now". */
  select(row: Row | null): void {
    this.clear();
    this.selected = row?.id ?? null;
    if (row?.target != null) {
      void this.look({ verb: 'preview', fields: { target: row.target } });
    }
    this.touch();
  }

  /** Preview going to just before the cell of *row* ran. */
  selectBefore(row: Row): void {
    this.clear();
    this.selected = row.id;
    void this.look({ verb: 'preview', fields: { target: `before:${row.id}` } });
  }

  /** Preview what an offer offers, or carry it out where it moves nothing. */
  accept(offer: Offer): void {
    this.clear();
    if (offer.kind === 'recover') {
      void this.look({ verb: 'preview_recover', fields: offer.target === null ? {} : { target: offer.target } });
    } else if (offer.kind === 'take-back' && offer.target !== null) {
      void this.look({ verb: 'preview', fields: { target: offer.target } });
    } else {
      void this.tell(offer.kind === 'unfreeze' ? 'unfreeze' : 'free_space', {});
    }
  }

  /** Preview bringing one file or variable back, beside the present one where *beside* names a place. */
  restore(item: Item, part: 'files' | 'variables', from: string, beside = ''): void {
    const what = part === 'files' ? { paths: [item.subject] } : { names: [item.subject] };
    void this.look({ verb: 'preview_restore', fields: { from, ...what, ...(beside === '' ? {} : { as: beside }) } });
  }

  /** Preview the same with other ticks. */
  refine(fields: { only?: Part[]; overwrite?: boolean; everything?: boolean }): void {
    if (this.question !== null) {
      void this.look({ verb: this.question.verb, fields: { ...this.question.fields, ...fields } });
    }
  }

  /** Look again at what was asked last. */
  again(): void {
    if (this.question !== null) {
      void this.look(this.question);
    }
  }

  /** Interrupt the cell that runs, and look again as soon as it has ended. */
  async stopAndAgain(): Promise<void> {
    const kernel = this.watch.kernel;
    if (kernel === null) {
      return;
    }
    const question = this.question;
    this.trouble = null;
    this.begin(this.options.texts.stopped);
    await kernel.interrupt().catch(() => undefined);
    await this.rest();
    // The turn's end is still being written for a moment after its cell has ended.
    for (let tries = 0; question !== null && tries < TRIES; tries++) {
      await this.look(question);
      if (this.trouble === null || (this.trouble as Trouble).way !== 'stop') {
        break;
      }
      await new Promise(resolve => setTimeout(resolve, 250));
    }
  }

  /** Save the documents that the plan touches, and look again. */
  async saveAndAgain(): Promise<void> {
    await this.document.saveUnsaved(this.touched());
    this.again();
  }

  /** The names of open documents with unsaved edits that the plan would change. */
  unsaved(): string[] {
    return this.document.unsaved(this.touched());
  }

  /** Carry out what is previewed; where something would be lost, the first call only asks for a second. */
  async confirm(): Promise<void> {
    const preview = this.preview;
    if (preview === null || preview.token === '' || this.working !== null) {
      return;
    }
    if (preview.careful && !this.armed) {
      this.armed = true;
      this.touch();
      return;
    }
    await this.move('confirm', { token: preview.token, ...(preview.needs_force === null ? {} : { force: true }) });
  }

  async undo(): Promise<void> {
    this.question = { verb: 'preview_undo', fields: {} };
    await this.move('undo', {});
  }

  async redo(): Promise<void> {
    this.question = { verb: 'preview_redo', fields: {} };
    await this.move('redo', {});
  }

  /** Drop what is previewed; "Now" is chosen again. */
  cancel(): void {
    const token = this.preview?.token ?? '';
    if (token !== '') {
      void this.ask('cancel', { token }).catch(() => undefined);
    }
    this.clear();
    this.touch();
  }

  /** Stop the long work that is going on, where it can be stopped. */
  stopWork(): void {
    if (this.working !== null && this.working.id !== '') {
      void this.ask('cancel', { of: this.working.id }).catch(() => undefined);
    }
  }

  name(text: string): Promise<void> {
    return this.tell('name', { text });
  }

  pauseOrGoOn(): Promise<void> {
    return this.tell(this.board?.state === 'paused' ? 'on' : 'pause', {});
  }

  dismiss(): void {
    this.success = null;
    this.trouble = null;
    this.touch();
  }

  /** Tell the kernel under which name the notebook goes on. */
  renamed(): void {
    void this.ask('path', { path: this.document.path }).catch(() => undefined);
  }

  dispose(): void {
    this.disposed = true;
    this.watch.dispose();
    Signal.clearData(this);
  }

  // --- what the kernel's side says ------------------------------------------------------------------------------------
  touch(): void {
    if (!this.disposed) {
      this.signal.emit();
    }
  }

  lost(): void {
    this.clear();
    this.touch();
  }

  showed(board: Board, before: Board | null): void {
    if (this.success !== null && this.success.turn !== newestId(board)) {
      this.success = null;
    }
    if (before !== null && before.head !== board.head && this.preview !== null && this.working === null) {
      // The plan was made for another present: the kernel would refuse it.
      this.again();
    }
    this.inquiries.follow(board.head);
    this.touch();
  }

  progressed(progress: Progress): void {
    if (this.working !== null && (progress.of === '' || progress.of === this.working.id)) {
      this.working.progress = progress;
      this.touch();
    }
  }

  patched(patch: Patch): void {
    void this.carryOut(patch);
  }

  filesChanged(paths: readonly string[]): void {
    void this.document.reload(paths);
  }

  // --- inside ---------------------------------------------------------------------------------------------------------
  /** Wait until no cell runs. The kernel's own status tells of any of its threads; the board tells of cells. */
  private rest(): Promise<void> {
    return new Promise(resolve => {
      const check = (): void => {
        if (this.board?.busy == null || !this.isOn) {
          this.signal.disconnect(check);
          resolve();
        }
      };
      this.signal.connect(check);
      check();
    });
  }

  private ask<V extends Verb>(verb: V, fields: Asked<V>): Promise<Answer<V>> {
    return this.watch.ask(verb, fields, id => {
      if (this.working !== null && this.working.id === '') {
        this.working.id = id;
      }
    });
  }

  private async look(question: Question): Promise<void> {
    const turn = ++this.looks;
    this.question = question;
    this.armed = false;
    this.trouble = null;
    this.begin(this.options.texts.previewing);
    try {
      const preview: Preview = await this.ask(question.verb, question.fields);
      if (turn === this.looks) {
        this.preview = preview;
        this.success = null;
      }
    } catch (error) {
      if (turn === this.looks) {
        this.preview = null;
        this.trouble = explained(error, this.options.texts);
      }
    }
    if (turn === this.looks) {
      this.working = null;
      this.touch();
    }
  }

  private async move(verb: 'confirm' | 'undo' | 'redo', fields: object): Promise<void> {
    if (this.working !== null) {
      return;
    }
    this.looks++;
    this.trouble = null;
    this.begin(this.options.texts.moving);
    try {
      const document = await this.document.vote().catch(() => null);
      if (document === null) {
        this.trouble = { message: this.options.texts.notSaved, hint: '', way: 'again' };
        return;
      }
      const answer: Result | Preview = await this.ask(verb, { ...fields, document });
      if (isPreview(answer)) {
        this.selected = null;
        this.preview = answer;
        this.armed = false;
      } else {
        await this.finish(answer);
      }
    } catch (error) {
      this.trouble = explained(error, this.options.texts);
      this.armed = false;
    } finally {
      this.working = null;
      this.touch();
    }
  }

  private async finish(result: Result): Promise<void> {
    this.clear();
    this.watch.show(result.board);
    const { sentence, notes, operation } = result;
    this.success = { sentence, notes, operation, turn: newestId(this.board) };
    if (result.patch !== null) {
      await this.carryOut(result.patch);
    }
    this.moves.emit(this.success);
    void this.document.reload(result.files);
  }

  private async carryOut(patch: Patch): Promise<void> {
    if (this.success?.operation !== patch.id && patch.sentence !== '') {
      this.success = { sentence: patch.sentence, notes: [], operation: patch.id, turn: newestId(this.board) };
      this.moves.emit(this.success);
    }
    await this.patches.carryOut(patch);
    this.touch();
  }

  private async tell(verb: 'name' | 'pause' | 'on' | 'unfreeze' | 'free_space', fields: object): Promise<void> {
    try {
      const { text, board } = await this.ask(verb, fields as never);
      this.watch.show(board);
      this.success = { sentence: text, notes: [], operation: '', turn: newestId(this.board) };
    } catch (error) {
      this.trouble = explained(error, this.options.texts);
    }
    this.touch();
  }

  private touched(): string[] {
    return this.preview?.groups.files.map(item => item.subject) ?? [];
  }

  private begin(text: string): void {
    this.working = { text, id: '', progress: null };
    this.touch();
  }

  private clear(): void {
    this.looks++;
    this.selected = null;
    this.question = null;
    this.preview = null;
    this.armed = false;
    this.working = null;
    this.trouble = null;
  }

  private readonly watch: Watch;
  private readonly patches: PatchQueue;
  private readonly signal = new Signal<this, void>(this);
  private readonly moves = new Signal<this, Success>(this);
  private looks = 0;
  private disposed = false;
}
