/** @returns the name of a shortcut on this machine: with ⌘ on Apple devices, with Ctrl elsewhere. */
export const shortcut = (key: string): string =>
  /Mac|iPhone|iPad/.test(navigator.platform) ? `⌘${key}` : `Ctrl ${key}`;
