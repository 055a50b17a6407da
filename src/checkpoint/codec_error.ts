/** Bytes that a codec cannot read, or a value that it cannot write. */
export class CodecError extends Error {
  override readonly name = "CodecError";
  constructor(
    readonly reason: "newer" | "malformed" | "unsupported",
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
