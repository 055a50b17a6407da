/** Stands for `node:test` where tests are registered and not run. */

/** The titles of the tests that were registered and are not skipped. */
export const titles: string[] = [];
const last: (() => unknown)[] = [];

/** Notes a test. */
export function test(title: string, options?: unknown): void {
  const skipped = typeof options === "object" && options !== null && "skip" in options &&
    Boolean(options.skip);
  if (!skipped) titles.push(title);
}

/** Keeps what tidies up after a file: it is called by {@linkcode cleanUp}. */
export function after(hook: () => unknown): void {
  last.push(hook);
}

/** Tidies up what the files have made while they were loaded. */
export async function cleanUp(): Promise<void> {
  for (const hook of last) await hook();
}

/** Nothing runs, so nothing is prepared. */
export function before(): void {}
export const beforeEach = before;
export const afterEach = before;
export const it = test;
export const mock = {};
export default test;
