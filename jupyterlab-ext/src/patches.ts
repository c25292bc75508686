/** Patches of the document, one at a time, each told to the kernel once it is carried out. */
import type { Patch } from './protocol';
import type { OpenNotebook } from './tokens';
import type { Watch } from './watch';

export class PatchQueue {
  constructor(
    private readonly document: OpenNotebook,
    private readonly watch: Watch
  ) {}

  /** Carry out *patch*; the same one may come as an answer, as a push, and again after a reload. Never rejects. */
  carryOut(patch: Patch): Promise<void> {
    this.last = this.last.then(async () => {
      try {
        const { agreed, missing } = await this.document.apply(patch);
        await this.watch.ask('ack', { patch: patch.id, agreed, missing });
      } catch (error) {
        // The kernel keeps it as pending and sends it again with the next hello.
        console.warn('nbrewind: the notebook could not be brought in line.', error);
      }
    });
    return this.last;
  }

  private last: Promise<void> = Promise.resolve();
}
