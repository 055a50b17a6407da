import type { OpenAPIHono } from "@hono/zod-openapi";
import { defined } from "../model/defined.ts";
import { isId } from "../model/ids.ts";

/** A route as others speak of it. */
interface Operation {
  /** Its name, such as `startRun`. */
  readonly id: string;
  readonly method: string;
  readonly pattern: RegExp;
  readonly params: readonly string[];
}

/** An app whose routes are described. */
interface Described {
  readonly openAPIRegistry: OpenAPIHono["openAPIRegistry"];
}

/** What a path and method ask for. */
export interface Asked {
  /** The name of the route; absent where there is none. */
  readonly operation?: string;
  readonly graphId?: string;
  readonly runId?: string;
  readonly waitId?: string;
}

/** Finds routes by path and method, as they were described. */
export class Operations {
  readonly #app: Described;
  #known: readonly Operation[] | undefined;

  constructor(app: Described) {
    this.#app = app;
  }

  /** @param path What follows the place where the app is mounted. */
  find(method: string, path: string): Asked {
    const wanted = method === "HEAD" ? "GET" : method;
    for (const { id, method, pattern, params } of this.#all) {
      const match = method === wanted ? pattern.exec(path) : null;
      if (match === null) continue;
      const ids = new Map(params.map((name, i) => [name, idOf(match[i + 1]!)]));
      const [graphId, runId, waitId] = ["graph_id", "run_id", "wait_id"].map((name) => ids.get(name));
      return { operation: id, ...defined({ graphId, runId, waitId }) };
    }
    return {};
  }

  /** The methods that a path takes. */
  methodsOf(path: string): readonly string[] {
    return this.#all.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
  }

  get #all(): readonly Operation[] {
    return this.#known ??= this.#app.openAPIRegistry.definitions.flatMap((definition) => {
      if (definition.type !== "route") return [];
      const { method, path, operationId = "" } = definition.route;
      const params = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
      const pattern = new RegExp(`^${path.replaceAll(/\{\w+\}/g, "([^/]+)")}$`);
      return [{ id: operationId, method: method.toUpperCase(), pattern, params }];
    });
  }
}

/** A part of a path as an id; what is none is nobody's business before it was refused. */
function idOf(part: string): string | undefined {
  try {
    const id = decodeURIComponent(part);
    return isId(id) ? id : undefined;
  } catch {
    return undefined;
  }
}
