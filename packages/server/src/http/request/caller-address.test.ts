import { expect, test } from "vitest";
import { callerAddress } from "./caller-address.ts";

const SOCKET = "10.0.0.1";

test("an IPv4 caller of a socket for IPv6 and IPv4 has its plain address", () => {
  expect(callerAddress("::ffff:192.0.2.7", [], 0)).toBe("192.0.2.7");
  expect(callerAddress("::ffff:10.0.0.1", ["::ffff:192.0.2.7"], 1)).toBe("192.0.2.7");
  expect(callerAddress("::ffff:10.0.0.1", ["unknown"], 1)).toBe("10.0.0.1");
  expect(callerAddress("2001:db8::7", [], 0)).toBe("2001:db8::7");
});

test.each([
  [0, ["192.0.2.7"], SOCKET],
  [1, ["192.0.2.7"], "192.0.2.7"],
  [1, ["6.6.6.6, 192.0.2.7"], "192.0.2.7"],
  [1, ["6.6.6.6", "192.0.2.7"], "192.0.2.7"],
  [2, ["6.6.6.6, 192.0.2.7, 10.0.0.2"], "192.0.2.7"],
  [1, ["192.0.2.7:4711"], "192.0.2.7"],
  [1, ["[2001:db8::7]:4711"], "2001:db8::7"],
  [1, ["2001:db8::7"], "2001:db8::7"],
  [1, [], SOCKET],
  [2, ["192.0.2.7"], SOCKET],
  [1, ["unknown"], SOCKET],
])(
  "behind %d proxies, a caller with %j has the address %s, whatever the caller wrote itself",
  (proxies, forwarded, address) => {
    expect(callerAddress(SOCKET, forwarded, proxies)).toBe(address);
  },
);
