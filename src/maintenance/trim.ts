/**
 * Deletes old slots, history pages and packs that are no longer needed (STORAGE S16). The two newest checkpoints that
 * the log names decide which files are needed. A slot is deleted if packs of both checkpoints replace it. A page or
 * pack is deleted if neither checkpoint lists it. Slots are deleted in ascending order. If a file cannot be deleted at
 * the moment, the task tries again after the next checkpoint.
 *
 * - No decision needs a correct clock. The log names a new checkpoint only if its writer knew all checkpoints that were
 *   named before (maintenance/checkpointing). So a new checkpoint lists only two kinds of files: files that one of the
 *   two checkpoints lists, and files whose creation slot is after the older one.
 * - A deletion is delayed, so that a copy of a live root is complete if copying takes less time than this delay (S25).
 *   For a slot, the delay begins when packs replace it, and lasts `keepOrphansMs`. For a page or pack, it begins when
 *   it is replaced.
 */
import type { CatalogCommitter } from '../catalog/log-types.js'
import type { CatalogState } from '../catalog/state.js'
import type { CheckpointNote, Checkpoints } from '../commit/checkpoints.js'
import type { ExternalLog } from '../commit/external-log.js'
import type { TailedLog } from '../commit/tailed-log.js'
import type { Clock } from '../primitives/clock.js'
import type { BlobStore } from '../storage/blob-store.js'
import { deleteIfPossible } from '../storage/delete-if-possible.js'
import { extraOf, packsOf, pagesOf, shortName } from './checkpoint-extra.js'
import { replacedMs } from './checkpointing.js'
import type { MaintenanceTask, Report } from './maintenance.js'

const pattern = /^\d{20}-(\d{20})-(?:[0-9a-f]{8}\.(page)|(?:([0-9a-z]+)-)?[0-9a-f]{8}\.slots)$/

interface TrimOptions {
  readonly committer: Pick<CatalogCommitter, 'state'>
  readonly checkpoints: Checkpoints<CatalogState>
  readonly log: Pick<TailedLog | ExternalLog, 'trim'>
  readonly store: BlobStore
  readonly clock: Clock
  readonly keepOrphansMs: number
  /** Returns the slot of the newest checkpoint that this process knows. */
  readonly checkpointed: () => number
  readonly report: Report
}

export class Trim implements MaintenanceTask {
  readonly name = 'trimming the log'
  readonly #options: TrimOptions
  /** The slot of the newest checkpoint at the last run. */
  #looked: number

  constructor(options: TrimOptions) {
    this.#options = options
    this.#looked = options.checkpointed()
  }

  dueIn(): number {
    return this.#options.checkpointed() === this.#looked ? Number.POSITIVE_INFINITY : 0
  }

  async work(_thorough: boolean, signal: AbortSignal): Promise<void> {
    const { checkpointed, log, clock, keepOrphansMs, report } = this.#options
    const looked = checkpointed()
    const notes = await this.#notes(signal)
    if (notes !== null) {
      const before = clock.now() - keepOrphansMs
      const to = Math.min(...notes.map(note => lastReplacedSlot(note, before)))
      const slots = to === 0 ? 0 : await log.trim(to, signal)
      if (slots > 0) report({ kind: 'trimmed', slots })
      await this.#deleteReplaced(notes, signal)
    }
    this.#looked = looked
  }

  /**
   * Return the two checkpoints that the log names, the older one first. Returns null if there are fewer, or if one of
   * them is damaged.
   */
  async #notes(signal: AbortSignal): Promise<readonly CheckpointNote[] | null> {
    const { committer, checkpoints } = this.#options
    const named = committer.state.checkpoints
    const notes: CheckpointNote[] = []
    for (const { name } of named) {
      const note = await checkpoints.note(name, signal)
      if (note !== null) notes.push(note)
    }
    return notes.length < 2 ? null : notes
  }

  async #deleteReplaced(notes: readonly CheckpointNote[], signal: AbortSignal): Promise<void> {
    const { store, clock, keepOrphansMs } = this.#options
    const before = clock.now() - Math.max(keepOrphansMs, replacedMs)
    const named = new Set(notes.flatMap(note => [...pagesOf(note), ...packsOf(note)].map(({ name }) => name)))
    const young = new Set<string>()
    for (const note of notes) {
      for (const [name, at] of extraOf(note).replaced ?? []) if (at > before) young.add(name)
    }
    const obsolete: string[] = []
    for await (const { key } of store.list('_hist/', undefined, signal)) {
      const name = key.slice('_hist/'.length)
      const birth = birthOf(name)
      if (birth === null || named.has(name) || young.has(shortName(name))) continue
      if (birth <= notes[0]!.slot) obsolete.push(key)
    }
    for (const key of obsolete) await deleteIfPossible(store, key, signal)
  }
}

/**
 * Return the creation slot of a page or pack from its file name. For a page, and a pack without a creation slot, it is
 * the last slot of its range. Returns null for other names.
 */
function birthOf(name: string): number | null {
  const [, to, isPage, birth] = pattern.exec(name) ?? []
  if (to === undefined) return null
  return isPage !== undefined || birth === undefined ? Number(to) : Number.parseInt(birth, 36)
}

/**
 * Return the last slot that packs replaced at the time `before` (milliseconds since 1970), according to a checkpoint.
 * Returns 0 if there is none.
 */
function lastReplacedSlot(note: CheckpointNote, before: number): number {
  return (extraOf(note).packed ?? []).findLast(([, since]) => since <= before)?.[0] ?? 0
}
