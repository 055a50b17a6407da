import axe, { type AxeResults, type RunOptions } from "axe-core";
import type { Page } from "playwright-core";

/**
 * What keeps people from using a page, in its light and its dark look, by axe-core: the violations of serious or critical
 * impact, one text for each element. The page has to run scripts; its content security policy may forbid them.
 */
export async function accessibility(page: Page): Promise<readonly string[]> {
  // What a debugger evaluates is free of the page's policy.
  await page.evaluate(axe.source);
  const found: string[] = [];
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    // Only colours differ in the second look.
    const only: RunOptions = colorScheme === "light"
      ? {}
      : { runOnly: ["color-contrast", "link-in-text-block"] };
    const { violations } = await page.evaluate(
      (options) => (globalThis as unknown as { readonly axe: typeof axe }).axe.run(options),
      { resultTypes: ["violations"], ...only } satisfies RunOptions,
    );
    found.push(...violations.flatMap((violation) => textsOf(violation, colorScheme)));
  }
  return found;
}

function textsOf({ id, impact, nodes }: AxeResults["violations"][number], look: string): readonly string[] {
  if (impact !== "serious" && impact !== "critical") return [];
  return nodes.map(({ target, html, failureSummary }) =>
    `${impact}, ${look}: ${id} at ${target.join(" ")}: ${html}\n${failureSummary ?? ""}`
  );
}
