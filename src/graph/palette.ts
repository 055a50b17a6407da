import type { ExecutionStatus } from "../model/checkpoint.ts";

/** The colours of something that is filled, has a border and carries text. */
export interface Paint {
  readonly fill: string;
  readonly line: string;
}

/** How pictures of a run colour its vertices on a light ground. */
export const STATUS_PAINTS: Readonly<Record<ExecutionStatus, Paint>> = {
  pending: { fill: "#e0edff", line: "#1d5fd1" },
  suspended: { fill: "#fef3c7", line: "#a34a06" },
  backoff: { fill: "#efe7fd", line: "#6d31c9" },
  done: { fill: "#dcfce7", line: "#15803d" },
  failed: { fill: "#fee2e2", line: "#b91c1c" },
};
