import { BuildError, isSuperstepError, messageOf } from "../errors.ts";
import { importFile } from "../runtime/import_file.ts";

/** What `scan` takes: a module, a promise of one, a path, a glob or a `file:` URL. */
export type Source = string | URL | object | Promise<object>;

/** What a source stands for, loaded. */
interface LoadedSource {
  /** Where it was looked for, for messages: `the folder "flows"`. None for a module that was given as such. */
  readonly place?: string;
  readonly namespaces: readonly object[];
  /** Whether something of it could not be loaded; the fault has been noted. */
  readonly incomplete: boolean;
}

/** Loads all sources, in their order and each file once, and notes what cannot be loaded. */
export async function loadSources(
  sources: readonly Source[],
  faults: Error[],
): Promise<readonly LoadedSource[]> {
  // All at once, so that no rejected promise stays unhandled while files are read.
  const settled = await Promise.allSettled(sources);
  const files = new FileLoader(faults);
  const loaded: LoadedSource[] = [];
  for (const [index, answer] of settled.entries()) {
    const source = answer.status === "fulfilled" ? answer.value : undefined;
    if (typeof source === "string" || isUrl(source)) loaded.push(await files.load(source));
    else if (typeof source === "object" && source !== null) {
      loaded.push({ namespaces: [source], incomplete: false });
    } else {
      faults.push(answer.status === "rejected" ? unloaded(index, answer.reason) : noSource(index, source));
      loaded.push({ namespaces: [], incomplete: true });
    }
  }
  return loaded;
}

function unloaded(index: number, cause: unknown): BuildError {
  const problem = `source ${index + 1}, the promise of a module, failed: ${reasonOf(cause)}`;
  return new BuildError("scan", problem, {}, { cause });
}

function noSource(index: number, value: unknown): BuildError {
  const seen = typeof value === "function" ? `the class or function ${value.name}` : String(value);
  return new BuildError(
    "scan",
    `source ${index + 1} is ${seen}; give a module, import("./flow.ts"), or the path of a file or folder`,
  );
}

class FileLoader {
  readonly #faults: Error[];
  readonly #modules = new Map<string, object | undefined>();
  /** The first file that failed so. A module that fails fails all that import it, with one and the same error. */
  readonly #failed = new Map<unknown, string>();

  constructor(faults: Error[]) {
    this.#faults = faults;
  }

  async load(source: string | URL): Promise<LoadedSource> {
    try {
      // Only who scans files needs what finds them.
      const { findFiles } = await import("./files.ts");
      const { place, urls } = await findFiles(source);
      const modules: (object | undefined)[] = [];
      for (const url of urls) modules.push(await this.#import(url));
      const namespaces = modules.filter((module) => module !== undefined);
      return { place, namespaces, incomplete: namespaces.length < urls.length };
    } catch (error) {
      this.#faults.push(error as Error);
      return { namespaces: [], incomplete: true };
    }
  }

  async #import(url: string): Promise<object | undefined> {
    if (!this.#modules.has(url)) {
      this.#modules.set(url, await importFile(url).catch((error) => this.#note(url, error)));
    }
    return this.#modules.get(url);
  }

  #note(url: string, cause: unknown): undefined {
    const reason = isSuperstepError(cause) ? cause.message : cause;
    const first = this.#failed.get(reason);
    if (first === undefined) this.#failed.set(reason, url);
    const why = first === undefined
      ? `${reasonOf(cause)}${adviceFor(cause)}`
      : `for the same reason as ${first}`;
    this.#faults.push(new BuildError("scan", `${url} cannot be imported: ${why}`, { url }, { cause }));
  }
}

/** The first line of what was thrown. Bun collects the faults of one file. */
function reasonOf(thrown: unknown): string {
  const [first] = (thrown as { readonly errors?: readonly unknown[] } | undefined)?.errors ?? [];
  return messageOf(first ?? thrown).replace(/^superstep: /, "").split("\n")[0] ?? "";
}

/** What to do where a decorator was given a class that is defined further down, or in a module that imports this one. */
function adviceFor(thrown: unknown): string {
  const early = /before initiali[sz]ation|uninitiali[sz]ed variable/i.test(reasonOf(thrown));
  return early
    ? '; `to`, `targets` and `route` take the id text of a vertex, such as to: "review", not its class; a `graph` that ' +
      "is defined later is given by a thunk, graph: () => TheWorkflow"
    : "";
}

function isUrl(value: unknown): value is URL {
  return Object.prototype.toString.call(value) === "[object URL]";
}
