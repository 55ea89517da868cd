import { afterEach, describe, expect, it } from "vitest";
import { enableFaults, faultPoint, onCut } from "./fault-injection.ts";

afterEach(() => enableFaults(""));

describe("fault points", () => {
  it("do nothing unless a test enables them", async () => {
    await expect(faultPoint("claim.after_commit")).resolves.toBe("go");
  });

  it("throw only at the n-th hit", async () => {
    enableFaults("finish.before_commit:throw@2");
    await expect(faultPoint("finish.before_commit")).resolves.toBe("go");
    await expect(faultPoint("finish.before_commit")).rejects.toThrow("finish.before_commit");
    await expect(faultPoint("finish.before_commit")).resolves.toBe("go");
  });

  it("skip a notification at every hit", async () => {
    enableFaults("notify.send:skip");
    await expect(faultPoint("notify.send")).resolves.toBe("skip");
    await expect(faultPoint("notify.send")).resolves.toBe("skip");
  });

  it("cut the registered sockets and continue", async () => {
    let cuts = 0;
    const forget = onCut(() => (cuts += 1));
    enableFaults("create.before_commit:cut@1, claim.before_commit:delay=1");
    await expect(faultPoint("create.before_commit")).resolves.toBe("go");
    await expect(faultPoint("claim.before_commit")).resolves.toBe("go");
    forget();
    expect(cuts).toBe(1);
  });

  it("report every invalid part at once and change nothing", async () => {
    enableFaults("heartbeat.before:throw");
    expect(() =>
      enableFaults("no.such:kill,heartbeat.before:skip,heartbeat.before:delay,claim.after_commit:kill=3,x"),
    ).toThrow(
      /"no\.such" is not a fault point.*"heartbeat\.before" is not a notification.*"heartbeat\.before:delay" has no valid.*kill=3.*"x" does not have/,
    );
    await expect(faultPoint("heartbeat.before")).rejects.toThrow("fault injected");
  });
});
