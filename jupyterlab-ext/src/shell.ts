/** What every part of the view has at hand. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { createContext, useContext, useReducer, useEffect } from 'react';

import type { RewindModel } from './model';

/** What the view cannot do itself. */
export interface Actions {
  /** Open the menu of everything else at a place in the window. */
  menu(x: number, y: number): void;
  /** Bring the cell with this id into view. */
  reveal(cell: string): void;
  /** Protect each notebook from now on. */
  alwaysProtect(): void;
  /** Whether each notebook is protected when it is opened. */
  readonly isAlways: boolean;
}

export interface Shell {
  trans: TranslationBundle;
  actions: Actions;
}

export const ShellContext = createContext<Shell | null>(null);

export function useShell(): Shell {
  const shell = useContext(ShellContext);
  if (shell === null) {
    throw new Error('BUG: a view outside the sidebar.');
  }
  return shell;
}

/** Render again whenever *model* changes. */
export function useModel(model: RewindModel): void {
  const [, again] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    model.changed.connect(again);
    again();
    return () => {
      model.changed.disconnect(again);
    };
  }, [model]);
}

/** Return the time of day of *at*, in seconds since the epoch, as people here write it. */
export function clock(at: number): string {
  return new Date(at * 1000).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
}

/** Return how long *seconds* are, for people. */
export function span(seconds: number): string {
  if (seconds < 60) {
    return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  }
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
