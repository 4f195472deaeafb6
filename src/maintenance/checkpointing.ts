/**
 * Writes a checkpoint of the state, and a page of the history up to it, when the log after the newest checkpoint is long.
 *
 * - A checkpoint counts once the log names it.
 * - The log names a checkpoint only if the checkpoints that its state names are still the newest. So each file that the new checkpoint
 *   names was named by one of these, or was written after them.
 * - What may be deleted follows from this alone (maintenance/trim). It depends on no clock, and not on how long a writer was suspended.
 */
import { featuresOfBuilds } from '../catalog/index-builds.js'
import type { CatalogCommitted, CatalogCommitter } from '../catalog/log-types.js'
import { type CheckpointOp, checkpointsFeature, sweepFeature } from '../catalog/ops.js'
import type { CatalogState } from '../catalog/state.js'
import { uploadsFeature } from '../catalog/uploads.js'
import { type Checkpoint, type CheckpointNote, type Checkpoints, nameOf } from '../commit/checkpoints.js'
import type { Fold, Json } from '../commit/machine.js'
import { type Packs, packsFeature } from '../commit/packs.js'
import type { Slot } from '../commit/slot.js'
import type { History } from '../manifest/history.js'
import { type CheckpointExtra, extraOf, nextExtra, packsOf, pagesOf } from './checkpoint-extra.js'
import { keptNote } from './kept-note.js'
import type { MaintenanceTask, Report, Warn } from './maintenance.js'
import type { Packed, Packing } from './packing.js'

/** How long pages and packs stay at least after others have replaced them, milliseconds. */
export const replacedMs = 10 * 1000
/** A checkpoint is due when the log after the newest checkpoint has this many bytes, and half as many as that checkpoint has; */
const tailBytesMin = 256 * 1024
/** a shorter slot counts as this many bytes, because a process that opens the root reads each slot by itself; */
const slotBytesMin = 4096
/** or this many slots. */
const tailSlotsMax = 4000

/** How long the log is after a checkpoint. */
export class Tail {
  slots = 0
  bytes = 0

  /** Count a slot. A slot that only names a checkpoint does not count: the next checkpoint need not hold it. */
  note(slot: Slot): void {
    if (slot.header.entries.every(({ ops }) => ops.every(isNaming))) return
    this.slots++
    this.bytes += Math.max(slotBytesMin, slot.bytes)
  }

  clear(): void {
    this.slots = 0
    this.bytes = 0
  }

  isLong(checkpointBytes: number): boolean {
    return this.slots >= tailSlotsMax || this.bytes >= Math.max(tailBytesMin, checkpointBytes / 2)
  }
}

interface CheckpointingOptions {
  readonly committer: CatalogCommitter
  readonly checkpoints: Checkpoints<CatalogState>
  readonly history: History
  readonly packs: Packs
  readonly packing: Packing
  readonly keepOrphansMs: number
  /** The checkpoint from which the root was opened. */
  readonly opened: Checkpoint<CatalogState> | null
  /** The slots that were applied since then. The commit path goes on counting. */
  readonly tail: Tail
  readonly report: Report
  readonly warn: Warn
}

export class Checkpointing implements MaintenanceTask {
  readonly name = 'writing a checkpoint'
  readonly #options: CheckpointingOptions
  /** Name of the checkpoint from which this process knows pages and packs. */
  #name = ''
  #slot = 0
  #bytes = 0
  #extra: CheckpointExtra = { pages: [] }

  constructor(options: CheckpointingOptions) {
    this.#options = options
    if (options.opened !== null) this.#take(options.opened)
  }

  /** Slot of the newest checkpoint that this process knows. */
  get slot(): number {
    return this.#slot
  }

  dueIn(): number {
    return this.#options.tail.isLong(this.#bytes) ? 0 : Number.POSITIVE_INFINITY
  }

  async work(thorough: boolean, signal: AbortSignal): Promise<void> {
    const { committer, checkpoints, history, packs, tail, keepOrphansMs, report } = this.#options
    for (;;) {
      // Another process may have written a checkpoint first: its pages serve here as well.
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
      // A reader that missed a page meanwhile may have adopted a newer checkpoint.
      if (history.sealed <= fold.slot) {
        history.seal(pages)
        packs.adopt(packed)
      }
      this.#name = nameOf(written.key)
      this.#slot = fold.slot
      this.#bytes = written.bytes
      this.#extra = extra
      // Slots that were applied meanwhile are the beginning of the next tail.
      tail.slots -= slots
      tail.bytes -= bytes
      report({ kind: 'checkpoint', slot: fold.slot, bytes: written.bytes })
      await this.#prune(named.state)
      return
    }
  }

  /**
   * Commit the name of a checkpoint. Returns null if the log has named another one since the state that the checkpoint holds: files that
   * this checkpoint names may be deleted.
   */
  async #enter(key: string, { state: before }: Fold<CatalogState>): Promise<CatalogCommitted | null> {
    const op: CheckpointOp = { op: 'checkpoint', name: nameOf(key) }
    const known = namesOf(before)
    return this.#options.committer.commit(state => {
      return namesOf(state) === known ? { ops: [op] } : null
    })
  }

  /** Delete checkpoints that can never be named any more: those of states in which the newest one was not named yet. */
  async #prune({ checkpoints: kept }: CatalogState): Promise<void> {
    const newest = kept.at(-1)
    if (newest === undefined || kept.length < 2) return
    await this.#options.checkpoints.prune(new Set(kept.map(({ name }) => name)), newest.at)
  }

  /** Pack old slots. If that fails (a slot is damaged), warns and leaves the slots in the log: nothing may prevent the checkpoint. */
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

  /** Note that the root was opened again from another checkpoint: this process did not apply the slots between. */
  reopened(checkpoint: Checkpoint<CatalogState>): void {
    this.#take(checkpoint)
  }

  /**
   * Adopt the newest whole checkpoint that the log names, and build on it from now on. Returns the names of all checkpoints that the log
   * names now: a checkpoint that is named later may name files that this process does not know.
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
    // One of the slots since then only names the checkpoint.
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

function namesOf({ checkpoints }: CatalogState): string {
  return checkpoints.map(({ name }) => name).join()
}

function isNaming(op: unknown): boolean {
  return (op as { readonly op?: unknown }).op === 'checkpoint'
}

/** Write a checkpoint with `extra`. The features of both the state and `extra` are in its `need`. */
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
