/** Looks on demand: the diff of a file or variable, a point in full, which cells changed something. */
import type { Answer, Asked, Item, Look, Part, SessionRow, Verb } from './protocol';

export type Ask = <V extends Verb>(verb: V, fields: Asked<V>) => Promise<Answer<V>>;

/** A look that was asked for: on its way, there, or why not. */
export type Asking = { look: Look } | { error: string } | 'waiting';

/** A page that takes the place of the list until it is closed. */
export interface Page {
  kind: 'history' | 'status' | 'sessions';
  subject: string;
  asking: Asking;
  sessions: SessionRow[];
}

/** Keeps each answer until the present moves on. */
export class Inquiries {
  constructor(
    private readonly ask: Ask,
    private readonly touch: () => void,
    private readonly explain: (error: unknown) => string
  ) {}

  page: Page | null = null;

  /** Ask how *item* differs between the point *target* and now, unless it is known. */
  diff(target: string, item: Item, part: Part): void {
    const which = part === 'variables' ? { name: item.subject } : { path: item.subject };
    this.once(diffKey(target, item, part), () => this.ask('diff', { point: target, ...which }));
  }

  diffKnown(target: string, item: Item, part: Part): Asking {
    return this.known.get(diffKey(target, item, part)) ?? 'waiting';
  }

  /** Ask for the point *id* in full, unless it is known. */
  point(id: string): void {
    this.once(`show ${id}`, () => this.ask('show', { point: id }));
  }

  pointKnown(id: string): Asking {
    return this.known.get(`show ${id}`) ?? 'waiting';
  }

  /** Show which cells changed a file or a variable. */
  history(subject: string, part: 'files' | 'variables'): void {
    this.open('history', subject, () =>
      this.ask('history', part === 'files' ? { path: subject } : { name: subject })
    );
  }

  status(): void {
    this.open('status', '', () => this.ask('status', {}));
  }

  /** Show the sessions of this workspace, those of closed and dead kernels too. */
  async sessions(): Promise<void> {
    const page: Page = { kind: 'sessions', subject: '', asking: 'waiting', sessions: [] };
    this.page = page;
    this.touch();
    try {
      page.sessions = (await this.ask('sessions', {})).sessions;
      page.asking = { look: { parts: [], data: {} } };
    } catch (error) {
      page.asking = { error: this.explain(error) };
    }
    this.touch();
  }

  close(): void {
    this.page = null;
    this.touch();
  }

  /** Forget what was compared with another present. */
  follow(head: string | null): void {
    if (head !== this.head) {
      this.head = head;
      this.known.clear();
    }
  }

  private open(kind: 'history' | 'status', subject: string, ask: () => Promise<Look>): void {
    const page: Page = { kind, subject, asking: 'waiting', sessions: [] };
    this.page = page;
    this.touch();
    void this.answered(ask()).then(asking => {
      page.asking = asking;
      this.touch();
    });
  }

  private once(key: string, ask: () => Promise<Look>): void {
    if (this.known.has(key)) {
      return;
    }
    this.known.set(key, 'waiting');
    void this.answered(ask()).then(asking => {
      this.known.set(key, asking);
      this.touch();
    });
  }

  private answered(look: Promise<Look>): Promise<Asking> {
    return look.then(
      answer => ({ look: answer }),
      (error: unknown) => ({ error: this.explain(error) })
    );
  }

  private readonly known = new Map<string, Asking>();
  private head: string | null = null;
}

function diffKey(target: string, item: Item, part: Part): string {
  return `diff ${part} ${target} ${item.subject}`;
}
