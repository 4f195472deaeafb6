/** What an open root can tell of itself at once, without reading anything. */
import type { MemoryStats } from '../primitives/memory.js'
import type { MaintenanceEvent } from './maintenance-event.js'

export interface RootStats {
  /** Of the root, wherever it is copied to. */
  readonly id: string
  /** Of its files (docs/format.md). */
  readonly format: 1
  /**
   * What is kept of what was read, by sort: columns and the other rooms, each with its entries, bytes, and how often something
   * was found there (`hits`) or had to be read or made (`misses`).
   */
  readonly memory: MemoryStats
  readonly log: {
    /** The newest slot this process has read or written. */
    readonly slot: number
    /** The slot of the newest checkpoint that this process knows: who opens the root reads the log from there on. 0: there is none. */
    readonly checkpoint: number
  }
  /** How often maintenance of this process has done what, since the root was opened; absent: never. */
  readonly maintenance: Readonly<Partial<Record<MaintenanceEvent['kind'], number>>>
}
