/**
 * Turns proposals into slots of the log, and slots into the catalog state. Every opened root has one committer. It
 * connects three parts:
 *
 * - The follower (log-follower.ts) replays the log and looks for new slots. Only the follower has the state.
 * - The queue (commit-queue.ts) keeps the commits that wait, and builds the next slot from them.
 * - The appender (appender.ts) writes this slot and tells the queue the outcome.
 *
 * The appender calls the follower and the queue. The follower and the queue call neither each other nor the appender.
 */
import { ErrorCode, quote, SheafError } from '../errors.js'
import { orAborted } from '../primitives/abort.js'
import type { Clock } from '../primitives/clock.js'
import { Appender, createGenesis } from './appender.js'
import type { CommitLog } from './commit-log.js'
import { CommitQueue } from './commit-queue.js'
import { LogFollower } from './log-follower.js'
import type { CommitOptions, Committed, Fold, Genesis, Machine, Propose } from './machine.js'
import { type CheckpointOptions, findStart, readGenesis } from './replay-start.js'
import type { Slot } from './slot.js'
import { Slots } from './slots.js'

export interface CommitterOptions<S = unknown> {
  readonly clock: Clock
  /** Whether to write slot 0 if the log is empty. */
  readonly create: boolean
  /** The name of the root in messages. */
  readonly place?: string
  /** Whether to refuse commits. A read-only committer writes nothing, not even slot 0. */
  readonly readOnly: boolean
  /** Maximum time to retry an append with an unknown outcome, in milliseconds. Default 30,000. */
  readonly unknownAfterMs?: number
  /** The reader of slots, with its cache. Default: a new one for this committer. */
  readonly slots?: Slots
  /**
   * Called for every applied slot with the state after it, in order, immediately after `state` includes the slot. Must
   * not throw.
   */
  readonly onApplied?: (slot: Slot, state: S) => void
  /** Age in milliseconds of what the log answers while it is opened. Default 0. */
  readonly ageMs?: number | undefined
  /** Called when slot `head` was certainly the newest one `ageMs` milliseconds ago. Must not throw. */
  readonly onEnd?: ((head: number, ageMs: number) => void) | undefined
  /** Called for the fence of a move of the log. Default: the committer stops there (log-moves.ts). Must not throw. */
  readonly onFence?: ((fence: Slot) => void) | undefined
}

export interface OpenOptions<S> extends CommitterOptions<S>, CheckpointOptions<S> {}

export const unknownAfterMsDefault = 30_000

/** Replays the log, follows it, and commits to it. See the head of this file. */
export class Committer<S, Op = unknown> {
  readonly genesis: Genesis
  readonly slots: Slots
  readonly #follower: LogFollower<S>
  readonly #queue: CommitQueue<S>
  readonly #appender: Appender<S>
  readonly #readOnly: boolean
  readonly #log: CommitLog
  #closed = false

  private constructor(
    log: CommitLog,
    follower: LogFollower<S>,
    queue: CommitQueue<S>,
    appender: Appender<S>,
    readOnly: boolean,
  ) {
    this.#log = log
    this.genesis = follower.genesis
    this.slots = follower.slots
    this.#follower = follower
    this.#queue = queue
    this.#appender = appender
    this.#readOnly = readOnly
  }

  /**
   * Open a committer: replay the log to its end, from the checkpoint `base` or from slot 0. If the log is empty and
   * `create` is set, write slot 0 first.
   *
   * Throws `NamespaceNotFound` for an empty log without `create`. Throws `Internal` ("corrupted") when slots are
   * missing, damaged or not consecutive, or when `base` does not belong to this log. Throws `Unsupported` when a newer
   * Sheaf wrote a slot.
   */
  static async open<S, Op>(
    log: CommitLog,
    machine: Machine<S, Op>,
    options: OpenOptions<S>,
    signal?: AbortSignal,
  ): Promise<Committer<S, Op>> {
    const { clock, create, readOnly, unknownAfterMs = unknownAfterMsDefault } = options
    const { features } = machine
    const begun = clock.elapsed()
    const createIfAllowed = () => {
      if (!create || readOnly) throw noRoot(options.place)
      return createGenesis(log, clock, unknownAfterMs)
    }
    const listed = await log.settle?.(signal)
    const genesis = options.first ?? (await readGenesis(log, options.base, createIfAllowed, signal))
    const start = await findStart(log, machine, genesis, options, signal)
    const queue = new CommitQueue<S>(machine, clock)
    const by = clock.uuid()
    const follower = new LogFollower(log, machine, start, {
      ...options,
      by,
      slots: options.slots ?? new Slots(log, features),
      onStopped: error => queue.stop(error),
    })
    await follower.replay(start.next, listed, begun, signal)
    const appender = new Appender(log, follower, queue, { clock, by, unknownAfterMs, features })
    return new Committer(log, follower, queue, appender, readOnly)
  }

  /** Whether `refresh` always waits for the log. */
  get isFar(): boolean {
    return this.#log.peek === undefined
  }

  /** Milliseconds since `state` was certainly the newest one. */
  get ageMs(): number {
    this.#checkOpen()
    return this.#follower.ageMs
  }

  /** The state after slot `head`. A refresh or a commit updates it. */
  get state(): S {
    return this.#follower.state
  }

  /** The number of the newest applied slot. */
  get head(): number {
    return this.#follower.head
  }

  /** `state` and its position in the log, to write a checkpoint. */
  get fold(): Fold<S> {
    const { head, crc, ts, state } = this.#follower
    return { genesis: this.genesis, slot: head, crc, ts, state }
  }

  /**
   * The maximum time by which the clock of this process is ahead of another writer's clock, in milliseconds, and the
   * slot that shows it. It is an estimate from slots that the 16 most recent other writers wrote while this committer
   * was open. Null if no other writer wrote a slot.
   */
  get ahead(): { readonly ms: number; readonly slot: number } | null {
    return this.#follower.ahead
  }

  /**
   * Return whether the log certainly has a slot after `state`. Takes microseconds. Does not look while this process
   * appends to its own tail, because the next append finds out whether another writer has ended the tail.
   */
  isBehind(): boolean {
    return (this.#log.markOfOwn?.(this.#follower.head) ?? null) === null && this.#follower.isBehind()
  }

  /**
   * Return a state that includes everything that any process committed before this call. If the log has `peek` and
   * there are no new slots, the call takes microseconds.
   */
  async refresh(signal?: AbortSignal): Promise<S> {
    const current = this.current()
    signal?.throwIfAborted()
    if (current !== null) return current
    await orAborted(this.#follower.refresh(), signal)
    return this.#follower.state
  }

  /**
   * Return the state if it certainly includes everything that any process committed before this call. Return null if a
   * caller must use `refresh` to know. Costs at most two system calls. Throws the errors of `refresh`.
   */
  current(): S | null {
    this.#checkOpen()
    return this.#follower.isCurrent() ? this.#follower.state : null
  }

  /**
   * Commit durably the entry that `propose` returns, in one slot together with other queued commits. Resolves to null
   * if `propose` returns null on a state that includes everything that was committed before this call. Rejects with:
   *
   * - The error of `propose`, or of applying its entry, on a state that includes everything that was committed before
   *   this call. Nothing was written.
   * - `signal.reason`, if the signal aborts before the entry is put into a slot. Afterwards `commit` waits for the
   *   outcome.
   * - `InvalidInput` with status 413 for an entry of more than 8 MB.
   * - `ConcurrentModification` after losing 20 slots to other writers and waiting at least 5 seconds. Try again.
   * - `ServiceUnavailable` of kind `commit-state-unknown` with the transaction id, when the log did not report the
   *   outcome in time. A later refresh or commit shows the outcome: do not commit again before that.
   * - `PermissionDenied` if the committer is read-only.
   * - `ServiceUnavailable` if the committer is closed, or if the store refuses the write.
   */
  commit(propose: Propose<S, Op>, options?: CommitOptions): Promise<Committed<S, Op>>
  commit(propose: Propose<S, Op, null>, options?: CommitOptions): Promise<Committed<S, Op> | null>
  commit(propose: Propose<S, Op, null>, options: CommitOptions = {}): Promise<Committed<S, Op> | null> {
    const committed = new Promise<Committed<S> | null>((resolve, reject) => {
      this.#checkOpen()
      if (this.#readOnly) throw new SheafError(ErrorCode.PermissionDenied, 'this root is opened read-only')
      options.signal?.throwIfAborted()
      this.#queue.add(propose, options, resolve, reject)
      this.#appender.start()
    })
    // The cast is safe, because the operations of the entry are those of the proposal.
    return committed as Promise<Committed<S, Op> | null>
  }

  /** Write the queued commits. Calls after this one are refused. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#appender.finish()
    await this.#log.close?.()
  }

  #checkOpen(): void {
    const { failure } = this.#follower
    if (failure !== null) throw failure
    if (this.#closed)
      throw new SheafError(ErrorCode.ServiceUnavailable, 'this root is closed', {
        hint: 'open it again with connect',
      })
  }
}

function noRoot(place: string | undefined): SheafError {
  const where = place === undefined ? 'here' : `in ${quote(place)}`
  return new SheafError(ErrorCode.NamespaceNotFound, `there is no root ${where}: its log is empty`, {
    hint: 'open it with create: true to create it',
  })
}
