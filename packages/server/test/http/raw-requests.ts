/** Requests as they are written to a socket, without the empty line that ends their headers. */
import { CREATE } from "./http-edge-server.ts";

export const AUTH = "Authorization: Bearer good\r\n";
export const GET_ME = `GET /v1/me HTTP/1.1\r\nHost: x\r\n${AUTH}`;
export const GET_CREDITS = `GET /v1/me/credits HTTP/1.1\r\nHost: x\r\n${AUTH}`;
export const POST_RUN = `POST /v1/runs HTTP/1.1\r\nHost: x\r\n${AUTH}`;
/** A whole create. */
export const CREATE_RUN = `${POST_RUN}Content-Length: ${CREATE.length}\r\n\r\n${CREATE}`;
