import assert from "node:assert/strict";
import type { Answering } from "../../../src/http/listen.ts";

/** A page as a browser without script sees it. */
export interface Page {
  readonly url: URL;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Where its links lead, this app only. */
  readonly links: readonly string[];
  readonly forms: readonly Form[];
}

/** A form of a page, with the fields as they are filled in. */
export interface Form {
  readonly action: string;
  readonly method: string;
  readonly fields: ReadonlyMap<string, string>;
  readonly button: string;
}

/** Looks at pages of an app, as a browser without script does. */
export class Visitor {
  constructor(
    readonly app: Answering,
    readonly headers: Readonly<Record<string, string>> = {},
    readonly origin = "http://localhost",
  ) {}

  async open(path: string, init: RequestInit = {}): Promise<Page> {
    const url = new URL(path, this.origin);
    const response = await this.app.fetch(
      new Request(url, { ...init, headers: { ...this.headers, ...init.headers } }),
    );
    const location = response.headers.get("Location");
    if ([302, 303].includes(response.status) && location !== null) {
      return await this.open(new URL(location, url).href);
    }
    return pageOf(url, response, await response.text());
  }

  /** Sends the form whose button has this text, with some of its fields filled in. */
  async submit(page: Page, button: string, values: Readonly<Record<string, string>> = {}): Promise<Page> {
    const form = page.forms.find((f) => f.button === button);
    assert.ok(form !== undefined, `there is no button ${button} on ${page.url.pathname}: ${page.text}`);
    const fields = new Map([...form.fields, ...Object.entries(values)]);
    return await this.post(new URL(form.action, page.url).href, fields);
  }

  async post(
    path: string,
    fields: Iterable<[string, string]>,
    headers: Readonly<Record<string, string>> = {},
  ) {
    return await this.open(path, {
      method: "POST",
      headers: {
        "Content-Type": "application/x-www-form-urlencoded",
        "Origin": this.origin,
        "Sec-Fetch-Site": "same-origin",
        ...headers,
      },
      body: new URLSearchParams([...fields]).toString(),
    });
  }
}

function pageOf(url: URL, { status, headers }: Response, text: string): Page {
  const links = [...text.matchAll(/ (?:href|src|action)="([^"]*)"/g)].map(([, link]) => unescaped(link!));
  const forms = [...text.matchAll(/<form method="(\w+)" action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/g)].map(
    ([, method, action, body]) => ({
      method: method!,
      action: unescaped(action!),
      fields: fieldsOf(body!),
      button: unescaped(/<button[^>]*>([^<]*)<\/button>/.exec(body!)?.[1] ?? ""),
    }),
  );
  return { url, status, headers, text, links, forms };
}

function fieldsOf(body: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const [, attributes] of body.matchAll(/<input\s([^>]*)>/g)) {
    const attribute = (name: string) => new RegExp(`(?:^|\\s)${name}="([^"]*)"`).exec(attributes!)?.[1];
    const name = attribute("name");
    if (name === undefined) continue;
    if (attribute("type") === "radio" && !/ checked\b/.test(` ${attributes}`)) continue;
    fields.set(unescaped(name), unescaped(attribute("value") ?? ""));
  }
  for (const [, attributes, text] of body.matchAll(/<textarea\s([^>]*)>([\s\S]*?)<\/textarea>/g)) {
    const name = /(?:^|\s)name="([^"]*)"/.exec(attributes!)?.[1];
    if (name !== undefined) fields.set(unescaped(name), unescaped(text!).replace(/^\n/, ""));
  }
  return fields;
}

/** Text as it was before it was put into HTML. */
export function unescaped(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll(
    "&#39;",
    "'",
  )
    .replaceAll("&amp;", "&");
}
