import { test } from "node:test";

/** One behaviour, shown on what was opened for it alone. */
interface Case<O> {
  readonly title: string;
  readonly run: (opened: O) => Promise<void>;
}

/** Cases by their titles, in order. */
export function casesOf<O>(runs: Readonly<Record<string, Case<O>["run"]>>): readonly Case<O>[] {
  return Object.entries(runs).map(([title, run]) => ({ title, run }));
}

/** Registers one test for each case, under the name of what is tested. */
export function testEach<O extends { cleanup(): Promise<void> }>(
  name: string,
  cases: readonly Case<O>[],
  open: () => Promise<O>,
  perform: (run: Case<O>["run"], opened: O) => Promise<void> = (run, opened) => run(opened),
): void {
  for (const { title, run } of cases) {
    test(`${title} [${name}]`, async () => {
      const opened = await open();
      try {
        await perform(run, opened);
      } finally {
        await opened.cleanup();
      }
    });
  }
}
