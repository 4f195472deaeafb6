/**
 * Deletes slots that every checkpoint which is kept makes dispensable, in ascending order (STORAGE S16), and what was put in
 * the place of older slots and replaced since: packs and pages that no checkpoint names. What cannot be deleted now is tried
 * again after the next checkpoint.
 *
 * What goes was named, or no longer named, for as long as files stay that nothing refers to, so a copy of a live root that
 * takes less than that is whole (S25).
 */

import type { CatalogState } from '../../catalog/state.js'
import type { BlobLog } from '../../commit/blob-log.js'
import type { CheckpointNote, Checkpoints } from '../../commit/checkpoints.js'
import type { Clock } from '../../primitives/clock.js'
import type { BlobStore } from '../../storage/blob-store.js'
import { deleteIfPossible } from '../../storage/delete-if-possible.js'
import { extraOf, packsOf, pagesOf } from './checkpoint-extra.js'
import { replacedMs } from './checkpointing.js'
import type { Chore, Report } from './upkeep.js'

const pattern = /^_hist\/\d{20}-\d{20}-[0-9a-f]{8}\.(?:page|slots)$/

export interface TrimOptions {
  readonly checkpoints: Checkpoints<CatalogState>
  readonly log: BlobLog
  readonly store: BlobStore
  readonly clock: Clock
  readonly keepOrphansMs: number
  /** The slot of the newest checkpoint this process knows. */
  readonly checkpointed: () => number
  readonly report: Report
}

export class Trim implements Chore {
  readonly name = 'trimming the log'
  readonly #options: TrimOptions
  /** The checkpoint that was the newest at the last look. */
  #looked: number

  constructor(options: TrimOptions) {
    this.#options = options
    this.#looked = options.checkpointed()
  }

  dueIn(): number {
    return this.#options.checkpointed() === this.#looked ? Number.POSITIVE_INFINITY : 0
  }

  async work(_thorough: boolean, signal: AbortSignal): Promise<void> {
    const { checkpoints, checkpointed, log, clock, keepOrphansMs, report } = this.#options
    const looked = checkpointed()
    const notes = await checkpoints.notes(new Set(), signal)
    const isPair = new Set(notes.map(({ slot }) => slot)).size >= 2
    const before = clock.now() - keepOrphansMs
    const to = isPair ? Math.min(...notes.map(note => standsFor(note, before))) : 0
    const slots = to === 0 ? 0 : await log.trim(to, signal)
    if (slots > 0) report({ kind: 'trimmed', slots })
    await this.#deleteReplaced(notes, signal)
    this.#looked = looked
  }

  async #deleteReplaced(notes: readonly CheckpointNote[], signal: AbortSignal): Promise<void> {
    const { store, clock, keepOrphansMs } = this.#options
    const before = clock.now() - Math.max(keepOrphansMs, replacedMs)
    if (notes.length === 0) return
    const named = new Set(notes.flatMap(note => [...pagesOf(note), ...packsOf(note)].map(({ name }) => name)))
    const young = new Set<string>()
    for (const note of notes) {
      for (const [name, at] of extraOf(note).replaced ?? []) if (at > before) young.add(name)
    }
    const gone: string[] = []
    for await (const { key, modified } of store.list('_hist/', undefined, signal)) {
      const name = key.slice('_hist/'.length)
      // One that no checkpoint speaks of may be on its way into one.
      if (pattern.test(key) && !named.has(name) && !young.has(name) && modified <= before) gone.push(key)
    }
    for (const key of gone) await deleteIfPossible(store, key, signal)
  }
}

/** The last slot that packs stand for which a checkpoint names, and has since `before`. */
function standsFor(note: CheckpointNote, before: number): number {
  return (extraOf(note).packed ?? []).findLast(([, since]) => since <= before)?.[0] ?? 0
}
