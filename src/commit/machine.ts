/**
 * The types of the log's contents, and the interface of the state machine that replays the log. This module knows no
 * tables: it does not interpret entries.
 */

/** A JSON value of a slot. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/**
 * One caller's atomic change inside a slot. Field names are those on disk (docs/format.md). `Op`: the operations of the
 * log's machine. Code that serves any log does not know them.
 */
export interface Entry<Op = unknown> {
  readonly txn: string
  /** The caller's idempotency key, and the fingerprint of the call that had the key. */
  readonly key?: string
  readonly hash?: string
  /** The conditions of the commit, for readers of the log and for audits. */
  readonly req: readonly Json[]
  readonly ops: readonly Op[]
  /** The result to return when the same call is repeated. */
  readonly res?: Json
}

/** The fields of an entry whose call had an idempotency key. */
export type Idempotency = Required<Pick<Entry, 'key' | 'hash'>>

/** The header of a slot. Field names are those on disk (docs/format.md). */
export interface SlotHeader {
  readonly f: 1
  /** Features that a reader must know to read past this slot. */
  readonly need: readonly string[]
  readonly slot: number
  /** Checksum of the previous slot, 8 hex digits. */
  readonly prev: string
  /** The writer's nonce: fresh for every opened committer. */
  readonly by: string
  /** Milliseconds since 1970; never less than `ts` of the previous slot. */
  readonly ts: number
  /** The time of the writer's clock, if less than `ts`. */
  readonly clock?: number
  /** [offset, length] of each blob, from the first byte after the header line. */
  readonly blobs: readonly (readonly [number, number])[]
  readonly entries: readonly Entry[]
}

/** Slot 0. */
export interface Genesis {
  readonly root: string
  readonly format: 1
}

/** The position of an entry in the log. */
export interface Position {
  readonly slot: number
  readonly entry: number
  readonly ts: number
}

/**
 * Interprets the entries of a log. `S`: the state; `Op`: the operations, each a JSON value.
 *
 * `apply` is synchronous, pure and O(change), and never refuses an entry: every entry of a won slot is valid. A failed
 * assertion in `apply` means corruption.
 */
export interface Machine<S, Op = unknown> {
  /** Features of `need` that this build understands. */
  readonly features: ReadonlySet<string>
  initial(genesis: Genesis): S
  /**
   * Refuse an entry that its writer may no longer commit on `state`. The committer calls `check` once for every entry
   * before writing it, and never for an entry of the log. The caller of the commit gets the error that `check` throws.
   */
  check?(state: S, entry: Entry<Op>): void
  /** Return the state after an entry. Throws Unsupported for an operation that only a newer build knows. */
  apply(state: S, entry: Entry<Op>, at: Position): S
  /**
   * Encode a state as texts without line breaks, a few KB each. Equal states give equal texts in the same order. Lazy,
   * so that the writer can pause between two texts.
   */
  save(state: S): Iterable<string>
  /** Decode a state from the texts of `save`. */
  load(genesis: Genesis): Loader<S>
}

/** Decodes a state from texts. */
export interface Loader<S> {
  /** Decode the next text. Throws Unsupported if only a newer build knows its contents. */
  add(text: string): void
  /** Return the state, after the last text. Throws Internal ("corrupted") when something is missing. */
  end(): S
}

/** A state and its position in the log. Replay can continue from it. */
export interface Fold<S> {
  readonly genesis: Genesis
  /** The last slot applied to the state. */
  readonly slot: number
  /** The checksum and time of that slot. */
  readonly crc: number
  readonly ts: number
  readonly state: S
  /** The key of the checkpoint that holds it, if any. */
  readonly key?: string
}

/** The end of the log as replayed: the next slot follows slot `head`. */
export interface LogEnd<S> {
  readonly head: number
  /** The checksum and time of slot `head`. */
  readonly crc: number
  readonly ts: number
  /** The state after slot `head`. */
  readonly state: S
}

/** The change a caller wants to commit, decided on exactly the state that its entry will follow. */
export interface Proposal<Op = unknown> {
  readonly ops: readonly Op[]
  readonly req?: readonly Json[]
  readonly res?: Json
  readonly blobs?: readonly Uint8Array[]
  /** Features that readers of the entry must know. */
  readonly need?: readonly string[]
}

/** The position that an entry will have if its slot is won. */
export interface ProposalPosition extends Position {
  /** The transaction id that the entry will have. */
  readonly transactionId: string
  /** The index of the proposal's first blob among the blobs of the slot. */
  readonly firstBlob: number
}

/**
 * Decides an entry. Synchronous. `state` is the state after all earlier slots and the earlier entries of the same slot.
 * After a lost race the committer calls the function again on the newer state. If it throws, only its own commit fails.
 * `N`: null for a function that may find that there is nothing to commit. Then it returns null.
 */
export type Propose<S, Op = unknown, N extends null = never> = (
  state: S,
  at: ProposalPosition,
) => Proposal<Op> | N

export interface CommitOptions {
  readonly signal?: AbortSignal | undefined
  /** Recorded in the entry. `propose` must check in the state whether the key was used before. */
  readonly idempotency?: Idempotency | undefined
}

/** Commits what a function proposes. Returns null if the function returned null on the newest state. */
export interface Commit<S, Op = unknown> {
  (propose: Propose<S, Op>, options?: CommitOptions): Promise<Committed<S, Op>>
  (propose: Propose<S, Op, null>, options?: CommitOptions): Promise<Committed<S, Op> | null>
}

/** A committed entry. */
export interface Committed<S, Op = unknown> {
  readonly txn: string
  /** `<slot, base 36>-<txn>`: contains the slot number, so a lookup needs no index. */
  readonly transactionId: string
  readonly at: Position
  readonly entry: Entry<Op>
  /** The state right after the entry's slot, for reading one's own write. */
  readonly state: S
}
