/**
 * What a root needs done now and then so that nothing grows with its past: checkpoints, stored layouts, and the deletion of
 * what was dropped. Done in the background by processes that commit, one thing at a time, and never waited for by a call.
 * Whatever fails is tried again after a later commit: truth is in the log.
 */
import type { CatalogOp } from '../catalog/ops.js'
import type { CatalogState } from '../catalog/state.js'
import type { Checkpoint, Checkpoints } from '../commit/checkpoints.js'
import type { Committer } from '../commit/committer.js'
import type { Committed, Json } from '../commit/machine.js'
import type { Slot } from '../commit/slot.js'
import type { History, PageInfo } from '../manifest/history.js'
import type { LayoutStore } from '../manifest/layout-store.js'
import type { Clock } from '../primitives/clock.js'
import type { BlobStore } from '../storage/blob-store.js'
import { deleteTableFiles } from '../write/delete-table-files.js'
import type { Pins } from '../write/pins.js'

/** A checkpoint is due when the log after the newest one has this many bytes, and half as many as that one has; */
const tailBytesMin = 256 * 1024
/** or this many slots. */
const tailSlotsMax = 4000
/** How long the files of a dropped table stay for those who are reading them. */
const droppedMs = 10 * 60 * 1000
/** Between two looks at the queue of drops. */
const dropsPauseMs = 60 * 1000

export interface UpkeepOptions {
  readonly committer: Committer<CatalogState>
  readonly checkpoints: Checkpoints<CatalogState>
  readonly history: History
  readonly layouts: LayoutStore
  readonly store: BlobStore
  readonly clock: Clock
  readonly pins: Pins
  readonly warn: Warn
  /** The checkpoint the root was opened from. */
  readonly opened: Checkpoint<CatalogState> | null
}

/** Told of what no call fails of, but somebody should know. */
export type Warn = (message: string, cause: unknown) => void

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

export class Upkeep {
  readonly #options: UpkeepOptions
  readonly #tail: Tail
  #closed = false
  #checkpointSlot: number
  #checkpointBytes: number
  #dropsLookedAt = Number.NEGATIVE_INFINITY
  /** Work under way, and the next: never more. */
  #working: Promise<void> | null = null
  readonly #layoutsToStore = new Map<string, { readonly uuid: string; readonly version: number }>()

  /** `tail`: what was applied since `opened`; it goes on counting. */
  constructor(options: UpkeepOptions, tail: Tail) {
    this.#options = options
    this.#tail = tail
    this.#checkpointSlot = options.opened?.slot ?? 0
    this.#checkpointBytes = options.opened?.bytes ?? 0
  }

  /** Begins what a commit has made due. */
  afterCommit({ entry, state }: Committed<CatalogState>): void {
    for (const op of entry.ops as unknown as readonly CatalogOp[]) {
      if (op.op !== 'change' || state.tables.get(op.t)?.start !== op.v) continue
      this.#layoutsToStore.set(op.t, { uuid: op.t, version: op.v })
    }
    this.#begin()
  }

  /** Begins nothing more, and waits for what is under way. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#working
  }

  #begin(): void {
    if (this.#working !== null || this.#closed || !this.#isAnythingDue()) return
    const ended = () => {
      this.#working = null
    }
    this.#working = this.#work().then(
      () => {
        ended()
        // More has become due meanwhile.
        this.#begin()
      },
      cause => {
        ended()
        this.#options.warn('upkeep of the root failed for now', cause)
      },
    )
  }

  #isAnythingDue(): boolean {
    return this.#layoutsToStore.size > 0 || this.#tail.isLong(this.#checkpointBytes) || this.#areDropsDue()
  }

  async #work(): Promise<void> {
    for (const [key, { uuid, version }] of this.#layoutsToStore) {
      this.#layoutsToStore.delete(key)
      const head = this.#options.committer.state.tables.get(uuid)
      if (head !== undefined) await this.#options.layouts.writeBase(head, version)
    }
    if (this.#tail.isLong(this.#checkpointBytes)) await this.#checkpoint()
    if (this.#areDropsDue() && !this.#closed) await this.#emptyDrops()
  }

  // ---- checkpoints

  async #checkpoint(): Promise<void> {
    const { committer, checkpoints, history } = this.#options
    if (((await checkpoints.newestSlot()) ?? 0) > this.#checkpointSlot) {
      // Another process was first: its pages serve here as well.
      const other = await checkpoints.newest(undefined, this.#checkpointSlot)
      if (other !== null && other.slot <= committer.head) {
        this.#adopt(other, pagesOf(other))
        if (!this.#tail.isLong(this.#checkpointBytes)) return
      }
    }
    const fold = committer.fold
    const { slots, bytes } = this.#tail
    const pages = await history.writePage(fold.slot)
    const written = await checkpoints.write(fold, { pages } as unknown as Json)
    history.seal(pages)
    this.#checkpointSlot = fold.slot
    this.#checkpointBytes = written.bytes
    // What was applied meanwhile is the beginning of the next tail.
    this.#tail.slots -= slots
    this.#tail.bytes -= bytes
    await checkpoints.prune()
  }

  #adopt(other: Checkpoint<CatalogState>, pages: readonly PageInfo[]): void {
    const { committer, history } = this.#options
    const share = (committer.head - other.slot) / Math.max(1, committer.head - this.#checkpointSlot)
    history.seal(pages)
    this.#tail.slots = committer.head - other.slot
    this.#tail.bytes = Math.round(this.#tail.bytes * share)
    this.#checkpointSlot = other.slot
    this.#checkpointBytes = other.bytes
  }

  // ---- drops

  #areDropsDue(): boolean {
    const { committer, clock } = this.#options
    return committer.state.drops.size > 0 && clock.elapsed() - this.#dropsLookedAt >= dropsPauseMs
  }

  async #emptyDrops(): Promise<void> {
    const { committer, store, clock, pins } = this.#options
    this.#dropsLookedAt = clock.elapsed()
    const due = [...committer.state.drops].filter(([, { ts }]) => clock.now() - ts >= droppedMs)
    if (due.length === 0) return
    const pinned = await pins.oldest()
    for (const [location, { slot }] of due) {
      if (this.#closed) return
      // Whoever pins an earlier slot sees the table.
      if (pinned < slot) continue
      await deleteTableFiles(store, location)
      await this.#forgetDrop(location)
    }
  }

  async #forgetDrop(location: string): Promise<void> {
    const op: CatalogOp = { op: 'dropped', location }
    try {
      await this.#options.committer.commit(state => {
        if (!state.drops.has(location)) throw alreadyDone
        return { ops: [op as unknown as Json] }
      })
    } catch (error) {
      if (error !== alreadyDone) throw error
    }
  }
}

const alreadyDone = new Error('another process was first')

/** The history pages a checkpoint names. */
export function pagesOf({ extra }: Checkpoint<CatalogState>): readonly PageInfo[] {
  return (extra as unknown as { readonly pages: readonly PageInfo[] }).pages
}
