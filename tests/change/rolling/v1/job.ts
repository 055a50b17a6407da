import { jobOf } from "../job.ts";

export { Inner } from "../job.ts";
export const { Job } = jobOf(1);
