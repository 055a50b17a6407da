import { BuildError, messageOf } from "../errors.ts";
import { importFile } from "../runtime/import_file.ts";

/** What `scan` takes: a module, a promise of one, a path, a glob or a `file:` URL. */
export type Source = string | URL | object | Promise<object>;

/** What a source stands for, loaded. */
export interface LoadedSource {
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
    const place = `source ${index + 1}`;
    if (answer.status === "rejected") {
      const problem = `${place}, the promise of a module, failed: ${reasonOf(answer.reason)}`;
      faults.push(new BuildError("scan", problem, {}, { cause: answer.reason }));
    } else if (typeof answer.value === "string" || isUrl(answer.value)) {
      loaded.push(await files.load(answer.value));
      continue;
    } else if (typeof answer.value === "object" && answer.value !== null) {
      loaded.push({ namespaces: [answer.value], incomplete: false });
      continue;
    } else {
      const { name } = (answer.value ?? {}) as { readonly name?: string };
      const problem =
        `${place} is ${
          typeof answer.value === "function" ? `the class or function ${name}` : answer.value
        }; ` +
        'give a module, import("./flow.ts"), or the path of a file or folder';
      faults.push(new BuildError("scan", problem));
    }
    loaded.push({ namespaces: [], incomplete: true });
  }
  return loaded;
}

class FileLoader {
  readonly #faults: Error[];
  readonly #modules = new Map<string, object | undefined>();
  /** By what they threw: a module that fails fails all that import it, with one and the same error. */
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
    const first = this.#failed.get(cause);
    const why = first === undefined ? reasonOf(cause) : `for the same reason as ${first}`;
    if (first === undefined && typeof cause === "object") this.#failed.set(cause, url);
    this.#faults.push(new BuildError("scan", `${url} cannot be imported: ${why}`, { url }, { cause }));
  }
}

/** The first line of what was thrown. Bun collects the faults of one file. */
function reasonOf(thrown: unknown): string {
  const [first] = (thrown as { readonly errors?: readonly unknown[] } | undefined)?.errors ?? [];
  return messageOf(first ?? thrown).replace(/^superstep: /, "").split("\n")[0] ?? "";
}

function isUrl(value: unknown): value is URL {
  return Object.prototype.toString.call(value) === "[object URL]";
}
