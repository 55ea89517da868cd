// Loaded before the program when the launcher could not become it. Killing the launcher's process id is meant to kill the
// program. Without this, the program would keep running on its own, with the port and its runs.
process.once("disconnect", () => process.kill(process.pid, "SIGKILL"));
process.channel?.unref();
