/** Statistics of an open root. Returning them reads no file. */
import type { MemoryStats } from '../primitives/memory.js'
import type { DiskCacheStats } from '../storage/disk-cache.js'
import type { RequestStats } from '../storage/request-meter.js'
import type { MaintenanceEvent } from './maintenance-event.js'

/** The result of `Namespace.stats`. */
export interface RootStats {
  /** Id of the root. A copy of the directory has the same id. */
  readonly id: string
  /** Version of the file format (docs/format.md). */
  readonly format: 1
  /**
   * Statistics of the cache by partition; the entries of a partition are of one kind, for example columns. They are the
   * number of entries, their bytes, the lookups that found an entry (`hits`), and the lookups that had to load an entry
   * (`misses`).
   */
  readonly memory: MemoryStats
  readonly log: {
    /** The newest slot that this process has read or written. */
    readonly slot: number
    /**
     * Slot of the newest checkpoint that this process knows. A process that opens the root reads the log from this
     * slot. 0: this process knows no checkpoint.
     */
    readonly checkpoint: number
  }
  /**
   * Requests to the object storage of the root, since its store was opened. Absent if the store does not count requests,
   * for example on a local disk.
   */
  readonly store?: RequestStats
  /** Figures of the disk cache. Absent without the option `cacheDir`. */
  readonly diskCache?: DiskCacheStats
  /**
   * Number of maintenance events by kind, in this process since the root was opened. A kind without events is absent.
   */
  readonly maintenance: Readonly<Partial<Record<MaintenanceEvent['kind'], number>>>
}
