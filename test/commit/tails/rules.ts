/**
 * The rules of tails (docs/format.md) as data. `rightRules` are the rules of the protocol. A planted mistake, or another
 * choice, is a difference from them.
 */

/** A step of the owner of a tail that appends a record. */
export type OwnerStep =
  | 'write'
  | 'sync'
  | 'look for seal'
  | 'look for end'
  | 'look at tail'
  | 'mark'
  | 'acknowledge'

/** A step of a process that ends a tail. */
type SealerStep = 'look for end' | 'seal' | 'read' | 'read mark' | 'sync tail' | 'put end' | 'sync folder'

/**
 * The action of a process that opens the root and finds valid records after the mark of the newest tail:
 *
 * - `end`: it ends the tail.
 * - `mark`: it uses the records up to the mark.
 * - `all`: it uses all valid records.
 * - `sync`: it uses all valid records, after a sync of the tail.
 * - `sync and look`: as `sync`, if there is neither a seal nor an end.
 * - `boot`: it uses all valid records if the tail was created in an earlier boot, otherwise those up to the mark.
 */
type OpenRule = 'end' | 'mark' | 'all' | 'sync' | 'sync and look' | 'boot'

/** A kind of file in `_log/`. */
export type FileKind = 'slot' | 'tail' | 'seal' | 'end'

/** The files that the trimmer may delete while a copy runs: those that it could delete when the copy began, or all. */
type DeletedDuringCopy = 'old' | 'everything'

export interface CopyRules {
  /** `checkpoints`: the newest checkpoint. `names`: the list of `_log/`. `files`: the files in this list. */
  readonly steps: readonly ('checkpoints' | 'names' | 'files')[]
  /** The order in which the files of `_log/` are read: by slot, and for each slot by kind. */
  readonly slots: 'ascending' | 'descending'
  readonly kinds: readonly ('slot' | 'tail' | 'end')[]
  /** Whether names are listed before the files are read. Otherwise each file is looked up when it is read. */
  readonly listsNames: boolean
  /** Whether the mark of a tail is read after its records. Otherwise the copy reads from the start of the file. */
  readonly readsMarkLast: boolean
  /** Which records of a tail without an end a process uses that opens the copy. */
  readonly opens: 'valid' | 'mark'
  readonly trimmerDeletes: DeletedDuringCopy
  /**
   * Whether the copy may end in records after the mark that are not slots in the root. Otherwise the copy must have a
   * prefix of the order.
   */
  readonly mayEndInFlight: boolean
}

export interface ProcessPlan {
  /** The transactions that the clients of the process request. A client asks again after a crash. */
  readonly transactions: readonly number[]
  /** Whether slots of this process declare a tail. */
  readonly hasTails: boolean
  /** Whether the process may not write. */
  readonly readOnly?: boolean
  /** `old`: a version that does not know tails. `by name`: whether there is a tail is decided by its file name. */
  readonly version?: 'old' | 'by name'
}

/** A configuration of the model: the processes, the bounds, and the rules of the protocol. */
export interface Rules {
  readonly processes: readonly ProcessPlan[]

  /** The highest slot that a process writes, and the highest slot that declares a tail. */
  readonly slots: number
  readonly lastTail: number
  /** The number of records after which a tail is full. */
  readonly recordsPerTail: number
  readonly crashes: number
  readonly powerLosses: number
  /** The number of syncs of a tail, or of `_log/`, that fail. */
  readonly syncFailures: number
  /** Whether the model starts with the tail of slot 1 in place. Otherwise the owner creates it during the run. */
  readonly startsWithTail: boolean
  /** Whether every process alone must be able to commit its transactions in every state. */
  readonly checksProgress: boolean

  readonly owner: readonly OwnerStep[]
  readonly sealer: readonly SealerStep[]
  readonly open: OpenRule
  /** The same for a process that may not write. */
  readonly openReadOnly: OpenRule
  /** The end has copies of these records: those after the mark, all, or none. */
  readonly endCopies: 'after mark' | 'all' | 'none'
  /** The end is durable before the file of the slot after the tail is written. */
  readonly syncsEndFirst: boolean
  /** If a tail has no end, or an end that counts a later slot that has a file, the tail has ended before that slot. */
  readonly usesFileAfter: boolean
  /** When a process syncs `_log/` before it applies a slot or an end that it did not see synced. */
  readonly syncsBeforeApply: boolean
  /** An alternative: only acknowledged transactions count as shown. */
  readonly judgesOnlyAcknowledged: boolean
  /** A process that finds a seal without an end writes the end itself. */
  readonly finishesSeals: boolean
  /** The file of a slot says that it may have a tail. */
  readonly declaresTails: boolean
  /** A version that does not know tails stops at a slot that may have a tail. */
  readonly stopsOldVersions: boolean
  /** The name of a tail is durable before its first record is written. */
  readonly syncsTailName: boolean
  readonly syncsZeroFill: boolean
  /** The sync of a record also makes the zero-fill durable. */
  readonly recordSyncCoversZeroFill: boolean
  /** The owner looks for slot B after it has created the tail of slot B. */
  readonly looksForBase: boolean
  /** The content of a file is synced before the file gets its name. */
  readonly syncsTemporary: boolean
  /** Records after the end are not slots. */
  readonly ignoresDeadRecords: boolean
  /** A new tail is written through a new handle. */
  readonly opensNewHandle: boolean
  /** A process that ended a tail decides again if its slot is in the tail. */
  readonly decidesAgain: boolean
  /** The first record follows slot B: it has the checksum of slot B. */
  readonly seedsRecords: boolean
  /** A process that ends its own tail appends nothing meanwhile. */
  readonly stopsBeforeEnd: boolean
  /** An alternative: a process that ends its own full tail creates a seal first. */
  readonly sealsOwnTail: boolean

  /** The kinds of files of a slot in the order in which `trim` deletes them; null: nothing is trimmed. */
  readonly trims: readonly FileKind[] | null
  /** The slot of the checkpoint, up to which the log is trimmed. It may be inside a tail. */
  readonly trimsBefore: number
  /** `trim` deletes files in the order of slots. Otherwise it deletes the files of slots before all tails. */
  readonly trimsInOrder: boolean
  /** A tail is deleted only when all its slots can be deleted. */
  readonly keepsTails: boolean
  /** A process checks that slot N is still there, and is the same, when it applies slot N+1 or does not find it. */
  readonly looksBack: boolean
  readonly looksBackAtIdentity: boolean

  readonly copy: CopyRules | null
}

export const rightRules: Rules = {
  processes: [
    { transactions: [1, 2], hasTails: true },
    { transactions: [3], hasTails: true },
  ],
  slots: 6,
  lastTail: 3,
  recordsPerTail: 2,
  crashes: 1,
  powerLosses: 1,
  syncFailures: 0,
  startsWithTail: true,
  checksProgress: false,
  owner: ['write', 'sync', 'look for seal', 'look at tail', 'mark', 'acknowledge'],
  sealer: ['look for end', 'seal', 'read mark', 'read', 'put end', 'sync folder'],
  open: 'end',
  openReadOnly: 'boot',
  endCopies: 'after mark',
  syncsEndFirst: true,
  usesFileAfter: true,
  syncsBeforeApply: true,
  judgesOnlyAcknowledged: false,
  finishesSeals: true,
  declaresTails: true,
  stopsOldVersions: true,
  syncsTailName: true,
  syncsZeroFill: true,
  recordSyncCoversZeroFill: true,
  looksForBase: true,
  syncsTemporary: true,
  ignoresDeadRecords: true,
  opensNewHandle: true,
  decidesAgain: true,
  seedsRecords: true,
  stopsBeforeEnd: true,
  sealsOwnTail: false,
  trims: null,
  trimsBefore: 3,
  trimsInOrder: true,
  keepsTails: true,
  looksBack: true,
  looksBackAtIdentity: true,
  copy: null,
}

/** The rules of a copy for which the guarantees of a copy hold. */
export const rightCopy: CopyRules = {
  steps: ['checkpoints', 'names', 'files'],
  slots: 'ascending',
  kinds: ['slot', 'tail', 'end'],
  listsNames: true,
  readsMarkLast: false,
  opens: 'valid',
  trimmerDeletes: 'old',
  mayEndInFlight: true,
}
