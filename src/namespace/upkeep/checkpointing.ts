/** Writes a checkpoint of the state, and a page of the history up to it, when the log after the newest one is long. */

import { featuresOfBuilds } from '../../catalog/index-builds.js'
import { sweepFeature } from '../../catalog/ops.js'
import type { CatalogState } from '../../catalog/state.js'
import type { Checkpoint, CheckpointNote, Checkpoints } from '../../commit/checkpoints.js'
import type { Committer } from '../../commit/committer.js'
import type { Fold, Json } from '../../commit/machine.js'
import { type Packs, packsFeature } from '../../commit/packs.js'
import type { Slot } from '../../commit/slot.js'
import type { History } from '../../manifest/history.js'
import { type CheckpointExtra, extraOf, nextExtra, packsOf, pagesOf } from './checkpoint-extra.js'
import type { Packed, Packing } from './packing.js'
import type { Chore, Report, Warn } from './upkeep.js'

/** Pages and packs that others took the place of stay for so long at least. */
export const replacedMs = 10 * 1000
/** A checkpoint is due when the log after the newest one has this many bytes, and half as many as that one has; */
const tailBytesMin = 256 * 1024
/** a slot counts as a block, however short it is: who opens the root reads each for itself; */
const slotBytesMin = 4096
/** or this many slots. */
const tailSlotsMax = 4000

/** How much log there is after a checkpoint. */
export class Tail {
  slots = 0
  bytes = 0

  note(slot: Slot): void {
    this.slots++
    this.bytes += Math.max(slotBytesMin, slot.bytes)
  }

  isLong(checkpointBytes: number): boolean {
    return this.slots >= tailSlotsMax || this.bytes >= Math.max(tailBytesMin, checkpointBytes / 2)
  }
}

export interface CheckpointingOptions {
  readonly committer: Committer<CatalogState>
  readonly checkpoints: Checkpoints<CatalogState>
  readonly history: History
  readonly packs: Packs
  readonly packing: Packing
  readonly keepOrphansMs: number
  /** The checkpoint the root was opened from. */
  readonly opened: Checkpoint<CatalogState> | null
  /** What was applied since then; it goes on counting. */
  readonly tail: Tail
  readonly report: Report
  readonly warn: Warn
}

export class Checkpointing implements Chore {
  readonly name = 'writing a checkpoint'
  readonly #options: CheckpointingOptions
  /** Keys of checkpoints whose notes were read, or written. */
  readonly #known = new Set<string>()
  #slot = 0
  #bytes = 0
  #extra: CheckpointExtra = { pages: [] }

  constructor(options: CheckpointingOptions) {
    this.#options = options
    if (options.opened !== null) this.#take(options.opened)
  }

  /** The slot of the newest checkpoint that is known here. */
  get slot(): number {
    return this.#slot
  }

  dueIn(): number {
    return this.#options.tail.isLong(this.#bytes) ? 0 : Number.POSITIVE_INFINITY
  }

  async work(thorough: boolean, signal: AbortSignal): Promise<void> {
    const { committer, checkpoints, history, packs, tail, keepOrphansMs, report } = this.#options
    for (;;) {
      // Another process may have been first: its pages serve here as well.
      await this.#adoptOthers()
      const fold = committer.fold
      if (fold.slot === this.#slot || (!thorough && this.dueIn() > 0)) return
      const { slots, bytes } = tail
      const { packs: packed, isNeeded } = await this.#pack(fold, thorough, signal)
      const pages = await history.writePage(fold.slot, undefined, isNeeded)
      const forgotten = fold.ts - 2 * Math.max(keepOrphansMs, replacedMs)
      const extra = nextExtra(this.#extra, pages, packed, fold.ts, forgotten)
      const written = await writeCheckpoint(checkpoints, fold, extra)
      this.#known.add(written.key)
      if ((await checkpoints.notes(this.#known)).length > 0) {
        // One came between, and may know of packs that this one does not name.
        await checkpoints.remove(written.key)
        this.#known.delete(written.key)
        continue
      }
      history.seal(pages)
      packs.adopt(packed)
      this.#slot = fold.slot
      this.#bytes = written.bytes
      this.#extra = extra
      // What was applied meanwhile is the beginning of the next tail.
      tail.slots -= slots
      tail.bytes -= bytes
      report({ kind: 'checkpoint', slot: fold.slot, bytes: written.bytes })
      await checkpoints.prune()
      return
    }
  }

  /** A slot that is damaged is left in the log: nothing may keep the root from being checkpointed. */
  async #pack(fold: Fold<CatalogState>, thorough: boolean, signal: AbortSignal): Promise<Packed> {
    const { packing, packs, warn } = this.#options
    try {
      return await packing.next(fold, this.#slot, thorough, signal)
    } catch (cause) {
      signal.throwIfAborted()
      warn('old slots of the log stay for now', cause)
      return { packs: packs.infos, isNeeded: () => true }
    }
  }

  /** The root goes on from another checkpoint: nothing between was applied. */
  reopened(checkpoint: Checkpoint<CatalogState>): void {
    const { history, packs, tail } = this.#options
    history.seal(pagesOf(checkpoint))
    packs.adopt(packsOf(checkpoint))
    tail.slots = 0
    tail.bytes = 0
    this.#take(checkpoint)
  }

  async #adoptOthers(): Promise<void> {
    const { committer, checkpoints, history, packs, tail } = this.#options
    const notes = await checkpoints.notes(this.#known)
    for (const note of notes) packs.adopt(packsOf(note))
    const [newest] = notes
    if (newest === undefined) return
    if (newest.slot > committer.head) await committer.refresh()
    if (newest.slot > this.#slot && newest.slot <= committer.head) {
      const share = (committer.head - newest.slot) / Math.max(1, committer.head - this.#slot)
      history.seal(pagesOf(newest))
      tail.slots = committer.head - newest.slot
      tail.bytes = Math.round(tail.bytes * share)
      this.#take(newest)
    }
    for (const { key } of notes) this.#known.add(key)
  }

  #take(note: CheckpointNote): void {
    const { key, slot, bytes } = note
    this.#known.add(key)
    this.#extra = extraOf(note)
    this.#slot = slot
    this.#bytes = bytes
  }
}

/** Writes a checkpoint with what it says beside the state; its readers must know what both speak of. */
export function writeCheckpoint(
  checkpoints: Checkpoints<CatalogState>,
  fold: Fold<CatalogState>,
  extra: CheckpointExtra,
  signal?: AbortSignal,
): Promise<{ readonly key: string; readonly bytes: number }> {
  const { sweep, expired, jobs, failedBuilds } = fold.state
  const need: string[] = []
  if (sweep.floor > 0 || expired.size > 0) need.push(sweepFeature)
  need.push(...featuresOfBuilds(jobs, failedBuilds))
  if (extra.packs !== undefined) need.push(packsFeature)
  return checkpoints.write(fold, extra as unknown as Json, need, signal)
}
