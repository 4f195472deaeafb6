import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatInterval, intervalNanos, parseInterval } from '../../../src/sql/values/interval.js'

/** What DataFusion shows for these (expr.slt). */
test.each([
  ['1', '', '1.000000000 secs'],
  ['1 second', '', '1.000000000 secs'],
  ['500 milliseconds', '', '0.500000000 secs'],
  ['0.5 minute', '', '30.000000000 secs'],
  ['.5 minute', '', '30.000000000 secs'],
  ['5 minute', '', '5 mins'],
  ['5 minute 1 second', '', '5 mins 1.000000000 secs'],
  ['1 week', '', '7 days'],
  ['1 day 1', '', '1 days 1.000000000 secs'],
  ['0.5 day 1', '', '12 hours 1.000000000 secs'],
  ['0.49999999999 day', '', '11 hours 59 mins 59.999999136 secs'],
  ['5 day 4 hours 3 minutes 2 seconds 100 milliseconds', '', '5 days 4 hours 3 mins 2.100000000 secs'],
  ['0.5 month', '', '15 days'],
  ['0.5', 'month', '15 days'],
  ['1', 'MONTH', '1 mons'],
  ['0.5 year', '', '6 mons'],
  ['2 decades', '', '240 mons'],
  ['1 century', '', '1200 mons'],
  ['1 year 1 day 1 hour 1 minute 1 second', '', '12 mons 1 days 1 hours 1 mins 1.000000000 secs'],
  // signs, clocks, words
  ['-1 day', '', '-1 days'],
  ['1 month -2 days', '', '1 mons -2 days'],
  ['-1.5 hours', '', '-1 hours -30 mins'],
  ['1 day 02:03:04.5', '', '1 days 2 hours 3 mins 4.500000000 secs'],
  ['-00:00:01', '', '-1.000000000 secs'],
  ['  2   Hours ', '', '2 hours'],
  ['3h', '', '3 hours'],
  ['1 day 2', 'hour', '1 days 2 hours'],
  ['0', 'day', '0 secs'],
  ['2147483647 months', '', '2147483647 mons'],
  ['9223372036.854775807', '', '2562047 hours 47 mins 16.854775807 secs'],
])('interval %j %s', (text, unit, shown) => {
  expect(formatInterval(parseInterval(text, unit)!)).toBe(shown)
})

test.each([
  ['', ''],
  [' ', ''],
  ['day', ''],
  ['one day', ''],
  ['1 fortnight', ''],
  ['1 day', 'day'],
  ['1', 'fortnight'],
  ['1 2', ''],
  ['1..5 days', ''],
  ['1 day,', ''],
  ['1:60:00', ''],
  ['constructor', ''],
  ['1', 'constructor'],
  ['1 constructor', ''],
  ['2147483648 months', ''],
  ['-2147483649 days', ''],
  ['9223372036.854775808', ''],
  ['99999999999999999999 years', ''],
  ['9'.repeat(100_000), ''],
  [`${'1 day '.repeat(100_000)}`, ''],
])('interval %j %s is none', (text, unit) => {
  expect(parseInterval(text, unit)).toBe(null)
})

test('a formatted interval is parsed back', () => {
  const interval = fc.record({
    months: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
    days: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
    nanos: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  })
  fc.assert(
    fc.property(interval, value => {
      expect(parseInterval(formatInterval(value), '')).toEqual(value)
    }),
  )
})

test('a month is 30 days long, a day 24 hours', () => {
  expect(intervalNanos({ months: 1, days: 1, nanos: 1n })).toBe(31n * 86_400_000_000_000n + 1n)
})
