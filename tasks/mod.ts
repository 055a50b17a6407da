/**
 * Ready-made tasks. Each is an ordinary class on the public interface, to be bound with `@Vertex` or `addVertex`, or to be
 * read as an example of how to write one.
 *
 * @module
 */
export { Delay } from "./delay.ts";
export type { DelayInput } from "./delay.ts";
export { HttpError, HttpRequest } from "./http_request.ts";
export type { HttpFailure, HttpRequestInput, HttpRequestOptions, HttpResponse } from "./http_request.ts";
export { HumanApproval } from "./human_approval.ts";
export type { ApprovalRequest, HumanApprovalOptions } from "./human_approval.ts";
export { CommandError, RunCommand } from "./run_command.ts";
export type { CommandOutput, RunCommandInput, RunCommandOptions } from "./run_command.ts";
export { Subgraph, SubgraphError, waitsOf } from "./subgraph.ts";
export type { SubgraphFailure, SubgraphOptions } from "./subgraph.ts";
export { Transform } from "./transform.ts";
export type { TransformOptions } from "./transform.ts";
