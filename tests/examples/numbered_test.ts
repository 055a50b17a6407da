import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { LONG } from "../support/effort.ts";
import { ROOT } from "../support/paths.ts";
import { HOST } from "../support/runtimes.ts";
import { run } from "./processes.ts";

/** What each example prints when it is run as a program. */
const PRINTED: Readonly<Record<string, readonly string[]>> = {
  "01_hello": ["Hello, Ada!", "completed write → send"],
  "02_state": ["after 4 years", "1216 of 1200", "VALIDATION"],
  "03_fan_out": ["8 characters, excited", "receive → length → tone → report"],
  "04_map": ["item 0: 4 × pear", "item 1: 2 × quince", "total 22"],
  "05_join": ["booked: flight to Lima, visa for Lima", "start → flight → form → visa → confirm"],
  "06_retry": ["attempt 1", "attempt 2", "attempt 3", "completed sunny in Oslo"],
  "07_error_route": [
    "an invoice instead: the card has expired",
    "completed charge → invoice",
    "errored there is no card",
  ],
  "08_wait": ["interrupted awaiting", "May I spend 120?", "completed Kim"],
  "09_sleep": ["reminder 1 for Sam", "reminder 2 for Sam", "completed not coming"],
  "10_once": [
    "charging A-7 under a key that ends with step=0/vertex=pay/once=charge",
    "attempt 1 has receipt for A-7",
    "attempt 2 has receipt for A-7",
    "completed receipt for A-7",
  ],
  "11_testing": [
    "completed undefined the body ran 2 times",
    "true",
    "the same outcome after each of N crashes",
  ],
  "12_worker": ["serving index", "completed / 1", "completed /about 6"],
};

test("every numbered example is run by these tests", () => {
  const found = readdirSync(join(ROOT, "examples")).filter((file) => /^\d/.test(file));
  assert.deepEqual(found.sort(), Object.keys(PRINTED).map((name) => `${name}.ts`));
});

/** On the other runtimes a few show that they start and end there. */
const few = ["01_hello", "06_retry", "08_wait", "12_worker"];
const own = HOST === "deno" || LONG ? Object.keys(PRINTED) : few;
for (const name of own) {
  const printed = PRINTED[name]!;
  test(`the example ${name} prints what it says`, async () => {
    const { lines, errors, end } = await run(`examples/${name}.ts`, []);
    assert.deepEqual(errors, []);
    assert.deepEqual(lines.map((line) => line.replace(/of \d+ crashes/, "of N crashes")), printed);
    assert.equal(end, 0);
  });
}
