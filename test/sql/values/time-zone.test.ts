import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { instantOfLocal, offsetAt, zoneNamed } from '../../../src/sql/values/time-zone.js'

const seconds = (iso: string) => Date.parse(iso) / 1000

describe('offsets', () => {
  test.each([
    ['UTC', '2021-07-01T00:00:00Z', 0],
    ['Z', '2021-07-01T00:00:00Z', 0],
    ['+02:00', '2021-07-01T00:00:00Z', 7200],
    ['-0330', '2021-07-01T00:00:00Z', -12_600],
    ['+05', '2021-07-01T00:00:00Z', 18_000],
    ['Etc/GMT+3', '2021-07-01T00:00:00Z', -10_800],
    ['europe/berlin', '2021-07-01T00:00:00Z', 7200],
    ['Europe/Berlin', '2021-03-28T00:59:59Z', 3600],
    ['Europe/Berlin', '2021-03-28T01:00:00Z', 7200],
    ['Europe/Berlin', '2021-10-31T00:59:59Z', 7200],
    ['Europe/Berlin', '2021-10-31T01:00:00Z', 3600],
    ['Europe/Berlin', '1969-12-31T23:59:59Z', 3600],
    // before standard time, and a zone whose day was cut by a half hour
    ['Europe/Berlin', '1880-01-01T00:00:00Z', 3208],
    ['Australia/Lord_Howe', '2021-07-01T00:00:00Z', 37_800],
    ['Australia/Lord_Howe', '2021-01-01T00:00:00Z', 39_600],
    // the day that Samoa left out
    ['Pacific/Apia', '2011-12-30T09:59:59Z', -36_000],
    ['Pacific/Apia', '2011-12-30T10:00:00Z', 50_400],
  ])('%s at %s', (name, instant, offset) => {
    expect(offsetAt(zoneNamed(name), seconds(instant))).toBe(offset)
  })

  test('agree with what Intl shows, at any second a Date holds', () => {
    const zone = zoneNamed('America/New_York')
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: 'America/New_York',
      ...{ era: 'short', year: 'numeric', month: 'numeric', day: 'numeric' },
      ...{ hour: 'numeric', minute: 'numeric', second: 'numeric', hourCycle: 'h23' },
    } as Intl.DateTimeFormatOptions)
    fc.assert(
      fc.property(fc.integer({ min: seconds('1900-01-01'), max: seconds('2100-01-01') }), at => {
        const parts = Object.fromEntries(
          format.formatToParts(at * 1000).map(part => [part.type, Number(part.value)]),
        )
        const local = Date.UTC(
          parts.year!,
          parts.month! - 1,
          parts.day!,
          parts.hour!,
          parts.minute!,
          parts.second!,
        )
        expect(offsetAt(zone, at)).toBe(local / 1000 - at)
      }),
      { numRuns: 300 },
    )
  })

  test('far from today are those of the last known day', () => {
    expect(offsetAt(zoneNamed('Asia/Kolkata'), 9e18)).toBe(19_800)
    expect(Number.isInteger(offsetAt(zoneNamed('Asia/Kolkata'), -9e18))).toBe(true)
  })
})

test.each(['', 'Nowhere/Land', '+24:00', '+02:60', '+2', '02:00', 'Europe', '+02:00:00', "'; --"])(
  '%j is not a zone',
  name => {
    expect(() => zoneNamed(name)).toThrow('no time zone is named')
  },
)

describe('local times', () => {
  test.each([
    ['Europe/Berlin', '2021-07-01T00:00:00Z', '2021-06-30T22:00:00Z'],
    // set forward: 02:30 never was
    ['Europe/Berlin', '2021-03-28T01:59:59Z', '2021-03-28T00:59:59Z'],
    ['Europe/Berlin', '2021-03-28T02:30:00Z', '2021-03-28T01:30:00Z'],
    ['Europe/Berlin', '2021-03-28T03:00:00Z', '2021-03-28T01:00:00Z'],
    // set back: 02:30 was twice
    ['Europe/Berlin', '2021-10-31T02:30:00Z', '2021-10-31T00:30:00Z'],
    ['Europe/Berlin', '2021-10-31T03:00:00Z', '2021-10-31T02:00:00Z'],
    ['America/St_Johns', '2021-03-14T02:30:00Z', '2021-03-14T06:00:00Z'],
    ['-03:30', '2021-01-01T00:00:00Z', '2021-01-01T03:30:00Z'],
  ])('%s: %s is %s', (name, local, instant) => {
    expect(instantOfLocal(zoneNamed(name), seconds(local))).toBe(seconds(instant))
  })

  test('of an instant lead back to it, or to an instant of the same local time before', () => {
    const zones = fc.constantFrom('Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata')
    fc.assert(
      fc.property(zones, fc.integer({ min: -4e9, max: 4e9 }), (name, at) => {
        const zone = zoneNamed(name)
        const local = at + offsetAt(zone, at)
        const back = instantOfLocal(zone, local)
        expect(back).toBeLessThanOrEqual(at)
        expect(back + offsetAt(zone, back)).toBe(local)
      }),
    )
  })
})
