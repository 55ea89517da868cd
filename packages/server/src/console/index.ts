export { consoleEndpoint } from "./static.ts";
