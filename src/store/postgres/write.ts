import { CellConflictError, CheckpointNotFoundError, MailboxConflictError } from "../../errors.ts";
import { type AppendClaim, judgeAppend } from "../doubt.ts";
import type { Appended, AppendEntry, CellName, Posted, PostEntry } from "../store.ts";
import { encodeAppend, type Encoded, encodePost, joined } from "./encode.ts";
import { type Flush, GroupCommit, type WriteRequest } from "./group_commit.ts";
import type { Hints } from "./hints.ts";
import type { Names } from "./names.ts";
import { field, jsonOf } from "./rows.ts";
import type { Call, Session } from "./session.ts";

/** What became of a member of a transaction, as the database answers it. */
interface Answer {
  readonly k: "ok" | "judge";
  /** Epoch, revision and token of the head. */
  readonly e?: string | null;
  readonly v?: number | null;
  readonly t?: string | null;
  /** The new versions of mailbox and cells. */
  readonly mv?: string | null;
  readonly cv?: string | null;
  /** The append at the revision: its id, and the versions that it gave to mailbox and cells. */
  readonly a?: string | null;
  readonly am?: string | null;
  readonly ac?: string | null;
  /** The mailbox: its version, who wrote it, and the version that its writer gave to cells. */
  readonly m?: string | null;
  readonly mb?: string | null;
  readonly mc?: string | null;
  /** Whether the owner keys of the writer and of the one that must be absent are there. */
  readonly w?: boolean;
  readonly x?: boolean;
  /** The first cell that has not the version demanded. */
  readonly cc?: readonly [space: string, name: string] | null;
}

/** Tries of a write against which nothing stands each time that it is judged. */
const MAX_TRIES = 16;

/** Appends and posts, merged. */
export class Writer {
  readonly #session: Session;
  readonly #group: GroupCommit;
  readonly #hints: Pick<Hints, "send">;

  constructor(session: Session, t: Names, hints: Pick<Hints, "send">) {
    this.#session = session;
    this.#hints = hints;
    const text = `select ${t("write_many")}($1::text::jsonb, $2::bytea)::text as answers`;
    const flush: Flush = async (members) => {
      const call = session.begin("write", undefined, undefined);
      const [row] = await session.patiently(call, text, [listOf(members), bytesOf(members)]);
      return jsonOf<readonly Answer[]>(field(row!, "answers"));
    };
    this.#group = new GroupCommit(flush);
  }

  async append(call: Call, runId: string, revision: number, entry: AppendEntry): Promise<Appended> {
    const encoded = encodeAppend(runId, revision, entry);
    const { at, writer, absent, mailbox } = entry;
    const claim: AppendClaim = {
      runId,
      revision,
      appendId: entry.appendId,
      at,
      ...(writer === undefined ? {} : { writer }),
      ...(absent === undefined ? {} : { absent }),
      ...(mailbox === undefined ? {} : { mailbox: mailbox.version }),
    };
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const answer = await this.#write(call, runId, encoded, entry.cells);
      if (answer.k === "ok") {
        const position = { revision, epoch: answer.e!, token: answer.t! };
        if (entry.index?.wake?.to !== undefined) this.#hints.send();
        return { position, ...versions(answer.mv, answer.cv) };
      }
      const verdict = judgeAppend(
        claim,
        {
          head: answer.e ? { position: { revision: answer.v!, epoch: answer.e, token: answer.t! } } : null,
          appendId: answer.a ?? null,
          mailbox: answer.m ? { version: answer.m } : null,
          writer: answer.w === true,
        },
        answer.x === true,
        cellOf(answer),
      );
      if (verdict.kind === "refused") throw verdict.error;
      if (verdict.kind === "done") return { position: verdict.position, ...versions(answer.am, answer.ac) };
    }
    throw this.#session.fault(call, "the append demands what no store can hold");
  }

  async post(call: Call, runId: string, entry: PostEntry): Promise<Posted> {
    const encoded = encodePost(runId, entry);
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const answer = await this.#write(call, runId, encoded, entry.cells);
      if (answer.k === "ok") {
        if (entry.wake?.to !== undefined) this.#hints.send();
        if (entry.poke !== undefined) this.#hints.send(entry.poke);
        return posted(answer.mv!, answer.cv);
      }
      if (answer.e !== entry.epoch) throw new CheckpointNotFoundError(runId);
      if (answer.m && answer.mb === entry.postId) return posted(answer.m, answer.mc);
      if ((answer.m ?? null) !== entry.mailbox.version) throw new MailboxConflictError(runId);
      const cell = cellOf(answer);
      if (cell !== undefined) throw new CellConflictError(cell.space, cell.name, runId);
    }
    throw this.#session.fault(call, "the post demands what no store can hold");
  }

  async #write(
    call: Call,
    runId: string,
    { meta, bytes }: Encoded,
    cells: WriteRequest["cells"] = [],
  ): Promise<Answer> {
    const check = () => this.#session.check(call);
    const written = this.#group.write({ runId, meta, bytes, cells, check }).catch((error: unknown) => {
      throw this.#session.named(call, error);
    });
    return await this.#session.unlessAborted(call, written) as Answer;
  }
}

/** The members as one JSON text: each knows where its bytes begin. */
function listOf(members: readonly WriteRequest[]): string {
  let off = 0;
  return JSON.stringify(members.map(({ meta, bytes }) => {
    const member = { ...meta, off };
    off += bytes.length;
    return member;
  }));
}

function bytesOf(members: readonly WriteRequest[]): Uint8Array {
  return members.length === 1 ? members[0]!.bytes : joined(members.map(({ bytes }) => bytes));
}

function versions(mailbox: string | null | undefined, cells: string | null | undefined) {
  return { ...(mailbox ? { mailbox } : {}), ...(cells ? { cells } : {}) };
}

function posted(mailbox: string, cells: string | null | undefined): Posted {
  return { mailbox, ...(cells ? { cells } : {}) };
}

function cellOf({ cc }: Answer): CellName | undefined {
  return cc ? { space: cc[0], name: cc[1] } : undefined;
}
