/** What `ctx.interrupt` throws to end the body. The engine does not rely on it: user code may swallow it. */
export class InterruptSignal extends Error {
  override readonly name = "InterruptSignal";

  constructor() {
    super("superstep: the vertex pauses here; let this signal pass through your code");
  }
}
