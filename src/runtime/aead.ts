import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

/** How long a key of AES-256 is, in bytes. */
export const KEY_BYTES = 32;
const ALGORITHM = "aes-256-gcm";
const NONCE = 12;
const TAG = 16;

/** Encrypts bytes by AES-256-GCM under a nonce of their own: the nonce, the tag, and what is encrypted. */
export function encrypt(key: Uint8Array, bound: Uint8Array, bytes: Uint8Array): Uint8Array {
  const nonce = randomBytes(NONCE);
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG });
  cipher.setAAD(bound);
  const body = cipher.update(bytes);
  // GCM is a stream: nothing is left over at the end.
  cipher.final();
  const sealed = new Uint8Array(NONCE + TAG + body.length);
  sealed.set(nonce);
  sealed.set(cipher.getAuthTag(), NONCE);
  sealed.set(body, NONCE + TAG);
  return sealed;
}

/** The bytes that were encrypted, or `undefined` when they, the key or what they are bound to are not the same. */
export function decrypt(key: Uint8Array, bound: Uint8Array, sealed: Uint8Array): Uint8Array | undefined {
  if (sealed.length < NONCE + TAG) return undefined;
  const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, NONCE), { authTagLength: TAG });
  decipher.setAAD(bound);
  decipher.setAuthTag(sealed.subarray(NONCE, NONCE + TAG));
  const bytes = decipher.update(sealed.subarray(NONCE + TAG));
  try {
    decipher.final();
  } catch {
    return undefined;
  }
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}
