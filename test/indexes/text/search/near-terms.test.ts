/** Terms near to a word are those that a whole table of edits finds near, whichever segments have them. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  automaticDistance,
  editDistanceMatcher,
  expanded,
} from '../../../../src/indexes/text/search/near-terms.js'
import { Pacer } from '../../../../src/primitives/pacer.js'
import { runTask } from '../../../../src/primitives/task.js'
import { segmentOfTexts } from '../../../support/plain-text.js'

/** By the definition. */
function editsBetween(a: readonly string[], b: readonly string[]): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  a.forEach((x, i) => {
    const next = [i + 1]
    for (const [j, y] of b.entries())
      next.push(Math.min(row[j]! + (x === y ? 0 : 1), row[j + 1]! + 1, next[j]! + 1))
    row = next
  })
  return row[b.length]!
}

const letters = ['a', 'b', 'c', 'é', '\uffff', '🎉', '🎈']
const word = fc.array(fc.constantFrom(...letters), { maxLength: 9 }).map(all => all.join(''))

test('an edit distance is that of the full table', () => {
  fc.assert(
    fc.property(
      word,
      fc.nat(5),
      fc.nat(4),
      fc.array(word, { minLength: 1, maxLength: 20 }),
      (word, most, prefixLength, terms) => {
        const matcher = editDistanceMatcher(word, most, prefixLength)
        const points = [...word]
        const prefix = points.slice(0, prefixLength).join('')
        expect(matcher.prefix).toBe(prefix)
        // A term that begins as the word ends, and others, with the same arrays.
        for (const term of [...terms, ...terms.map(term => prefix + term), word]) {
          const edits = editsBetween(points, [...term])
          expect(matcher.distance(term)).toBe(term.startsWith(prefix) && edits <= most ? edits : null)
        }
      },
    ),
    { numRuns: 400 },
  )
})

test('two letters exchanged are two edits', () => {
  expect(editDistanceMatcher('form', 2, 0).distance('from')).toBe(2)
  expect(editDistanceMatcher('form', 1, 0).distance('from')).toBeNull()
})

test('long terms after short ones', () => {
  const matcher = editDistanceMatcher('x'.repeat(200), 2, 1)
  expect(matcher.distance('x')).toBeNull()
  expect(matcher.distance(`${'x'.repeat(100)}yy${'x'.repeat(98)}`)).toBe(2)
})

test('the default number of edits for a word', () => {
  expect(['', 'ab', 'abc', 'abcde', 'abcdef', '🎉🎉'].map(automaticDistance)).toEqual([0, 0, 1, 1, 2, 0])
})

test('the nearest terms of all segments come first, equally near ones by code points', async () => {
  const one = await segmentOfTexts(['cart card bat dog', 'cat'])
  const two = await segmentOfTexts(['cat c🎉t c\uffffts', 'bat at'])
  const terms = async (most: number, segments = [one, two]) =>
    (await runTask(expanded(segments, 'cat', 1, 0, most, new Pacer()))).map(({ term, distance }) => [
      term,
      distance,
    ])
  const all = [
    ['cat', 0],
    ['at', 1],
    ['bat', 1],
    ['cart', 1],
    ['c🎉t', 1],
  ]
  expect(await terms(50)).toEqual(all)
  expect(await terms(3)).toEqual(all.slice(0, 3))
  expect(await terms(3, [two, one])).toEqual(all.slice(0, 3))
})
