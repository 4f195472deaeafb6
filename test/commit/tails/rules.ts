/**
 * The rules of tails as data. `rightRules` are the rules of the protocol. A planted mistake, or another choice, is a
 * difference from them.
 */

/** A step of the owner of a tail that appends a record. */
export type OwnerStep =
  | 'write'
  | 'sync'
  | 'look for seal'
  | 'look for slot'
  | 'look at link'
  | 'mark'
  | 'acknowledge'

/** A step of a process that ends the tail of another process. */
type SealerStep = 'seal' | 'read' | 'read mark' | 'sync tail' | 'put' | 'sync folder' | 'delete seal'

/**
 * What a process shows when it opens a root whose last slot has a tail:
 *
 * - `seal`: if the mark covers all valid records, these records. Otherwise the process seals the tail.
 * - `mark`: the records up to the mark.
 * - `all`: all valid records.
 * - `sync`: all valid records, after a sync of the tail.
 * - `sync and look`: as `sync`, if there is neither a seal nor a next slot.
 * - `boot`: the records up to the mark if the tail was created in this boot of the machine, otherwise all valid records.
 */
type OpenRule = 'seal' | 'mark' | 'all' | 'sync' | 'sync and look' | 'boot'

/** One deletion of the trimmer: the file of a kind, and its slot. */
export type Deletion = readonly ['slot' | 'tail' | 'seal', number]

/** What a copy reads together. `names`: the list of the slots in the log; without it, each slot is looked up. */
type CopiedFolder = 'checkpoints' | 'names' | 'slots' | 'tails'

/**
 * What the trimmer may delete while a copy runs: nothing, what it could already delete when the copy began, tails, or
 * everything.
 */
type DeletedDuringCopy = 'nothing' | 'old' | 'tails' | 'everything'

/**
 * Which records of the last tail a process counts that opens a copy:
 *
 * - `valid`: all valid records, as at every opening.
 * - `mark`: the records up to the mark.
 * - `mark if sealed`: the records up to the mark if the copy has the seal, otherwise all valid records.
 */
type CopyOpenRule = 'valid' | 'mark' | 'mark if sealed'

export interface CopyRules {
  /** The parts of the root in the order in which the copy reads them. */
  readonly folders: readonly CopiedFolder[]
  /** The order in which the slots of the log are copied. */
  readonly slots: 'ascending' | 'descending'
  /** Whether the records of a tail are read before its mark. Otherwise the copy reads from the start of the file. */
  readonly readsMarkLast: boolean
  readonly opens: CopyOpenRule
  readonly trimmerDeletes: DeletedDuringCopy
  /** Whether a checkpoint of a slot that the copy does not have is skipped. Otherwise such a copy does not open. */
  readonly skipsNewerCheckpoints: boolean
  /**
   * Whether the copy may end in records above the mark that the root does not count. Otherwise the copy must have a
   * prefix of the order.
   */
  readonly mayEndInFlight: boolean
}

export interface ProcessPlan {
  /** The transactions that the clients of the process request. A client asks again after a crash. */
  readonly transactions: readonly number[]
  /** Whether slots of this process declare a tail. */
  readonly hasTails: boolean
  /** `old`: a version that does not know tails. `by name`: whether there is a tail is decided by its file name. */
  readonly version?: 'old' | 'by name'
  /** The process takes this position at some moment. */
  readonly takes?: 'pin' | 'checkpoint'
}

/**
 * What the model explores, its bounds, and the rules of the protocol. In the right rules, every boolean below `open` is
 * true, except for alternatives.
 */
export interface Rules {
  readonly processes: readonly ProcessPlan[]

  /** The highest slot that a process writes, and the highest slot that declares a tail. */
  readonly slots: number
  readonly lastTail: number
  /** The number of records after which the owner ends its tail. */
  readonly recordsPerTail: number
  readonly crashes: number
  readonly powerLosses: number
  /** The number of syncs of a tail, or of the folder of the log, that fail. */
  readonly syncFailures: number
  /** Whether the model starts with the tail of slot 1 in place. Otherwise the owner creates it during the run. */
  readonly startsWithTail: boolean
  /** Whether the owner may write two records before it syncs. */
  readonly writesBatches: boolean
  /** Whether every process alone must be able to commit its transactions in every state. */
  readonly checksProgress: boolean

  readonly owner: readonly OwnerStep[]
  readonly sealer: readonly SealerStep[]
  readonly open: OpenRule
  /** Slot N+1 has copies of these records: those above the mark, all counted records, or none. */
  readonly carriesRecords: 'above mark' | 'all' | 'none'
  /**
   * When a process syncs the folder before it applies a slot that it did not see synced: always, if the slot has
   * transactions of its clients, or never.
   */
  readonly syncsBeforeApply: 'always' | 'own' | 'never'
  /** An alternative: only acknowledged transactions count as shown. */
  readonly judgesOnlyAcknowledged: boolean
  /** A process that finds a seal without slot N+1 puts this slot itself. */
  readonly finishesSeals: boolean
  /** Slot N says that it may have a tail. */
  readonly declaresTails: boolean
  /** A version that does not know tails stops at a slot that declares a tail. */
  readonly stopsOldVersions: boolean
  /** The name of a tail is durable before its first record is written. */
  readonly syncsTailName: boolean
  readonly syncsZeroFill: boolean
  /** The sync of a record also makes the zero-fill durable. */
  readonly recordSyncCoversZeroFill: boolean
  /** The content of a slot is synced in its temporary place, before the slot gets its name. */
  readonly syncsTemporary: boolean
  /** Records after the end that slot N+1 states are never applied. */
  readonly ignoresDeadRecords: boolean
  /** A new tail is written through a new handle. */
  readonly opensNewHandle: boolean
  /** A sealer does not propose transactions that are among the counted records. */
  readonly looksForOwnTransactions: boolean
  /** The checksum of the first record depends on the slot and on the nonce of the owner. */
  readonly seedsRecords: boolean
  /** A process that ends its own tail appends nothing while it puts slot N+1. */
  readonly stopsBeforeEnd: boolean
  /** An alternative: a process that ends its own tail creates a seal first. */
  readonly sealsOwnTail: boolean

  /** The deletions of the trimmer, in order, after a checkpoint of slot `trimsAfter`; null: nothing is trimmed. */
  readonly trims: readonly Deletion[] | null
  readonly trimsAfter: number
  /** A process that does not find slot N+1 looks whether slot N is still there, and whether it is the same file. */
  readonly looksBack: boolean
  readonly looksBackAtIdentity: boolean

  /** A process ends the tail before it takes a position. Not needed if positions name closed slots. */
  readonly endsTailForPosition: boolean
  /** A slot that ends a tail for a position declares no tail itself. */
  readonly positionSlotHasNoTail: boolean
  /**
   * The slot that a pin or a checkpoint names: the newest slot, or the newest slot to which no record can be added. Such
   * a slot declares no tail, or there is a slot after it.
   */
  readonly positionSlot: 'newest' | 'closed'

  readonly copy: CopyRules | null
}

export const rightRules: Rules = {
  processes: [
    { transactions: [1, 2], hasTails: true },
    { transactions: [3], hasTails: true },
  ],
  slots: 4,
  lastTail: 2,
  recordsPerTail: 2,
  crashes: 1,
  powerLosses: 1,
  syncFailures: 0,
  startsWithTail: true,
  writesBatches: false,
  checksProgress: false,
  owner: ['write', 'sync', 'look for seal', 'look for slot', 'look at link', 'mark', 'acknowledge'],
  sealer: ['seal', 'read', 'read mark', 'put', 'sync folder'],
  open: 'seal',
  carriesRecords: 'above mark',
  syncsBeforeApply: 'always',
  judgesOnlyAcknowledged: false,
  finishesSeals: true,
  declaresTails: true,
  stopsOldVersions: true,
  syncsTailName: true,
  syncsZeroFill: true,
  recordSyncCoversZeroFill: true,
  syncsTemporary: true,
  ignoresDeadRecords: true,
  opensNewHandle: true,
  looksForOwnTransactions: true,
  seedsRecords: true,
  stopsBeforeEnd: true,
  sealsOwnTail: false,
  trims: null,
  trimsAfter: 3,
  looksBack: true,
  looksBackAtIdentity: true,
  endsTailForPosition: true,
  positionSlotHasNoTail: true,
  positionSlot: 'newest',
  copy: null,
}

/** The rules of a copy for which the guarantees of a copy hold. */
export const rightCopy: CopyRules = {
  folders: ['checkpoints', 'names', 'slots', 'tails'],
  slots: 'ascending',
  readsMarkLast: false,
  opens: 'valid',
  trimmerDeletes: 'old',
  skipsNewerCheckpoints: false,
  mayEndInFlight: true,
}
