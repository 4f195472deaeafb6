import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { DataType, TimeUnit } from '../../../src/arrow/types.js'
import { joinInstant, splitInstants } from '../../../src/sql/values/instants.js'
import { columnOf } from '../../../src/sql/values/vector.js'
import { tableOf, testCases, testErrors, typeOf, types, valuesOf } from './function-table.js'
import { temporalCases, temporalErrors } from './temporal-function-cases.js'

describe('functions of dates and times', () => {
  testCases(temporalCases, (text, value) => (typeof value === 'string' ? `CAST(${text} AS string)` : text))
  testErrors(temporalErrors)

  test('the unit is a constant', () => {
    const table = tableOf({ s: types.utf8 }, [])
    expect(() => typeOf("date_part(s, date '2021-01-01')", table)).toThrow(
      /argument 1 of date_part must be a constant/,
    )
  })
})

const perSecond = { s: 1n, ms: 1000n, us: 1_000_000n, ns: 1_000_000_000n } as const
const unit = fc.constantFrom<TimeUnit>('s', 'ms', 'us', 'ns')
/** Instants that a Date can hold, as nanoseconds, so that every unit reaches far beyond 2 ** 53. */
const nanos = fc.oneof(
  fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }),
  fc.bigInt({ min: -1_000_000_000_000n, max: 1_000_000_000_000n }),
)
const dateOf = (count: bigint, of: TimeUnit) => {
  const milliseconds = (count * 1000n) / perSecond[of]
  const floor = milliseconds * perSecond[of] > count * 1000n ? milliseconds - 1n : milliseconds
  return new Date(Number(floor))
}

describe('parts and starts of times are those of Date', () => {
  const timestamp = (of: TimeUnit): DataType => ({ kind: 'timestamp', unit: of, timezone: null })

  test('instants are split and joined exactly', () => {
    const whole = fc.array(fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }), {
      minLength: 1,
      maxLength: 50,
    })
    fc.assert(
      fc.property(unit, whole, (of, counts) => {
        // Seconds past 2 ** 53 are no times that anything is calculated with.
        const spare = { s: 11n, ms: 1n, us: 0n, ns: 0n }
        const values = BigInt64Array.from(counts, count => count >> spare[of])
        const column = columnOf(timestamp(of), values.length, { values }, null)
        const split = splitInstants(column, values.length)
        const joined = new BigInt64Array(values.length)
        for (let i = 0; i < values.length; i++) {
          expect(split.rest[i]).toBeGreaterThanOrEqual(0)
          expect(BigInt(split.seconds[i]!) * perSecond[of] + BigInt(split.rest[i]!)).toBe(values[i])
          const pairs = new Int32Array(joined.buffer)
          expect(joinInstant(pairs, i, split.seconds[i]!, split.rest[i]!, split.perSecond)).toBe(true)
        }
        expect(joined).toEqual(values)
      }),
    )
  })

  test('date_part', () => {
    fc.assert(
      fc.property(unit, nanos, (of, at) => {
        const count = (at * perSecond[of]) / perSecond.ns
        const date = dateOf(count, of)
        const table = tableOf({ t: timestamp(of) }, [{ t: count }])
        const part = (name: string) => valuesOf(`date_part('${name}', t)`, table)[0]
        expect(part('year')).toBe(date.getUTCFullYear())
        expect(part('month')).toBe(date.getUTCMonth() + 1)
        expect(part('day')).toBe(date.getUTCDate())
        expect(part('dow')).toBe(date.getUTCDay())
        expect(part('hour')).toBe(date.getUTCHours())
        expect(part('minute')).toBe(date.getUTCMinutes())
        expect(part('millisecond')).toBe(date.getUTCSeconds() * 1000 + date.getUTCMilliseconds())
      }),
    )
  })

  const starts: Readonly<Record<string, (date: Date) => number>> = {
    year: date => new Date(0).setUTCFullYear(date.getUTCFullYear(), 0, 1),
    quarter: date =>
      new Date(0).setUTCFullYear(date.getUTCFullYear(), Math.floor(date.getUTCMonth() / 3) * 3, 1),
    month: date => new Date(0).setUTCFullYear(date.getUTCFullYear(), date.getUTCMonth(), 1),
    week: date => new Date(date).setUTCHours(0, 0, 0, 0) - ((date.getUTCDay() + 6) % 7) * 86_400_000,
    day: date => new Date(date).setUTCHours(0, 0, 0, 0),
    hour: date => new Date(date).setUTCMinutes(0, 0, 0),
    minute: date => new Date(date).setUTCSeconds(0, 0),
    second: date => new Date(date).setUTCMilliseconds(0),
    millisecond: date => date.getTime(),
  }

  test.each(Object.keys(starts))('date_trunc to the %s', name => {
    // Away from the first timestamps there are.
    const inside = fc.bigInt({ min: -(1n << 62n), max: (1n << 62n) - 1n })
    fc.assert(
      fc.property(unit, inside, (of, at) => {
        const count = (at * perSecond[of]) / perSecond.ns
        const table = tableOf({ t: timestamp(of) }, [{ t: count }])
        const start = (BigInt(starts[name]!(dateOf(count, of))) * perSecond[of]) / 1000n
        expect(valuesOf(`CAST(date_trunc('${name}', t) AS bigint)`, table)).toEqual([start])
      }),
    )
  })

  test('a formatted time is parsed back', () => {
    const inside = fc.bigInt({ min: -(1n << 62n), max: (1n << 62n) - 1n })
    fc.assert(
      fc.property(inside, at => {
        const iso = dateOf(at, 'ns').toISOString()
        const table = tableOf({ s: types.utf8 }, [{ s: iso }])
        const expected = BigInt(Date.parse(iso)) * 1_000_000n
        for (const format of ['%+', '%Y-%m-%dT%H:%M:%S%.3fZ', '%FT%T%.f%#z']) {
          expect(valuesOf(`CAST(to_timestamp(s, '${format}') AS bigint)`, table)).toEqual([expected])
        }
      }),
    )
  })
})
