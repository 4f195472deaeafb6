/** Writes a checkpoint of the state, and a page of the history up to it, when the log after the newest one is long. */
import type { CatalogState } from '../../catalog/state.js'
import type { Checkpoint, Checkpoints } from '../../commit/checkpoints.js'
import type { Committer } from '../../commit/committer.js'
import type { Json } from '../../commit/machine.js'
import type { Slot } from '../../commit/slot.js'
import type { History, PageInfo } from '../../manifest/history.js'
import type { Chore, Report } from './upkeep.js'

/** A checkpoint is due when the log after the newest one has this many bytes, and half as many as that one has; */
const tailBytesMin = 256 * 1024
/** or this many slots. */
const tailSlotsMax = 4000

/** How much log there is after a checkpoint. */
export class Tail {
  slots = 0
  bytes = 0

  note(slot: Slot): void {
    this.slots++
    this.bytes += slot.bytes
  }

  isLong(checkpointBytes: number): boolean {
    return this.slots >= tailSlotsMax || this.bytes >= Math.max(tailBytesMin, checkpointBytes / 2)
  }
}

export interface CheckpointingOptions {
  readonly committer: Committer<CatalogState>
  readonly checkpoints: Checkpoints<CatalogState>
  readonly history: History
  /** The checkpoint the root was opened from. */
  readonly opened: Checkpoint<CatalogState> | null
  /** What was applied since then; it goes on counting. */
  readonly tail: Tail
  readonly report: Report
}

export class Checkpointing implements Chore {
  readonly name = 'writing a checkpoint'
  readonly #options: CheckpointingOptions
  #slot: number
  #bytes: number

  constructor(options: CheckpointingOptions) {
    this.#options = options
    this.#slot = options.opened?.slot ?? 0
    this.#bytes = options.opened?.bytes ?? 0
  }

  dueIn(): number {
    return this.#options.tail.isLong(this.#bytes) ? 0 : Number.POSITIVE_INFINITY
  }

  async work(thorough: boolean): Promise<void> {
    const { committer, checkpoints, history, tail, report } = this.#options
    if (((await checkpoints.newestSlot()) ?? 0) > this.#slot) {
      // Another process was first: its pages serve here as well.
      const other = await checkpoints.newest(undefined, this.#slot)
      if (other !== null && other.slot <= committer.head) {
        this.#adopt(other, pagesOf(other))
        if (!thorough && this.dueIn() > 0) return
      }
    }
    const fold = committer.fold
    if (fold.slot === this.#slot) return
    const { slots, bytes } = tail
    const pages = await history.writePage(fold.slot)
    const written = await checkpoints.write(fold, { pages } as unknown as Json)
    history.seal(pages)
    this.#slot = fold.slot
    this.#bytes = written.bytes
    // What was applied meanwhile is the beginning of the next tail.
    tail.slots -= slots
    tail.bytes -= bytes
    report({ kind: 'checkpoint', slot: fold.slot, bytes: written.bytes })
    await checkpoints.prune()
  }

  #adopt(other: Checkpoint<CatalogState>, pages: readonly PageInfo[]): void {
    const { committer, history, tail } = this.#options
    const share = (committer.head - other.slot) / Math.max(1, committer.head - this.#slot)
    history.seal(pages)
    tail.slots = committer.head - other.slot
    tail.bytes = Math.round(tail.bytes * share)
    this.#slot = other.slot
    this.#bytes = other.bytes
  }
}

/** The history pages a checkpoint names. */
export function pagesOf({ extra }: Checkpoint<CatalogState>): readonly PageInfo[] {
  return (extra as unknown as { readonly pages: readonly PageInfo[] }).pages
}
