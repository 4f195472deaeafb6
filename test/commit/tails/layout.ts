/**
 * The layout of a state of the model: one flat array of bytes, so that the search can copy and hash states quickly.
 *
 *     slots 1..slotsMax | processes | shared facts | the copy of the root (only in scenarios with a copy)
 *
 * - The block of slot B has the slot's file, and the tail of B with its seal and its end. Record n of the tail is slot
 *   B+n.
 * - A transaction is a number from 1 to `transactionsMax`. Each slot after slot 1 has one transaction. So a view with
 *   `n` transactions ends with slot n+1.
 */
export const slotsMax = 7
export const recordsMax = 3
export const viewMax = 6
export const transactionsMax = 4

/** How durable a name or a zero-fill is. `deleted`: a power loss may undo the deletion. `gone`: it may not. */
export const Durability = { absent: 0, cached: 1, durable: 2, deleted: 3, gone: 4 } as const

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
  transaction: 4,
  /** The checksum of the slot before. */
  previous: 5,
  seal: 6,
  tailName: 7,
  zeroFill: 8,
  /** The checksum of slot B in the head of its tail. */
  tailSeed: 9,
  /** The boot in which the tail was created. */
  tailBoot: 10,
  /** Per record: transaction, state. */
  records: 11,
  mark: 17,
  durableMark: 18,
  end: 19,
  /** The number of slots in the tail. */
  endRecords: 20,
  /** The end has copies of the records after this one. */
  endFrom: 21,
  copies: 22,
} as const
export const slotBytes = 28

export const ProcessField = {
  incarnation: 0,
  at: 1,
  /** The unacknowledged transactions of the clients of this process, as bits. */
  pending: 2,
  /** The slot of which this process is the owner; 0 if there is none. */
  owned: 3,
  /** Whether the process must not append to its tail any more. */
  gaveUp: 4,
  /** The slot whose tail file is open for writing. Differs from `owned` only in a planted mistake. */
  handle: 5,
  /** The newest applied slot, and its checksum. */
  head: 6,
  headChecksum: 7,
  /** The slot whose file or tail has the head. */
  base: 8,
  baseDeclaresTail: 9,
  baseMaker: 10,
  /** 1 more than the number of slots in the tail of the base, if its end is known; 0 if it is not. */
  ended: 11,
  view: 12,
  /** The transactions that a running refresh must show: those that were shown or acknowledged before it began. */
  shownBefore: 18,
  acknowledgedBefore: 19,
  purpose: 20,
  /** The records that the process has read, or the number of the record that it writes. */
  count: 21,
  markRead: 22,
  writing: 23,
  /** The slot whose tail the process ends. */
  target: 24,
  /** The newest tail when the process opened the root, and the first slot after it that has a file; 0 if there is none. */
  newestTail: 25,
  fileAfter: 26,
  /** The number of slots of this tail that the process uses, although the mark may be lower. */
  used: 27,
  /** The number of records that the process has read to end a tail. */
  read: 28,
} as const
export const processBytes = 32

export const SharedField = {
  shownLength: 0,
  shown: 1,
  acknowledged: 7,
  crashes: 8,
  powerLosses: 9,
  syncFailures: 10,
  boot: 11,
  trimmed: 12,
  /** The slot of the checkpoint, and its checksum. */
  checkpointSlot: 13,
  checkpointChecksum: 14,
  checkpointView: 15,
  /** The step of the copy; see copy.ts. */
  copyStep: 21,
  copyAcknowledged: 22,
  /** The transactions that an opened copy shows. */
  copyLength: 23,
  copyView: 24,
} as const
export const sharedBytes = 32

/** Fields of the copy: a block per slot like in the root, then these. */
export const CopyField = {
  /** Per slot: 1 if its file was listed, 2 for its tail, 4 for its end. */
  listed: 0,
  checkpointSlot: 7,
  checkpointChecksum: 8,
  checkpointView: 9,
  /** Whether the trimmer had a checkpoint when the copy began. */
  trimmerBegan: 15,
} as const
export const copyBytes = slotsMax * slotBytes + 16

export const processesStart = slotsMax * slotBytes

/** The address of the block of a slot. */
export function slotAt(slot: number): number {
  return (slot - 1) * slotBytes
}

/** The address of the block of a process. */
export function processAt(process: number): number {
  return processesStart + process * processBytes
}

/** Return whether a name exists. */
export function exists(durability: number): boolean {
  return durability === Durability.cached || durability === Durability.durable
}

/** Return the checksum of a record in the tail of a slot with the checksum `maker`. */
export function recordChecksum(maker: number): number {
  return maker + 64
}
