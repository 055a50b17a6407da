const MAX_KEY_TEXT = 512;
const utf8 = new TextEncoder();

/** Why a text cannot be part of a key, and what to do. */
export function keyTextProblem(value: unknown): string | undefined {
  const problem = typeof value !== "string"
    ? `is ${typeof value}, not a text`
    : value === ""
    ? "is empty"
    : !value.isWellFormed()
    ? "holds a lone surrogate"
    : value.includes("\0")
    ? "holds a NUL"
    : value.length * 3 > MAX_KEY_TEXT && utf8.encode(value).length > MAX_KEY_TEXT
    ? `takes more than ${MAX_KEY_TEXT} bytes`
    : undefined;
  return problem && `${JSON.stringify(value)?.slice(0, 80)} ${problem}; give it another one`;
}

/** What is wrong with the texts of a query, all but the cursor. */
export function queryProblem(query: object): string | undefined {
  for (const [field, value] of Object.entries(query)) {
    if (field === "cursor" || field === "limit" || value === undefined) continue;
    const problem = keyTextProblem(value);
    if (problem !== undefined) return `the field ${field} of the query ${problem}`;
  }
  return undefined;
}
