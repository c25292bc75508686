/** One kernel's comm: opened, answered, lost and opened again. Knows messages, not what they mean. */
import type { Kernel } from '@jupyterlab/services';
import type { JSONObject } from '@lumino/coreutils';

import {
  Gone,
  HELLO_ID,
  HELLO_TARGET,
  POLL_SECONDS,
  Refusal,
  TARGET,
  type Answer,
  type Asked,
  type Hello,
  type Push,
  type RewindErrorData,
  type Verb
} from './protocol';
import { Wire } from './wire';

/** `unknown`: the kernel does not have nbrewind loaded. */
export type LinkState = 'connecting' | 'on' | 'unknown' | 'lost' | 'dead';

export interface LinkListener {
  /** The fields of the hello, as they are now. */
  hello(): Asked<'hello'>;
  /** The revision of the board that is shown. */
  revision(): string;
  state(state: LinkState): void;
  greeted(hello: Hello): void;
  pushed(push: Push): void;
  polled(board: Answer<'board'>): void;
}

interface Pending {
  resolve: (data: never) => void;
  reject: (error: Error) => void;
}

type Reply = { reply: string | null; ok: true; data: never } | { reply: string | null; ok: false; error: RewindErrorData };

/** A hello that an idle kernel leaves unanswered for so long was lost on the way. */
const PATIENCE_MS = 10_000;
const MUTE_MS = 30_000;

/**
 * Keeps one comm with one kernel connection alive.
 *
 * `kernelChanged` is not raised on a restart, comms of before are dead then, and a hello may come from both sides at
 * once: every way to connect leads through `open`, which does it once at a time.
 */
export class Link {
  constructor(
    readonly kernel: Kernel.IKernelConnection,
    private readonly listener: LinkListener
  ) {
    kernel.statusChanged.connect(this.onStatus, this);
    kernel.connectionStatusChanged.connect(this.onConnection, this);
    kernel.iopubMessage.connect(this.onMessage, this);
    if (kernel.handleComms) {
      // JupyterLab would complain of a comm that nobody takes.
      kernel.registerCommTarget(HELLO_TARGET, () => undefined);
    }
    this.timer = setInterval(() => this.tick(), POLL_SECONDS * 1000);
    void this.open();
  }

  get state(): LinkState {
    return this.current;
  }

  /** Open a new comm in place of the present one. */
  async open(): Promise<void> {
    if (this.disposed) {
      return;
    }
    const turn = ++this.attempt;
    this.drop();
    this.become('connecting');
    try {
      await this.kernel.info;
    } catch {
      return;
    }
    if (turn !== this.attempt || this.disposed) {
      return;
    }
    const wire: Wire = new Wire(
      this.kernel,
      TARGET,
      data => this.receive(wire, data),
      () => this.closed(wire)
    );
    this.wire = wire;
    this.heard = Date.now();
    await wire.open({ ...this.listener.hello() });
  }

  /** Ask; the promise is rejected with a `Refusal` or with `Gone`. *named* gets the id before anything is sent. */
  ask<V extends Verb>(verb: V, fields: Asked<V>, named?: (id: string) => void): Promise<Answer<V>> {
    const wire = this.wire;
    if (this.current !== 'on' || wire === null) {
      return Promise.reject(new Gone());
    }
    const id = String(++this.count);
    this.asked = Date.now();
    named?.(id);
    return new Promise<Answer<V>>((resolve, reject) => {
      this.pending.set(id, { resolve, reject });
      wire.send({ ...(fields as JSONObject), id, verb });
    });
  }

  dispose(): void {
    if (this.disposed) {
      return;
    }
    clearInterval(this.timer);
    this.kernel.statusChanged.disconnect(this.onStatus, this);
    this.kernel.connectionStatusChanged.disconnect(this.onConnection, this);
    this.kernel.iopubMessage.disconnect(this.onMessage, this);
    this.disposed = true;
    this.drop();
  }

  private onMessage(_: unknown, message: { header: { msg_type: string }; content: unknown }): void {
    if (message.header.msg_type === 'comm_open' && this.current !== 'on') {
      const { target_name: target } = message.content as { target_name: string };
      if (target === HELLO_TARGET) {
        void this.open();
      }
    }
  }

  private onStatus(_: unknown, status: Kernel.Status): void {
    if (status === 'restarting' || status === 'autorestarting' || status === 'terminating') {
      this.attempt++;
      this.drop(false);
      this.become('lost');
    } else if (status === 'dead') {
      this.attempt++;
      this.drop(false);
      this.become('dead');
    } else if (this.current === 'lost' && (status === 'starting' || status === 'idle' || status === 'busy')) {
      void this.open();
    } else if (this.current === 'dead' && status === 'idle') {
      void this.open();
    }
  }

  private onConnection(_: unknown, status: Kernel.ConnectionStatus): void {
    if (status === 'connected') {
      if (this.current === 'lost' && this.kernel.status !== 'restarting') {
        void this.open();
      }
    } else if (this.current === 'on' || this.current === 'unknown') {
      // Nobody knows what was missed, or whether it is the same kernel: it is asked anew when the line is back.
      this.drop();
      this.become('lost');
    }
  }

  private tick(): void {
    const silent = Date.now() - this.heard;
    if (this.current === 'connecting') {
      if (this.kernel.status === 'idle' && silent > PATIENCE_MS) {
        void this.open();
      }
      return;
    }
    // The kernel takes a client that says nothing for long as gone, whatever it is told.
    const isQuiet = silent >= POLL_SECONDS * 1000 || Date.now() - this.asked > MUTE_MS;
    if (this.current !== 'on' || !isQuiet) {
      return;
    }
    if (this.polling) {
      if (this.kernel.status === 'idle' && silent > 2 * PATIENCE_MS) {
        void this.open();
      }
      return;
    }
    this.polling = true;
    this.ask('board', { revision: this.listener.revision() }).then(
      board => {
        this.polling = false;
        this.listener.polled(board);
      },
      () => (this.polling = false)
    );
  }

  private receive(wire: Wire, data: unknown): void {
    if (wire !== this.wire) {
      return;
    }
    this.heard = Date.now();
    const message = data as Reply | Push;
    if ('push' in message) {
      this.listener.pushed(message);
      return;
    }
    if (message.reply === HELLO_ID) {
      if (message.ok) {
        this.become('on');
        this.listener.greeted(message.data);
      } else {
        this.drop();
        this.become('unknown');
      }
      return;
    }
    const pending = this.pending.get(message.reply ?? '');
    this.pending.delete(message.reply ?? '');
    if (message.ok) {
      pending?.resolve(message.data);
    } else {
      pending?.reject(new Refusal(message.error));
    }
  }

  private closed(wire: Wire): void {
    if (wire === this.wire) {
      this.wire = null;
      this.drop();
      this.become('unknown');
    }
  }

  private drop(isKernelThere = true): void {
    const wire = this.wire;
    this.wire = null;
    this.polling = false;
    wire?.close(isKernelThere && this.kernel.connectionStatus === 'connected');
    const pending = [...this.pending.values()];
    this.pending.clear();
    pending.forEach(one => one.reject(new Gone()));
  }

  private become(state: LinkState): void {
    if (state !== this.current && !this.disposed) {
      this.current = state;
      this.listener.state(state);
    }
  }

  private readonly pending = new Map<string, Pending>();
  private readonly timer: ReturnType<typeof setInterval>;
  private wire: Wire | null = null;
  private current: LinkState = 'lost';
  private attempt = 0;
  private count = 0;
  private heard = 0;
  private asked = 0;
  private polling = false;
  private disposed = false;
}
