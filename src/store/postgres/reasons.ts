import { messageOf } from "../../errors.ts";

/** What a fault of the database means for a call. */
export interface Reason {
  /**
   * `away`: it may be back at any moment, and whether the call was done is not known; `undone`: nothing of the call is there,
   * try again; `final`: it would fail again.
   */
  readonly kind: "away" | "undone" | "final";
  /** What happened and what to do. */
  readonly problem: string;
  /** Whether the tables are no longer there. */
  readonly lost?: true;
}

/** By SQLSTATE, longest prefix first; see the appendix of the PostgreSQL manual. */
const STATES: readonly (readonly [state: string, reason: Reason])[] = [
  ["40001", { kind: "undone", problem: "it could not be serialized with others" }],
  ["40P01", { kind: "undone", problem: "it met others in a deadlock" }],
  ["55P03", { kind: "undone", problem: "a lock was not given in time" }],
  ["25006", { kind: "away", problem: "the database is read-only: it is a standby, or is failing over" }],
  ["53300", {
    kind: "away",
    problem:
      "the database has no connection left; lower `connections`, raise max_connections, or use a pooler",
  }],
  ["53100", { kind: "final", problem: "the disk of the database is full; make room on it" }],
  ["53", { kind: "away", problem: "the database has not enough resources" }],
  ["57014", {
    kind: "away",
    problem: "the statement took longer than the database allows (statement_timeout)",
  }],
  ["57P", { kind: "away", problem: "the database is being shut down or started" }],
  ["08P01", { kind: "final", problem: "the server and the driver do not understand each other" }],
  ["08", { kind: "away", problem: "the connection to the database broke" }],
  ["28", { kind: "final", problem: "the database refuses this user or password; check the URL" }],
  ["3D000", { kind: "final", problem: "there is no database of that name; create it, or correct the URL" }],
  ["42501", {
    kind: "final",
    problem: "the role lacks a right; grant it what `superstep schema --print --role …` says",
  }],
  ["3F000", {
    kind: "final",
    problem: "the schema is not there; run `superstep schema --print` on the database",
    lost: true,
  }],
  ["42P01", {
    kind: "final",
    problem: "a table is not there; run `superstep schema --print` on the database",
    lost: true,
  }],
  ["42883", {
    kind: "final",
    problem: "a function is not there; run `superstep schema --print` on the database",
    lost: true,
  }],
];

/** What drivers and systems say that is no SQLSTATE. */
const TEXTS: readonly (readonly [said: RegExp, reason: Reason])[] = [
  [/ECONNREFUSED/, { kind: "away", problem: "nobody listens at the address of the database" }],
  [/ENOTFOUND|EAI_/, { kind: "away", problem: "the host of the database cannot be resolved" }],
  [/password must be a string|no pg_hba|SASL|password authentication/i, {
    kind: "final",
    problem: "the database refuses this user or password; check the URL",
  }],
  [/does not support SSL/i, {
    kind: "final",
    problem: "the server has no TLS; take sslmode out of the URL, or turn TLS on there",
  }],
  [/certificate|self.signed|altname|UNABLE_TO_VERIFY/i, {
    kind: "final",
    problem: "the certificate of the server is not trusted; name its authority with sslrootcert in the URL",
  }],
  [/timeout|timed out|ETIMEDOUT/i, { kind: "away", problem: "the database did not answer in time" }],
  [
    /ECONNRESET|EPIPE|ENETUNREACH|EHOSTUNREACH|terminated|Connection ended|closed|not queryable|socket|server error/i,
    { kind: "away", problem: "the connection to the database broke" },
  ],
];

/** Why the database failed, and whether to try again. */
export function reasonOf(error: unknown): Reason {
  const { code } = error as { readonly code?: unknown };
  if (typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && !code.startsWith("E")) {
    const known = STATES.find(([state]) => code.startsWith(state));
    return known?.[1] ?? { kind: "final", problem: `the database refused the statement (SQLSTATE ${code})` };
  }
  const inner = error instanceof AggregateError ? error.errors.map(messageOf).join(" ") : "";
  const said = `${String(code ?? "")} ${messageOf(error)} ${inner}`;
  const known = TEXTS.find(([pattern]) => pattern.test(said));
  return known?.[1] ?? { kind: "final", problem: "the driver failed; see the cause" };
}
