import { Buffer } from "node:buffer";
import { createHash, timingSafeEqual } from "node:crypto";
import type { Authenticate } from "superstep/http";

/**
 * Lets in whoever has the token: programs send `Authorization: Bearer <token>`, browsers ask for it as the password of
 * any user. What is compared are digests, so that the time it takes tells nothing of the token.
 */
export function tokenAuth(token: string): Authenticate {
  if (token === "") throw new Error("the token is empty");
  const expected = digest(token);
  return ({ request }) => {
    const given = digest(tokenIn(request.headers.get("authorization") ?? ""));
    return timingSafeEqual(given, expected) ? { id: "owner" } : undefined;
  };
}

function tokenIn(header: string): string {
  const [, scheme = "", credentials = ""] = /^(bearer|basic) +(\S+)$/i.exec(header) ?? [];
  if (scheme.toLowerCase() !== "basic") return credentials;
  const userAndPassword = Buffer.from(credentials, "base64").toString();
  return userAndPassword.slice(userAndPassword.indexOf(":") + 1);
}

function digest(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}
