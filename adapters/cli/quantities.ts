/** Parses and formats sizes, times and counts. */

const sizeUnits: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
}

const timeUnits: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

/** Parse a size such as `512MiB`, `1.5 GB` or `4096`. Returns bytes, or null for an invalid text. */
export function readSize(text: string): number | null {
  const bytes = scaled(text, sizeUnits)
  return bytes === null ? null : Math.floor(bytes)
}

/**
 * Parse a time such as `30s`, `1.5h`, `7d` or `forever`. Returns milliseconds. Returns null for an invalid text, also
 * for a number without a unit.
 */
export function readTime(text: string): number | null {
  return text.trim() === 'forever' ? Number.POSITIVE_INFINITY : scaled(text, timeUnits)
}

function scaled(text: string, units: Readonly<Record<string, number>>): number | null {
  const [, digits, unit = ''] = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/i.exec(text) ?? []
  const factor = Object.hasOwn(units, unit.toLowerCase()) ? units[unit.toLowerCase()] : undefined
  return digits === undefined || factor === undefined ? null : Number(digits) * factor
}

const counts = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })

/** Format a count, for example `12,345`. */
export function showCount(count: number): string {
  return counts.format(count)
}

/** Format a count with its noun, for example `1 row` or `12,345 rows`. */
export function showCounted(count: number, one: string, many = `${one}s`): string {
  return `${showCount(count)} ${count === 1 ? one : many}`
}

/** Format a size, for example `999 B` or `1.2 GB`. A kB has 1,000 bytes. */
export function showSize(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB']
  let amount = bytes
  let unit = 0
  // Use the next unit if rounding would give 1000: 999.6 kB is shown as 1.0 MB.
  while (amount >= (unit === 0 ? 1000 : 999.5) && unit < units.length - 1) {
    amount /= 1000
    unit++
  }
  return `${unit === 0 || amount >= 9.95 ? Math.round(amount) : amount.toFixed(1)} ${units[unit]}`
}

/** Format a time, for example `850 ms`, `12.3 s`, `4 min`, `3.5 h` or `12 d`. */
export function showTime(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  for (const [unit, from] of [
    ['d', 2 * timeUnits.d!],
    ['h', 2 * timeUnits.h!],
    ['min', 2 * timeUnits.min!],
    ['s', 0],
  ] as const) {
    if (ms < from) continue
    const amount = ms / timeUnits[unit]!
    return `${amount < 20 ? Number(amount.toFixed(1)) : Math.round(amount)} ${unit}`
  }
  return '0 ms'
}
