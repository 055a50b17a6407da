// Runs on deno by default: the rules are kept by code that is the same everywhere; stores, timers, waits and processes have tests on all three.
import assert from "node:assert/strict";
import { test } from "node:test";
import { specialUseOf } from "../../tasks/support/addresses.ts";

const SPECIAL: Readonly<Record<string, readonly string[]>> = {
  loopback: [
    "127.0.0.1",
    "127.255.255.254",
    "::1",
    "0:0:0:0:0:0:0:1",
    "[::1]",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
  ],
  private: [
    "10.0.0.0",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "fc00::1",
    "fdff::1",
    "fec0::1",
    "::ffff:10.1.2.3",
    "::ffff:0:10.1.2.3",
    "::10.1.2.3",
    "64:ff9b::10.1.2.3",
    "64:ff9b::a01:203",
    "2002:0a01:0203::1",
  ],
  "link-local": [
    "169.254.169.254",
    "fe80::1",
    "fe80::1%eth0",
    "febf::1",
    "::ffff:a9fe:a9fe",
    "2002:a9fe:a9fe::",
  ],
  shared: ["100.64.0.1", "100.127.255.255"],
  "this host": ["0.0.0.0", "0.1.2.3", "::", "::ffff:0.0.0.0"],
  multicast: ["224.0.0.1", "239.255.255.255", "ff02::1"],
  reserved: [
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "240.0.0.1",
    "255.255.255.255",
    "2001::1",
    "2001:db8::1",
    "3fff::1",
    "5f00::1",
    "100::1",
    "4000::1",
    "64:ff9b:1::1",
  ],
  "not an address": ["localhost", "", "1.2.3", "0x7f.0.0.1", "1.2.3.4.5", ":::1", "1.2.3.256"],
};

for (const [use, addresses] of Object.entries(SPECIAL)) {
  test(`addresses that are not public, in every spelling: ${use}`, () => {
    assert.deepEqual(addresses.map((a) => [a, specialUseOf(a)]), addresses.map((a) => [a, use]));
  });
}

test("public addresses, those next to the special ranges and those that stand for a public one", () => {
  const open = [
    "1.1.1.1",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.1",
    "169.253.255.255",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "[2a00::1]",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "2002:808:808::1",
    "2001:4860:4860::8888",
  ];
  assert.deepEqual(open.map((a) => [a, specialUseOf(a)]), open.map((a) => [a, undefined]));
});
