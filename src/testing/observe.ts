/** Bodies that are observed together; those asleep on the clock do no real work. */
export interface Bodies {
  running: number;
  asleep: number;
}

/** Runs a body, counting whether it is at work; `active` is called whenever that changes. */
export function observe<T>(
  bodies: Bodies,
  active: () => void,
  body: () => T | Promise<T>,
  signal: AbortSignal | undefined,
  rests: ((told: (resting: boolean) => void) => void) | undefined,
): T | Promise<T> {
  let running = true;
  let over = false;
  const rest = (resting: boolean) => {
    if (over || running !== resting) return;
    running = !resting;
    bodies.running += resting ? -1 : 1;
    active();
  };
  const end = () => {
    signal?.removeEventListener("abort", end);
    rest(true);
    over = true;
    active();
  };
  bodies.running++;
  rests?.(rest);
  signal?.addEventListener("abort", end);
  let answer: T | Promise<T>;
  try {
    answer = body();
  } catch (error) {
    end();
    throw error;
  }
  if (!(answer instanceof Promise)) {
    end();
    return answer;
  }
  answer.then(end, end);
  return answer;
}
