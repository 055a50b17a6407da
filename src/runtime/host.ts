import { hostname } from "node:os";
import process from "node:process";

/** The runtimes that superstep runs on. */
export type Host = "deno" | "bun" | "node";

interface Globals {
  readonly Deno?: { readonly openKv?: (path?: string) => Promise<unknown> };
  readonly Bun?: unknown;
}

const globals = globalThis as unknown as Globals;

/** The runtime that this code runs on. Bun is asked first, for either of them may imitate Node. */
export const host: Host = globals.Bun !== undefined ? "bun" : globals.Deno !== undefined ? "deno" : "node";

/** Deno's own `openKv`, where there is one; it needs `"unstable": ["kv"]`. */
export function nativeOpenKv(): ((path: string) => Promise<unknown>) | undefined {
  if (host !== "deno") return undefined;
  const { Deno } = globals;
  return typeof Deno?.openKv === "function" ? (path) => Deno.openKv!(path) : undefined;
}

/** The machine and the process, for people who look for them. */
export function processName(): { readonly host: string; readonly pid: number } {
  let name = "";
  try {
    name = hostname();
  } catch {
    // Deno asks for a permission that was not given.
  }
  return { host: name === "" ? "unknown" : name, pid: process.pid };
}
