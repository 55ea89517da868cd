/** @returns the name of a shortcut on this machine: ⌘ is a key of Apple's, and Control does the same elsewhere. */
export const shortcut = (key: string): string =>
  /Mac|iPhone|iPad/.test(navigator.platform) ? `⌘${key}` : `Ctrl ${key}`;
