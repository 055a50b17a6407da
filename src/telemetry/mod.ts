/**
 * Traces of runs for OpenTelemetry. The only part of superstep that imports `@opentelemetry/api`.
 *
 * @module
 */
export { tracing } from "./tracing.ts";
export type { TracingOptions } from "./tracing.ts";
