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
import {
  type Checkpoint,
  type CheckpointNote,
  type CheckpointPart,
  type Checkpoints,
  nameOf,
  type Predecessor,
  slotOfCheckpoint,
} from '../commit/checkpoints.js'
import type { Fold, Json } from '../commit/machine.js'
import { type Packs, packsFeature } from '../commit/packs.js'
import type { Slot } from '../commit/slot.js'
import type { History } from '../manifest/history.js'
import type { Clock } from '../primitives/clock.js'
import { type CheckpointExtra, extraOf, nextExtra, packsOf, pagesOf } from './checkpoint-extra.js'
import { countOfParts, partsWith } from './checkpoint-parts.js'
import { keptNote } from './kept-note.js'
import type { KnownStates } from './known-states.js'
import type { MaintenanceTask, Report, Warn } from './maintenance.js'
import type { Packed, Packing } from './packing.js'

/** Minimum time in milliseconds for which pages and packs are kept after others have replaced them. */
export const replacedMs = 10 * 1000
/** A checkpoint is due when the log after the newest checkpoint has this many bytes. Replaying them takes about 5 ms. */
const dueBytes = 256 * 1024
/**
 * A slot counts as at least this many bytes. A process that has just started needs about 30 microseconds to replay a small
 * slot, whatever file it is in. With 64 slots, these are 2 ms of the time in which it opens the root.
 */
const slotBytesMin = 4096

/** The length of the log after the newest checkpoint. */
export class LogSinceCheckpoint {
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

  /** Whether a checkpoint is due. `wholeBytes`: the size of the checkpoint if it must be whole, otherwise 0. */
  isLong(wholeBytes: number): boolean {
    return this.bytes >= Math.max(dueBytes, wholeBytes / 2)
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
  readonly since: LogSinceCheckpoint
  /** The states of this process at checkpoints. */
  readonly states: KnownStates
  /** Let processes that open the root find a checkpoint that the log names. */
  readonly announce: (note: CheckpointNote, state: CatalogState, signal: AbortSignal) => Promise<void>
  readonly clock: Clock
  readonly report: Report
  readonly warn: Warn
}

export class Checkpointing implements MaintenanceTask {
  readonly name = 'writing a checkpoint'
  readonly #options: CheckpointingOptions
  /** The file name of the newest checkpoint that this process knows, or ''. */
  #name = ''
  #slot = 0
  /** By name: the checkpoints that the log names. */
  #notes = new Map<string, CheckpointNote>()
  #extra: CheckpointExtra = { pages: [] }
  /** The size of the next checkpoint if it is known that it must be whole; otherwise 0. */
  #wholeBytes = 0

  constructor(options: CheckpointingOptions) {
    this.#options = options
    if (options.opened !== null) this.#take(options.opened)
  }

  /** The slot of the newest checkpoint that this process knows. */
  get slot(): number {
    return this.#slot
  }

  dueIn(): number {
    return this.#options.since.isLong(this.#wholeBytes) ? 0 : Number.POSITIVE_INFINITY
  }

  async work(thorough: boolean, signal: AbortSignal): Promise<void> {
    const { committer, checkpoints, history, packs, since, states, keepOrphansMs, report } = this.#options
    for (;;) {
      // Another process may have written a checkpoint meanwhile. Then use its list of pages and packs.
      const known = await this.#adoptKept(signal)
      const fold = committer.fold
      if (since.slots === 0 || (!thorough && this.dueIn() > 0)) return
      if (namesOf(fold.state) !== known) continue
      const kept = await this.#keptNotes(fold.state, signal)
      const predecessor = await this.#predecessor(fold, kept, signal)
      if (!thorough && this.dueIn() > 0) return
      const { slots, bytes } = since
      const { packs: packed, isNeeded } = await this.#pack(fold, thorough, signal)
      const pages = await history.writePage(fold.slot, undefined, isNeeded)
      const forgotten = fold.ts - 2 * Math.max(keepOrphansMs, replacedMs)
      const parts = predecessor?.parts ?? []
      const extra = {
        ...nextExtra(this.#extra, pages, packed, fold.ts, forgotten),
        ...droppedParts(this.#extra, kept, parts, fold.ts),
      }
      const written = await writeCheckpoint(checkpoints, fold, extra, predecessor)
      const named = await this.#enter(written.key, fold)
      // The file stays until a later checkpoint prunes it. Another process may have written the same file from the same
      // state, and the log may name it.
      if (named === null) continue
      // Do not go back: a reader in this process may have adopted a newer checkpoint meanwhile, because it missed a
      // page.
      if (history.sealed <= fold.slot) {
        history.seal(pages)
        packs.adopt(packed)
      }
      this.#take(written)
      states.add([fold])
      // Slots that were applied meanwhile are not in the checkpoint, so keep counting them.
      since.slots -= slots
      since.bytes -= bytes
      report({ kind: 'checkpoint', slot: fold.slot, bytes: written.bytes })
      await this.#announce(written, fold.state, signal)
      await this.#prune(named.state, signal)
      return
    }
  }

  /** Return the undamaged checkpoints that `state` names, the older one first. */
  async #keptNotes(state: CatalogState, signal: AbortSignal): Promise<readonly CheckpointNote[]> {
    const notes: CheckpointNote[] = []
    for (const { name } of state.checkpoints) {
      const note = this.#notes.get(name) ?? (await this.#options.checkpoints.note(name, signal))
      if (note !== null) notes.push(note)
    }
    this.#notes = new Map(notes.map(note => [nameOf(note.key), note]))
    return notes
  }

  /**
   * Choose the checkpoint on which the next one is based. Returns null if the next one must be whole.
   *
   * Prefer the older one of the two kept checkpoints. Then two successive checkpoints have no part in common, so that a
   * damaged file damages only one of them.
   */
  async #predecessor(
    { state }: Fold<CatalogState>,
    kept: readonly CheckpointNote[],
    signal: AbortSignal,
  ): Promise<Predecessor<CatalogState> | null> {
    if (kept.length < 2) return null
    const { checkpoints, states } = this.#options
    for (const note of kept) {
      const last = states.at(note.slot)
      if (last === null) continue
      const parts = partsWith(note)
      if (countOfParts(parts, 0) === 0) return null
      const bytes = await checkpoints.bytesSince(state, { slot: note.slot, state: last }, signal)
      const least = countOfParts(parts, bytes)
      // If the state at a part is not known, because another process wrote it, do not replace the part.
      for (const [i, { name }] of least === 0 ? [] : [...parts.entries()].slice(least - 1)) {
        const slot = slotOfCheckpoint(name)!
        const before = states.at(slot)
        if (before !== null) return { before: { slot, state: before }, parts: parts.slice(0, i + 1) }
      }
      return null
    }
    // Another process wrote both checkpoints, and this process did not apply their slots one by one. So the next one is
    // whole, and is only worth its bytes if the log is long.
    this.#wholeBytes = partsWith(kept.at(-1)!)[0]!.bytes
    return null
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

  async #announce(note: CheckpointNote, state: CatalogState, signal: AbortSignal): Promise<void> {
    const { announce, warn } = this.#options
    try {
      await announce(note, state, signal)
    } catch (cause) {
      signal.throwIfAborted()
      warn(
        'the root will be opened from an older checkpoint, because the newest one could not be announced',
        cause,
      )
    }
  }

  /** Delete checkpoints that no kept checkpoint needs, and that can never be named, because their state is older. */
  async #prune(state: CatalogState, signal: AbortSignal): Promise<void> {
    const { checkpoints, states, clock } = this.#options
    const kept = await this.#keptNotes(state, signal)
    const names = kept.flatMap(partsWith).map(({ name }) => name)
    states.retain(new Set(names.map(name => slotOfCheckpoint(name)!)))
    if (kept.length < 2) return
    const before = clock.now() - replacedMs
    const young = (this.#extra.dropped ?? []).filter(([, at]) => at > before).map(([slot]) => slot)
    await checkpoints.prune(new Set(names), state.checkpoints.at(-1)!.at, new Set(young), signal)
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
    const { committer, checkpoints, history, packs, since } = this.#options
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
    since.slots = Math.max(0, head - note.slot - 1)
    since.bytes = Math.round(since.bytes * share)
    this.#take(note)
    return names
  }

  #take(note: CheckpointNote): void {
    const { key, slot } = note
    this.#name = nameOf(key)
    this.#notes.set(this.#name, note)
    this.#extra = extraOf(note)
    this.#slot = slot
    this.#wholeBytes = 0
  }
}

function namesOf({ checkpoints }: CatalogState): string {
  return checkpoints.map(({ name }) => name).join()
}

function isNaming(op: unknown): boolean {
  return (op as { readonly op?: unknown }).op === 'checkpoint'
}

/**
 * Return the member `dropped` of the next checkpoint. `kept`: the two kept checkpoints before it. `parts`: the parts of
 * the next checkpoint.
 */
function droppedParts(
  { dropped = [] }: CheckpointExtra,
  kept: readonly CheckpointNote[],
  parts: readonly CheckpointPart[],
  ts: number,
): Pick<CheckpointExtra, 'dropped'> {
  const newest = kept.at(-1)
  const needed = new Set(
    [...parts, ...(newest === undefined ? [] : partsWith(newest))].map(({ name }) => name),
  )
  const gone = new Set(
    kept.flatMap(note => note.parts.map(({ name }) => name)).filter(name => !needed.has(name)),
  )
  const young = dropped.filter(([, at]) => at >= ts - 2 * replacedMs)
  const all = [...young, ...Array.from(gone, name => [slotOfCheckpoint(name)!, ts] as const)]
  return all.length > 0 ? { dropped: all } : {}
}

/** Write a checkpoint with `extra`. Its `need` has the features of the state and those of `extra`. */
export function writeCheckpoint(
  checkpoints: Checkpoints<CatalogState>,
  fold: Fold<CatalogState>,
  extra: CheckpointExtra,
  predecessor: Predecessor<CatalogState> | null,
  signal?: AbortSignal,
): Promise<CheckpointNote> {
  const { sweep, expired, jobs, failedBuilds, uploads, endedUploads, checkpoints: named } = fold.state
  const need: string[] = []
  if (sweep.floor > 0 || expired.size > 0) need.push(sweepFeature)
  need.push(...featuresOfBuilds(jobs, failedBuilds))
  if (uploads.size + endedUploads.size > 0) need.push(uploadsFeature)
  if (extra.packs !== undefined) need.push(packsFeature)
  if (named.length > 0) need.push(checkpointsFeature)
  return checkpoints.write(fold, extra as unknown as Json, need, predecessor, signal)
}
