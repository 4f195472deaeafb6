/**
 * The types of the content of the log, and the interface of the state machine that replays the log. This file does not
 * depend on tables: only the state machine interprets the operations of an entry.
 */

/** A JSON value of a slot. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/**
 * One caller's atomic transaction inside a slot. Field names are those on disk (docs/format.md). `Op`: the type of the
 * operations. Code that works with any log uses `unknown`.
 */
export interface Entry<Op = unknown> {
  readonly txn: string
  /** The caller's idempotency key. `hash`: the fingerprint of the call that used the key. */
  readonly key?: string
  readonly hash?: string
  /** The conditions under which the transaction was committed. Only for people and tools that read the log. */
  readonly req: readonly Json[]
  readonly ops: readonly Op[]
  /** The result of the call. A repeated call with the same idempotency key gets it. */
  readonly res?: Json
}

/** The fields that an entry has only if its call had an idempotency key. */
export type Idempotency = Required<Pick<Entry, 'key' | 'hash'>>

/** The header of a slot. Field names are those on disk (docs/format.md). */
export interface SlotHeader {
  readonly f: 1
  /** Features that a reader must support. A reader that does not support one of them must stop before this slot. */
  readonly need: readonly string[]
  readonly slot: number
  /** Checksum of the previous slot, 8 hex digits. */
  readonly prev: string
  /** A random id of the committer that wrote the slot. Every opened root has a new one. */
  readonly by: string
  /** Milliseconds since 1970, never less than the `ts` of the previous slot. */
  readonly ts: number
  /** The time of the writer's clock in milliseconds since 1970. Only present if it is less than `ts`. */
  readonly clock?: number
  /** Offset and length of each blob in bytes. Offsets count from the first byte after the header line. */
  readonly blobs: readonly (readonly [number, number])[]
  readonly entries: readonly Entry[]
}

/** The content of slot 0: the id of the root and the version of the format. */
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
 * Interprets the entries of a log. `S`: the type of the state. `Op`: the type of the operations, each a JSON value.
 *
 * `apply` is synchronous and pure, and its cost depends on the size of the entry, not of the state. It never refuses an
 * entry, because every entry of a committed slot is valid. A failed assertion in `apply` means that the log is
 * corrupted.
 */
export interface Machine<S, Op = unknown> {
  /** The features that this build supports. */
  readonly features: ReadonlySet<string>
  initial(genesis: Genesis): S
  /**
   * Throw an error if the writer may no longer commit the entry on `state`. The caller of the commit gets this error.
   * The committer calls `check` for every entry before it writes the entry. Replay does not call `check`.
   */
  check?(state: S, entry: Entry<Op>): void
  /** Return the state after an entry. Throws Unsupported for an operation that this build does not support. */
  apply(state: S, entry: Entry<Op>, at: Position): S
  /**
   * Encode a state as texts of a few KB without line breaks. Equal states have equal texts in the same order. The texts
   * are computed when they are read, so the writer of a checkpoint can pause between two texts. An empty text means
   * nothing: it only is such a pause.
   *
   * With `before`, an earlier state from which this process computed `state`: encode only what changed after the slot
   * of `before`. The cost depends on the size of these changes, not of the state.
   */
  save(state: S, before?: EarlierState<S>): Iterable<string>
  /**
   * Return a decoder for the texts of `save`. `before`: the state after the slot of the `before` of `save`. Absent: the
   * texts have the whole state.
   */
  load(genesis: Genesis, before?: S): Loader<S>
}

/** A state, and its last slot. */
export interface EarlierState<S> {
  readonly slot: number
  readonly state: S
}

/** Decodes a state from texts. */
export interface Loader<S> {
  /** Decode the next text. Throws Unsupported if only a newer Sheaf supports its content. */
  add(text: string): void
  /**
   * Return the state. Call this after the last text. Throws Internal ("corrupted") if a part of the state is missing.
   */
  end(): S
}

/** A state and its position in the log. Replay can continue from it. */
export interface Fold<S> {
  readonly genesis: Genesis
  /** The last slot applied to the state. */
  readonly slot: number
  /** The checksum of slot `slot`. `ts`: the time of this slot, in milliseconds since 1970. */
  readonly crc: number
  readonly ts: number
  readonly state: S
  /** The key of the checkpoint from which the state was read. Absent if the state was replayed. */
  readonly key?: string
}

/** The last replayed slot of the log, after which the next slot is appended. */
export interface LogEnd<S> {
  readonly head: number
  /** The checksum of slot `head`. `ts`: the time of this slot, in milliseconds since 1970. */
  readonly crc: number
  readonly ts: number
  /** The state after slot `head`. */
  readonly state: S
}

/** The transaction that a caller wants to commit. It is decided on the state to which its entry is applied. */
export interface Proposal<Op = unknown> {
  readonly ops: readonly Op[]
  readonly req?: readonly Json[]
  readonly res?: Json | undefined
  readonly blobs?: readonly Uint8Array[]
  /** Features that readers of the entry must support. */
  readonly need?: readonly string[]
  /**
   * Whether `ops` and `req` equal what `JSON.parse` returns for their text: they have no value `undefined`, no -0, and
   * nobody changes them later. Then the text is not parsed, which takes a fifth of the CPU time of a small commit.
   * Default false.
   */
  readonly isPlain?: boolean
}

/** The position that an entry will have if its slot is won. */
export interface ProposalPosition extends Position {
  /** The transaction id that the entry will have. */
  readonly transactionId: string
  /** The index of the proposal's first blob among the blobs of the slot. */
  readonly firstBlob: number
  /** The earlier entries of the slot. Absent in a transaction, whose state has no slots. */
  readonly earlier?: EntriesWithBlobs
}

/** Entries of one slot, with the blobs of the slot. */
export interface EntriesWithBlobs {
  readonly entries: readonly Entry[]
  /** Return a blob by its index in the slot, without a copy. */
  blob(index: number): Uint8Array
}

/**
 * A function that decides the entry of a commit. `state`: the state after all earlier slots and after the earlier
 * entries of the same slot. The function must be synchronous. If another writer wins the slot, the committer calls the
 * function again on the newer state. If the function throws, only its own commit fails.
 *
 * `N`: `null` if the function may return null because there is nothing to commit.
 */
export type Propose<S, Op = unknown, N extends null = never> = (
  state: S,
  at: ProposalPosition,
) => Proposal<Op> | N

export interface CommitOptions {
  readonly signal?: AbortSignal | undefined
  /**
   * The idempotency key and the fingerprint of the call, stored in the entry. `propose` must look up in the state
   * whether the key was used before.
   */
  readonly idempotency?: Idempotency | undefined
}

/**
 * A function that commits the entry that `propose` returns. Resolves to null if `propose` returned null on the newest
 * state.
 */
export interface Commit<S, Op = unknown> {
  (propose: Propose<S, Op>, options?: CommitOptions): Promise<Committed<S, Op>>
  (propose: Propose<S, Op, null>, options?: CommitOptions): Promise<Committed<S, Op> | null>
}

/** A committed entry. */
export interface Committed<S, Op = unknown> {
  readonly txn: string
  /** `<slot, base 36>-<txn>`. The id contains the slot number, so no index is needed to find the transaction. */
  readonly transactionId: string
  readonly at: Position
  readonly entry: Entry<Op>
  /** The state after the slot of the entry. A caller can read its own write from this state. */
  readonly state: S
}
