/**
 * A comm of our own, on raw messages.
 *
 * JupyterLab's comms share one kernel thread per target, and closing one while the next opens takes that thread away
 * from the new one, whose messages are lost then. Ours has its own thread, from before it opens until it closes, so that
 * it is answered while a cell runs. It also works where another view of the same kernel holds JupyterLab's comms.
 */
import { KernelMessage, type Kernel } from '@jupyterlab/services';
import { UUID, type JSONObject } from '@lumino/coreutils';

export class Wire {
  constructor(
    private readonly kernel: Kernel.IKernelConnection,
    private readonly target: string,
    private readonly onData: (data: unknown) => void,
    private readonly onClosed: () => void
  ) {}

  /** Open it with *data*; rejects where the kernel cannot be reached. */
  async open(data: JSONObject): Promise<void> {
    this.thread = await ownThread(this.kernel);
    if (this.isClosed) {
      this.giveUpThread();
      return;
    }
    this.kernel.iopubMessage.connect(this.onMessage, this);
    this.post('comm_open', { comm_id: this.id, target_name: this.target, data });
  }

  send(data: JSONObject): void {
    if (!this.isClosed) {
      this.post('comm_msg', { comm_id: this.id, data });
    }
  }

  /** Close both ends; *isKernelThere*: whether it can be told. */
  close(isKernelThere: boolean): void {
    if (this.isClosed) {
      return;
    }
    this.isClosed = true;
    this.kernel.iopubMessage.disconnect(this.onMessage, this);
    if (isKernelThere && !this.kernel.isDisposed) {
      this.post('comm_close', { comm_id: this.id, data: {} });
      this.giveUpThread();
    }
  }

  private post(msgType: 'comm_open' | 'comm_msg' | 'comm_close', content: JSONObject): void {
    const message = KernelMessage.createMessage({
      msgType,
      channel: 'shell',
      username: this.kernel.username,
      session: this.kernel.clientId,
      content
    } as never) as unknown as KernelMessage.IShellMessage;
    if (this.thread !== null) {
      (message.header as { subshell_id?: string }).subshell_id = this.thread;
    }
    this.kernel.sendShellMessage(message, false, true);
  }

  private onMessage(_: unknown, message: KernelMessage.IIOPubMessage): void {
    const type = message.header.msg_type;
    if (type !== 'comm_msg' && type !== 'comm_close') {
      return;
    }
    const content = message.content as { comm_id: string; data: unknown };
    if (content.comm_id !== this.id || this.isClosed) {
      return;
    }
    if (type === 'comm_msg') {
      this.onData(content.data);
    } else {
      this.isClosed = true;
      this.kernel.iopubMessage.disconnect(this.onMessage, this);
      this.giveUpThread();
      this.onClosed();
    }
  }

  private giveUpThread(): void {
    const thread = this.thread;
    this.thread = null;
    if (thread !== null && this.kernel.connectionStatus === 'connected') {
      this.kernel.requestDeleteSubshell({ subshell_id: thread }).done.catch(() => undefined);
    }
  }

  private readonly id = UUID.uuid4();
  private thread: string | null = null;
  private isClosed = false;
}

/** Return the id of a new thread of *kernel*, null where it has only one. */
async function ownThread(kernel: Kernel.IKernelConnection): Promise<string | null> {
  if (kernel.supportsSubshells !== true) {
    return null;
  }
  try {
    const reply = await kernel.requestCreateSubshell({}).done;
    return reply.content.subshell_id ?? null;
  } catch {
    return null;
  }
}
