/**
 * What would become of an open run under this code.
 *
 * @example
 * ```ts ignore
 * const { verdict, problem } = await runner.tryAdopt(runId);
 * if (verdict === "refused") console.log(`${runId} stays with its version: ${problem}`);
 * ```
 */
export interface AdoptVerdict {
  /** The run. */
  readonly runId: string;
  /** Its graph. */
  readonly graphId: string;
  /** The version that the run is under. */
  readonly from: string;
  /** The version of this code. */
  readonly to: string;
  /**
   * - `loads`: it is of this version, and this code goes on with it
   * - `fits`: it is of another one, and goes on where it stands
   * - `migrates`: migrations bring it to this version
   * - `refused`: this code cannot go on with it, see `problem`
   */
  readonly verdict: "loads" | "fits" | "migrates" | "refused";
  /** The first thing that does not fit, in words; of a refused one only. */
  readonly problem?: string;
}
