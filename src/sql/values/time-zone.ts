/**
 * Time zones: fixed offsets (`+02:00`) and names (`Europe/Berlin`). Names are resolved by `Intl`.
 *
 * If clocks are set forward, some local times do not exist. They are converted with the offset from before the change.
 * If clocks are set back, some local times exist twice. Such a local time means the earlier instant.
 */
import { invalidInput, quote } from '../../errors.js'

/** A time zone, with a cache of its offsets. */
export interface Zone {
  readonly name: string
  /** The offset in seconds east of UTC. Null for a named zone, whose offset may change over time. */
  readonly fixed: number | null
  /** Finds the offset of a named zone at an instant. Null for a zone with a fixed offset. */
  readonly format: Intl.DateTimeFormat | null
  /** Cache of offsets by UTC day (days since 1970). */
  readonly days: Map<number, Day>
}

/** The offsets of a zone on one UTC day: `before` the instant `change` (seconds since 1970), and `after` it. */
interface Day {
  readonly before: number
  readonly change: number
  readonly after: number
}

const secondsPerDay = 86_400
const maxZones = 64
const maxDays = 8192
/** Maximum distance of a JavaScript Date from 1970, in seconds. */
const maxSeconds = 8.64e12

const zones = new Map<string, Zone>()

/**
 * Return the zone with this name. Throws `InvalidInput` for an unknown name. Creating a zone is slow, so callers must
 * pass names from types or constants, never from rows.
 */
export function zoneNamed(name: string): Zone {
  const known = zones.get(name)
  if (known !== undefined) return known
  const zone = makeZone(name)
  if (zone === null) {
    throw invalidInput(`no time zone is named ${quote(name)}`, {
      hint: "zones are named like 'Europe/Berlin' or written as offsets like '+02:00'",
    })
  }
  if (zones.size >= maxZones) zones.clear()
  zones.set(name, zone)
  return zone
}

function makeZone(name: string): Zone | null {
  const days = new Map<number, Day>()
  if (/^(utc|z)$/i.test(name)) return { name, fixed: 0, format: null, days }
  const offset = /^([+-])(\d\d)(?::?(\d\d))?$/.exec(name)
  if (offset !== null) {
    const [, sign, hours, minutes = '0'] = offset
    if (Number(hours) > 23 || Number(minutes) > 59) return null
    const seconds = Number(hours) * 3600 + Number(minutes) * 60
    return { name, fixed: sign === '-' ? -seconds : seconds, format: null, days }
  }
  if (!/^[a-z]/i.test(name)) return null
  try {
    const format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' })
    return { name, fixed: null, format, days }
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/** Return the offset of a zone at an instant, in seconds east of UTC. `seconds`: the instant in seconds since 1970. */
export function offsetAt(zone: Zone, seconds: number): number {
  if (zone.fixed !== null) return zone.fixed
  const at = Math.floor(Math.max(-maxSeconds, Math.min(seconds, maxSeconds)))
  const number = Math.floor(at / secondsPerDay)
  let day = zone.days.get(number)
  if (day === undefined) {
    day = lookUpDay(zone.format!, number * secondsPerDay)
    if (zone.days.size >= maxDays) zone.days.clear()
    zone.days.set(number, day)
  }
  return at < day.change ? day.before : day.after
}

/** Convert a local time of a zone to the instant, both in seconds since 1970. */
export function instantOfLocal(zone: Zone, local: number): number {
  if (zone.fixed !== null) return local - zone.fixed
  const before = offsetAt(zone, local - secondsPerDay)
  const after = offsetAt(zone, local + secondsPerDay)
  if (before === after || offsetAt(zone, local - before) === before) return local - before
  return offsetAt(zone, local - after) === after ? local - after : local - before
}

/** Find the offsets of the day that begins at `start`. Assumes that the offset changes at most once per day. */
function lookUpDay(format: Intl.DateTimeFormat, start: number): Day {
  const before = lookUpOffset(format, start)
  const end = Math.min(start + secondsPerDay, maxSeconds)
  const after = lookUpOffset(format, end)
  if (before === after) return { before, change: end, after }
  let low = start
  let high = end
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (lookUpOffset(format, middle) === before) low = middle
    else high = middle
  }
  return { before, change: high, after }
}

function lookUpOffset(format: Intl.DateTimeFormat, seconds: number): number {
  const text = format.format(Math.max(-maxSeconds, seconds) * 1000)
  const match = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(text)!
  const [, sign, hours = '0', minutes = '0', rest = '0'] = match
  const offset = Number(hours) * 3600 + Number(minutes) * 60 + Number(rest)
  return sign === '-' ? -offset : offset
}
