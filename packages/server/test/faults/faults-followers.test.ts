/** Followers of runs in two processes while workers are killed and an API process is replaced. */
import { createClient } from "@promptd/client";
import type { RunEvent } from "@promptd/contract";
import { expect, test } from "vitest";
import { until } from "../support/promptd-process.ts";
import { useInstallation } from "../support/use-installation.ts";

const installation = useInstallation();

const RUNS = 6;
const STORY = "sandbox: delay=3000 tokens=200\nOnce upon a time there was a fox.";

interface Follower {
  readonly runId: string;
  readonly events: RunEvent[];
  readonly ended: Promise<void>;
}

test("every follower sees the end with the final text, and no piece twice with different content", async () => {
  const fixture = installation();
  const caller = await fixture.createCaller();
  const rolled = await fixture.start("api");
  const steady = await fixture.startHere("api");
  const doomed = await Promise.all([fixture.start("worker"), fixture.start("worker")]);
  const client = caller.clientAt(steady.url);
  const body = { promptVersionId: fixture.prompts.paid, inputs: { textInputs: { ask: STORY } } };
  const created = await Promise.all(
    Array.from({ length: RUNS }, () => client.runs.create(body, { respondAsync: true, stream: true })),
  );
  const followers = created.flatMap(({ runId }) => [rolled.url, steady.url].map((url) => follow(runId, url)));

  function follow(runId: string, url: string): Follower {
    const events: RunEvent[] = [];
    const read = async (): Promise<void> => {
      // When it is cut off it reconnects, for as long as it takes to replace a process.
      const patient = createClient({ baseUrl: url, apiKey: caller.apiKey, maxRetries: 60 });
      for await (const event of patient.runs.follow(runId)) events.push(event);
    };
    return { runId, events, ended: read() };
  }

  const hasText = ({ events }: Follower) => events.some(({ event }) => event === "text");
  await until(() => followers.some(hasText));
  const replacement = fixture.start("worker");
  await Promise.all(doomed.map((worker) => worker.kill()));
  await rolled.stop();
  await fixture.start("api", { PORT: new URL(rolled.url).port });
  await replacement;
  await Promise.all(followers.map(({ ended }) => ended));

  const contents = new Map<string, string>();
  for (const { runId, events } of followers) {
    const final = await client.runs.get(runId);
    expect(final.runStatus).toBe("succeeded");
    expect(events.filter(({ event }) => event === "done")).toEqual([{ event: "done", data: final }]);
    expect(events.at(-1)?.event).toBe("done");
    const texts = events.filter((event) => event.event === "text");
    const ids = texts.map(({ id }) => id);
    expect(new Set(ids).size, "a piece came twice").toBe(ids.length);
    for (const { id, data } of texts) {
      const content = JSON.stringify(data);
      expect(contents.get(id) ?? content, `piece ${id} of run ${runId}`).toBe(content);
      contents.set(id, content);
    }
    const last = Math.max(...texts.map(({ data }) => data.call));
    const preview = texts.flatMap(({ data }) => (data.call === last ? [data.text] : [])).join("");
    expect(final.outputs[0]?.data.includes(preview), "the last call's text is part of the final one").toBe(true);
  }
  expect(await fixture.findFaults()).toEqual([]);
});
