// Runs on deno by default: the commands are the same everywhere; they run as processes on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonFault } from "../../src/cli/json_fault.ts";
import { block, jsonText, line } from "../../src/cli/printable.ts";
import { span } from "../../src/cli/format.ts";
import { dangers } from "./shell.ts";

const ATTACKS = [
  "\x1b[31mred\x1b[0m",
  "\x1b]0;title\x07",
  "\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\",
  "\x9b2J",
  "\x90payload\x9c",
  "a\rb\x08\x08\x7f",
  "\u202eevil\u202c\u2066x\u2069",
  "\u2028next",
  "\x1b",
  "\x1b[",
  "\x1bP1;2q\x1b\\",
];

test("what reaches a terminal holds no control character, escape sequence or turn of direction (W4)", () => {
  for (const attack of ATTACKS) {
    assert.deepEqual(dangers(line(`before ${attack} after\nnext`)), []);
    assert.deepEqual(dangers(block(`before\n${attack}\tafter`), "\n\t"), []);
    assert.deepEqual(dangers(jsonText({ [attack]: attack }, 2), "\n"), []);
  }
  assert.equal(line("\x1b[31mred\x1b[0m\nand more"), "red and more");
  assert.equal(block("two\n\tlines"), "two\n\tlines");
});

test("JSON stays the same value whatever had to be escaped in it (W4)", () => {
  for (const attack of ATTACKS) {
    assert.deepEqual(JSON.parse(jsonText({ [attack]: [attack] })), { [attack]: [attack] });
  }
});

test("a long line is cut, and never in the middle of a character (W4)", () => {
  assert.equal(line("abcdef", 4), "abc…");
  assert.ok(line("ab😀def", 4).isWellFormed());
});

test("the first fault of a text that is no JSON is found by line and column (W4)", () => {
  const cases: readonly (readonly [string, number, number, RegExp])[] = [
    ["{", 1, 2, /ends where a key or } is expected/],
    ["[1, 2", 1, 6, /ends where a comma or \] is expected/],
    ["[1,]", 1, 4, /a value is expected, not "]"/],
    ['{"a":1,}', 1, 8, /a key in double quotes is expected, not "}"/],
    ["{'a':1}", 1, 2, /a key in double quotes is expected, not "'"/],
    ['{"a" 1}', 1, 6, /a colon is expected, not "1"/],
    ['{"a":1 "b":2}', 1, 8, /a comma or } is expected/],
    ['{\n  "a": tru\n}', 2, 8, /a value is expected, not "t"/],
    ["[01]", 1, 3, /a comma or \] is expected, not "1"/],
    ['"abc', 1, 1, /begins here does not end/],
    ['"a\nb"', 1, 3, /line break/],
    ['"a\\x"', 1, 3, /no such escape/],
    ["{} {}", 1, 4, /more after the end/],
    ["hello", 1, 1, /a value is expected, not "h"/],
    ["", 1, 1, /ends where a value is expected/],
    [`${"[".repeat(100_000)}x`, 1, 100_001, /a value or \] is expected|a value is expected, not "x"/],
  ];
  for (const [text, at, column, problem] of cases) {
    assert.throws(() => JSON.parse(text));
    const fault = jsonFault(text);
    assert.deepEqual([fault.line, fault.column], [at, column], text.slice(0, 40));
    assert.match(fault.problem, problem);
  }
});

test("spans of time are short and exact enough (W4)", () => {
  const cases = [
    [0, "0 ms"],
    [999, "999 ms"],
    [1_234, "1.23 s"],
    [59_949, "59.9 s"],
    [125_000, "2 m 05 s"],
    [
      11_400_000,
      "3 h 10 m",
    ],
    [100 * 3_600_000, "4 d 4 h"],
    [-5, "0 ms"],
  ] as const;
  for (const [ms, text] of cases) assert.equal(span(ms), text);
});
