/** The kernel's side as it is known here: whether there is one, what it says, and the board in full. */
import type { Kernel } from '@jupyterlab/services';

import { Link, type LinkListener, type LinkState } from './link';
import { loadInto, type Loaded } from './loading';
import {
  Gone,
  VERSION,
  joined,
  type Answer,
  type Asked,
  type Board,
  type Hello,
  type Patch,
  type Progress,
  type Push,
  type Verb
} from './protocol';

/** Why there is nothing to show, or that there is. */
export type Phase = 'no-kernel' | 'other-language' | LinkState;

/** What happens on the kernel's side, for whom it concerns. */
export interface Watcher {
  /** Something to show has changed. */
  touch(): void;
  /** Whatever was under way ended with its kernel. */
  lost(): void;
  /** Another board is there. */
  showed(board: Board, before: Board | null): void;
  progressed(progress: Progress): void;
  /** The document has something to catch up on. */
  patched(patch: Patch): void;
  /** Files changed on the disk. */
  filesChanged(paths: readonly string[]): void;
}

export interface Client {
  id: string;
  frontEnd: string;
  /** The path of the notebook, as it is now. */
  path: () => string;
}

export class Watch implements LinkListener {
  constructor(
    private readonly client: Client,
    private readonly watcher: Watcher
  ) {}

  phase: Phase = 'no-kernel';
  board: Board | null = null;
  /** What the kernel printed or said where it protects nothing. */
  said = '';

  get kernel(): Kernel.IKernelConnection | null {
    return this.link?.kernel ?? null;
  }

  /** Follow *kernel*; null where the notebook has none. */
  async follow(kernel: Kernel.IKernelConnection | null): Promise<void> {
    if (kernel === this.followed) {
      return;
    }
    this.followed = kernel;
    this.link?.dispose();
    this.link = null;
    this.board = null;
    this.phase = kernel === null ? 'no-kernel' : 'connecting';
    this.watcher.lost();
    if (kernel === null) {
      return;
    }
    const language = await kernel.info.then(
      info => info.language_info.name,
      () => ''
    );
    if (this.followed !== kernel) {
      return;
    }
    if (language !== '' && language !== 'python') {
      this.phase = 'other-language';
    } else {
      this.link = new Link(kernel, this);
      this.phase = this.link.state;
    }
    this.watcher.touch();
  }

  /** Load nbrewind into the kernel, without a trace in the notebook; null where there is no kernel. */
  async protect(): Promise<Loaded | null> {
    const link = this.link;
    if (link === null) {
      return null;
    }
    const loaded = await loadInto(link.kernel);
    this.said = loaded.text;
    if (loaded.found && link.state === 'unknown') {
      await link.open();
    }
    return loaded;
  }

  ask<V extends Verb>(verb: V, fields: Asked<V>, named?: (id: string) => void): Promise<Answer<V>> {
    return this.link?.ask(verb, fields, named) ?? Promise.reject(new Gone());
  }

  /** Take a board that came with an answer or a push. */
  show(pushed: Board): void {
    const before = this.board;
    const board = joined(pushed, before);
    if (board === null) {
      void this.ask('board', {}).then(
        whole => this.polled(whole),
        () => undefined
      );
      return;
    }
    this.board = board;
    this.watcher.showed(board, before);
  }

  dispose(): void {
    this.followed = null;
    this.link?.dispose();
    this.link = null;
  }

  // --- what the link says -------------------------------------------------------------------------------------------
  hello(): Asked<'hello'> {
    const { id, frontEnd, path } = this.client;
    return { client: id, version: VERSION, path: path(), front_end: frontEnd, patches: true };
  }

  revision(): string {
    return this.board?.revision ?? '';
  }

  state(state: LinkState): void {
    this.phase = state;
    if (state === 'unknown') {
      this.board = null;
    }
    if (state === 'on' || state === 'connecting') {
      this.watcher.touch();
    } else {
      this.watcher.lost();
    }
  }

  greeted(hello: Hello): void {
    this.said = '';
    this.show(hello.board);
    if (hello.patch !== null) {
      this.watcher.patched(hello.patch);
    }
  }

  pushed(push: Push): void {
    if (push.push === 'board') {
      this.show(push.data);
    } else if (push.push === 'progress') {
      this.watcher.progressed(push.data);
    } else if (push.push === 'patch') {
      this.watcher.patched(push.data);
    } else if (push.push === 'files') {
      this.watcher.filesChanged(push.data.paths);
    } else {
      this.said = push.data.text;
      this.watcher.touch();
    }
  }

  polled(board: Answer<'board'>): void {
    if (!('unchanged' in board)) {
      this.show(board);
    }
  }

  private link: Link | null = null;
  private followed: Kernel.IKernelConnection | null = null;
}
