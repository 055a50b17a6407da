// @ts-check
/** Reports tests on Node in the lines of Deno's runner, also the test that is at work. */

/** @param {AsyncIterable<{ type: string, data: any }>} events */
export default async function* report(events) {
  const counts = { passed: 0, failed: 0, ignored: 0 };
  const failures = [];
  for await (const { type, data } of events) {
    if (type === "test:fail" && data.nesting > 0) failures.push(data);
    if (data.nesting > 0) continue;
    if (type === "test:dequeue") yield `${oneLine(data.name)} ...\n`;
    if (type !== "test:pass" && type !== "test:fail") continue;
    const ignored = data.skip !== undefined || data.todo !== undefined;
    const failed = type === "test:fail" && !ignored;
    counts[ignored ? "ignored" : failed ? "failed" : "passed"]++;
    if (failed) failures.push(data);
    const verdict = ignored ? "ignored" : failed ? "FAILED" : "ok";
    yield `${oneLine(data.name)} ... ${verdict} (${Math.round(data.details.duration_ms)}ms)\n`;
  }
  for (const { name, details, line, column, file } of failures) {
    yield `\n${name} => ${file}:${line}:${column}\n${text(details.error)}\n`;
  }
  yield `\n${counts.failed === 0 ? "ok" : "FAILED"} | ${counts.passed} passed | ${counts.failed} failed` +
    `${counts.ignored === 0 ? "" : ` | ${counts.ignored} ignored`}\n`;
}

/** @param {string} name */
function oneLine(name) {
  return name.replaceAll("\n", "\\n");
}

/** @param {any} error */
function text(error) {
  const cause = error?.cause ?? error;
  return cause?.stack ?? String(cause);
}
