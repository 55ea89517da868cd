// The floor of a server's start and memory: node:http, and one connection to the database it is given. Plain JavaScript,
// since stripping types would be a part of what is measured.
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
