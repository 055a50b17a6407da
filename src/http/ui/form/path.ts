/** Where an issue is, as the API writes it and as forms look for it. */

/** One step into a value: a key, or the index of an item. */
export type Step = string | number;

const MAX_TEXT = 200;

/** A path as the API writes those of values, such as `items[0].name` or `["a key"].b`. */
export function pathText(steps: readonly Step[]): string {
  let text = "";
  for (const step of steps) {
    if (typeof step === "number") text += `[${step}]`;
    else if (/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(step)) text += text === "" ? step : `.${step}`;
    else text += `[${JSON.stringify(step)}]`;
    if (text.length > MAX_TEXT) return `${text.slice(0, MAX_TEXT)}…`;
  }
  return text;
}

/** One step of a path, also as the API writes those of requests: `items.0.name`. */
const STEP = /\.?([\p{L}_$][\p{L}\p{N}_$]*)|\.?(\d+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/uy;

/** The steps of a path, as far as it can be read: a long one was cut. */
export function stepsOf(path: string): readonly Step[] {
  const steps: Step[] = [];
  STEP.lastIndex = 0;
  for (let found; (found = STEP.exec(path)) !== null;) {
    const [, key, dotted, index, quoted] = found;
    steps.push(key ?? (quoted === undefined ? Number(dotted ?? index) : unquoted(quoted)));
  }
  return steps;
}

function unquoted(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}

/** Whether a step of an issue leads to the field of that name. */
export function isStepTo(step: Step | undefined, key: string): boolean {
  return step !== undefined && String(step) === key;
}
