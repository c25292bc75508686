/** The plugins of nbrewind's front end. */
import {
  ILabShell,
  ILayoutRestorer,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette, Notification } from '@jupyterlab/apputils';
import { IDocumentManager } from '@jupyterlab/docmanager';
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import { IFileBrowserFactory } from '@jupyterlab/filebrowser';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { IStatusBar } from '@jupyterlab/statusbar';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { MenuSvg } from '@jupyterlab/ui-components';

import { addCommands } from './commands';
import { OpenRewinds, type Choices } from './rewinds';
import { Sidebar } from './sidebar';
import { StatusItem } from './status';
import { Commands, Rewinds } from './tokens';

export { Rewinds } from './tokens';

const PLUGIN = 'nbrewind:plugin';

/** The contexts of all documents that are open in the main area. */
function openContexts(app: JupyterFrontEnd, manager: IDocumentManager | null): () => Iterable<DocumentRegistry.Context> {
  return function* () {
    const seen = new Set<DocumentRegistry.Context>();
    for (const widget of app.shell.widgets('main')) {
      const context = manager?.contextForWidget(widget);
      if (context !== undefined && !seen.has(context)) {
        seen.add(context);
        yield context;
      }
    }
  };
}

const plugin: JupyterFrontEndPlugin<Rewinds> = {
  id: PLUGIN,
  description: 'Undo for notebooks: the sidebar with the points to go back to.',
  autoStart: true,
  provides: Rewinds,
  requires: [INotebookTracker],
  optional: [
    ICommandPalette,
    IDocumentManager,
    IFileBrowserFactory,
    ILabShell,
    ILayoutRestorer,
    ISettingRegistry,
    ITranslator
  ],
  activate: (
    app: JupyterFrontEnd,
    tracker: INotebookTracker,
    palette: ICommandPalette | null,
    manager: IDocumentManager | null,
    browsers: IFileBrowserFactory | null,
    labShell: ILabShell | null,
    restorer: ILayoutRestorer | null,
    registry: ISettingRegistry | null,
    translator: ITranslator | null
  ): Rewinds => {
    const trans = (translator ?? nullTranslator).load('nbrewind');
    const choices: Choices = { always: false, marks: true };
    const rewinds = new OpenRewinds({
      tracker,
      manager,
      opened: openContexts(app, manager),
      trans,
      frontEnd: labShell === null ? 'notebook' : 'lab',
      choices
    });
    const menu = new MenuSvg({ commands: app.commands });
    const sidebar = new Sidebar(rewinds, trans, {
      menu: (x, y) => menu.open(x, y),
      reveal: cell => reveal(tracker, cell),
      alwaysProtect: () => {
        choices.always = true;
        rewinds.protectAll();
        void registry?.set(PLUGIN, 'protect', 'always');
      },
      get isAlways() {
        return choices.always;
      }
    });
    const open = (): void => app.shell.activateById(sidebar.id);
    addCommands({ app, rewinds, tracker, browsers, trans, open });
    for (const command of [Commands.name, Commands.status, Commands.sessions, Commands.pause]) {
      menu.addItem({ command });
    }
    app.shell.add(sidebar, 'left', { rank: 650, type: 'nbrewind' });
    restorer?.add(sidebar, sidebar.id);
    const category = trans.__('Rewind');
    const listed = Object.values(Commands).filter(command => command !== Commands.fileHistory);
    for (const command of listed) {
      palette?.addItem({ command, category });
    }
    let notifies = true;
    rewinds.moved.connect((_, { model, success }) => {
      const isSeen = sidebar.isVisible && model === rewinds.current;
      if (notifies && !isSeen) {
        Notification.success(success.sentence, {
          autoClose: 8000,
          actions: [{ label: trans.__('Undo'), callback: () => void model.undo() }]
        });
      }
    });
    followState(app, rewinds);
    void registry?.load(PLUGIN).then(settings => {
      const update = (): void => {
        choices.always = settings.composite.protect === 'always';
        choices.marks = settings.composite.marks !== false;
        notifies = settings.composite.notifications !== false;
        rewinds.protectAll();
        sidebar.update();
      };
      settings.changed.connect(update);
      update();
    });
    return rewinds;
  }
};

const status: JupyterFrontEndPlugin<void> = {
  id: 'nbrewind:status',
  description: 'How well the notebook in front is protected, in the status bar.',
  autoStart: true,
  requires: [Rewinds],
  optional: [IStatusBar, ITranslator],
  activate: (app: JupyterFrontEnd, rewinds: Rewinds, bar: IStatusBar | null, translator: ITranslator | null): void => {
    const trans = (translator ?? nullTranslator).load('nbrewind');
    const item = new StatusItem(rewinds, trans, () => void app.commands.execute(Commands.open));
    bar?.registerStatusItem('nbrewind:status', { item, align: 'left', rank: 90 });
  }
};

/** Tell menus and toolbars of our commands where they may have come to something else; each telling costs a layout. */
function followState(app: JupyterFrontEnd, rewinds: Rewinds): void {
  let known = '';
  rewinds.changed.connect(() => {
    const model = rewinds.current;
    const board = model?.board ?? null;
    const state = [model?.id, model?.phase, board?.head, board?.state, board?.undo?.text, board?.redo?.text].join('\n');
    if (state !== known) {
      known = state;
      Object.values(Commands).forEach(command => app.commands.notifyCommandChanged(command));
    }
  });
}

function reveal(tracker: INotebookTracker, id: string): void {
  const content = tracker.currentWidget?.content;
  const index = content?.widgets.findIndex(cell => cell.model.id === id) ?? -1;
  if (content !== undefined && index >= 0) {
    void content.scrollToItem(index, 'smart').catch(() => undefined);
  }
}

export default [plugin, status];
