/**
 * Determines the start of replay: slot 0 or a checkpoint.
 *
 * A checkpoint is used only if its slot is in the log and has the checksum that the checkpoint names. If the slot was
 * trimmed, a newer checkpoint is used.
 */
import { corrupted, ErrorCode, SheafError } from '../errors.js'
import { crcHex } from '../primitives/checksum.js'
import type { BlobMark } from '../storage/blob-store.js'
import type { CommitLog, SlotRun } from './commit-log.js'
import type { Fold, Machine } from './machine.js'
import { readSlots } from './read-slots.js'
import { type DecodedGenesis, decodeGenesis, decodeSlot } from './slot.js'

/** The checkpoints from which replay may begin. */
export interface CheckpointOptions<S> {
  /** The bytes of slot 0, if the caller has read them. */
  readonly first?: Uint8Array | undefined
  /** The newest known checkpoint. Default: replay begins with slot 0. */
  readonly base?: Fold<S> | undefined
  /**
   * Return the newest checkpoint whose slot is after `after`; null if there is none. Absent if the log is never
   * trimmed.
   */
  readonly newer?: ((after: number) => Promise<Fold<S> | null>) | undefined
  /**
   * Called when replay continues from another checkpoint, immediately after the state was replaced. The slots before
   * this checkpoint are then never applied. Must not throw.
   */
  readonly onReopened?: ((fold: Fold<S>) => void) | undefined
}

/** The start of replay. */
export interface ReplayStart<S> {
  readonly fold: Fold<S>
  /** The mark of the blob of slot `fold.slot`; null if unknown. */
  readonly mark: BlobMark | null
  /** Slots after `fold.slot` that were read together with it; null if they were not read. */
  readonly next: SlotRun | null
  /** The slot of the newest fence after which this log continues; 0 if there is none (commit/log-moves.ts). */
  readonly movedAt: number
}

/**
 * Number of slots that are read together with the slot of a checkpoint, if the log keeps names. Most of them are after the
 * end of the log, because a checkpoint is due after some tens of slots.
 */
export const probes = 8

/** Read slot 0. If the log is empty and `base` is undefined, call `create` to write slot 0. */
export async function readGenesis<S>(
  log: CommitLog,
  base: Fold<S> | undefined,
  create: () => Promise<Uint8Array>,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  const bytes = await log.read(0, signal)
  if (bytes !== null) return bytes
  const last = await log.last(signal)
  const written = last < 0 && base === undefined ? await create() : await log.read(0, signal)
  if (written === null)
    throw base === undefined ? new SlotMissing(0, last) : foreign(base, 'the log has no slot 0')
  return written
}

/**
 * Return the start of replay: `base` (or a newer checkpoint), or slot 0 if `base` is undefined. `genesis`: the bytes of
 * slot 0. Throws Internal ("corrupted") when the checkpoint does not belong to this log.
 */
export async function findStart<S>(
  log: CommitLog,
  machine: Machine<S>,
  genesis: Uint8Array,
  { base, newer, onReopened }: CheckpointOptions<S>,
  signal: AbortSignal | undefined,
): Promise<ReplayStart<S>> {
  const start = decodeGenesis(genesis, machine.features)
  const movedAt = start.moved?.slot ?? 0
  if (base === undefined) {
    const { crc, ts } = start
    const fold = { genesis: start.genesis, crc, ts, slot: 0, state: machine.initial(start.genesis) }
    return { fold, mark: null, next: null, movedAt }
  }
  if (log.trimmedTo !== undefined && base.slot > 0) {
    const { found, mark } = await readSlots(log, base.slot, 1 + probes, signal)
    const [own] = found
    if (own != null) {
      checkBytes(base, start, machine, own)
      return { fold: base, mark: null, next: { found: found.slice(1), mark }, movedAt }
    }
  }
  const fold = await baseInLog(base, log, newer)
  const mark = log.peek?.(fold.slot) ?? null
  await checkBase(fold, start, log, machine, signal)
  if (fold !== base) onReopened?.(fold)
  return { fold, mark, next: null, movedAt }
}

/** Return `base`, or a newer checkpoint if the slot of `base` was trimmed meanwhile. */
export async function baseInLog<S>(
  base: Fold<S>,
  log: CommitLog,
  newer: CheckpointOptions<S>['newer'],
): Promise<Fold<S>> {
  for (let fold = base; ; ) {
    if (fold.slot === 0 || (await log.has(fold.slot))) return fold
    const next = await newer?.(fold.slot)
    if (next == null) return fold
    fold = next
  }
}

/**
 * Check that the slot of a checkpoint is in the log and has the checksum that the checkpoint names. Throws Internal
 * ("corrupted") otherwise. `start`: the content of slot 0.
 */
export async function checkBase<S>(
  base: Fold<S>,
  start: Pick<DecodedGenesis, 'genesis' | 'crc'>,
  log: CommitLog,
  machine: Machine<S>,
  signal?: AbortSignal,
): Promise<void> {
  const bytes = base.slot === 0 ? null : await log.read(base.slot, signal)
  if (base.slot > 0 && bytes === null) {
    throw foreign(base, `that slot is missing, and the log ends with slot ${await log.last(signal)}`)
  }
  checkBytes(base, start, machine, bytes)
}

/** Do what `checkBase` does. `bytes`: the slot of the checkpoint; null for slot 0. */
function checkBytes<S>(
  base: Fold<S>,
  start: Pick<DecodedGenesis, 'genesis' | 'crc'>,
  machine: Machine<S>,
  bytes: Uint8Array | null,
): void {
  if (base.genesis.root !== start.genesis.root) throw foreign(base, 'it belongs to another root')
  const { crc } = bytes === null ? start : decodeSlot(bytes, base.slot, machine.features)
  if (crc !== base.crc) {
    throw foreign(base, `the checksum of that slot is ${crcHex(crc)}, not ${crcHex(base.crc)}`)
  }
}

/** The error for a missing slot when a later slot exists. */
export class SlotMissing extends SheafError {
  readonly slot: number

  constructor(slot: number, later: number) {
    super(ErrorCode.Internal, `slot ${slot} is missing, although slot ${later} exists`, {
      hint: 'part of the log was lost; restore a backup',
    })
    this.slot = slot
  }
}

function foreign<S>({ slot, key }: Fold<S>, what: string): SheafError {
  const name = key === undefined ? '' : ` (${key})`
  return corrupted(`the checkpoint of slot ${slot}${name} does not belong to this log: ${what}`, {
    hint: 'part of the log was lost or comes from another copy of the root; restore a backup',
  })
}
