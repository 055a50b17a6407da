import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { freePort } from "./postgres.ts";

/** The program of a NATS server, where it is installed. */
export const NATS_SERVER: string | undefined = [
  process.env.SUPERSTEP_NATS ?? "",
  ...[...(process.env.PATH ?? "").split(":"), "/usr/sbin"].map((folder) => join(folder, "nats-server")),
].find((path) => path !== "" && existsSync(path));

/** What a test says that passes because there is no NATS. */
export const NO_NATS =
  "NATS is not installed, so nothing was tried on it: install nats-server, or name the program in SUPERSTEP_NATS";

/** A NATS server of its own, on loopback, that ends with the process that started it. */
export class NatsServer {
  /** Its port on loopback. */
  readonly port: number;
  readonly #folder: string;
  #child: ChildProcess | undefined;

  private constructor(port: number, folder: string) {
    this.port = port;
    this.#folder = folder;
  }

  static async start(): Promise<NatsServer> {
    const server = new NatsServer(await freePort(), await mkdtemp(join(tmpdir(), "superstep-nats-")));
    await server.restart();
    return server;
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`;
  }

  /** Starts it on what it has stored. */
  async restart(): Promise<void> {
    // Whoever starts it keeps its input open; when that ends, so does the server.
    const script = `"$@" >/dev/null 2>&1 </dev/null & pid=$!; read -r _; kill -KILL $pid; wait`;
    const args = [NATS_SERVER!, "-a", "127.0.0.1", "-p", String(this.port), "-js", "-sd", this.#folder];
    this.#child = spawn("sh", ["-c", script, "sh", ...args], {
      stdio: ["pipe", "ignore", "ignore"],
      detached: true,
    });
    while (!await listens(this.port)) await pause(20);
  }

  /** Ends it without a word. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#child = undefined;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.stdin!.end();
    await ended;
  }

  /** Removes all that it has stored; it must not be at work. */
  async forget(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }

  async stop(): Promise<void> {
    await this.kill();
    await this.forget();
  }
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => (socket.destroy(), resolve(true)));
    socket.once("error", () => resolve(false));
  });
}
