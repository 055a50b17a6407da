/** Where the code of this package is, as its stack frames name it. A bundle has it in one file with the user's code. */
const OWN = /^.*\/(?=errors\/user_frame\.[jt]s$)/.exec((import.meta.url as string | undefined) ?? "")?.[0];
const FOREIGN =
  /node_modules|\bnode:|\bext:|\binternal\/|\bnative:|\[native code\]|<anonymous>\)?$|\(unknown\)$/;

/** The first frame of a stack that is neither of this package nor of another one nor of the runtime. */
export function userFrame(stack: string): string | undefined {
  for (const line of stack.split("\n")) {
    const frame = /^\s*at (.*)$/.exec(line)?.[1]?.trim();
    if (frame !== undefined && !FOREIGN.test(frame) && !isOwn(frame)) return frame;
  }
  return undefined;
}

function isOwn(frame: string): boolean {
  return OWN !== undefined && (frame.includes(OWN) || frame.includes(OWN.replace(/^file:\/\//, "")));
}
