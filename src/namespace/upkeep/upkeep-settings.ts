/** How a root is kept in order, as callers may set it. */
import { invalidInput, quote } from '../../errors.js'

export interface UpkeepSettings {
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
}

export type SettledUpkeep = Required<UpkeepSettings>

const hourMs = 60 * 60 * 1000

/** Throws code 13 for what is no such setting. */
export function settleUpkeep(settings: UpkeepSettings): SettledUpkeep {
  return {
    compact: settings.compact ?? true,
    fragmentBytes: amount('fragmentBytes', 'bytes', settings.fragmentBytes ?? 256 * 1024 * 1024),
    keepVersionsMs: age('keepVersionsMs', settings.keepVersionsMs ?? 7 * 24 * hourMs),
    keepOrphansMs: finite('keepOrphansMs', age('keepOrphansMs', settings.keepOrphansMs ?? 24 * hourMs)),
    keepLogMs: age('keepLogMs', settings.keepLogMs ?? 7 * 24 * hourMs),
  }
}

function finite(name: string, ms: number): number {
  if (ms < Number.POSITIVE_INFINITY) return ms
  throw invalidInput(`upkeep.${name} cannot be infinite: what expires has to be remembered as long`, {
    hint: 'keepVersionsMs: Infinity keeps all versions',
  })
}

function age(name: string, ms: number): number {
  return amount(name, 'milliseconds', ms)
}

function amount(name: string, unit: string, value: number): number {
  if (typeof value === 'number' && value >= 0) return value
  throw invalidInput(`upkeep.${name} must be a number of ${unit} >= 0, got ${quote(value)}`)
}
