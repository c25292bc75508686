/** The commands: what palette, menus, toolbars and shortcuts run. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import { InputDialog } from '@jupyterlab/apputils';
import type { IFileBrowserFactory } from '@jupyterlab/filebrowser';
import type { INotebookTracker } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import { redoIcon, undoIcon } from '@jupyterlab/ui-components';

import { rewindIcon } from './icon';
import { kernelPath } from './paths';
import type { Row } from './protocol';
import { turnOfCell } from './rows';
import { Commands, type Rewinds } from './tokens';

export interface CommandOptions {
  app: JupyterFrontEnd;
  rewinds: Rewinds;
  tracker: INotebookTracker;
  browsers: IFileBrowserFactory | null;
  trans: TranslationBundle;
  /** Show the sidebar. */
  open: () => void;
}

const NO_ARGUMENTS = { args: { type: 'object' as const, properties: {} } };

/** Add all commands to the application. */
export function addCommands(options: CommandOptions): void {
  addMoves(options);
  addCellCommands(options);
  addOthers(options);
}

function addMoves({ app, rewinds, trans, open }: CommandOptions): void {
  const board = () => rewinds.current?.board ?? null;
  app.commands.addCommand(Commands.open, {
    label: trans.__('Go Back to a Point…'),
    caption: trans.__('Show the points of this notebook'),
    icon: rewindIcon,
    describedBy: NO_ARGUMENTS,
    execute: open
  });
  app.commands.addCommand(Commands.undo, {
    label: trans.__('Undo the Last Rewind'),
    caption: () => board()?.undo?.text ?? trans.__('Nothing to undo'),
    icon: undoIcon,
    describedBy: NO_ARGUMENTS,
    isEnabled: () => rewinds.current?.isOn === true && board()?.undo != null,
    execute: () => {
      open();
      return rewinds.current?.undo();
    }
  });
  app.commands.addCommand(Commands.redo, {
    label: trans.__('Redo the Rewind'),
    caption: () => board()?.redo?.text ?? trans.__('Nothing to redo'),
    icon: redoIcon,
    describedBy: NO_ARGUMENTS,
    isEnabled: () => rewinds.current?.isOn === true && board()?.redo != null,
    execute: () => {
      open();
      return rewinds.current?.redo();
    }
  });
}

function addCellCommands({ app, rewinds, tracker, trans, open }: CommandOptions): void {
  const row = (): Row | null => {
    const cell = tracker.activeCell?.model.id;
    const board = rewinds.current?.board;
    return rewinds.current?.isOn === true && cell !== undefined ? turnOfCell(board?.rows ?? [], cell) : null;
  };
  app.commands.addCommand(Commands.beforeCell, {
    label: () => {
      const number = row()?.number ?? null;
      return number === null ? trans.__('Go Back to Before This Cell…') : trans.__('Go Back to Before [%1]…', number);
    },
    caption: trans.__('Preview going back to before this cell ran'),
    icon: rewindIcon,
    describedBy: NO_ARGUMENTS,
    isEnabled: () => row() !== null,
    execute: () => {
      const wanted = row();
      if (wanted !== null) {
        open();
        rewinds.current?.selectBefore(wanted);
      }
    }
  });
  app.commands.addCommand(Commands.afterCell, {
    label: trans.__('Go Back to Just After This Cell…'),
    caption: trans.__('Preview going back to just after this cell ran'),
    icon: rewindIcon,
    describedBy: NO_ARGUMENTS,
    isEnabled: () => row() !== null,
    execute: () => {
      const wanted = row();
      if (wanted !== null) {
        open();
        rewinds.current?.select(wanted);
      }
    }
  });
}

function addOthers({ app, rewinds, browsers, trans, open }: CommandOptions): void {
  app.commands.addCommand(Commands.name, {
    label: trans.__('Name This Point…'),
    caption: trans.__('A named point is kept for ever'),
    describedBy: NO_ARGUMENTS,
    isEnabled: () => rewinds.current?.isOn === true,
    execute: async () => {
      const model = rewinds.current;
      const result = await InputDialog.getText({
        title: trans.__('Name this point'),
        label: trans.__('It is kept for ever, and found by this name.'),
        okLabel: trans.__('Name it')
      });
      const name = result.value?.trim() ?? '';
      if (result.button.accept && name !== '') {
        open();
        await model?.name(name);
      }
    }
  });
  app.commands.addCommand(Commands.protect, {
    label: trans.__('Protect This Notebook'),
    icon: rewindIcon,
    describedBy: NO_ARGUMENTS,
    isEnabled: () => rewinds.current?.phase === 'unknown',
    execute: () => {
      open();
      return rewinds.current?.protect();
    }
  });
  app.commands.addCommand(Commands.pause, {
    label: () => (rewinds.current?.board?.state === 'paused' ? trans.__('Record Again') : trans.__('Pause Recording')),
    describedBy: NO_ARGUMENTS,
    isEnabled: () => rewinds.current?.isOn === true,
    execute: () => rewinds.current?.pauseOrGoOn()
  });
  app.commands.addCommand(Commands.status, {
    label: trans.__('What Is Protected'),
    describedBy: NO_ARGUMENTS,
    isEnabled: () => rewinds.current?.isOn === true,
    execute: () => {
      open();
      rewinds.current?.inquiries.status();
    }
  });
  app.commands.addCommand(Commands.sessions, {
    label: trans.__('Other Sessions of This Folder'),
    describedBy: NO_ARGUMENTS,
    isEnabled: () => rewinds.current?.isOn === true,
    execute: () => {
      open();
      return rewinds.current?.inquiries.sessions();
    }
  });
  const picked = (): string | null => {
    const model = rewinds.current;
    const item = browsers?.tracker.currentWidget?.selectedItems().next();
    const board = model?.board;
    if (model === null || board == null || item === undefined || item.done === true) {
      return null;
    }
    return kernelPath(item.value.path, board.workspace_path, board.notebook, model.document.path);
  };
  app.commands.addCommand(Commands.fileHistory, {
    label: trans.__('Which Cell Made This?'),
    caption: trans.__('The cells of the notebook in front that changed this file'),
    icon: rewindIcon,
    describedBy: NO_ARGUMENTS,
    isEnabled: () => rewinds.current?.isOn === true && picked() !== null,
    execute: () => {
      const path = picked();
      if (path !== null) {
        open();
        rewinds.current?.inquiries.history(path, 'files');
      }
    }
  });
}
