/** Checks the log slot by slot, folds it anew, and holds against that fold what is kept of it. */
import { catalogMachine } from '../catalog/apply.js'
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
  /** The state to hold everything else against; null where there is none. */
  readonly state: CatalogState | null
  /** The newest slot in it. */
  readonly slot: number
  /** The newest checkpoint that is what the log says, as far as that is still there. */
  readonly checkpoint: Checkpoint<CatalogState> | null
  /** Where the fold of the log ends, if that has no gap from its first slot on. */
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
  const fold = new Fold(genesis)
  if (start > 1) fold.lose(await crcInPacks(verifying, start - 1))
  const sound = new Set<FoundCheckpoint<CatalogState>>()
  const faults = new Map(found.map(each => [each, each.error?.message]))
  for (let number = start; number <= last; number++) {
    findings.progress('log', number - 1, last)
    const isCovered = number <= covered
    const crc = isCovered ? await crcInPacks(verifying, number) : null
    const slot = await readSlot(verifying, number, isCovered, crc)
    if (slot === null) fold.lose(crc)
    else {
      const fault = fold.follow(slot)
      if (fault !== null) await findings.note('slot', slotKey(number), fault)
    }
    const kept = bySlot.get(number)
    if (kept === undefined || kept.checkpoint === null) continue
    const fault = await fold.differs(kept.checkpoint, signal)
    if (fault !== null) faults.set(kept, fault)
    else {
      sound.add(kept)
      fold.resume(kept.checkpoint)
    }
  }
  findings.progress('log', last, last)
  for (const [{ key }, fault] of faults) {
    if (fault === undefined) continue
    // A damaged checkpoint goes where others, or the log, say the same.
    const isSpare = fold.isWhole || sound.size > 0
    await findings.note('checkpoint', key, fault, isSpare ? () => verifying.store.delete(key) : undefined)
  }
  const checkpoint = found.find(each => sound.has(each))?.checkpoint ?? null
  const { state } = fold
  const whole = fold.isWhole ? { genesis: genesis!.genesis, crc: fold.crc!, ts: fold.ts! } : null
  if (state !== null) return { state, slot: last, checkpoint, whole }
  return { state: checkpoint?.state ?? null, slot: checkpoint?.slot ?? 0, checkpoint, whole }
}

/** The first slot after that of the genesis that the log has (infinity: none), and the newest one there is, as far as any are looked at. */
async function endsOf({ store, last: most, found, findings, signal }: Verifying) {
  let first = Number.POSITIVE_INFINITY
  // The slot of a checkpoint was there, and never goes.
  let last = found.find(({ checkpoint }) => checkpoint !== null)?.slot ?? 0
  const pacer = new Pacer(signal)
  for await (const { key } of store.list('_log/', undefined, signal)) {
    const name = key.slice('_log/'.length)
    await pacer.turn()
    if (name.startsWith('.')) continue
    const slot = /^\d{20}$/.test(name) ? Number(name) : Number.NaN
    if (!Number.isSafeInteger(slot)) await findings.note('slot', key, 'it lies in the log and is no slot')
    else if (slot > 0 && slot <= most) {
      first = Math.min(first, slot)
      last = Math.max(last, slot)
    }
  }
  return { first, last }
}

/** Where the fold begins: with the first slot there must be, or one before it that was not trimmed yet. */
async function startOf(verifying: Verifying, first: number): Promise<number> {
  const { findings, found, packs } = verifying
  const known = found.some(({ checkpoint }) => checkpoint !== null)
  if (known || first === 1 || first === Number.POSITIVE_INFINITY) return Math.min(first, packs.covered + 1)
  await mustBeThere(verifying)
  const what = `the log begins with slot ${first}, and no checkpoint says what came before: the root cannot be opened`
  await findings.note('checkpoint', '_ckpt/', what)
  return first
}

/** The checksum that packs have of a slot; null where they are damaged, which was told. */
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
 * Null where there is none, which is noted unless packs stand for it; `crc`: what it then has, where that is known. It is passed
 * over until a trim takes it away, but must not be another.
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
    await findings.note(
      'slot',
      key,
      `it has checksum ${crcHex(slot.crc)}, the slot packs stand for ${crcHex(crc)}`,
    )
  } catch (error) {
    await findings.note('slot', key, damageOf(error))
  }
  return null
}

interface StartOfLog {
  readonly genesis: Genesis
  readonly ts: number
  /** Null: unknown. */
  readonly crc: number | null
}

/** The fold of the log as far as it goes. */
class Fold {
  /** Null behind a gap. */
  state: CatalogState | null
  /** Whether there was no gap so far. */
  isWhole: boolean
  /** Of the slot before; null where nothing is known of it. */
  crc: number | null
  ts: number | null

  constructor(start: StartOfLog | null) {
    this.state = start === null ? null : catalogMachine.initial(start.genesis)
    this.isWhole = start !== null
    this.crc = start?.crc ?? null
    this.ts = start?.ts ?? 0
  }

  /** The next slot is not to be had; of its checksum packs may tell. */
  lose(crc: number | null): void {
    this.state = null
    this.isWhole = false
    this.crc = crc
    this.ts = null
  }

  /** Applies the next slot; gives what is wrong with it. */
  follow({ header, crc }: Slot): string | null {
    const { slot, prev, ts, entries } = header
    const before = this.crc
    const last = this.ts
    this.crc = crc
    this.ts = ts
    let fault: string | null = null
    if (before !== null && prev !== crcHex(before)) {
      fault = `it does not follow the slot before: it names ${prev}, that one is ${crcHex(before)}`
    } else if (last !== null && ts < last) fault = `its time ${ts} is before that of the slot before, ${last}`
    try {
      for (const [entry, each] of entries.entries()) {
        if (this.state !== null) this.state = catalogMachine.apply(this.state, each, { slot, entry, ts })
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

  /** What a checkpoint of the newest slot says otherwise; null where it says the same. */
  async differs(
    checkpoint: Checkpoint<CatalogState>,
    signal: AbortSignal | undefined,
  ): Promise<string | null> {
    if (this.crc === null) return null
    if (checkpoint.crc !== this.crc) return `it is of another slot ${checkpoint.slot} than that of the log`
    if (this.ts !== null && checkpoint.ts !== this.ts)
      return `its time is ${checkpoint.ts}, the log says ${this.ts}`
    if (this.state === null) return null
    // An earlier Sheaf did not write down which versions have expired.
    const { expired } = checkpoint.state
    const known = expired.size > 0 ? this.state : { ...this.state, expired }
    const [kept, folded] = [await checksumOf(checkpoint.state, signal), await checksumOf(known, signal)]
    return kept === folded ? null : `its state has checksum ${crcHex(kept)}, the log makes ${crcHex(folded)}`
  }

  /** Goes on behind a gap from a checkpoint of the newest slot. */
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
