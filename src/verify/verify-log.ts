/** Checks the log slot by slot, replays it, and compares the checkpoints with the replayed state. */
import { catalogMachine } from '../catalog/apply.js'
import type { CatalogEntry } from '../catalog/log-types.js'
import type { CatalogState } from '../catalog/state.js'
import { slotKey, slotOfKey } from '../commit/blob-log.js'
import { type Checkpoint, type FoundCheckpoint, nameOf } from '../commit/checkpoints.js'
import { begunKey } from '../commit/external-log.js'
import type { Genesis } from '../commit/machine.js'
import { decodeGenesis, decodeSlot, type Slot } from '../commit/slot.js'
import { tailKey } from '../commit/tail.js'
import { TailedLog } from '../commit/tailed-log.js'
import { crc32, crcHex } from '../primitives/checksum.js'
import { Pacer } from '../primitives/pacer.js'
import { damageOf } from './findings.js'
import { verifyPacks } from './verify-packs.js'
import { mustBeThere, type Verifying } from './verifying.js'

/** The result of `verifyLog`. */
export interface VerifiedLog {
  /**
   * The state with which the tables are compared: the replayed state, or that of `checkpoint`. Null: no state is
   * readable.
   */
  readonly state: CatalogState | null
  /** The newest slot that `state` includes. 0 if `state` is null. */
  readonly slot: number
  /** The newest checkpoint that agrees with the slots that still exist. Null: there is none. */
  readonly checkpoint: Checkpoint<CatalogState> | null
  /**
   * The genesis, and the checksum and time of the last slot. Null if the replay did not begin at slot 0, or found a
   * gap.
   */
  readonly whole: { readonly genesis: Genesis; readonly crc: number; readonly ts: number } | null
}

/** Check the genesis, the packs, the slots of the log, and the checkpoints. */
export async function verifyLog(verifying: Verifying): Promise<VerifiedLog> {
  const { findings, found, packs, signal } = verifying
  for (const { key, bytes } of found) findings.file(key, bytes)
  const bySlot = new Map(found.filter(each => each.checkpoint !== null).map(each => [each.slot, each]))
  const genesis = await readGenesis(verifying, found)
  await verifyPacks(verifying, genesis?.crc ?? null)
  const { covered } = packs
  const { first, last } = await endsOf(verifying)
  const start = await startOf(verifying, first)
  const replay = new Replay(genesis)
  if (start > 1) replay.skip(await crcInPacks(verifying, start - 1))
  const sound = new Set<FoundCheckpoint<CatalogState>>()
  const faults = new Map(found.map(each => [each, each.error?.message]))
  for (let number = start; number <= last; number++) {
    findings.progress('log', number - 1, last)
    const isCovered = number <= covered
    const crc = isCovered ? await crcInPacks(verifying, number) : null
    const slot = await readSlot(verifying, number, isCovered, crc)
    if (slot === null) replay.skip(crc)
    else {
      const fault = replay.apply(slot)
      if (fault !== null) await findings.note('slot', verifying.log.fileOf(number), fault)
    }
    const kept = bySlot.get(number)
    if (kept === undefined || kept.checkpoint === null) continue
    const fault = await replay.differenceTo(kept.checkpoint, signal)
    if (fault !== null) faults.set(kept, fault)
    else {
      sound.add(kept)
      replay.resume(kept.checkpoint)
    }
  }
  findings.progress('log', last, last)
  await checkParts(verifying, replay.state ?? found.find(each => sound.has(each))?.checkpoint?.state, faults)
  for (const [{ key }, fault] of faults) {
    if (fault === undefined) continue
    // A damaged checkpoint can be deleted if the root can be opened without it: from another checkpoint, or from the
    // whole log.
    const isSpare = replay.isWhole || sound.size > 0
    await findings.note('checkpoint', key, fault, isSpare ? () => verifying.store.delete(key) : undefined)
  }
  const checkpoint = found.find(each => sound.has(each))?.checkpoint ?? null
  const { state } = replay
  const whole = replay.isWhole ? { genesis: genesis!.genesis, crc: replay.crc!, ts: replay.ts! } : null
  if (state !== null) return { state, slot: last, checkpoint, whole }
  return { state: checkpoint?.state ?? null, slot: checkpoint?.slot ?? 0, checkpoint, whole }
}

/** Add the faults of checkpoints that the log names and that lack a part. Parts of old parts may be missing. */
async function checkParts(
  verifying: Verifying,
  state: CatalogState | undefined,
  faults: Map<FoundCheckpoint<CatalogState>, string | undefined>,
): Promise<void> {
  const named = new Set(state?.checkpoints.map(({ name }) => name))
  for (const each of verifying.found) {
    if (each.lacks === null || !named.has(nameOf(each.key))) continue
    await mustBeThere(verifying)
    faults.set(each, `${each.lacks}, which it is based on, is missing`)
  }
}

/**
 * Return the first slot of the log after the genesis, and the newest slot that the verification reads. `first` is
 * Infinity if the log has only the genesis.
 */
async function endsOf(verifying: Verifying) {
  const { store, last: most, found, packs, findings, signal } = verifying
  let first = Number.POSITIVE_INFINITY
  // The slot of the newest checkpoint must exist, because it was written before the checkpoint and no trim deletes it.
  let last = found.find(({ checkpoint }) => checkpoint !== null)?.slot ?? 0
  const { log } = verifying
  if (!(log instanceof TailedLog)) {
    last = Math.max(last, Math.min(most, await log.last(signal)))
    return { first: (await log.first(signal)) ?? first, last }
  }
  const pacer = new Pacer(signal)
  for await (const { key, size } of store.list('_log/', undefined, signal)) {
    const name = key.slice('_log/'.length)
    await pacer.turn()
    // A root whose log was moved to its files may have the other file.
    if (name.startsWith('.') || key === begunKey) continue
    const slot = slotOfKey(key)
    if (slot === null)
      await findings.note('slot', key, 'it is in the folder of the log, but its name is not a slot number')
    else if (key === slotKey(slot) && slot > 0 && slot <= most && (size > 0 || slot > packs.covered)) {
      first = Math.min(first, slot)
      last = Math.max(last, slot)
    }
  }
  return { first, last: Math.max(last, Math.min(most, await lastInTails(log, verifying))) }
}

/** Check the tails and their ends. Returns the last slot of all tails, or 0. */
async function lastInTails(log: TailedLog, { findings, signal }: Verifying): Promise<number> {
  let last = 0
  for (const base of await log.bases(signal)) {
    try {
      await log.settle(signal)
      last = (await log.tail(base))?.last ?? last
    } catch (error) {
      await findings.note('slot', tailKey(base), damageOf(error))
    }
  }
  return last
}

/**
 * Return the slot where the replay begins: the first slot of the log, or the first slot that no pack covers if it is
 * earlier.
 */
async function startOf(verifying: Verifying, first: number): Promise<number> {
  const { findings, found, packs } = verifying
  const known = found.some(({ checkpoint }) => checkpoint !== null)
  if (known || first === 1 || first === Number.POSITIVE_INFINITY) return Math.min(first, packs.covered + 1)
  await mustBeThere(verifying)
  const what = `the log begins with slot ${first}, and no checkpoint has the state before it, so the root cannot be opened`
  await findings.note('checkpoint', '_ckpt/', what)
  return first
}

/**
 * Return the checksum of a slot that the packs record. Returns null if the pack is damaged, which `verifyPacks`
 * reports.
 */
async function crcInPacks({ packs }: Verifying, number: number): Promise<number | null> {
  try {
    return await packs.crcOf(number)
  } catch (error) {
    damageOf(error)
    return null
  }
}

async function readGenesis(
  { log, findings, signal }: Verifying,
  found: readonly FoundCheckpoint<CatalogState>[],
): Promise<StartOfLog | null> {
  const key = log.fileOf(0)
  try {
    const bytes = await log.read(0, signal)
    if (bytes !== null) {
      findings.slot(key, bytes.length)
      return decodeGenesis(bytes, catalogMachine.features)
    }
    await findings.note('slot', key, 'it is missing')
  } catch (error) {
    await findings.note('slot', key, damageOf(error))
  }
  const genesis = found.find(each => each.checkpoint !== null)?.checkpoint?.genesis
  return genesis === undefined ? null : { genesis, ts: 0, crc: null }
}

/**
 * Read a slot. Returns null if the slot is missing or damaged. A missing slot is a problem unless packs cover it.
 * `crc`: checksum of the slot that the packs record; null: unknown. A slot that packs cover may still be in the log
 * until the next trim. Then its checksum must be `crc`.
 */
async function readSlot(
  verifying: Verifying,
  number: number,
  isCovered: boolean,
  crc: number | null,
): Promise<Slot | null> {
  const { log, findings, signal } = verifying
  try {
    const bytes = await log.read(number, signal)
    if (bytes === null) {
      if (isCovered) return null
      await mustBeThere(verifying)
      await findings.note('slot', log.fileOf(number), 'it is missing')
      return null
    }
    findings.slot(slotKey(number), bytes.length)
    const slot = decodeSlot(bytes, number, catalogMachine.features)
    if (crc === null || slot.crc === crc) return slot
    await findings.note(
      'slot',
      log.fileOf(number),
      `slot ${number} has checksum ${crcHex(slot.crc)}, but packs record ${crcHex(crc)}`,
    )
  } catch (error) {
    await findings.note('slot', log.fileOf(number), damageOf(error))
  }
  return null
}

/** The start of a replay: the genesis slot. */
interface StartOfLog {
  readonly genesis: Genesis
  readonly ts: number
  /** Checksum of the genesis slot. Null: unknown. */
  readonly crc: number | null
}

/** A replay of the log. After a gap or a damaged slot, it continues from the next checkpoint. */
class Replay {
  /** The catalog state after the last slot. Null after a gap. */
  state: CatalogState | null
  /** Whether the replay began at slot 0, and has found no gap so far. */
  isWhole: boolean
  /** Checksum of the last slot. Null: unknown. */
  crc: number | null
  /** Time of the last slot. Null: unknown. */
  ts: number | null

  constructor(start: StartOfLog | null) {
    this.state = start === null ? null : catalogMachine.initial(start.genesis)
    this.isWhole = start !== null
    this.crc = start?.crc ?? null
    this.ts = start?.ts ?? 0
  }

  /** Skip the next slot, which is not readable. `crc`: its checksum, if packs record it; null: unknown. */
  skip(crc: number | null): void {
    this.state = null
    this.isWhole = false
    this.crc = crc
    this.ts = null
  }

  /** Apply the next slot. Returns a description of its fault. Returns null if the slot has no fault. */
  apply({ header, crc }: Slot): string | null {
    const { slot, prev, ts, entries } = header
    const before = this.crc
    const last = this.ts
    this.crc = crc
    this.ts = ts
    let fault: string | null = null
    if (before !== null && prev !== crcHex(before)) {
      fault = `it does not follow the previous slot: its prev is ${prev}, but the previous slot has the checksum ${crcHex(before)}`
    } else if (last !== null && ts < last)
      fault = `its time ${ts} is before ${last}, the time of the previous slot`
    try {
      for (const [entry, each] of entries.entries()) {
        if (this.state !== null)
          this.state = catalogMachine.apply(this.state, each as CatalogEntry, { slot, entry, ts })
      }
    } catch (error) {
      fault ??= `it cannot be applied: ${damageOf(error)}`
    }
    if (fault !== null) {
      this.state = null
      this.isWhole = false
    }
    return fault
  }

  /**
   * Compare a checkpoint of the last slot with the replay. Returns a description of the difference. Returns null if
   * they agree.
   */
  async differenceTo(
    checkpoint: Checkpoint<CatalogState>,
    signal: AbortSignal | undefined,
  ): Promise<string | null> {
    if (this.crc === null) return null
    if (checkpoint.crc !== this.crc)
      return `it was written for another slot ${checkpoint.slot} than that in the log`
    if (this.ts !== null && checkpoint.ts !== this.ts)
      return `its time is ${checkpoint.ts}, but the time of its slot is ${this.ts}`
    if (this.state === null) return null
    // Earlier releases of Sheaf did not record the expired versions. Then do not compare them.
    const { expired } = checkpoint.state
    const known = expired.size > 0 ? this.state : { ...this.state, expired }
    const [stored, replayed] = [await checksumOf(checkpoint.state, signal), await checksumOf(known, signal)]
    return stored === replayed
      ? null
      : `its state has the checksum ${crcHex(stored)}, but a replay of the log gives ${crcHex(replayed)}`
  }

  /** Continue after a gap from a checkpoint of the last slot. Has no effect if there was no gap. */
  resume({ state, crc, ts }: Checkpoint<CatalogState>): void {
    if (this.state !== null) return
    this.state = state
    this.crc = crc
    this.ts = ts
  }
}

async function checksumOf(state: CatalogState, signal: AbortSignal | undefined): Promise<number> {
  const pacer = new Pacer(signal)
  let crc = 0
  for (const text of catalogMachine.save(state)) {
    crc = crc32(Buffer.from(`${text}\n`), crc)
    await pacer.turn()
  }
  return crc
}
