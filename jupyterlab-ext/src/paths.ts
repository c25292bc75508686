/** From what the kernel calls a file to what the server's contents call it. */

/**
 * Return the contents path of *subject*, null where it lies outside what the server shows.
 *
 * The server does not tell its root; the notebook is known by both names, and what is before the common end is the root.
 */
export function contentsPath(subject: string, workspace: string, notebook: string, local: string): string | null {
  const absolute = subject.startsWith('/') ? subject : `${workspace.replace(/\/$/, '')}/${subject}`;
  const known = notebook.startsWith('/') ? notebook : `${workspace.replace(/\/$/, '')}/${notebook}`;
  if (!known.endsWith(`/${local}`)) {
    return null;
  }
  const root = known.slice(0, -local.length);
  return absolute.startsWith(root) ? absolute.slice(root.length) : null;
}

/** Return what the kernel calls the file with the contents path *path*: relative to the workspace, or absolute. */
export function kernelPath(path: string, workspace: string, notebook: string, local: string): string | null {
  const known = notebook.startsWith('/') ? notebook : `${workspace.replace(/\/$/, '')}/${notebook}`;
  if (!known.endsWith(`/${local}`)) {
    return null;
  }
  const absolute = known.slice(0, -local.length) + path;
  const inside = `${workspace.replace(/\/$/, '')}/`;
  return absolute.startsWith(inside) ? absolute.slice(inside.length) : absolute;
}

/** Return whether *path* is *subject* or lies below it. */
export function covers(subject: string, path: string): boolean {
  return path === subject || path.startsWith(subject.endsWith('/') ? subject : `${subject}/`);
}
