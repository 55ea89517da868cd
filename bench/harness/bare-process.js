// The minimum start time and memory of a server: node:http and one connection to the given database. Plain JavaScript,
// because stripping types would be part of the measurement.
import { createServer } from "node:http";
import { Client } from "pg";

const client = new Client({ connectionString: process.argv[2] });
await client.connect();
const server = createServer((_request, response) => {
  client.query("select 1", (error) => {
    if (error) throw error;
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
});
server.listen({ port: 0, host: "127.0.0.1" }, () => console.log(`http://127.0.0.1:${server.address().port}`));
process.once("SIGTERM", () => process.exit());
