import { BuildError } from "../errors.ts";
import { fileOfFrame, moduleUrl } from "./caller.ts";

/** What the one loaded copy of the package keeps for the whole process. */
interface LoadedCopy {
  readonly version: string;
  /** The file it was loaded from, without query: the same file evaluated again is the same copy. */
  readonly module: string;
  /** Bindings whose graph is a thunk, until the scanner has called it: there is no class yet to note them on. */
  readonly pending: unknown[];
}

const KEY = Symbol.for("superstep.copy");
const holder = globalThis as { [KEY]?: LoadedCopy };

/**
 * The process-wide record of this copy of the package. Two copies would each see only half of the annotated classes,
 * so the second one is refused when it is loaded.
 *
 * @param url `import.meta.url` of the caller; a bundle that is no ES module has none
 * @throws {BuildError} naming both, when another copy has been loaded before
 */
export function assertSingleCopy(version: string, url: string | undefined): LoadedCopy {
  const module = moduleUrl(url ?? fileOfFrame(0) ?? "an unknown place");
  const known = holder[KEY];
  if (known === undefined) {
    const copy: LoadedCopy = { version, module, pending: [] };
    Object.defineProperty(holder, KEY, { value: copy });
    return copy;
  }
  if (known.module === module && known.version === version) return known;
  throw new BuildError(
    "import",
    `two copies of superstep are loaded: ${known.version} from ${known.module} and ${version} from ${module}; ` +
      "classes annotated with one are not seen by the other, so let every package of this process use the same copy " +
      "(npm ls superstep shows them; a bundle has one of its own, unless superstep is external to it)",
    { loaded: known.module, refused: module },
  );
}
