import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";

/** Ready-made clips (scripts/make-sandbox-clips.sh): encoding at run time would need a codec or a child process. */
const PATTERNS = ["drift", "glow", "sweep", "wheel"] as const;
const DURATIONS_SECONDS = [2, 4] as const;
const CLIPS = new Set(PATTERNS.flatMap((pattern) => DURATIONS_SECONDS.map((seconds) => `${pattern}-${seconds}s`)));

/** The name of the clip for a prompt; equal prompts and durations give equal clips. */
export function chooseClip(subject: string, durationSeconds: number | null): string {
  const digest = createHash("sha256").update(subject).digest();
  const pattern = PATTERNS[(digest[0] ?? 0) % PATTERNS.length] ?? PATTERNS[0];
  const seconds =
    durationSeconds !== null && durationSeconds > DURATIONS_SECONDS[0] ? DURATIONS_SECONDS[1] : DURATIONS_SECONDS[0];
  return `${pattern}-${seconds}s`;
}

export function isClip(name: string): boolean {
  return CLIPS.has(name);
}

/** @param name a name that isClip accepts, since it becomes part of a path. */
export async function loadClip(name: string): Promise<Uint8Array> {
  return readFile(new URL(`./clips/${name}.mp4`, import.meta.url));
}
