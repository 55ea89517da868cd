import { expect, test } from "vitest";
import { formatMinute } from "../../components/format.ts";
import { findProblems, type Known } from "./problems.ts";

const NOW = "2026-11-28T12:00:00.000Z";
const FINE: Known = {
  system: {
    version: "0.1.0",
    now: NOW,
    workers: [
      {
        workerId: "one",
        host: "a",
        pid: 1,
        version: "0.1.0",
        isDraining: false,
        running: 0,
        startedAt: NOW,
        heartbeatAt: NOW,
      },
    ],
    queue: { waiting: 0, oldestAt: null, running: 0 },
    failures: [],
    mail: { waiting: 0, givenUp: 0, lastFault: null },
    askedLinks: [],
    operatorsWithoutSignIn: [],
    storage: { databaseBytes: 1 },
  },
  readiness: { ready: true, database: "ok", clock: "ok", files: "ok", search: "ok" },
  health: [],
  models: [],
  personId: "person",
};

/** @param latest the calls of the last five minutes. */
const failing = (cause: string, latest = { calls: 4, failed: 4 }): Known => ({
  ...FINE,
  system: { ...FINE.system, failures: [{ cause, model: "openai/gpt-5.2", runs: 1 }] },
  health: [
    {
      model: "openai/gpt-5.2",
      calls: 8,
      failed: 6,
      medianMs: null,
      lastFailure: { at: NOW, outcome: "overloaded", httpStatus: 529, providerCode: null },
      history: [{ calls: 1, failed: 0 }, { calls: 4, failed: 2 }, latest],
    },
  ],
});

test("an installation without a problem has none", () => {
  expect(findProblems(FINE)).toEqual([]);
});

test.each([
  ["quota", "openai/gpt-5.2: The provider’s account has no credit", "Add credit to the account at the provider."],
  ["credentials", "openai/gpt-5.2: The provider rejected the key", "Check the provider’s API key in the settings."],
])(
  "one run that failed because of the provider’s account (%s) is a problem, and the model’s only one",
  (cause, title, advice) => {
    const note = `1 run has failed in the last hour. ${advice}`;
    expect(findProblems(failing(cause))).toEqual([
      { title, note, isUrgent: true, model: "openai/gpt-5.2", hasRuns: true },
    ]);
  },
);

test("a model whose calls fail for another cause is one problem, which says since when", () => {
  const since = formatMinute(Date.parse("2026-11-28T11:55:00.000Z"));
  const known = failing("overloaded");
  expect(findProblems(known)).toEqual([
    {
      title: `openai/gpt-5.2 has been failing since about ${since}`,
      note: "6 of 8 calls failed in the last hour. Last failure: The provider is overloaded. It usually passes. If it lasts, switch the model off: fallbacks then answer at once.",
      isUrgent: true,
      model: "openai/gpt-5.2",
      hasRuns: true,
    },
  ]);
  const now = "2026-11-28T12:04:59.999Z";
  const workers = known.system.workers.map((worker) => ({ ...worker, heartbeatAt: now }));
  const later = { ...known.system, now, workers };
  expect(findProblems({ ...known, system: later })).toEqual(findProblems(known)); // an open dialog stays open
  const health = known.health.map((row) => ({ ...row, history: row.history.slice(1) }));
  expect(findProblems({ ...known, health })[0]?.title).toMatch(/ has been failing for about an hour or longer$/);
});

test("a model whose latest calls succeeded again is no longer wrong, but is mentioned", () => {
  const [problem, ...others] = findProblems(failing("overloaded", { calls: 4, failed: 1 }));
  expect(others).toEqual([]);
  expect(problem).toMatchObject({ title: "openai/gpt-5.2 was failing", isUrgent: false });
  expect(problem?.note).toMatch(/Its latest calls succeeded\.$/);
});

test("a provider’s account that was fixed is a problem no longer", () => {
  const { health, ...rest } = failing("quota", { calls: 4, failed: 1 });
  expect(findProblems({ ...rest, health: health.map((row) => ({ ...row, failed: 2 })) })).toEqual([]);
});
