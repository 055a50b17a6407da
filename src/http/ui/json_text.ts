/** JSON, as much of it as was wanted. */
interface JsonText {
  readonly text: string;
  /** Whether there is more. */
  readonly cut: boolean;
}

/**
 * A value of JSON as text, in lines where `indent` is given; nothing for `undefined`. Of a large value no more is written,
 * nor looked at, than what is shown of it.
 */
export function jsonText(value: unknown, most: number, indent = ""): JsonText {
  const writer = new Writer(most, indent);
  writer.write(value, "");
  const text = writer.parts.join("");
  return text.length <= most ? { text, cut: false } : { text: text.slice(0, most), cut: true };
}

class Writer {
  readonly parts: string[] = [];
  readonly #indent: string;
  #left: number;

  constructor(most: number, indent: string) {
    this.#left = most;
    this.#indent = indent;
  }

  /** Whether there may be more after it. */
  write(value: unknown, margin: string): boolean {
    if (typeof value === "string") {
      return this.#put(JSON.stringify(value.slice(0, Math.max(0, this.#left) + 1)));
    }
    if (typeof value !== "object" || value === null) return this.#put(JSON.stringify(value) ?? "");
    return Array.isArray(value)
      ? this.#list(value, "[", "]", margin, (item, within) => this.write(item, within))
      : this.#list(
        Object.keys(value),
        "{",
        "}",
        margin,
        (key, within) =>
          this.#put(`${JSON.stringify(key)}:${this.#indent === "" ? "" : " "}`) &&
          this.write((value as Readonly<Record<string, unknown>>)[key], within),
      );
  }

  #list<T>(
    items: readonly T[],
    open: string,
    close: string,
    margin: string,
    write: (item: T, margin: string) => boolean,
  ): boolean {
    const within = margin + this.#indent;
    const line = (margin: string) => this.#indent === "" ? "" : `\n${margin}`;
    if (!this.#put(open)) return false;
    for (let i = 0; i < items.length; i++) {
      if (!this.#put(`${i === 0 ? "" : ","}${line(within)}`) || !write(items[i]!, within)) return false;
    }
    return this.#put(items.length === 0 ? close : line(margin) + close);
  }

  #put(text: string): boolean {
    this.parts.push(text);
    this.#left -= text.length;
    return this.#left >= 0;
  }
}
