// Loaded before the program where the launcher could not become it. Whoever kills the launcher by its process id means the
// program: without this it would go on alone, with the port and its runs.
process.once("disconnect", () => process.kill(process.pid, "SIGKILL"));
process.channel?.unref();
