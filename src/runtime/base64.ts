/** So many bytes are handed over at once: as many arguments as every runtime takes. */
const CHUNK = 0x8000;

/** The bytes of a view as base64. */
export function toBase64(view: ArrayBufferView): string {
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  let text = "";
  for (let at = 0; at < bytes.length; at += CHUNK) {
    text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  }
  return btoa(text);
}

/** The bytes that base64 text stands for, or `undefined` when it is none. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  let decoded: string;
  try {
    decoded = atob(text);
  } catch {
    return undefined;
  }
  return btoa(decoded) === text ? Uint8Array.from(decoded, (c) => c.charCodeAt(0)) : undefined;
}
