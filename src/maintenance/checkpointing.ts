/**
 * Writes a checkpoint of the state and a history page up to its slot, when the log after the newest checkpoint is long.
 *
 * - A checkpoint counts only when an operation in the log names it.
 * - The log may name a new checkpoint only if no other checkpoint was named after the slot of the new checkpoint. So
 *   every file that the new checkpoint lists was also listed by one of the previous checkpoints, or is newer than these
 *   checkpoints.
 * - Because of this rule, the lists of files in the named checkpoints determine which files may be deleted
 *   (maintenance/trim). The rule needs no clock. It also holds if a writer was suspended for a long time.
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

/** Minimum time in milliseconds for which pages and packs are kept after others have replaced them. */
export const replacedMs = 10 * 1000
/**
 * A checkpoint is due when the log after the newest checkpoint has at least this many bytes, and at least half as many
 * bytes as that checkpoint.
 */
const tailBytesMin = 256 * 1024
/** A slot counts as at least this many bytes, because a process that opens the root reads each slot separately. */
const slotBytesMin = 4096
/** A checkpoint is also due after this many slots. */
const tailSlotsMax = 4000

/** The length of the log after the newest checkpoint. */
export class Tail {
  slots = 0
  bytes = 0

  /** Count a slot. A slot that only names a checkpoint is not counted, because a new checkpoint would save nothing. */
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
  /** The length of the log since that checkpoint. The commit path counts further slots. */
  readonly tail: Tail
  readonly report: Report
  readonly warn: Warn
}

export class Checkpointing implements MaintenanceTask {
  readonly name = 'writing a checkpoint'
  readonly #options: CheckpointingOptions
  /** The file name of the newest checkpoint that this process knows, or ''. */
  #name = ''
  #slot = 0
  #bytes = 0
  #extra: CheckpointExtra = { pages: [] }

  constructor(options: CheckpointingOptions) {
    this.#options = options
    if (options.opened !== null) this.#take(options.opened)
  }

  /** The slot of the newest checkpoint that this process knows. */
  get slot(): number {
    return this.#slot
  }

  dueIn(): number {
    return this.#options.tail.isLong(this.#bytes) ? 0 : Number.POSITIVE_INFINITY
  }

  async work(thorough: boolean, signal: AbortSignal): Promise<void> {
    const { committer, checkpoints, history, packs, tail, keepOrphansMs, report } = this.#options
    for (;;) {
      // Another process may have written a checkpoint meanwhile. Then use its list of pages and packs.
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
      // Do not go back: a reader in this process may have adopted a newer checkpoint meanwhile, because it missed a
      // page.
      if (history.sealed <= fold.slot) {
        history.seal(pages)
        packs.adopt(packed)
      }
      this.#name = nameOf(written.key)
      this.#slot = fold.slot
      this.#bytes = written.bytes
      this.#extra = extra
      // Slots that were applied meanwhile are not in the checkpoint, so keep counting them.
      tail.slots -= slots
      tail.bytes -= bytes
      report({ kind: 'checkpoint', slot: fold.slot, bytes: written.bytes })
      await this.#prune(named.state)
      return
    }
  }

  /**
   * Commit the name of a checkpoint. Returns null if the log has named another checkpoint after the state of this
   * checkpoint. Then files that this checkpoint lists may be deleted, so it must not be used.
   */
  async #enter(key: string, { state: before }: Fold<CatalogState>): Promise<CatalogCommitted | null> {
    const op: CheckpointOp = { op: 'checkpoint', name: nameOf(key) }
    const known = namesOf(before)
    return this.#options.committer.commit(state => {
      return namesOf(state) === known ? { ops: [op] } : null
    })
  }

  /** Delete checkpoints that can never be named, because another checkpoint was named after their state. */
  async #prune({ checkpoints: kept }: CatalogState): Promise<void> {
    const newest = kept.at(-1)
    if (newest === undefined || kept.length < 2) return
    await this.#options.checkpoints.prune(new Set(kept.map(({ name }) => name)), newest.at)
  }

  /**
   * Pack old slots. If this fails, for example because a slot is damaged, warn and leave the slots in the log. The
   * checkpoint is written in any case.
   */
  async #pack(fold: Fold<CatalogState>, thorough: boolean, signal: AbortSignal): Promise<Packed> {
    const { packing, packs, warn } = this.#options
    try {
      return await packing.next(fold, this.#slot, thorough, signal)
    } catch (cause) {
      signal.throwIfAborted()
      warn('old slots of the log could not be packed and stay in the log for now', cause)
      return { packs: packs.infos, isNeeded: () => true }
    }
  }

  /** Use another checkpoint, because the root was reopened from it. This process did not apply the slots before it. */
  reopened(checkpoint: Checkpoint<CatalogState>): void {
    this.#take(checkpoint)
  }

  /**
   * Adopt the newest undamaged checkpoint that the log names, with its pages and packs. Returns the names of all
   * checkpoints that the log names now. If other names are found later, a newer checkpoint may list files that this
   * process does not know.
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
    // Subtract the slot that names the checkpoint.
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

/** Write a checkpoint with `extra`. Its `need` has the features of the state and those of `extra`. */
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
