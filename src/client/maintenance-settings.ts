/** How a root is kept in order, as callers may set it. */
import { invalidInput } from '../errors.js'
import { boolean, given, options } from '../protocol/shape.js'

export interface MaintenanceSettings {
  /** Whether small and thinned-out fragments are made one in the background. Default true. */
  readonly compact?: boolean
  /** Bytes, or 524,288 rows, from which a fragment is large enough to be left alone. Default 256 MiB. */
  readonly fragmentBytes?: number
  /**
   * How long a version that is neither the newest of its table nor tagged stays readable, milliseconds, by the clocks of the
   * processes that write. Infinity: for ever. Default 7 days.
   */
  readonly keepVersionsMs?: number
  /**
   * How long files that nothing refers to stay, milliseconds: longer than any write takes from its first file to its commit.
   * A slower one is told to try again. Not infinity. Default 24 hours.
   */
  readonly keepOrphansMs?: number
  /** How long slots of the log stay that a checkpoint makes dispensable, milliseconds. Infinity: for ever. Default 7 days. */
  readonly keepLogMs?: number
  /**
   * How long this process keeps an upload in parts, or a read session, that gets no request, milliseconds. Another request takes it up again,
   * as long as no garbage collection was faster. Default 1 hour.
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

/** Throws code 13 where orphans are to be kept for ever. */
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
  throw invalidInput(`maintenance.${name} cannot be infinite: what expires has to be remembered as long`, {
    hint: 'keepVersionsMs: Infinity keeps all versions',
  })
}
