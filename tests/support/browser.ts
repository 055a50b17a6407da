/**
 * Real Chromium for tests of pages: the same on Deno, Bun and Node. The browser is a child of the test's process and
 * hangs on its pipe, so it ends with it, however that ends.
 */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";
import { after } from "node:test";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";

/** Names of Chromium on PATH. */
const NAMES = ["chromium", "chromium-browser", "google-chrome"];
/** How long the browser and each of its actions may take: longer than any takes, shorter than a test may. */
export const LIMIT_MS = 20_000;

/** What a test asks of a page. */
export interface PageOptions {
  /** Whether pages may run scripts. @default true */
  readonly script?: boolean;
  /** @default "light" */
  readonly colorScheme?: "light" | "dark";
  /** In CSS pixels. @default 1280 × 800 */
  readonly viewport?: { readonly width: number; readonly height: number };
  /** Pixels of the device per CSS pixel. @default 1 */
  readonly scale?: number;
  /** What is given where a server asks who is there. @default nothing */
  readonly login?: { readonly username: string; readonly password: string };
}

/** A page in a profile of its own, and what went wrong in it. */
export interface Tab extends AsyncDisposable {
  readonly page: Page;
  /** Whether its pages may run scripts. */
  readonly script: boolean;
  /**
   * What went wrong since this was asked last: errors on the console, uncaught errors, violations of the content security
   * policy, requests that failed or were refused.
   */
  problems(): Promise<readonly string[]>;
  /** How often another page came, or the same one again. */
  loads(): number;
}

/** A browser. */
export interface TestBrowser extends AsyncDisposable {
  newPage(options?: PageOptions): Promise<Tab>;
  close(): Promise<void>;
}

/**
 * The browser of a test file: starts when it is needed first, and ends after the last test. To be called while the file
 * loads.
 */
export function browserOfFile(): Pick<TestBrowser, "newPage"> {
  let launched: Promise<TestBrowser> | undefined;
  after(async () => await (await launched?.catch(() => undefined))?.close());
  // Deno passes that by when tests are chosen by name. Playwright then tidies up at the exit of its process, which Deno's
  // tests tell of by this event.
  globalThis.addEventListener?.("unload", () => process.emit("exit", 0));
  return { newPage: async (options) => await (await (launched ??= launchBrowser())).newPage(options) };
}

/**
 * Starts a browser.
 *
 * @throws {Error} there is no Chromium, or it does not start
 */
export async function launchBrowser(): Promise<TestBrowser> {
  const browser = await chromium.launch({
    executablePath: chromiumPath(process.env),
    timeout: LIMIT_MS,
    args: [
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      // One process for all pages starts them faster than one for each.
      "--renderer-process-limit=1",
    ],
  });
  const close = () => browser.close();
  return { newPage: (options) => openPage(browser, options), close, [Symbol.asyncDispose]: close };
}

/**
 * Chromium's executable: what `SUPERSTEP_CHROMIUM` names, or one on PATH.
 *
 * @throws {Error} there is none; it says how to get one
 */
export function chromiumPath(env: Readonly<Record<string, string | undefined>>): string {
  const named = env.SUPERSTEP_CHROMIUM;
  const folders = (env.PATH ?? "").split(delimiter).filter(Boolean);
  const places = named === undefined
    ? NAMES.flatMap((name) => folders.map((folder) => join(folder, name)))
    : [named];
  const found = places.find((place) => existsSync(place));
  if (found !== undefined) return found;
  throw new Error(
    `the tests of the dashboard need Chromium, and ${
      named === undefined
        ? `none of ${NAMES.join(", ")} is on PATH`
        : `there is nothing at ${named}, which SUPERSTEP_CHROMIUM names`
    }: install it (Debian, Ubuntu: apt-get install chromium), or name its executable in SUPERSTEP_CHROMIUM`,
  );
}

async function openPage(browser: Browser, options: PageOptions = {}): Promise<Tab> {
  const { script = true, colorScheme = "light", viewport = { width: 1280, height: 800 }, scale = 1 } =
    options;
  const { login } = options;
  const context = await browser.newContext({
    javaScriptEnabled: script,
    colorScheme,
    viewport,
    deviceScaleFactor: scale,
    reducedMotion: "reduce",
    locale: "en-GB",
    timezoneId: "UTC",
    ...(login === undefined ? {} : { httpCredentials: login }),
  });
  context.setDefaultTimeout(LIMIT_MS);
  const page = await context.newPage();
  const seen = await watch(context, page);
  let loads = 0;
  page.on("framenavigated", (frame) => {
    if (frame === page.mainFrame()) loads++;
  });
  return {
    page,
    script,
    problems: async () => {
      // What happened before reaches us before the answer to this; so it does where a page goes away meanwhile.
      await page.evaluate("1").catch(() => {});
      return seen.splice(0);
    },
    loads: () => loads,
    [Symbol.asyncDispose]: () => within(LIMIT_MS / 4, context.close()),
  };
}

/** Chromium may never be done with closing a page that is being loaded; it goes with the browser. */
async function within(limitMs: number, closing: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout>;
  const limit = new Promise<void>((resolve) => timer = setTimeout(resolve, limitMs));
  await Promise.race([closing.catch(() => {}), limit]).finally(() => clearTimeout(timer));
}

/** Notes what goes wrong in a page. */
async function watch(context: BrowserContext, page: Page): Promise<string[]> {
  const seen: string[] = [];
  // Chromium tells of a policy's violations on the console as well, but not of all.
  await context.exposeBinding("reportViolation", (_, text: string) => void seen.push(text));
  await context.addInitScript(`document.addEventListener("securitypolicyviolation", (event) =>
    reportViolation("policy: " + event.violatedDirective + " refuses " + (event.blockedURI || event.sourceFile)))`);
  page.on("pageerror", (error) => seen.push(`uncaught: ${error.message}`));
  page.on("console", (message) => {
    // A request that was refused is noted as such.
    if (
      message.type() === "error" &&
      !message.text().startsWith("Failed to load resource: the server responded")
    ) {
      seen.push(`console: ${message.text()}`);
    }
  });
  page.on("response", (response) => {
    if (response.status() >= 400) {
      seen.push(`${response.status()}: ${response.request().method()} ${new URL(response.url()).pathname}`);
    }
  });
  page.on("requestfailed", (request) => {
    const reason = request.failure()?.errorText ?? "";
    // A page that is left gives up what it still waits for.
    if (reason !== "net::ERR_ABORTED") seen.push(`${reason}: ${request.method()} ${request.url()}`);
  });
  return seen;
}
