import { Buffer } from "node:buffer";
import { connect, type Socket } from "node:net";

/** An answer as it came over a socket. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Sends bytes over a socket of its own and reads what comes back until the other end closes, or `timeout` is over. */
export async function raw(port: number, ...parts: readonly (string | Uint8Array)[]): Promise<RawAnswer> {
  const socket = connect(port, "127.0.0.1");
  const chunks: Uint8Array[] = [];
  const ended = new Promise<void>((resolve) => {
    socket.on("data", (chunk) => chunks.push(chunk)).on("close", resolve).on("error", () => resolve());
  });
  let drained = () => {};
  socket.on("drain", () => drained());
  void ended.then(() => drained());
  for (const part of parts) {
    if (socket.destroyed) break;
    const full = new Promise<void>((resolve) => drained = resolve);
    if (!socket.write(part)) await full;
  }
  await ended;
  const text = new TextDecoder().decode(Uint8Array.from(chunks.flatMap((chunk) => [...chunk])));
  const [head = "", ...rest] = text.split("\r\n\r\n");
  const [first = "", ...lines] = head.split("\r\n");
  return {
    status: Number(first.split(" ")[1] ?? 0),
    headers: Object.fromEntries(lines.map((line) => {
      const at = line.indexOf(":");
      return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()];
    })),
    text: rest.join("\r\n\r\n"),
  };
}

/** The head of a request, which asks to close the connection. */
export function head(
  method: string,
  path: string,
  headers: Readonly<Record<string, string | number>> = {},
): string {
  const all = { Host: "127.0.0.1", Connection: "close", ...headers };
  return `${method} ${path} HTTP/1.1\r\n${
    Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`).join("")
  }\r\n`;
}

/** A reader of server-sent events over a socket of its own. */
export interface EventReader {
  readonly socket: Socket;
  /** Ids and data in order, so far. */
  readonly events: {
    readonly id: number;
    readonly data: { readonly revision: number; readonly status: string };
  }[];
  readonly comments: number;
  /** The status line and headers. */
  readonly head: string;
  /** Resolves when the connection is closed, whoever closes it. */
  readonly closed: Promise<void>;
}

/** Opens a stream of events. */
export function readEvents(
  port: number,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): EventReader {
  const socket = connect(port, "127.0.0.1");
  const found = { events: [] as EventReader["events"], comments: 0, head: "" };
  const decoder = new TextDecoder();
  let bytes: Buffer = Buffer.alloc(0);
  let text = "";
  let id = -1;
  socket.write(head("GET", path, { Accept: "text/event-stream", Connection: "keep-alive", ...headers }));
  socket.on("data", (chunk) => {
    bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
    if (found.head === "") {
      const end = bytes.indexOf("\r\n\r\n");
      if (end < 0) return;
      found.head = bytes.toString("latin1", 0, end);
      bytes = bytes.subarray(end + 4);
    }
    takeChunks();
    const lines = text.split("\n");
    text = lines.pop()!;
    for (const line of lines) {
      if (line.startsWith("id: ")) id = Number(line.slice(4));
      else if (line.startsWith("data: ")) found.events.push({ id, data: JSON.parse(line.slice(6)) });
      else if (line.startsWith(":")) found.comments++;
    }
  });
  const closed = new Promise<void>((resolve) => {
    socket.on("close", () => resolve()).on("error", () => {});
  });

  /** Takes whole chunks of the transfer; after the last one the answer is over although the connection stays. */
  function takeChunks(): void {
    for (;;) {
      const line = bytes.indexOf("\r\n");
      if (line < 0) return;
      const size = Number.parseInt(bytes.toString("latin1", 0, line), 16);
      if (size === 0) return void socket.end();
      const end = line + 2 + size;
      if (bytes.length < end + 2) return;
      text += decoder.decode(bytes.subarray(line + 2, end), { stream: true });
      bytes = bytes.subarray(end + 2);
    }
  }

  return {
    socket,
    closed,
    events: found.events,
    get comments() {
      return found.comments;
    },
    get head() {
      return found.head;
    },
  };
}
