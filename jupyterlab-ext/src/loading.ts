/** Loading nbrewind into a kernel: silently, so that the notebook and its numbers know nothing of it. */
import type { Kernel, KernelMessage } from '@jupyterlab/services';

const CODE = '%load_ext nbrewind';

/** What came of loading: whether the kernel has the package, and what was printed. */
export interface Loaded {
  found: boolean;
  text: string;
}

/** Load nbrewind into *kernel*; never rejects. */
export async function loadInto(kernel: Kernel.IKernelConnection): Promise<Loaded> {
  const future = kernel.requestExecute({
    code: CODE,
    silent: true,
    store_history: false,
    allow_stdin: false,
    stop_on_error: false
  });
  let text = '';
  future.onIOPub = message => {
    if (message.header.msg_type === 'stream') {
      text += (message.content as KernelMessage.IStreamMsg['content']).text;
    }
  };
  try {
    const reply = await future.done;
    return { found: reply.content.status === 'ok' && !/not an IPython extension/.test(text), text: text.trim() };
  } catch {
    return { found: true, text: '' };
  }
}
