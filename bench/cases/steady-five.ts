/**
 * A caller that sends exactly as much as the limit admits, five requests per second, alternating between two API processes
 * of one installation: how many are admitted. Requests are sent on a fixed schedule that slow responses do not delay.
 */
import { Agent, get } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { openInstallationFixture } from "../../packages/server/test/support/installation-fixture.ts";
import type { ChaosDatabase } from "../chaos/database-server.ts";
import { defineCase } from "../harness/bench-case.ts";
import { onDatabase } from "../harness/on-database.ts";
import { percentile } from "../search/measures.ts";

const PER_SECOND = 5;

interface Answer {
  readonly status: number;
  readonly ms: number;
}

const agent = new Agent({ keepAlive: true });

export const steadyFive = defineCase({
  sizes: { requests: [1_500, 25] },
  measure: ({ database, sizes }) => onDatabase(database, (server) => measure(server, sizes.requests)),
});

async function measure(server: ChaosDatabase, requests: number) {
  const fixture = await openInstallationFixture(server.url, { PROMPTD_RATE_LIMIT_PER_SECOND: String(PER_SECOND) });
  const { apiKey } = await fixture.createCaller();
  const apis = [await fixture.start("api"), await fixture.start("api")];
  const answers = await sendSteadily(
    apis.map(({ url }) => `${url}/v1/me`),
    apiKey,
    requests,
  );
  agent.destroy();
  for (const api of apis) await api.stop();
  await fixture.close();
  const count = (status: number) => answers.filter((answer) => answer.status === status).length;
  const times = answers.map(({ ms }) => ms);
  return {
    requests,
    perSecond: PER_SECOND,
    processes: apis.length,
    admitted: count(200),
    refused: count(429),
    other: answers.length - count(200) - count(429),
    ms: { p50: round(percentile(times, 0.5)), p99: round(percentile(times, 0.99)) },
  };
}

async function sendSteadily(urls: readonly string[], apiKey: string, requests: number): Promise<Answer[]> {
  const startedMs = performance.now();
  const answers: Promise<Answer>[] = [];
  for (let i = 0; i < requests; i += 1) {
    await wait(Math.max(0, startedMs + (i * 1_000) / PER_SECOND - performance.now()));
    answers.push(send(urls[i % urls.length] ?? "", apiKey));
  }
  return Promise.all(answers);
}

function send(url: string, apiKey: string): Promise<Answer> {
  const sentMs = performance.now();
  const { promise, resolve } = Promise.withResolvers<Answer>();
  const end = (status: number) => resolve({ status, ms: performance.now() - sentMs });
  get(url, { agent, headers: { authorization: `Bearer ${apiKey}` } }, (response) => {
    response.resume().once("end", () => end(response.statusCode ?? 0));
  }).once("error", () => end(0));
  return promise;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
