/**
 * Turns proposals into slots of the log, and slots into state. One committer per opened root. It joins three parts:
 *
 * - the follower (log-follower.ts) replays the log and looks for new slots. It alone holds the state;
 * - the queue (commit-queue.ts) holds the commits that wait, and builds the next slot from them;
 * - the appender (appender.ts) writes that slot, and tells the queue the outcome.
 *
 * The appender calls the follower and the queue. Neither of these calls the other, or the appender.
 */
import { ErrorCode, SheafError } from '../errors.js'
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

export interface CommitterOptions {
  readonly clock: Clock
  /** Write slot 0 if the log is empty. */
  readonly create: boolean
  /** Refuse commits and write nothing. */
  readonly readOnly: boolean
  /** How long to retry an append with an unknown outcome, milliseconds. Default 30,000. */
  readonly unknownAfterMs?: number
  /** The cache of slots, if shared with other parts. Default: a cache of its own. */
  readonly slots?: Slots
  /** Called for every applied slot, in order, right after `state` includes the slot. Must not throw. */
  readonly onApplied?: (slot: Slot) => void
}

export interface OpenOptions<S> extends CommitterOptions, CheckpointOptions<S> {}

const unknownAfterMsDefault = 30_000

/** Replays the log, follows it, and commits to it. See the head of this file. */
export class Committer<S, Op = unknown> {
  readonly genesis: Genesis
  readonly slots: Slots
  readonly #follower: LogFollower<S>
  readonly #queue: CommitQueue<S>
  readonly #appender: Appender<S>
  readonly #readOnly: boolean
  #closed = false

  private constructor(
    follower: LogFollower<S>,
    queue: CommitQueue<S>,
    appender: Appender<S>,
    readOnly: boolean,
  ) {
    this.genesis = follower.genesis
    this.slots = follower.slots
    this.#follower = follower
    this.#queue = queue
    this.#appender = appender
    this.#readOnly = readOnly
  }

  /**
   * Open a committer: replay the log to its end, from `base` or from slot 0. If the log is empty and `create` is set,
   * slot 0 is written first.
   *
   * Throws `NamespaceNotFound` for an empty log without `create`. Throws `Internal` ("corrupted") when slots are
   * missing, damaged or not consecutive, or when `base` is not of this log. Throws `Unsupported` when a newer Sheaf
   * wrote a slot.
   */
  static async open<S, Op>(
    log: CommitLog,
    machine: Machine<S, Op>,
    options: OpenOptions<S>,
    signal?: AbortSignal,
  ): Promise<Committer<S, Op>> {
    const { clock, create, readOnly, unknownAfterMs = unknownAfterMsDefault } = options
    const { features } = machine
    const createIfAllowed = () => {
      if (!create || readOnly) throw noRoot()
      return createGenesis(log, clock, unknownAfterMs)
    }
    const genesis = await readGenesis(log, options.base, createIfAllowed, signal)
    const start = await findStart(log, machine, genesis, options, signal)
    const queue = new CommitQueue<S>(machine, clock)
    const by = clock.uuid()
    const follower = new LogFollower(log, machine, start, {
      ...options,
      by,
      slots: options.slots ?? new Slots(log, features),
      onStopped: error => queue.stop(error),
    })
    await follower.replay(signal)
    const appender = new Appender(log, follower, queue, { clock, by, unknownAfterMs, features })
    return new Committer(follower, queue, appender, readOnly)
  }

  /** The state after slot `head`, as of the last refresh or commit. */
  get state(): S {
    return this.#follower.state
  }

  /** The newest slot applied. */
  get head(): number {
    return this.#follower.head
  }

  /** `state` and its position in the log, for a checkpoint. */
  get fold(): Fold<S> {
    const { head, crc, ts, state } = this.#follower
    return { genesis: this.genesis, slot: head, crc, ts, state }
  }

  /**
   * How far the clock of this process is ahead of another writer's clock, milliseconds. Derived from slots that others
   * wrote while this committer was open. Of the writers heard from most recently, the largest lead. Null if no other
   * writer wrote.
   */
  get ahead(): { readonly ms: number; readonly slot: number } | null {
    return this.#follower.ahead
  }

  /**
   * Return a state with everything that any process committed before this call. Costs two synchronous stats if the log
   * has `peek` and nothing is new.
   */
  async refresh(signal?: AbortSignal): Promise<S> {
    this.#checkOpen()
    signal?.throwIfAborted()
    if (!this.#follower.isCurrent()) await orAborted(this.#follower.refresh(), signal)
    return this.#follower.state
  }

  /**
   * Commit durably what `propose` decides, in one slot together with other queued commits. Resolves to null if `propose`
   * returns null on a state with everything that was committed before this call. Rejects with:
   *
   * - what `propose` or applying its entry throws, on a state with everything that was committed before this call.
   *   Nothing was written.
   * - `signal.reason`, until the bytes are on their way to the log. From then on `commit` waits for the outcome.
   * - `InvalidInput` with status 413 for an entry of more than 8 MB.
   * - `ConcurrentModification` after losing 20 slots to other writers and waiting at least 5 seconds. Try again.
   * - `ServiceUnavailable` of kind `commit-state-unknown` with the transaction id, when the log did not tell the
   *   outcome in time. A later refresh or commit shows the outcome: do not commit again before that.
   * - `PermissionDenied` when read-only, `ServiceUnavailable` when closed or when the store refuses.
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
    // The entry has the operations of the proposal.
    return committed as Promise<Committed<S, Op> | null>
  }

  /** Commit what is queued, and refuse every later call. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#appender.finish()
  }

  #checkOpen(): void {
    const { failure } = this.#follower
    if (failure !== null) throw failure
    if (this.#closed) throw new SheafError(ErrorCode.ServiceUnavailable, 'this root is closed')
  }
}

function noRoot(): SheafError {
  return new SheafError(ErrorCode.NamespaceNotFound, 'there is no root here: its log is empty', {
    hint: 'create it by opening it with create: true',
  })
}
