/** A name server that resolves every name to one address: the guarded fetch queries name servers, not the hosts file. */
import { createSocket } from "node:dgram";

const HEADER_BYTES = 12;
const TYPE_A = 1;

export async function startNameServer(address: string): Promise<void> {
  const socket = createSocket("udp4");
  socket.on("message", (query, { port, address: from }) => socket.send(answerTo(query, address), port, from));
  await new Promise<void>((resolve) => socket.bind(53, "127.0.0.1", resolve));
}

/** RFC 1035, section 4: repeats the question, and for an IPv4 address adds one record that points back to its name. */
function answerTo(query: Buffer, address: string): Buffer {
  const end = query.indexOf(0, HEADER_BYTES) + 5;
  const question = query.subarray(HEADER_BYTES, end);
  const hasAddress = query.readUInt16BE(end - 4) === TYPE_A;
  const header = Buffer.from([...query.subarray(0, 2), 0x81, 0x80, 0, 1, 0, hasAddress ? 1 : 0, 0, 0, 0, 0]);
  const bytes = address.split(".").map(Number);
  const record = Buffer.from([0xc0, HEADER_BYTES, 0, TYPE_A, 0, 1, 0, 0, 0, 60, 0, 4, ...bytes]);
  return Buffer.concat([header, question, ...(hasAddress ? [record] : [])]);
}
