/**
 * Copies old slots into packs (commit/packs), so that they can be deleted from the log. Only slots that are still
 * needed are copied: slots with changes that replay needs, with inline rows, or with replies to calls that may be
 * repeated.
 */
import { versionsWithData } from '../catalog/retention.js'
import type { CatalogState, TableHead } from '../catalog/state.js'
import type { CommitLog } from '../commit/commit-log.js'
import type { Fold } from '../commit/machine.js'
import { coveredBy, type PackedSlot, type PackInfo, type Packs } from '../commit/packs.js'
import { decodeSlot } from '../commit/slot.js'
import type { Slots } from '../commit/slots.js'
import { parseTransactionId } from '../commit/transaction-id.js'
import { corrupted } from '../errors.js'
import { slotOfJob } from '../jobs/job-op.js'
import type { History } from '../manifest/history.js'
import type { LayoutStore } from '../manifest/layout-store.js'
import { reachOf } from '../manifest/reach.js'
import type { VersionRecord } from '../manifest/version.js'
import type { Clock } from '../primitives/clock.js'
import { Pacer } from '../primitives/pacer.js'
import { mergedFrom } from '../primitives/tiers.js'
import type { Pins } from '../write/pins.js'
import { newestSlotAt } from './slot-age.js'

/** Minimum number of old slots for a new pack, unless packing is thorough. */
const slotsMin = 1024
/** Maximum number of slots of one pack, and size in bytes from which a pack is complete. */
const slotsMax = 16 * 1024
const bytesMax = 8 * 1024 * 1024
/**
 * Each slot counts as at least this many bytes when packs are merged. So a merged pack replaces at most `slotsMax`
 * slots.
 */
const slotBytesMin = bytesMax / slotsMax
/** Maximum number of old packs that are examined per run for slots that are no longer needed. */
const examinedMax = 4
/** A pack with fewer bytes than this is not rewritten to drop slots, because that would save too little. */
const shrunkMin = 64 * 1024

interface PackingOptions {
  readonly log: CommitLog
  readonly features: ReadonlySet<string>
  readonly slots: Slots
  readonly packs: Packs
  readonly history: History
  readonly layouts: LayoutStore
  readonly pins: Pins
  readonly clock: Clock
  readonly keepLogMs: number
}

/** The packs that the next checkpoint lists, and a filter for history records. */
export interface Packed {
  readonly packs: readonly PackInfo[]
  /** Returns whether a reader may still need the history record of a version. */
  readonly isNeeded: (table: string, record: VersionRecord) => boolean
}

/** The slots and versions that are still needed. */
interface Needed {
  readonly slots: ReadonlySet<number>
  /**
   * By table uuid: the versions whose records are needed; null if all are needed. If a table is absent, none are
   * needed.
   */
  readonly versions: ReadonlyMap<string, ReadonlySet<number> | null>
}

export class Packing {
  readonly #options: PackingOptions
  /** The pack to examine next is the first one that begins at this slot or later. */
  #examineFrom = 0

  constructor(options: PackingOptions) {
    this.#options = options
  }

  /**
   * Write new packs if they are due, and return all packs that the checkpoint of `fold` should list. New packs replace
   * old slots up to the one before `previous`, which is the slot of the previous checkpoint. With `thorough`, pack even
   * a few slots. All returned packs are durable.
   */
  async next(
    { slot, state }: Fold<CatalogState>,
    previous: number,
    thorough: boolean,
    signal: AbortSignal | undefined,
  ): Promise<Packed> {
    const { slots, packs, clock, keepLogMs } = this.#options
    const known = packs.infos
    const unchanged = { packs: known, isNeeded: () => true }
    const covered = coveredBy(known)
    const least = thorough ? 1 : slotsMin
    if (keepLogMs === Number.POSITIVE_INFINITY || previous - 1 - covered < least) return unchanged
    const old = await newestSlotAt(slots, covered, slot, clock.now() - keepLogMs, signal)
    const to = Math.min(previous - 1, old)
    if (to - covered < least || (await this.#isHeld(state))) return unchanged
    const pacer = new Pacer(signal, clock)
    const needed = await this.#needed(state, pacer)
    const added = await this.#pack(covered, to, needed.slots, slot, pacer)
    return {
      packs: await this.#merged([...known, ...added], needed.slots, slot, pacer),
      isNeeded(table, { version, slot }) {
        const versions = needed.versions.get(table)
        return slot > to || versions === null || versions?.has(version) === true
      },
    }
  }

  /**
   * Return whether a pinned state may have tables or versions that `state` no longer has. Then slots that only the
   * pinned state needs must not be dropped.
   */
  async #isHeld({ drops, sweep }: CatalogState): Promise<boolean> {
    const pinned = await this.#options.pins.oldest()
    if (pinned < sweep.floor) return true
    for (const [, { slot }] of drops) if (pinned < slot) return true
    return false
  }

  async #needed(state: CatalogState, pacer: Pacer): Promise<Needed> {
    const { slots, history, layouts } = this.#options
    const needed = new Set<number>()
    const versions = new Map<string, ReadonlySet<number> | null>()
    const held = versionsWithData(state)
    const add = async (head: TableHead) => {
      await pacer.turn()
      // Keep the records of lance tables, because a Lance engine may repeat the commit of a version that no longer
      // exists.
      versions.set(head.uuid, null)
      if (head.kind !== 'sheaf') return
      const reach = await reachOf({ slots, history, layouts }, head, held(head), pacer, 'slots')
      for (const slot of reach.slots) needed.add(slot)
      versions.set(head.uuid, reach.versions)
      // The slots that the stored manifest replaces will be deleted, so check that it is undamaged.
      for (const version of reach.bases) await layouts.ensureBase(head, version, pacer.signal)
    }
    for (const [, head] of state.tables) await add(head)
    for (const [, head] of state.detached) await add(head)
    for (const [, { slot }] of state.keys) {
      needed.add(slot)
      if (pacer.due()) await pacer.pause()
    }
    for (const [id] of state.notes) {
      needed.add(parseTransactionId(id)?.slot ?? 0)
      if (pacer.due()) await pacer.pause()
    }
    for (const id of state.jobs.keys()) needed.add(slotOfJob(id))
    return { slots: needed, versions }
  }

  /** Write packs that replace the slots after `covered` up to `to`. `birth`: the creation slot in their names. */
  async #pack(
    covered: number,
    to: number,
    needed: ReadonlySet<number>,
    birth: number,
    pacer: Pacer,
  ): Promise<readonly PackInfo[]> {
    const { log, features, packs } = this.#options
    const written: PackInfo[] = []
    let before = await packs.crcOf(covered)
    let pending: PackedSlot[] = []
    let size = 0
    for (let number = covered + 1; number <= to; number++) {
      const bytes = await log.read(number, pacer.signal)
      if (bytes === null) throw corrupted(`slot ${number} is missing`)
      const { crc, header } = decodeSlot(bytes, number, features)
      if (before !== null && Number.parseInt(header.prev, 16) !== before) {
        throw corrupted(`slot ${number} does not follow slot ${number - 1}: the checksums differ`)
      }
      before = crc
      const kept = needed.has(number) ? bytes : null
      pending.push({ crc, bytes: kept })
      size += kept?.length ?? 0
      if (pending.length === slotsMax || size >= bytesMax || number === to) {
        written.push(await packs.write(number - pending.length + 1, pending, birth, pacer))
        pending = []
        size = 0
      }
      await pacer.turn()
    }
    return written
  }

  /**
   * Merge the newest packs if there are many. Also rewrite one older pack if at least half of its bytes are no longer
   * needed. Each run examines different old packs.
   */
  async #merged(
    infos: readonly PackInfo[],
    needed: ReadonlySet<number>,
    birth: number,
    pacer: Pacer,
  ): Promise<readonly PackInfo[]> {
    const start = mergedFrom(
      infos.map(({ from, to, bytes }) => Math.max(bytes, slotBytesMin * (to - from + 1))),
      bytesMax,
    )
    const kept = infos.slice(0, start)
    const last = infos.slice(start)
    const newest = last.length < 2 ? last : [await this.#rewritten(last, needed, birth, pacer)]
    for (const info of this.#inTurn(kept.filter(({ bytes }) => bytes >= shrunkMin))) {
      this.#examineFrom = info.to + 1
      const unneeded = await this.#options.packs.bytesInVain(info, slot => needed.has(slot), pacer)
      if (2 * unneeded < info.bytes) continue
      const smaller = await this.#rewritten([info], needed, birth, pacer)
      return [...kept.map(each => (each === info ? smaller : each)), ...newest]
    }
    return [...kept, ...newest]
  }

  /** Return at most `examinedMax` packs: those after the packs that were examined last, then from the first pack on. */
  #inTurn(infos: readonly PackInfo[]): readonly PackInfo[] {
    const first = infos.findIndex(({ from }) => from >= this.#examineFrom)
    const start = Math.max(0, first)
    return [...infos.slice(start), ...infos.slice(0, start)].slice(0, examinedMax)
  }

  async #rewritten(
    infos: readonly PackInfo[],
    needed: ReadonlySet<number>,
    birth: number,
    pacer: Pacer,
  ): Promise<PackInfo> {
    const { packs } = this.#options
    const slots: PackedSlot[] = []
    for (const info of infos) {
      const chain = await packs.chainOf(info)
      for (let number = info.from; number <= info.to; number++) {
        slots.push({
          crc: chain[number - info.from]!,
          bytes: needed.has(number) ? await packs.readIn(info, number) : null,
        })
        await pacer.turn()
      }
    }
    return packs.write(infos[0]!.from, slots, birth, pacer)
  }
}
