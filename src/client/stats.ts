/** Facts that an open root reports about itself without reading a file. */
import type { MemoryStats } from '../primitives/memory.js'
import type { MaintenanceEvent } from './maintenance-event.js'

/** The result of `stats`. */
export interface RootStats {
  /** Id of the root. Copies of the root have the same id. */
  readonly id: string
  /** Version of the file format (docs/format.md). */
  readonly format: 1
  /**
   * The cache by partition, for example columns. Each partition has its number of entries, their bytes, the lookups
   * that found an entry (`hits`), and the lookups that had to load it (`misses`).
   */
  readonly memory: MemoryStats
  readonly log: {
    /** The newest slot that this process has read or written. */
    readonly slot: number
    /**
     * Slot of the newest checkpoint that this process knows; a process that opens the root reads the log from there.
     * 0: none.
     */
    readonly checkpoint: number
  }
  /** How often each kind of maintenance ran in this process since the root was opened; absent: never. */
  readonly maintenance: Readonly<Partial<Record<MaintenanceEvent['kind'], number>>>
}
