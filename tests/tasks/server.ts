import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

/** What a server answers; a `body` of `null` is never finished. */
export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | null;
}

/** A request as a server saw it. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** A server that remembers what it was asked, and for how many connections it still works. */
export async function server(t: TestContext, reply: (request: IncomingMessage, n: number) => Reply) {
  const seen: Seen[] = [];
  let open = 0;
  const http = createServer((request, response) => {
    open++;
    response.on("close", () => open--);
    const chunks: Uint8Array[] = [];
    request.on("data", (chunk: Uint8Array) => chunks.push(chunk));
    request.on("end", () => {
      const body = chunks.map((chunk) => new TextDecoder().decode(chunk)).join("");
      seen.push({ method: request.method ?? "", path: request.url ?? "", headers: request.headers, body });
      const { status = 200, headers = {}, body: text = "" } = reply(request, seen.length);
      response.writeHead(status, { connection: "close", ...headers });
      if (text === null) response.write("begun");
      else response.end(text);
    });
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    http.closeAllConnections();
    return new Promise((resolve) => http.close(resolve));
  });
  const { port } = http.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/charges`, port, seen, open: () => open };
}
