// Before the first paint, so that a chosen theme never flashes. A file of its own: the pages allow no inline script.
try {
  const theme = localStorage.getItem("promptd-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage is switched off: the system's theme is shown.
}
