/** Settings of background maintenance, with their defaults. */
import { invalidInput } from '../errors.js'
import { boolean, given, options } from '../protocol/shape.js'

/** Settings of background maintenance. */
export interface MaintenanceSettings {
  /** Whether to compact small fragments, and fragments with many deleted rows, in the background. Default true. */
  readonly compact?: boolean
  /** Size in bytes from which a fragment is not compacted; so are fragments of 524,288 rows or more. Default 256 MiB. */
  readonly fragmentBytes?: number
  /**
   * Milliseconds that an old version stays readable, by the clocks of the processes that write. The newest version of
   * a table and tagged versions never expire. Infinity: forever. Default 7 days.
   */
  readonly keepVersionsMs?: number
  /**
   * Milliseconds that unreferenced files are kept. It must be longer than any write takes from its first file to its
   * commit; a slower write fails and must be retried. Must be finite. Default 24 hours.
   */
  readonly keepOrphansMs?: number
  /** Milliseconds that slots of the log are kept after a checkpoint has replaced them. Infinity: forever. Default 7 days. */
  readonly keepLogMs?: number
  /**
   * Milliseconds that this process keeps an upload or a read session that receives no request. A later request
   * resumes it, unless garbage collection has deleted its files. Default 1 hour.
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

/** Apply the defaults. Throws `InvalidInput` if `keepOrphansMs` is infinite. */
export function resolveMaintenance(settings: MaintenanceSettings): ResolvedMaintenance {
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
    `maintenance.${name} cannot be infinite: expired files must be remembered for that time`,
    {
      hint: 'keepVersionsMs: Infinity keeps all versions',
    },
  )
}
