const SLAB = 65_536;
/** What is longer than this has memory of its own. */
const LONGEST = 8_192;

/**
 * Cuts short byte arrays out of long ones, because a runtime takes a microsecond for each piece of memory of its own.
 * Every array is zeroed and handed out once.
 */
export class Slab {
  #memory: ArrayBuffer | undefined;
  #used = 0;

  take(length: number): Uint8Array<ArrayBuffer> {
    if (length > LONGEST) return new Uint8Array(length);
    if (this.#memory === undefined || this.#used + length > SLAB) {
      this.#memory = new ArrayBuffer(SLAB);
      this.#used = 0;
    }
    const bytes = new Uint8Array(this.#memory, this.#used, length);
    this.#used += length;
    return bytes;
  }
}
