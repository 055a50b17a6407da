/** A process that measures one workload, as `process.ts` asks, and prints a sample a line. */
import process from "node:process";
import { measureHere } from "./process.ts";
import type { Request } from "./types.ts";

const samples = await measureHere(JSON.parse(process.argv[2]!) as Request);
for (const sample of samples) console.log(JSON.stringify(sample));
process.exit(0);
