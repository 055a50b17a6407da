/** One step from a value to something inside it. */
export type Segment =
  | { readonly kind: "field"; readonly key: string | symbol }
  | { readonly kind: "index"; readonly index: number }
  | { readonly kind: "entry"; readonly key: unknown }
  | { readonly kind: "key"; readonly index: number }
  | { readonly kind: "element"; readonly index: number };

const MAX_TEXT = 200;

/** Where a walk is. Only the last step of each level is kept, so noting one costs two stores and no allocation. */
export class Path {
  readonly #kinds: Segment["kind"][] = [];
  readonly #steps: unknown[] = [];

  set(level: number, kind: Segment["kind"], step: unknown): void {
    this.#kinds[level] = kind;
    this.#steps[level] = step;
  }

  /** The first `levels` steps, such as `orders[3].names.get("x")`. */
  text(levels: number): string {
    const segments: Segment[] = [];
    for (let i = 0; i < levels && i < this.#kinds.length; i++) segments.push(this.#segment(i));
    return pathText(segments);
  }

  #segment(level: number): Segment {
    const kind = this.#kinds[level]!;
    const step = this.#steps[level];
    switch (kind) {
      case "field":
        return { kind, key: step as string | symbol };
      case "entry":
        return { kind, key: step };
      default:
        return { kind, index: step as number };
    }
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
