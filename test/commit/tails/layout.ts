/**
 * The layout of a state of the model: one flat array of bytes, so that the search can copy and hash states quickly.
 *
 *     slots 1..slotsMax | processes | shared facts | the copy of the root (only in scenarios with a copy)
 *
 * - A slot block has the slot's file, the seal and the tail of this slot.
 * - A transaction is a number from 1 to `transactionsMax`. In a view, the slot number of the transaction is added, so
 *   that two processes also agree on positions (`viewEntry`).
 */
export const slotsMax = 6
export const recordsMax = 3
export const viewMax = 6
export const transactionsMax = 4

/** How durable a name or a zero-fill is. */
export const Durability = { absent: 0, cached: 1, durable: 2 } as const
/** The state of a tail name after the trimmer has unlinked it. An open handle still reads and writes the file. */
export const unlinked = 3

/** How durable the content of a slot is. `torn`: a power loss destroyed it, and left the name. */
export const Content = { durable: 0, cached: 1, torn: 2 } as const

/** The states of a record. `unsyncable`: a failed sync has marked the page clean, so no later sync writes it. */
export const RecordState = { absent: 0, cached: 1, durable: 2, unsyncable: 3 } as const

export const SlotField = {
  name: 0,
  content: 1,
  /** The nonce of the writer. It also stands for the checksum of the slot. */
  maker: 2,
  declaresTail: 3,
  /** The number of records of the previous slot's tail that count. */
  counted: 4,
  /** The slot holds copies of the records after this one, up to `counted`. */
  carriedFrom: 5,
  carried: 6,
  /** The transaction of the slot's own entry; 0 if there is none. */
  entry: 9,
  /** The maker of the slot before. */
  previous: 10,
  seal: 11,
  tailName: 12,
  zeroFill: 13,
  /** The nonce of the process that created the tail. */
  tailSeed: 14,
  /** The boot in which the tail was created. */
  tailBoot: 15,
  /** Per record: transaction, state. */
  records: 16,
  mark: 22,
  durableMark: 23,
} as const
export const slotBytes = 24

export const ProcessField = {
  incarnation: 0,
  at: 1,
  /** The slot whose tail this process may write; 0 if there is none. */
  owned: 2,
  /** Whether the process must not write to its tail any more. */
  gaveUp: 3,
  /** The slot whose tail file is open for writing. Differs from `owned` only in a planted mistake. */
  handle: 4,
  /** The newest applied slot. */
  head: 5,
  headMaker: 6,
  headDeclaresTail: 7,
  /** The number of applied records of the head's tail. */
  applied: 8,
  viewLength: 9,
  view: 10,
  /** The unacknowledged transactions of the clients of this process, as bits. */
  pending: 16,
  /** Whether the process still has to take a position: a pin or a checkpoint. */
  mustTakePosition: 17,
  /** What a running refresh must show at least: what was shown, and acknowledged, before it began. */
  shownBefore: 18,
  acknowledgedBefore: 19,
  purpose: 20,
  /** The records that the process has read, or the number of the record that it writes. */
  count: 21,
  markRead: 22,
  writing: 23,
} as const
export const processBytes = 24

export const SharedField = {
  shownLength: 0,
  shown: 1,
  acknowledged: 7,
  crashes: 8,
  powerLosses: 9,
  syncFailures: 10,
  boot: 11,
  trimmed: 12,
  checkpointSlot: 13,
  checkpointLength: 14,
  checkpointView: 15,
  /** 1 more than the pinned slot; 0 if there is no pin. */
  pin: 21,
  pinLength: 22,
  /** The step of the copy; see copy.ts. */
  copyStep: 23,
  copyAcknowledged: 24,
  /** The transactions that an opened copy shows. */
  copyLength: 25,
  copyView: 26,
} as const
export const sharedBytes = 32

/** Fields of the copy: a block per slot like in the root, then these. */
export const CopyField = {
  listed: 0,
  checkpointSlot: 1,
  checkpointLength: 2,
  checkpointView: 3,
  /** Whether the trimmer had a checkpoint when the copy began. */
  trimmerBegan: 9,
} as const
export const copyBytes = slotsMax * slotBytes + 12

export const processesStart = slotsMax * slotBytes

/** The address of the block of a slot. */
export function slotAt(slot: number): number {
  return (slot - 1) * slotBytes
}

/** The address of the block of a process. */
export function processAt(process: number): number {
  return processesStart + process * processBytes
}

/** Return the entry of a view: the transaction and the slot number of its position. */
export function viewEntry(slot: number, transaction: number): number {
  return slot * 8 + transaction
}

export function transactionOf(entry: number): number {
  return entry & 7
}

export function slotOfEntry(entry: number): number {
  return entry >> 3
}
