import { expect, test, vi } from "vitest";
import { createLog } from "../../platform/log.ts";
import { guardAround } from "./vector-index.ts";
import { VectorMatrix } from "../meaning/vector-matrix.ts";

const [x, y] = [Float32Array.of(1, 0), Float32Array.of(0, 1)];
function openGuarded() {
  const matrix = new VectorMatrix({ dims: 2, shippedMean: null, isPlain: true });
  matrix.set(1, x);
  matrix.set(2, y);
  const clock = { ms: 1_000, nowMs: () => clock.ms };
  const around = vi.fn(async () => matrix);
  const onGone = vi.fn();
  return { clock, around, onGone, guarded: guardAround(around, { clock, log: createLog("silent"), onGone }) };
}
const failure = (code: string) => Object.assign(new Error("no"), { code });

test.each(["57014", "55P03", "57P01", "ECONNRESET"])(
  "an index of vectors that fails in passing (%s) is left alone for a while and kept",
  async (code) => {
    const { clock, around, onGone, guarded } = openGuarded();
    around.mockRejectedValueOnce(failure(code));
    expect((await guarded(x, 5)).size).toBe(0);
    expect((await guarded(x, 5)).size).toBe(0);
    expect(around).toHaveBeenCalledTimes(1);
    clock.ms += 10_001;
    expect((await guarded(x, 5)).size).toBe(2);
    expect(onGone).not.toHaveBeenCalled();
  },
);

test("an index of vectors whose table or extension is gone is given up", async () => {
  const { around, onGone, guarded } = openGuarded();
  around.mockRejectedValueOnce(failure("42P01"));
  expect((await guarded(x, 5)).size).toBe(0);
  expect(onGone).toHaveBeenCalledTimes(1);
});
