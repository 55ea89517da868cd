// Runs before the first paint, so that the wrong theme never flashes. A separate file, because inline scripts are blocked.
try {
  const theme = localStorage.getItem("promptd-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage is disabled: use the system's theme.
}
