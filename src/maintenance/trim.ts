/**
 * Deletes what the two checkpoints that the log names make dispensable (STORAGE S16): slots for which both have packs, in ascending
 * order, and pages and packs that neither names. What cannot be deleted now is tried again after the next checkpoint.
 *
 * - Nothing here depends on a correct clock. The log names a new checkpoint only if the checkpoints named before are those that the new
 *   one knew (maintenance/checkpointing). So the new one can name only files that one of the two names, and files with a creation slot
 *   after the older one.
 * - Ages only delay. A slot goes when packs have replaced it for as long as unreferenced files stay; a page or pack goes when it was
 *   replaced as long ago. So a copy of a live root that takes less than this time is whole (S25).
 */
import type { CatalogCommitter } from '../catalog/log-types.js'
import type { CatalogState } from '../catalog/state.js'
import type { BlobLog } from '../commit/blob-log.js'
import type { CheckpointNote, Checkpoints } from '../commit/checkpoints.js'
import type { Clock } from '../primitives/clock.js'
import type { BlobStore } from '../storage/blob-store.js'
import { deleteIfPossible } from '../storage/delete-if-possible.js'
import { extraOf, packsOf, pagesOf } from './checkpoint-extra.js'
import { replacedMs } from './checkpointing.js'
import type { MaintenanceTask, Report } from './maintenance.js'

const pattern = /^\d{20}-(\d{20})-(?:[0-9a-f]{8}\.(page)|(?:([0-9a-z]+)-)?[0-9a-f]{8}\.slots)$/

interface TrimOptions {
  readonly committer: Pick<CatalogCommitter, 'state'>
  readonly checkpoints: Checkpoints<CatalogState>
  readonly log: BlobLog
  readonly store: BlobStore
  readonly clock: Clock
  readonly keepOrphansMs: number
  /** The slot of the newest checkpoint this process knows. */
  readonly checkpointed: () => number
  readonly report: Report
}

export class Trim implements MaintenanceTask {
  readonly name = 'trimming the log'
  readonly #options: TrimOptions
  /** Slot of the checkpoint that was the newest at the last look. */
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
      const to = Math.min(...notes.map(note => standsFor(note, before)))
      const slots = to === 0 ? 0 : await log.trim(to, signal)
      if (slots > 0) report({ kind: 'trimmed', slots })
      await this.#deleteReplaced(notes, signal)
    }
    this.#looked = looked
  }

  /** Return the two checkpoints that the log names, the older first; null unless both are whole. */
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
    const gone: string[] = []
    for await (const { key } of store.list('_hist/', undefined, signal)) {
      const name = key.slice('_hist/'.length)
      const birth = birthOf(name)
      if (birth === null || named.has(name) || young.has(name)) continue
      if (birth <= notes[0]!.slot) gone.push(key)
    }
    for (const key of gone) await deleteIfPossible(store, key, signal)
  }
}

/** Return the slot of the checkpoint for which a page or a pack was written; null for other names. A page ends with that slot. */
function birthOf(name: string): number | null {
  const [, to, isPage, birth] = pattern.exec(name) ?? []
  if (to === undefined) return null
  return isPage !== undefined || birth === undefined ? Number(to) : Number.parseInt(birth, 36)
}

/** Return the last slot for which a checkpoint has named packs since `before` (milliseconds since 1970) or longer. */
function standsFor(note: CheckpointNote, before: number): number {
  return (extraOf(note).packed ?? []).findLast(([, since]) => since <= before)?.[0] ?? 0
}
