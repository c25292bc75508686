/** What a model holds of a move: the question, its way, its end. */
import { Gone, Refusal, type Board, type Progress } from './protocol';
import { newestTurn } from './rows';
import type { Texts } from './texts';
import type { OpenNotebook } from './tokens';

export interface Success {
  sentence: string;
  notes: string[];
  operation: string;
  /** The newest cell at that time: with the next one the line goes. */
  turn: string | null;
}

export interface Trouble {
  message: string;
  hint: string;
  /** The way out: stop the running cell and look again, look again, or none. */
  way: 'stop' | 'again' | null;
}

export interface Working {
  text: string;
  /** The id of the request, once it is sent. */
  id: string;
  progress: Progress | null;
}

/** A question that can be asked again, with other ticks. */
export interface Question {
  verb: 'preview' | 'preview_undo' | 'preview_redo' | 'preview_restore' | 'preview_recover';
  fields: Record<string, unknown>;
}

export interface ModelOptions {
  document: OpenNotebook;
  texts: Texts;
  client: string;
  frontEnd: string;
}

/** Return what to say of *error*, and the way out. */
export function explained(error: unknown, texts: Texts): Trouble {
  if (error instanceof Refusal) {
    const { reason, message, hint } = error.data;
    const again = reason === 'stale-plan' || reason === 'expired' || reason === 'conflict';
    return { message, hint, way: reason === 'busy' ? 'stop' : again ? 'again' : null };
  }
  if (error instanceof Gone) {
    return { message: texts.gone, hint: '', way: null };
  }
  return { message: texts.failed(String(error)), hint: '', way: null };
}

/** The newest cell that ran: with the next one, what was said of the last move is old news. */
export function newestId(board: Board | null): string | null {
  return newestTurn(board?.rows ?? [])?.id ?? null;
}
