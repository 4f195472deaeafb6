/** Settings of background maintenance, with their defaults. */
import { invalidInput } from '../errors.js'
import { boolean, given, options } from '../protocol/shape.js'

/** Settings of background maintenance. */
export interface MaintenanceSettings {
  /** Whether to compact small fragments, and fragments with many deleted rows, in the background. Default true. */
  readonly compact?: boolean
  /** Fragments of at least this size, in bytes, or of at least 524,288 rows, are not merged. Default 256 MiB. */
  readonly fragmentBytes?: number
  /**
   * Time in milliseconds for which an old version stays readable, measured by the clocks of the processes that write.
   * The newest version of a table and tagged versions never expire. `Infinity` keeps all versions. Default 7 days.
   */
  readonly keepVersionsMs?: number
  /**
   * Time in milliseconds for which unreferenced files are kept. A write that takes longer from its first file to its
   * commit fails and must be retried. Must be finite. Default 24 hours.
   */
  readonly keepOrphansMs?: number
  /**
   * Time in milliseconds for which slots of the log are kept after a checkpoint has replaced them. `Infinity` keeps all
   * slots. Default 7 days.
   */
  readonly keepLogMs?: number
  /**
   * Time in milliseconds for which this process keeps an upload or a scan (read session) without requests. A later
   * request resumes the upload or scan, unless garbage collection has deleted its files. Default 1 hour.
   */
  readonly keepIdleMs?: number
}

const milliseconds = given<number>(
  'a number of milliseconds >= 0',
  value => typeof value === 'number' && value >= 0,
)

export const maintenanceShape = options<MaintenanceSettings>()({
  compact: boolean,
  fragmentBytes: given<number>('a number of bytes >= 0', value => typeof value === 'number' && value >= 0),
  keepVersionsMs: milliseconds,
  keepOrphansMs: milliseconds,
  keepLogMs: milliseconds,
  keepIdleMs: milliseconds,
})

export type ResolvedMaintenance = Required<MaintenanceSettings>

const hourMs = 60 * 60 * 1000

/** Apply the defaults. `'elsewhere'` has the defaults, too. Throws `InvalidInput` if `keepOrphansMs` is infinite. */
export function resolveMaintenance(given: MaintenanceSettings | 'elsewhere' = {}): ResolvedMaintenance {
  const settings = given === 'elsewhere' ? {} : given
  return {
    compact: settings.compact ?? true,
    fragmentBytes: settings.fragmentBytes ?? 256 * 1024 * 1024,
    keepVersionsMs: settings.keepVersionsMs ?? 7 * 24 * hourMs,
    keepOrphansMs: finite('keepOrphansMs', settings.keepOrphansMs ?? 24 * hourMs),
    keepLogMs: settings.keepLogMs ?? 7 * 24 * hourMs,
    keepIdleMs: settings.keepIdleMs ?? hourMs,
  }
}

function finite(name: string, ms: number): number {
  if (ms < Number.POSITIVE_INFINITY) return ms
  throw invalidInput(
    `maintenance.${name} must be finite, because records of expired files are kept for this time`,
    {
      hint: 'to keep all versions, set keepVersionsMs: Infinity',
    },
  )
}
