// Which folder of the machine that made a trace is which folder here. Pure.

/** A pair of folders: here, there. */
export type FolderPair = readonly [here: string, there: string];

/** What the server answers to `graphmend.readTrace`: how many breaks there are, and files of them that are not here. */
export interface TraceResult {
  readonly breaks: number;
  readonly missing: readonly string[];
}

/** The deepest folder that all the files have in common, in the form in which they are written. */
export function commonFolder(files: readonly string[]): string {
  const [first = "", ...others] = files;
  const separator = first.includes("\\") ? "\\" : "/";
  const parts = first.split(separator).slice(0, -1);
  for (const file of others) {
    const theirs = file.split(separator);
    const same = parts.findIndex((part, at) => part !== theirs[at]);
    if (same >= 0) parts.length = same;
  }
  return parts.join(separator);
}

/** `HERE=THERE` as two folders; nothing when it is not of that form, with both absolute. */
export function readPair(written: string): FolderPair | undefined {
  const at = written.indexOf("=");
  const [here, there] = [written.slice(0, at).trim(), written.slice(at + 1).trim()];
  const absolute = (folder: string): boolean => folder.startsWith("/") || /^[A-Za-z]:[\\/]/.test(folder) || folder.startsWith("\\\\");
  return at > 0 && absolute(here) && absolute(there) ? [here, there] : undefined;
}
