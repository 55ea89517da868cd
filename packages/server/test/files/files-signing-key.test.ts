/** The key that signs file addresses: across restarts, rotations, and simultaneous starts. */
import { describe, expect, test } from "vitest";
import { getFile, storeImage, openFiles, SECRET, useFiles } from "./files-fixture.ts";

const rig = useFiles();

describe("the signing key", () => {
  const NEXT = Buffer.alloc(32, 2);

  test("is the same after a restart, so addresses stay valid", async () => {
    const stored = await storeImage(await openFiles(rig), rig.png);
    const again = await openFiles(rig);
    expect((await getFile(again, stored.url)).status).toBe(200);
    expect((await storeImage(again, rig.png)).keyId).toBe(1);
  });

  test("signs with a new number after a rotation; the previous key opens its files until they expire", async () => {
    const stored = await storeImage(await openFiles(rig), rig.png);
    const rotated = await openFiles(rig, { secret: [NEXT], previousSecrets: [SECRET] });
    const fresh = await storeImage(rotated, rig.png);
    expect(fresh.keyId).toBe(2);
    expect([(await getFile(rotated, stored.url)).status, (await getFile(rotated, fresh.url)).status]).toEqual([
      200, 200,
    ]);
    rig.nowMs = stored.expiresAtMs;
    expect((await getFile(rotated, stored.url)).status).toBe("GONE_ERROR");
  });

  test("opens nothing once it is dropped", async () => {
    const stored = await storeImage(await openFiles(rig), rig.png);
    await openFiles(rig, { secret: [NEXT], previousSecrets: [SECRET] });
    const dropped = await openFiles(rig, { secret: [NEXT] });
    expect((await getFile(dropped, stored.url)).status).toBe("NOT_FOUND_ERROR");
  });

  test("is refused if this database does not know it, and changes nothing", async () => {
    await openFiles(rig);
    await expect(openFiles(rig, { secret: [NEXT] })).rejects.toThrow("does not match the one that this database knows");
    await expect(openFiles(rig, { secret: [NEXT], previousSecrets: [Buffer.alloc(32, 3)] })).rejects.toThrow(
      "needs the same secret",
    );
    expect(await rig.db.query("select id from file_keys")).toEqual([{ id: 1 }]);
  });

  test("from before a rotation is refused unless the newer secret is also set", async () => {
    const stored = await storeImage(await openFiles(rig), rig.png);
    await openFiles(rig, { secret: [NEXT], previousSecrets: [SECRET] });
    await expect(openFiles(rig, { secret: [SECRET] })).rejects.toThrow(
      "does not match the one that this database knows",
    );
    const back = await openFiles(rig, { secret: [SECRET], previousSecrets: [NEXT] });
    expect((await storeImage(back, rig.png)).keyId).toBe(3);
    expect((await getFile(back, stored.url)).status).toBe(200);
  });

  test("is registered once when processes start together", async () => {
    await Promise.all(Array.from({ length: 6 }, () => openFiles(rig)));
    expect(await rig.db.query("select id from file_keys")).toEqual([{ id: 1 }]);
    await Promise.all(Array.from({ length: 6 }, () => openFiles(rig, { secret: [NEXT], previousSecrets: [SECRET] })));
    expect(await rig.db.query("select id, retired_at is null as live from file_keys order by id")).toEqual([
      { id: 1, live: false },
      { id: 2, live: true },
    ]);
  });
});
