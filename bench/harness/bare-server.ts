/** The minimum cost of a waiting request: node:http alone, which holds every response to /hold until SIGTERM. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

const held: ServerResponse[] = [];
const server = createServer((request, response) => {
  request
    .on("data", () => {})
    .on("end", () => {
      if (request.url === "/hold") held.push(response);
      else response.end("{}");
    });
});
server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.once("SIGTERM", () => {
  for (const response of held) response.end("{}");
  server.close();
  server.closeIdleConnections();
});
