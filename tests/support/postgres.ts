import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import pg from "pg";
import { type PgRow, postgres, type PostgresOptions } from "../../src/store/postgres/mod.ts";
import type { Store } from "../../src/store/store.ts";
import type { OpenedStore } from "../../src/testing/store_suite.ts";
import { ROOT } from "./paths.ts";

/** Where Debian and Ubuntu put the programs of a server; they are in no PATH. */
const DEBIAN = "/usr/lib/postgresql";

/** The folder of `initdb` and `postgres`, where they are installed. */
export const POSTGRES_BIN: string | undefined = findBinaries();

function findBinaries(): string | undefined {
  const { SUPERSTEP_POSTGRES, PATH = "" } = process.env;
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort().reverse() : [];
  const folders = [
    SUPERSTEP_POSTGRES ?? "",
    ...PATH.split(":"),
    ...versions.map((v) => join(DEBIAN, v, "bin")),
  ];
  return folders.find((folder) =>
    folder !== "" && ["initdb", "postgres", "pg_isready"].every((name) => existsSync(join(folder, name)))
  );
}

/** What a test says that passes because there is no PostgreSQL. */
export const NO_POSTGRES =
  "PostgreSQL is not installed, so nothing was tried on it: install postgresql, or name the folder of initdb in SUPERSTEP_POSTGRES";

/** A PostgreSQL server of its own, on loopback, that ends with the process that started it. */
export class PostgresServer {
  /** Its port on loopback. */
  readonly port: number;
  readonly #child: ChildProcess;
  readonly #answers: AsyncIterator<string>;

  private constructor(port: number, child: ChildProcess) {
    this.port = port;
    this.#child = child;
    this.#answers = linesOf(child);
  }

  /** Makes a database cluster and starts it; `settings` are such as `fsync=on`. */
  static async start(settings: readonly string[] = ["fsync=off"]): Promise<PostgresServer> {
    const port = await freePort();
    const script = join(ROOT, "tests", "support", "postgres.sh");
    const command = [script, POSTGRES_BIN!, String(port), ...settings];
    // A server refuses to run as root.
    const [program, ...args] = process.getuid?.() === 0
      ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "sh", ...command]
      : ["sh", ...command];
    // In a group of its own, so that it can clean up where the tests are killed as a group: its input ends then.
    const child = spawn(program!, args, { stdio: ["pipe", "pipe", "inherit"], cwd: "/tmp", detached: true });
    const server = new PostgresServer(port, child);
    await server.#answer("ready");
    return server;
  }

  /** The URL of its database. */
  get url(): string {
    return `postgres://superstep@127.0.0.1:${this.port}/postgres`;
  }

  /** Ends the server as a crash of the machine's process would. */
  async kill(): Promise<void> {
    await this.#tell("kill", "killed");
  }

  /** Starts it again on its data. */
  async restart(): Promise<void> {
    await this.#tell("start", "ready");
  }

  /** Ends it and removes its data. */
  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.stdin!.end();
    await ended;
  }

  async #tell(command: string, answer: string): Promise<void> {
    this.#child.stdin!.write(`${command}\n`);
    await this.#answer(answer);
  }

  async #answer(expected: string): Promise<void> {
    const { value, done } = await this.#answers.next();
    if (done || value !== expected) {
      throw new Error(`the server answered ${value ?? "nothing"}, not ${expected}`);
    }
  }

  /** Lets the process end although the server is at work. */
  unref(): void {
    this.#child.unref();
    for (const stream of [this.#child.stdin, this.#child.stdout]) {
      (stream as { unref?(): void } | null)?.unref?.();
    }
  }
}

/** The server that the tests of this process share, started when it is first needed. */
export function sharedServer(): Promise<PostgresServer> {
  shared ??= PostgresServer.start().then((server) => {
    server.unref();
    return server;
  });
  return shared;
}

let shared: Promise<PostgresServer> | undefined;
/** Schemas that hold nothing. Making one takes longer than most tests. */
const empty: string[] = [];
let schemas = 0;
let pool: pg.Pool | undefined;

/** A store in a schema that no other test uses meanwhile. */
export async function openPostgres(options: PostgresOptions = {}): Promise<
  OpenedStore & {
    readonly url: string;
    readonly schema: string;
    query(sql: string): Promise<readonly PgRow[]>;
    queryWith(sql: string, values: unknown[]): Promise<readonly PgRow[]>;
  }
> {
  const { url } = await sharedServer();
  const schema = empty.pop() ?? `t${process.pid}_${++schemas}`;
  // One for all tests: to connect takes longer than most of them.
  pool ??= new pg.Pool({ connectionString: url, max: 8, allowExitOnIdle: true });
  const handles: Store[] = [];
  const open = async () => {
    const handle = await postgres(pool!, { ...options, schema });
    handles.push(handle);
    return handle;
  };
  const store = await open();
  const query = async (sql: string): Promise<readonly PgRow[]> => (await pool!.query(sql)).rows;
  return {
    store,
    url,
    schema,
    query,
    queryWith: async (sql, values) => (await pool!.query(sql, values)).rows,
    reopen: async () => {
      await store.close();
      return await open();
    },
    second: open,
    cleanup: async () => {
      for (const handle of handles) await handle.close();
      const [tables] = await query(
        `select string_agg(format('delete from %I.%I', schemaname, tablename), ';') as empty from pg_tables
         where schemaname = '${schema}' and tablename not like '%layout'`,
      );
      await query(String(tables!["empty"]));
      empty.push(schema);
    },
  };
}

/** A port of loopback that nobody listens at. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { readonly port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function linesOf(child: ChildProcess): AsyncIterator<string> {
  return createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
}
