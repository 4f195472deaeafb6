/**
 * Writes a checkpoint of the state, and a page of the history up to it, when the log after the newest one is long.
 *
 * A checkpoint counts when the log names it. It is named only if the checkpoints which the log named in the state it holds are
 * still the newest: so whatever it names was named by one of these, or was written after them. What anybody may delete follows
 * from that alone (maintenance/trim), whatever the clocks say, and however long a writer slept on its way.
 */

import { featuresOfBuilds } from '../catalog/index-builds.js'
import { type CheckpointOp, checkpointsFeature, sweepFeature } from '../catalog/ops.js'
import type { CatalogState } from '../catalog/state.js'
import { uploadsFeature } from '../catalog/uploads.js'
import { type Checkpoint, type CheckpointNote, type Checkpoints, nameOf } from '../commit/checkpoints.js'
import type { Committer } from '../commit/committer.js'
import type { Committed, Fold, Json } from '../commit/machine.js'
import { type Packs, packsFeature } from '../commit/packs.js'
import type { Slot } from '../commit/slot.js'
import type { History } from '../manifest/history.js'
import { type CheckpointExtra, extraOf, nextExtra, packsOf, pagesOf } from './checkpoint-extra.js'
import { keptNote } from './kept-note.js'
import type { Chore, Report, Warn } from './maintenance.js'
import type { Packed, Packing } from './packing.js'

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

  /** A slot that only names a checkpoint tells nothing that another one would have to hold. */
  note(slot: Slot): void {
    if (slot.header.entries.every(({ ops }) => ops.every(isNaming))) return
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
  /** The name of the checkpoint that pages and packs are known from. */
  #name = ''
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
      const known = await this.#adoptKept(signal)
      const fold = committer.fold
      if (tail.slots === 0 || (!thorough && this.dueIn() > 0)) return
      if (namesOf(fold.state) !== known) continue
      const { slots, bytes } = tail
      const { packs: packed, isNeeded } = await this.#pack(fold, thorough, signal)
      const pages = await history.writePage(fold.slot, undefined, isNeeded)
      const forgotten = fold.ts - 2 * Math.max(keepOrphansMs, replacedMs)
      const extra = nextExtra(this.#extra, pages, packed, fold.ts, forgotten)
      const written = await writeCheckpoint(checkpoints, fold, extra)
      const named = await this.#enter(written.key, fold)
      if (named === null) {
        await checkpoints.remove(written.key)
        continue
      }
      // Whoever missed a page meanwhile may have found a newer checkpoint.
      if (history.sealed <= fold.slot) {
        history.seal(pages)
        packs.adopt(packed)
      }
      this.#name = nameOf(written.key)
      this.#slot = fold.slot
      this.#bytes = written.bytes
      this.#extra = extra
      // What was applied meanwhile is the beginning of the next tail.
      tail.slots -= slots
      tail.bytes -= bytes
      report({ kind: 'checkpoint', slot: fold.slot, bytes: written.bytes })
      await this.#prune(named.state)
      return
    }
  }

  /**
   * Has the log name a checkpoint. Null when it named another since the state that the checkpoint holds: what this one names may be
   * gone.
   */
  async #enter(key: string, { state: before }: Fold<CatalogState>): Promise<Committed<CatalogState> | null> {
    const op: CheckpointOp = { op: 'checkpoint', name: nameOf(key) }
    const known = namesOf(before)
    try {
      return await this.#options.committer.commit(state => {
        if (namesOf(state) !== known) throw overtaken
        return { ops: [op as unknown as Json] }
      })
    } catch (error) {
      if (error === overtaken) return null
      throw error
    }
  }

  /** Deletes what can never be named any more: checkpoints of states in which the newest one was not named yet. */
  async #prune({ checkpoints: kept }: CatalogState): Promise<void> {
    const newest = kept.at(-1)
    if (newest === undefined || kept.length < 2) return
    await this.#options.checkpoints.prune(new Set(kept.map(({ name }) => name)), newest.at)
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

  /**
   * From now on builds on the newest checkpoint that is whole of those which the log names. Gives the names of these: another one that
   * is named meanwhile may name files that are not known here.
   */
  async #adoptKept(signal: AbortSignal): Promise<string> {
    const { committer, checkpoints, history, packs, tail } = this.#options
    await committer.refresh(signal)
    const { state } = committer
    const names = namesOf(state)
    if (names === '' || state.checkpoints.at(-1)!.name === this.#name) return names
    const note = await keptNote(checkpoints, state, signal)
    if (note === null || nameOf(note.key) === this.#name) return names
    await history.adopt(pagesOf(note))
    packs.adopt(packsOf(note))
    const { head } = committer
    const share = (head - note.slot) / Math.max(1, head - this.#slot)
    // One of them names it.
    tail.slots = Math.max(0, head - note.slot - 1)
    tail.bytes = Math.round(tail.bytes * share)
    this.#take(note)
    return names
  }

  #take(note: CheckpointNote): void {
    const { key, slot, bytes } = note
    this.#name = nameOf(key)
    this.#extra = extraOf(note)
    this.#slot = slot
    this.#bytes = bytes
  }
}

const overtaken = new Error('the log names another checkpoint')

function namesOf({ checkpoints }: CatalogState): string {
  return checkpoints.map(({ name }) => name).join()
}

function isNaming(op: Json): boolean {
  return (op as { readonly op?: unknown }).op === 'checkpoint'
}

/** Writes a checkpoint with what it says beside the state; its readers must know what both speak of. */
export function writeCheckpoint(
  checkpoints: Checkpoints<CatalogState>,
  fold: Fold<CatalogState>,
  extra: CheckpointExtra,
  signal?: AbortSignal,
): Promise<{ readonly key: string; readonly bytes: number }> {
  const { sweep, expired, jobs, failedBuilds, uploads, endedUploads, checkpoints: named } = fold.state
  const need: string[] = []
  if (sweep.floor > 0 || expired.size > 0) need.push(sweepFeature)
  need.push(...featuresOfBuilds(jobs, failedBuilds))
  if (uploads.size + endedUploads.size > 0) need.push(uploadsFeature)
  if (extra.packs !== undefined) need.push(packsFeature)
  if (named.length > 0) need.push(checkpointsFeature)
  return checkpoints.write(fold, extra as unknown as Json, need, signal)
}
