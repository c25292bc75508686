/** The sentences of the front end itself; everything about points comes from the kernel. */
import type { TranslationBundle } from '@jupyterlab/translation';

export type Texts = ReturnType<typeof texts>;

/** Return what the model says, in the person's language. */
export function texts(trans: TranslationBundle) {
  return {
    gone: trans.__('The kernel is gone. Nothing was asked of it.'),
    failed: (what: string) => trans.__('This did not work: %1', what),
    notSaved: trans.__('Not rewound, nothing changed: the notebook was not saved.'),
    notInstalled: trans.__('This kernel has no nbrewind. Install it where the kernel runs: %pip install nbrewind'),
    notLoaded: trans.__('nbrewind was loaded, but protects nothing here.'),
    stopped: trans.__('Waiting for the cell to stop…'),
    previewing: trans.__('Looking at what would change…'),
    moving: trans.__('Going back…'),
    protecting: trans.__('Protecting this notebook…')
  };
}
