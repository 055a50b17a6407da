import type { Colours } from "../colours.ts";
import type { RunEvent } from "../../engine/events.ts";
import type { OutStream } from "../io.ts";
import { ProgressModel } from "./model.ts";
import { drawn, SPIN_MS } from "./rows.ts";

const CURSOR_UP = (lines: number) => `\x1b[${lines}A`;
const ERASE_BELOW = "\x1b[0J";
/** Kept free for the prompt and for what is printed above. */
const SPARE_LINES = 3;

/** One row per vertex, redrawn in place. */
export class LiveView {
  readonly #stream: OutStream;
  readonly #colours: Colours;
  readonly #model = new ProgressModel();
  readonly #timer: ReturnType<typeof setInterval>;
  #drawn = 0;
  #changed = false;

  constructor(stream: OutStream, colours: Colours) {
    this.#stream = stream;
    this.#colours = colours;
    this.#timer = setInterval(() => this.#draw(), SPIN_MS);
  }

  apply(event: RunEvent): void {
    this.#model.apply(event);
    this.#changed = true;
  }

  print(text: string): void {
    this.#stream.write(`${this.#erasure()}${text}\n`);
    this.#drawn = 0;
    this.#draw();
  }

  close(): void {
    clearInterval(this.#timer);
    if (this.#changed) this.#draw();
  }

  #draw(): void {
    const { columns = 80, rows = 24 } = this.#stream;
    const lines = drawn(this.#model.rows.values(), Date.now(), {
      colours: this.#colours,
      columns,
      lines: Math.max(1, rows - SPARE_LINES),
    });
    if (lines.length === 0) return;
    this.#stream.write(`${this.#erasure()}${lines.join("\n")}\n`);
    this.#drawn = lines.length;
  }

  #erasure(): string {
    return this.#drawn === 0 ? "" : CURSOR_UP(this.#drawn) + ERASE_BELOW;
  }
}
