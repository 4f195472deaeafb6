/**
 * What the log carries and what folds it. This room knows no table: entries are opaque to it.
 */

/** A JSON value as it stands in a slot. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** One caller's atomic change inside a slot. Field names are those on disk (docs/format.md). */
export interface Entry {
  readonly txn: string
  /** The caller's idempotency key, and the fingerprint of the call it came with. */
  readonly key?: string
  readonly hash?: string
  /** What the commit depended on, for readers of the log and for audits. */
  readonly req: readonly Json[]
  readonly ops: readonly Json[]
  /** The result to hand back when the same call is asked again. */
  readonly res?: Json
}

/** What an entry says of a call with a key. */
export type Idempotency = Required<Pick<Entry, 'key' | 'hash'>>

export interface SlotHeader {
  readonly f: 1
  /** Features a reader must know to go past this slot. */
  readonly need: readonly string[]
  readonly slot: number
  /** Checksum (8 hex digits) of the slot before. */
  readonly prev: string
  /** The writer's nonce: fresh for every opened committer. */
  readonly by: string
  /** Milliseconds since 1970; never less than that of the slot before. */
  readonly ts: number
  /** What the writer's clock showed, where that was less than `ts`. */
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

/** Where an entry stands. */
export interface Position {
  readonly slot: number
  readonly entry: number
  readonly ts: number
}

/**
 * The meaning of a log.
 * `apply` is synchronous, pure, O(change), and never refuses: an entry in a won slot is valid by contract,
 * so a failed assertion there is corruption.
 */
export interface Machine<S> {
  /** Features of `need` this build understands. */
  readonly features: ReadonlySet<string>
  initial(genesis: Genesis): S
  /**
   * Refuses what its writer may no longer commit on `state`: asked once for every entry before it is written, never for one
   * that is in the log. Throws what its caller is told.
   */
  check?(state: S, entry: Entry): void
  /** Throws Unsupported for an operation that only a newer build knows. */
  apply(state: S, entry: Entry, at: Position): S
  /**
   * A state as texts without line breaks, a few KB each, in an order that depends on its contents alone: equal
   * states give equal texts. Lazy, so that whoever writes them can pause between two.
   */
  save(state: S): Iterable<string>
  /** Puts a state together again from the texts of `save`. */
  load(genesis: Genesis): Loader<S>
}

export interface Loader<S> {
  /** Throws Unsupported for what only a newer build knows. */
  add(text: string): void
  /** After the last text. Throws corrupted when something is missing. */
  end(): S
}

/** A state, and where in the log it stands: all it takes to go on from there. */
export interface Fold<S> {
  readonly genesis: Genesis
  /** The newest slot in it. */
  readonly slot: number
  /** The checksum and the time of that slot. */
  readonly crc: number
  readonly ts: number
  readonly state: S
  /** Where it is kept, if it is. */
  readonly key?: string
}

/** What a caller wants to commit, decided on the very state it will follow. */
export interface Proposal {
  readonly ops: readonly Json[]
  readonly req?: readonly Json[]
  readonly res?: Json
  readonly blobs?: readonly Uint8Array[]
  /** Features that who reads the entry must know. */
  readonly need?: readonly string[]
}

export interface ProposalPosition extends Position {
  /** What the entry's transaction id will be. */
  readonly transactionId: string
  /** The index the proposal's first blob will have in the slot. */
  readonly firstBlob: number
}

/**
 * Decides an entry. Synchronous; `state` is the fold of all earlier slots and of the earlier entries of its own
 * slot. Called again on the newer state after a lost race. What it throws fails its caller only.
 */
export type Propose<S> = (state: S, at: ProposalPosition) => Proposal

export interface Committed<S> {
  readonly txn: string
  /** `<slot, base 36>-<txn>`: finds its slot without an index. */
  readonly transactionId: string
  readonly at: Position
  readonly entry: Entry
  /** The state right after this entry's slot, for reading one's own write. */
  readonly state: S
}
