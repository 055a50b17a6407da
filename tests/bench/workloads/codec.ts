import { canonical } from "../../../src/checkpoint/canonical.ts";
import { defaultCodec } from "../../../src/checkpoint/codec.ts";
import type { Workload } from "./mod.ts";

/** What it costs to write and to read 1 000 small objects, to what JSON takes for them. */
export const codec: Workload = {
  id: "codec",
  name: "codec",
  modes: ["warm"],
  prepare(bench) {
    const objects = Array.from({ length: bench.size(1_000, 10) }, (_, id) => ({
      id,
      name: `name ${id}`,
      active: id % 2 === 0,
      score: id * 1.5,
      tags: ["a", "b"],
    }));
    const input = canonical(objects, "objects");
    const [text, bytes] = [JSON.stringify(objects), defaultCodec.encode(input)];
    const pairs = {
      "check and encode": [
        () => defaultCodec.encode(canonical(objects, "objects")),
        () => JSON.stringify(objects),
      ],
      "encode what is checked": [() => defaultCodec.encode(input), () => JSON.stringify(objects)],
      "decode": [() => defaultCodec.decode(bytes), () => JSON.parse(text)],
    } as const;
    return () => {
      for (const [what, [ours, json]] of Object.entries(pairs)) {
        const value = msOf(ours);
        const name = `${what} ${objects.length} objects, to JSON`;
        bench.report({ id: "codec", name, unit: "ms", value, bound: msOf(json) });
      }
      return Promise.resolve();
    };
  },
};

function msOf(work: () => unknown): number {
  const began = performance.now();
  for (let i = 0; i < 10; i++) work();
  return (performance.now() - began) / 10;
}
