import { mkdtemp, rm } from "node:fs/promises";
import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import S3rver from "@20minutes/s3rver";
import type { S3Options } from "../../src/files/blobs/s3-client.ts";

/** An S3-compatible server that checks signatures, behind a proxy where a test can disturb requests. */
export interface BucketServer {
  readonly options: S3Options;
  /** Called before each request; true: it responded itself. */
  disturb: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** `method path` of all requests that reached the proxy. */
  readonly requests: string[];
  /** Requests whose body was complete. */
  readonly completed: string[];
  close(): Promise<void>;
}

export async function startBucketServer(): Promise<BucketServer> {
  const directory = await mkdtemp(join(tmpdir(), "promptd-bucket-"));
  const settings = { address: "127.0.0.1", port: 0, silent: true, directory, allowMismatchedSignatures: false };
  const bucket = "promptd-files";
  const server = new S3rver({ ...settings, vhostBuckets: false, configureBuckets: [{ name: bucket, configs: [] }] });
  await server.configureBuckets();
  const { port } = await server.run();

  const requests: string[] = [];
  const completed: string[] = [];
  const undisturbed = () => false;
  const state: { disturb: BucketServer["disturb"] } = { disturb: undisturbed };
  const door = createServer((incoming, response) => {
    requests.push(`${incoming.method} ${incoming.url}`);
    incoming.on("end", () => completed.push(`${incoming.method} ${incoming.url}`));
    if (state.disturb(incoming, response)) return;
    const { method, url: path, headers } = incoming;
    const onward = request({ host: "127.0.0.1", port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    onward.on("error", () => response.destroy());
    incoming.on("close", () => !incoming.complete && onward.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => door.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(door.address() as AddressInfo).port}`;
  const credentials = { region: "us-east-1", accessKeyId: "S3RVER", secretAccessKey: "S3RVER" };
  return Object.assign(state, {
    options: { endpoint, bucket, prefix: "promptd/", ...credentials },
    requests,
    completed,
    close: async () => {
      door.closeAllConnections();
      await new Promise<void>((resolve) => door.close(() => resolve()));
      await server.close();
      await rm(directory, { recursive: true });
    },
  });
}
