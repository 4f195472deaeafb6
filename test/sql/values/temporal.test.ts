import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { DataType } from '../../../src/arrow/types.js'
import {
  addMonths,
  civilOfDays,
  daysOfCivil,
  formatInstant,
  readInstant,
  readTime,
  writeInstant,
  writeTime,
} from '../../../src/sql/values/temporal.js'
import { zoneNamed } from '../../../src/sql/values/time-zone.js'

const nanos: DataType = { kind: 'timestamp', unit: 'ns', timezone: null }
const dayMs = 86_400_000

test('days and dates are those of Date', () => {
  fc.assert(
    fc.property(fc.integer({ min: -99_999_999, max: 99_999_999 }), days => {
      const date = new Date(days * dayMs)
      const civil = { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() }
      expect(civilOfDays(days)).toEqual(civil)
      expect(daysOfCivil(civil)).toBe(days)
    }),
  )
})

test('months are added one by one to the first of a month as Date does it', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -9999, max: 9999 }),
      fc.integer({ min: -9999, max: 9999 }),
      (from, months) => {
        const start = Date.UTC(2000, from, 1) / dayMs
        expect(addMonths(start, months)).toBe(Date.UTC(2000, from + months, 1) / dayMs)
      },
    ),
  )
})

test('a formatted time is parsed back, in every zone and unit', () => {
  const zones = fc.constantFrom(null, 'UTC', '-03:30', 'Europe/Berlin', 'Australia/Lord_Howe')
  const count = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
  fc.assert(
    fc.property(count, zones, (value, name) => {
      const zone = name === null ? null : zoneNamed(name)
      expect(readInstant(writeInstant(value, nanos, zone)!, zone)).toBe(value)
      expect(readInstant(formatInstant(value, nanos)!, null)).toBe(value)
    }),
  )
  const milliseconds = fc.bigInt({ min: -8_640_000_000_000_000n, max: 8_640_000_000_000_000n })
  fc.assert(
    fc.property(milliseconds, value => {
      const text = formatInstant(value, { kind: 'timestamp', unit: 'ms', timezone: null })!
      expect(readInstant(text, null)).toBe(value * 1_000_000n)
      const date = new Date(Number(value))
      const year = date.getUTCFullYear()
      const sign = year < 0 ? '-' : year > 9999 ? '+' : ''
      const rest = date.toISOString().slice(-'-01-01T00:00:00.000Z'.length, -1)
      expect(text).toBe(`${sign}${String(Math.abs(year)).padStart(4, '0')}${rest}`)
    }),
  )
})

test('times beyond the years of a Date have no text', () => {
  const seconds: DataType = { kind: 'timestamp', unit: 's', timezone: null }
  for (const value of [2n ** 63n - 1n, -(2n ** 63n)]) {
    expect(formatInstant(value, seconds)).toBe(null)
    expect(writeInstant(value, seconds, zoneNamed('Europe/Berlin'))).toBe(null)
  }
  expect(readInstant('+999999-01-01', null)).toBe(null)
})

test.each([
  ['12:34', 45_240_000_000_000n, '12:34:00'],
  ['00:00:00.000001', 1000n, '00:00:00.000001'],
  ['23:59:59.999999999', 86_399_999_999_999n, '23:59:59.999999999'],
  ['23:59:60', null, ''],
  ['12:34:56.', null, ''],
  ['12', null, ''],
  ['-12:00', null, ''],
] as const)('the time of day %s', (text, value, written) => {
  expect(readTime(text)).toBe(value)
  if (value !== null) expect(writeTime(value, { kind: 'time', unit: 'ns' })).toBe(written)
})

test.each([
  '2021-02-29',
  '2021-13-01',
  '2021-1-1T',
  '2021-01-01T1:00',
  '2021-01-01T00:00:00.',
  '2021-01-01T00:00:00.0000000001',
  '2021-01-01T00:00:00+25:00',
  '2021-01-01T00:00:00 +01:00 ',
  ' 2021-01-01',
  '21-01-01',
  '213111111',
  '20211301',
  'now',
  '',
])('%j is no point in time', text => {
  expect(readInstant(text, null)).toBe(null)
})
