/** One step from a value to something inside it. */
export type Segment =
  | { readonly kind: "field"; readonly key: string | symbol }
  | { readonly kind: "index"; readonly index: number }
  | { readonly kind: "entry"; readonly key: unknown }
  | { readonly kind: "key"; readonly index: number }
  | { readonly kind: "element"; readonly index: number };

const MAX_TEXT = 200;

/** Where a walk is. Only the last step of each level is kept, so noting one costs a store into an array. */
export class Path {
  readonly #segments: Segment[] = [];

  set(level: number, segment: Segment): void {
    this.#segments[level] = segment;
  }

  /** The first `levels` steps, such as `orders[3].by-name.get("x")`. */
  text(levels: number): string {
    return pathText(this.#segments.slice(0, levels));
  }
}

/** A path as text. */
export function pathText(segments: readonly Segment[]): string {
  let text = "";
  for (const segment of segments) {
    text += segmentText(segment, text === "");
    if (text.length > MAX_TEXT) return `${text.slice(0, MAX_TEXT)}…`;
  }
  return text;
}

function segmentText(segment: Segment, first: boolean): string {
  switch (segment.kind) {
    case "field": {
      if (typeof segment.key === "symbol") return `[${String(segment.key)}]`;
      if (/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(segment.key)) return first ? segment.key : `.${segment.key}`;
      return `[${JSON.stringify(segment.key)}]`;
    }
    case "index":
      return `[${segment.index}]`;
    case "entry":
      return `.get(${keyText(segment.key)})`;
    case "key":
      return `.keys[${segment.index}]`;
    case "element":
      return `.values[${segment.index}]`;
  }
}

function keyText(key: unknown): string {
  if (typeof key === "string") return JSON.stringify(key);
  return typeof key === "object" && key !== null ? "an object" : String(key);
}
