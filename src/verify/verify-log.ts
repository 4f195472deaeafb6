/** Checks the log slot by slot, replays it, and compares the checkpoints with the replayed state. */
import { catalogMachine } from '../catalog/apply.js'
import type { CatalogEntry } from '../catalog/log-types.js'
import type { CatalogState } from '../catalog/state.js'
import { slotKey } from '../commit/blob-log.js'
import type { Checkpoint, FoundCheckpoint } from '../commit/checkpoints.js'
import type { Genesis } from '../commit/machine.js'
import { decodeGenesis, decodeSlot, type Slot } from '../commit/slot.js'
import { crc32, crcHex } from '../primitives/checksum.js'
import { Pacer } from '../primitives/pacer.js'
import { damageOf } from './findings.js'
import { verifyPacks } from './verify-packs.js'
import { mustBeThere, type Verifying } from './verifying.js'

export interface VerifiedLog {
  /** The state to compare everything else with; null if there is none. */
  readonly state: CatalogState | null
  /** The newest slot in `state`. */
  readonly slot: number
  /** The newest checkpoint that agrees with the log, as far as the log still exists. */
  readonly checkpoint: Checkpoint<CatalogState> | null
  /** The end of the replay, if the log has no gap from its first slot on. */
  readonly whole: { readonly genesis: Genesis; readonly crc: number; readonly ts: number } | null
}

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
      if (fault !== null) await findings.note('slot', slotKey(number), fault)
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
  for (const [{ key }, fault] of faults) {
    if (fault === undefined) continue
    // A damaged checkpoint can be deleted if another checkpoint, or the log, holds the same state.
    const isSpare = replay.isWhole || sound.size > 0
    await findings.note('checkpoint', key, fault, isSpare ? () => verifying.store.delete(key) : undefined)
  }
  const checkpoint = found.find(each => sound.has(each))?.checkpoint ?? null
  const { state } = replay
  const whole = replay.isWhole ? { genesis: genesis!.genesis, crc: replay.crc!, ts: replay.ts! } : null
  if (state !== null) return { state, slot: last, checkpoint, whole }
  return { state: checkpoint?.state ?? null, slot: checkpoint?.slot ?? 0, checkpoint, whole }
}

/** Return the first slot of the log after the genesis (Infinity: none), and the newest one up to the slot at which the root is read. */
async function endsOf({ store, last: most, found, findings, signal }: Verifying) {
  let first = Number.POSITIVE_INFINITY
  // The slot of a checkpoint was written, and no trim deletes it.
  let last = found.find(({ checkpoint }) => checkpoint !== null)?.slot ?? 0
  const pacer = new Pacer(signal)
  for await (const { key } of store.list('_log/', undefined, signal)) {
    const name = key.slice('_log/'.length)
    await pacer.turn()
    if (name.startsWith('.')) continue
    const slot = /^\d{20}$/.test(name) ? Number(name) : Number.NaN
    if (!Number.isSafeInteger(slot))
      await findings.note('slot', key, 'it is in the folder of the log, but its name is not a slot number')
    else if (slot > 0 && slot <= most) {
      first = Math.min(first, slot)
      last = Math.max(last, slot)
    }
  }
  return { first, last }
}

/** Return the slot where the replay begins: the first slot that no pack covers, or an earlier one that was not trimmed yet. */
async function startOf(verifying: Verifying, first: number): Promise<number> {
  const { findings, found, packs } = verifying
  const known = found.some(({ checkpoint }) => checkpoint !== null)
  if (known || first === 1 || first === Number.POSITIVE_INFINITY) return Math.min(first, packs.covered + 1)
  await mustBeThere(verifying)
  const what = `the log begins with slot ${first}, and no checkpoint holds the state before it: the root cannot be opened`
  await findings.note('checkpoint', '_ckpt/', what)
  return first
}

/** Return the checksum that packs record for a slot; null if the pack is damaged, which `verifyPacks` notes. */
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
  const key = slotKey(0)
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
 * Read a slot. Returns null if the slot is missing or damaged. A missing slot is a problem unless packs cover it. `crc`: the checksum that
 * packs record, if known. A covered slot may stay until the next trim, but its checksum must be this one.
 */
async function readSlot(
  verifying: Verifying,
  number: number,
  isCovered: boolean,
  crc: number | null,
): Promise<Slot | null> {
  const { log, findings, signal } = verifying
  const key = slotKey(number)
  try {
    const bytes = await log.read(number, signal)
    if (bytes === null) {
      if (isCovered) return null
      await mustBeThere(verifying)
      await findings.note('slot', key, 'it is missing')
      return null
    }
    findings.slot(key, bytes.length)
    const slot = decodeSlot(bytes, number, catalogMachine.features)
    if (crc === null || slot.crc === crc) return slot
    await findings.note('slot', key, `it has checksum ${crcHex(slot.crc)}, but packs record ${crcHex(crc)}`)
  } catch (error) {
    await findings.note('slot', key, damageOf(error))
  }
  return null
}

interface StartOfLog {
  readonly genesis: Genesis
  readonly ts: number
  /** Checksum of the genesis slot; null if unknown. */
  readonly crc: number | null
}

/** Replays the log as far as it is readable. */
class Replay {
  /** The catalog state; null after a gap. */
  state: CatalogState | null
  /** Whether the log had no gap so far. */
  isWhole: boolean
  /** Checksum and time of the slot before; null if unknown. */
  crc: number | null
  ts: number | null

  constructor(start: StartOfLog | null) {
    this.state = start === null ? null : catalogMachine.initial(start.genesis)
    this.isWhole = start !== null
    this.crc = start?.crc ?? null
    this.ts = start?.ts ?? 0
  }

  /** Note that the next slot is not readable. `crc`: its checksum if packs record it. */
  skip(crc: number | null): void {
    this.state = null
    this.isWhole = false
    this.crc = crc
    this.ts = null
  }

  /** Apply the next slot. Returns what is wrong with it, or null. */
  apply({ header, crc }: Slot): string | null {
    const { slot, prev, ts, entries } = header
    const before = this.crc
    const last = this.ts
    this.crc = crc
    this.ts = ts
    let fault: string | null = null
    if (before !== null && prev !== crcHex(before)) {
      fault = `it does not follow the slot before: its prev is ${prev}, but that slot has checksum ${crcHex(before)}`
    } else if (last !== null && ts < last)
      fault = `its time ${ts} is before the time of the slot before, ${last}`
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

  /** Return how a checkpoint of the newest replayed slot differs from the replay; null if it does not. */
  async differenceTo(
    checkpoint: Checkpoint<CatalogState>,
    signal: AbortSignal | undefined,
  ): Promise<string | null> {
    if (this.crc === null) return null
    if (checkpoint.crc !== this.crc)
      return `it was written for a slot ${checkpoint.slot} other than that of the log`
    if (this.ts !== null && checkpoint.ts !== this.ts)
      return `its time is ${checkpoint.ts}, the log says ${this.ts}`
    if (this.state === null) return null
    // An earlier Sheaf did not record which versions have expired.
    const { expired } = checkpoint.state
    const known = expired.size > 0 ? this.state : { ...this.state, expired }
    const [stored, replayed] = [await checksumOf(checkpoint.state, signal), await checksumOf(known, signal)]
    return stored === replayed
      ? null
      : `its state has checksum ${crcHex(stored)}, a replay of the log gives ${crcHex(replayed)}`
  }

  /** Continue after a gap from a checkpoint of the newest slot. */
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
