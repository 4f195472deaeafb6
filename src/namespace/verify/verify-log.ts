/** Checks the log slot by slot, folds it anew, and holds against that fold what is kept of it. */
import { catalogMachine } from '../../catalog/apply.js'
import type { CatalogState } from '../../catalog/state.js'
import type { Checkpoint, FoundCheckpoint } from '../../commit/checkpoints.js'
import type { Genesis } from '../../commit/machine.js'
import { decodeGenesis, decodeSlot, type Slot } from '../../commit/slot.js'
import { ErrorCode, SheafError } from '../../errors.js'
import { crc32, crcHex } from '../../primitives/checksum.js'
import { Pacer } from '../../primitives/pacer.js'
import type { Verifying } from './verifying.js'

export interface VerifiedLog {
  /** The state to hold everything else against; null where there is none. */
  readonly state: CatalogState | null
  /** The newest slot in it. */
  readonly slot: number
  /** The newest checkpoint that is what the log says. */
  readonly checkpoint: Checkpoint<CatalogState> | null
  /** Where the fold of the log ends, if that has no gap from its first slot on. */
  readonly whole: { readonly genesis: Genesis; readonly crc: number; readonly ts: number } | null
}

export async function verifyLog(verifying: Verifying): Promise<VerifiedLog> {
  const { findings, signal } = verifying
  const last = await lastSlot(verifying)
  const found: FoundCheckpoint<CatalogState>[] = []
  for await (const each of verifying.checkpoints.each(signal)) {
    if (each.slot > last) continue
    found.push(each)
    findings.file(each.bytes)
  }
  const bySlot = new Map(found.map(each => [each.slot, each]))
  const genesis = await readGenesis(verifying, found)
  const fold = new Fold(genesis)
  const sound = new Set<FoundCheckpoint<CatalogState>>()
  for (let number = 1; number <= last; number++) {
    findings.progress('log', number - 1, last)
    const key = slotKey(number)
    const slot = await readSlot(verifying, number)
    if (slot === null) fold.lose()
    else {
      const fault = fold.follow(slot)
      if (fault !== null) await findings.note('slot', key, fault)
    }
    const kept = bySlot.get(number)
    if (kept === undefined) continue
    const fault = kept.error?.message ?? (await fold.differs(kept.checkpoint!, signal))
    if (fault === null) {
      sound.add(kept)
      fold.resume(kept.checkpoint!)
    } else await noteCheckpoint(verifying, kept, fault, found, fold.isWhole)
  }
  findings.progress('log', last, last)
  const checkpoint = found.find(each => sound.has(each))?.checkpoint ?? null
  const { state } = fold
  const whole = fold.isWhole ? { genesis: genesis!.genesis, crc: fold.crc!, ts: fold.ts } : null
  if (state !== null) return { state, slot: last, checkpoint, whole }
  return { state: checkpoint?.state ?? null, slot: checkpoint?.slot ?? 0, checkpoint, whole }
}

/** A damaged checkpoint goes where others, or the log, say the same. */
async function noteCheckpoint(
  { findings, store }: Verifying,
  { key }: FoundCheckpoint<CatalogState>,
  fault: string,
  found: readonly FoundCheckpoint<CatalogState>[],
  isWhole: boolean,
): Promise<void> {
  const isSpare = isWhole || found.some(other => other.key !== key && other.error === null)
  await findings.note('checkpoint', key, fault, isSpare ? () => store.delete(key) : undefined)
}

/** The newest slot there is, as far as any are looked at. */
async function lastSlot({ store, last, findings, signal }: Verifying): Promise<number> {
  let greatest = 0
  const pacer = new Pacer(signal)
  for await (const { key } of store.list('_log/', undefined, signal)) {
    const name = key.slice('_log/'.length)
    await pacer.turn()
    if (name.startsWith('.')) continue
    const slot = /^\d{20}$/.test(name) ? Number(name) : Number.NaN
    if (!Number.isSafeInteger(slot)) await findings.note('slot', key, 'it lies in the log and is no slot')
    else if (slot <= last) greatest = Math.max(greatest, slot)
  }
  return greatest
}

async function readGenesis(
  { log, findings, signal }: Verifying,
  found: readonly FoundCheckpoint<CatalogState>[],
): Promise<StartOfLog | null> {
  const key = slotKey(0)
  try {
    const bytes = await log.read(0, signal)
    if (bytes !== null) {
      findings.checked.slots++
      findings.checked.bytes += bytes.length
      return decodeGenesis(bytes, catalogMachine.features)
    }
    await findings.note('slot', key, 'it is missing')
  } catch (error) {
    await findings.note('slot', key, damageOf(error))
  }
  const genesis = found.find(each => each.checkpoint !== null)?.checkpoint?.genesis
  return genesis === undefined ? null : { genesis, ts: 0, crc: null }
}

/** Null where it is missing or damaged, which is noted. */
async function readSlot({ log, findings, signal }: Verifying, number: number): Promise<Slot | null> {
  const key = slotKey(number)
  try {
    const bytes = await log.read(number, signal)
    if (bytes !== null) {
      findings.checked.slots++
      findings.checked.bytes += bytes.length
      return decodeSlot(bytes, number, catalogMachine.features)
    }
    await findings.note('slot', key, 'it is missing')
  } catch (error) {
    await findings.note('slot', key, damageOf(error))
  }
  return null
}

/** What is wrong with bytes that could not be read. Throws on what says nothing of them. */
export function damageOf(error: unknown): string {
  if (error instanceof SheafError && error.code === ErrorCode.Internal) return error.message
  throw error
}

export function slotKey(slot: number): string {
  return `_log/${String(slot).padStart(20, '0')}`
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
  ts: number

  constructor(start: StartOfLog | null) {
    this.state = start === null ? null : catalogMachine.initial(start.genesis)
    this.isWhole = start !== null
    this.crc = start?.crc ?? null
    this.ts = start?.ts ?? 0
  }

  /** The next slot is not to be had. */
  lose(): void {
    this.state = null
    this.isWhole = false
    this.crc = null
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
    } else if (ts < last) fault = `its time ${ts} is before that of the slot before, ${last}`
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
    if (checkpoint.ts !== this.ts) return `its time is ${checkpoint.ts}, the log says ${this.ts}`
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
