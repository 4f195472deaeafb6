import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileLike, likeRows, matches } from '../../../src/sql/kernels/like.js'
import { utf8 } from '../../../src/sql/values/types.js'
import { byteRowsOf, columnOfScalars } from '../../../src/sql/values/vector.js'
import { likeCases } from './like-cases.js'

function like(text: string, pattern: string, escapeCharacter = '\\'): boolean {
  const bytes = new TextEncoder().encode(text)
  return matches(compileLike(pattern, escapeCharacter), bytes, 0, bytes.length)
}

describe('LIKE', () => {
  test.each(likeCases)('%j LIKE %j is %s', (text, pattern, expected) => {
    expect(like(text, pattern)).toBe(expected)
    // Inside of a larger text, the bytes around the row do not count.
    const bytes = new TextEncoder().encode(`a${text}a%`)
    expect(matches(compileLike(pattern, '\\'), bytes, 1, bytes.length - 2)).toBe(expected)
  })

  test('another escape character takes the place of the backslash', () => {
    expect(like('a%', 'a!%', '!')).toBe(true)
    expect(like('ab', 'a!%', '!')).toBe(false)
    expect(like('a\\b', 'a\\%', '!')).toBe(true)
    expect(like('a_', 'a__', '_')).toBe(true)
    expect(like('50%', '50%%', '%')).toBe(true)
  })

  test('plain patterns use the fast paths', () => {
    const shapes = ['abc', 'abc%', '%abc', '%abc%', 'a%c', 'a_c', '%', '', '%%a', 'a\\%'].map(
      pattern => compileLike(pattern, '\\').shape,
    )
    expect(shapes).toEqual([
      'exact',
      'prefix',
      'suffix',
      'contains',
      'general',
      'general',
      'prefix',
      'exact',
      'suffix',
      'exact',
    ])
  })

  test('agrees with a regular expression', () => {
    const pieces = (...choices: string[]) =>
      fc.array(fc.constantFrom(...choices), { maxLength: 8 }).map(all => all.join(''))
    fc.assert(
      fc.property(pieces('a', 'b', 'ab', '🎉'), pieces('a', 'b', '%', '_', '🎉'), (text, pattern) => {
        const expected = new RegExp(`^${pattern.replaceAll('%', '.*').replaceAll('_', '.')}$`, 'su')
        expect(like(text, pattern)).toBe(expected.test(text))
      }),
      { numRuns: 5000 },
    )
  })

  test('of many rows equals that of each row', () => {
    const pieces = (...choices: string[]) =>
      fc.array(fc.constantFrom(...choices), { maxLength: 5 }).map(all => all.join(''))
    const texts = fc.array(pieces('a', 'b', 'ab', 'abcdefgh', '🎉'), { maxLength: 100 })
    fc.assert(
      fc.property(texts, pieces('a', 'b', 'ab', 'abcdefgh', '%', '_'), (rows, pattern) => {
        const column = byteRowsOf(columnOfScalars(utf8, rows))
        const words = likeRows(compileLike(pattern, '\\'), column, rows.length, null)
        const found = rows.map((_, row) => ((words[row >>> 5]! >>> (row & 31)) & 1) === 1)
        expect(found).toEqual(rows.map(text => like(text, pattern)))
      }),
      { numRuns: 2000 },
    )
  })

  test.each([
    ['a segment found only at the end', '%aaab', 2_000],
    ['many segments', '%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%ab', 200_000],
    ['a long segment', `%${'a'.repeat(32_000)}b%`, 200_000],
    ['wildcards', `%${'_a'.repeat(50)}b%`, 100_000],
  ])('does not go back over what it has read: %s', (_, pattern, size) => {
    const bytes = new Uint8Array(size).fill(97)
    const compiled = compileLike(pattern, '\\')
    const started = process.cpuUsage()
    expect(matches(compiled, bytes, 0, size)).toBe(false)
    expect(process.cpuUsage(started).user / 1e6).toBeLessThan(2)
  })

  test('evaluates only the requested rows', () => {
    const column = { bytes: new TextEncoder().encode('abab'), offsets: Int32Array.of(0, 1, 2, 3, 4) }
    expect([...likeRows(compileLike('a%', '\\'), column, 4, null)]).toEqual([0b0101])
    expect([...likeRows(compileLike('a%', '\\'), column, 4, Uint32Array.of(0b1100))]).toEqual([0b0100])
  })
})
