import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  readSize,
  readTime,
  showCount,
  showCounted,
  showSize,
  showTime,
} from '../../../adapters/cli/quantities.js'

describe('sizes', () => {
  test.each([
    ['0', 0],
    ['4096', 4096],
    ['64kB', 64_000],
    ['512MiB', 512 * 2 ** 20],
    ['1.5 gb', 1.5e9],
    ['16GiB', 16 * 2 ** 30],
    ['0.5', 0],
    ['', null],
    ['-1', null],
    ['1e3', null],
    ['MiB', null],
    ['1 constructor', null],
    ['1 PB2', null],
  ])('%j is %j bytes', (text, bytes) => {
    expect(readSize(text)).toBe(bytes)
  })

  test.each([
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1.0 kB'],
    [9949, '9.9 kB'],
    [9950, '10 kB'],
    [999_499, '999 kB'],
    [999_500, '1.0 MB'],
    [1_234_567_890, '1.2 GB'],
    [5e18, '5000 PB'],
  ])('%j bytes are shown as %j', (bytes, text) => {
    expect(showSize(bytes)).toBe(text)
  })

  test('a printed size is read as the same size, except for rounding', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 9e14, noNaN: true }), value => {
        const bytes = Math.floor(value)
        expect(Math.abs(readSize(showSize(bytes))! - bytes)).toBeLessThanOrEqual(bytes * 0.051)
      }),
    )
  })
})

describe('times', () => {
  test.each([
    ['0s', 0],
    ['500ms', 500],
    ['1.5 s', 1500],
    ['5min', 300_000],
    ['5m', 300_000],
    ['12h', 43_200_000],
    ['7d', 604_800_000],
    ['forever', Number.POSITIVE_INFINITY],
    ['7', null],
    ['7 weeks', null],
    ['-1s', null],
  ])('%j is %j milliseconds', (text, ms) => {
    expect(readTime(text)).toBe(ms)
  })

  test.each([
    [0.4, '0 ms'],
    [850, '850 ms'],
    [12_345, '12.3 s'],
    [119_000, '119 s'],
    [120_000, '2 min'],
    [12_600_000, '3.5 h'],
    [12 * 86_400_000, '12 d'],
  ])('%j ms are shown as %j', (ms, text) => {
    expect(showTime(ms)).toBe(text)
  })
})

test('counts have thousands separators and nouns', () => {
  expect(showCount(1_234_567)).toBe('1,234,567')
  expect(showCounted(1, 'row')).toBe('1 row')
  expect(showCounted(0, 'row')).toBe('0 rows')
  expect(showCounted(12_345, 'index', 'indexes')).toBe('12,345 indexes')
})
