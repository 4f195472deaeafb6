/** What a search finds is what loops over all texts find: the same rows, the same scores bit for bit, all that tie. */
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { PostingCursor } from '../../../../src/indexes/text/postings.js'
import { type Corpus, type ScoredRows, saturation } from '../../../../src/indexes/text/query.js'
import { bestRows } from '../../../../src/indexes/text/search/best-rows.js'
import { everyRow } from '../../../../src/indexes/text/search/every-row.js'
import type { TextSegment } from '../../../../src/indexes/text/segment.js'
import { Bitset } from '../../../../src/primitives/bitset.js'
import { type Clock, systemClock } from '../../../../src/primitives/clock.js'
import { Pacer } from '../../../../src/primitives/pacer.js'
import { seededRandom } from '../../../../src/primitives/seeded-random.js'
import { runTask } from '../../../../src/primitives/task.js'
import {
  bestByLoops,
  corpusOfTexts,
  matchesByLoops,
  type QueryOfTerms,
  type ScoredRow,
  segmentOfTexts,
} from '../../../support/plain-text.js'

const words = ['a', 'b', 'c', 'd', 'é', 'zz']
const missing = 'nowhere'

const term = fc.record({
  term: fc.constantFrom(...words, missing),
  weight: fc.oneof(fc.constantFrom(0, 1, 2.5), fc.double({ min: 0, max: 20, noNaN: true })),
})
const phrase = fc.record({
  kind: fc.constant('phrase' as const),
  terms: fc
    .array(fc.tuple(term, fc.constantFrom(0, 1, 1, 1, 2)), { minLength: 1, maxLength: 4 })
    .map(terms => {
      let at = 0
      return terms.map(([weighted, step]) => {
        at += step
        return { ...weighted, offset: at }
      })
    }),
  slop: fc.constantFrom(0, 0, 1, 2, 5),
})
const query: fc.Arbitrary<QueryOfTerms> = fc.oneof(
  fc.record({
    kind: fc.constant('terms' as const),
    groups: fc.array(fc.array(term, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 }),
    all: fc.boolean(),
  }),
  phrase,
)
const text = fc.oneof(
  {
    arbitrary: fc.array(fc.constantFrom(...words, ''), { maxLength: 9 }).map(all => all.join(' ')),
    weight: 9,
  },
  { arbitrary: fc.constant(null), weight: 1 },
)

/** `few` stay the same for a long time in some corpora: so blocks end anywhere, and ranges differ by what they may give. */
const corpus = fc
  .tuple(
    fc.array(text, { minLength: 1, maxLength: 12 }),
    fc.nat(500),
    fc.integer({ min: 0, max: 2 ** 31 - 1 }),
  )
  .map(([few, repeats, seed]) => {
    const random = seededRandom(seed)
    const more = Array.from({ length: repeats }, () => few[Math.floor(few.length * random() ** 3)]!)
    return [...few, ...more]
  })

/** By which any slice of work is over as soon as it has begun. */
const hurried: Clock = (() => {
  let now = 0
  return { ...systemClock, elapsed: () => (now += 1000) }
})()

function rowsOf({ ordinals, scores }: ScoredRows): ScoredRow[] {
  return Array.from(ordinals, (row, i) => ({ row, score: scores[i]! }))
}

async function best(segment: TextSegment, query: QueryOfTerms, corpus: Corpus, k: number, floor?: number) {
  return rowsOf(await runTask(bestRows(segment, query, corpus, { k, allowed: null, floor }, new Pacer())))
}

describe('small corpora', () => {
  test('the best rows and all rows are those of plain loops', async () => {
    await fc.assert(
      fc.asyncProperty(
        corpus,
        fc.array(query, { minLength: 1, maxLength: 6 }),
        fc.oneof(fc.nat(12), fc.constant(1000)),
        fc.option(fc.integer()),
        async (texts, queries, k, seed) => {
          const segment = await segmentOfTexts(texts)
          const means = corpusOfTexts(texts)
          const allowed = seed === null ? null : someOf(texts.length, seed)
          for (const query of queries) {
            const matches = matchesByLoops(texts, query, means).filter(({ row }) => allowed?.has(row) ?? true)
            const all = await runTask(everyRow(segment, query, means, allowed, new Pacer()))
            expect(rowsOf(all)).toEqual(matches)
            const found = await runTask(bestRows(segment, query, means, { k, allowed }, new Pacer()))
            expect(rowsOf(found)).toEqual(bestByLoops(matches, k))
          }
        },
      ),
      { numRuns: 90 },
    )
  })
})

function someOf(length: number, seed: number): Bitset {
  const random = seededRandom(seed)
  const share = random()
  const some = new Bitset(length)
  for (let i = 0; i < length; i++) if (random() < share) some.add(i)
  return some
}

test('term scores are added in the order of the query, whichever term leads', async () => {
  // Rows of 4 terms get half of a weight, exactly: then the order of additions shows in a float32.
  let averageLength = 4 / 0.7777777777777777
  while (saturation(1, 4, { averageLength }) !== 0.5) averageLength += 2 ** -50
  const segment = await segmentOfTexts(['a b c d', 'b c d x', 'b c d x'])
  const weights = { a: 2, b: 2 ** -23, c: 2 ** -52, d: 2 ** -52 }
  const scoreOf = async (order: string) => {
    const groups = [...order].map(term => [{ term, weight: weights[term as 'a'] }])
    const query: QueryOfTerms = { kind: 'terms', groups, all: true }
    const [row] = await best(segment, query, { averageLength }, 1)
    expect(row!.row).toBe(0)
    return row!.score
  }
  expect(await scoreOf('abcd')).toBe(1)
  expect(await scoreOf('dcba')).toBe(1 + 2 ** -23)
})

/** Words by Zipf's law, `w0` the most frequent; a few rows say one of them over and over, those in the middle this one. */
function skewed(count: number, seed: number): string[] {
  const random = seededRandom(seed)
  const word = () => `w${Math.floor(300 ** random()) - 1}`
  return Array.from({ length: count }, (_, i) => {
    if (Math.abs(i - count / 2) < 20) return Array(14).fill('w0').join(' ')
    if (i % 997 === 500) return Array(4).fill(word()).join(' ')
    return Array.from({ length: 5 + Math.floor(12 * random()) }, word).join(' ')
  })
}

const any = (...terms: string[]): QueryOfTerms => ({
  kind: 'terms',
  groups: terms.map((term, i) => [{ term, weight: 1 + i + 1 / 3 }]),
  all: false,
})

describe('a skewed corpus of many ranges', async () => {
  const texts = skewed(12_000, 7)
  const means = corpusOfTexts(texts)
  const segment = await segmentOfTexts(texts)
  const queries: QueryOfTerms[] = [
    any('w0'),
    any('w0', 'w1', 'w2'),
    any('w200', 'w0', 'w20'),
    any('w0', 'w5', 'w50', 'w299', 'w0'),
    { ...any('w0', 'w3', 'w9'), all: true } as QueryOfTerms,
    { ...any('w290', 'w0'), all: true } as QueryOfTerms,
    {
      kind: 'terms',
      groups: [
        [
          { term: 'w1', weight: 2 },
          { term: 'w40', weight: 3 },
        ],
        [{ term: 'w7', weight: 1 }],
      ],
      all: true,
    },
    {
      kind: 'phrase',
      terms: [
        { term: 'w0', weight: 1, offset: 0 },
        { term: 'w4', weight: 3, offset: 1 },
      ],
      slop: 0,
    },
  ]

  test.each(queries)('%j', async query => {
    const matches = matchesByLoops(texts, query, means)
    expect(rowsOf(await runTask(everyRow(segment, query, means, null, new Pacer())))).toEqual(matches)
    for (const k of [1, 10, 100, 5000]) {
      expect(await best(segment, query, means, k)).toEqual(bestByLoops(matches, k))
    }
  })

  test('any queries, with any allowed rows', async () => {
    const weighted = fc.record({
      term: fc.integer({ min: 0, max: 29 }).map(i => `w${Math.floor(i ** 2 / 3)}`),
      weight: fc.double({ min: 0.1, max: 5, noNaN: true }),
    })
    const queries = fc.record({
      kind: fc.constant('terms' as const),
      groups: fc.array(fc.array(weighted, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 5 }),
      all: fc.boolean(),
    })
    const property = fc.asyncProperty(
      queries,
      fc.nat(30),
      fc.option(fc.integer()),
      async (query, k, seed) => {
        const allowed = seed === null ? null : someOf(texts.length, seed)
        const matches = matchesByLoops(texts, query, means).filter(({ row }) => allowed?.has(row) ?? true)
        const found = await runTask(bestRows(segment, query, means, { k, allowed }, new Pacer()))
        expect(rowsOf(found)).toEqual(bestByLoops(matches, k))
      },
    )
    await fc.assert(property, { numRuns: 25 })
  })

  test('interleaved searches do not disturb each other', async () => {
    const some = queries.filter(({ kind }) => kind === 'terms')
    const found = await Promise.all(
      some.map(query =>
        runTask(bestRows(segment, query, means, { k: 10, allowed: null }, new Pacer(undefined, hurried))),
      ),
    )
    some.forEach((query, i) => {
      expect(rowsOf(found[i]!)).toEqual(bestByLoops(matchesByLoops(texts, query, means), 10))
    })
    const given = new AbortController()
    const search = runTask(everyRow(segment, any('w0'), means, null, new Pacer(given.signal, hurried)))
    given.abort(new Error('enough'))
    await expect(search).rejects.toThrow('enough')
  })

  test('rows below the score threshold are left out, rows at it are returned', async () => {
    const query = any('w0', 'w1', 'w2')
    const all = bestByLoops(matchesByLoops(texts, query, means), 40)
    const floor = all[20]!.score
    const expected = all.filter(({ score }) => score >= floor)
    expect(await best(segment, query, means, 40, floor)).toEqual(expected)
  })

  test('blocks that cannot change the result are not loaded', async () => {
    const loadsOf = async (work: () => unknown) => {
      const load = vi.spyOn(PostingCursor.prototype, 'load')
      await work()
      const { length } = load.mock.calls
      load.mockRestore()
      return length
    }
    const frequent = any('w0')
    const all = await loadsOf(() => runTask(everyRow(segment, frequent, means, null, new Pacer())))
    expect(all).toBeGreaterThanOrEqual(segment.find('w0')!.docs / 128)
    expect(await loadsOf(() => best(segment, frequent, means, 1))).toBeLessThan(all / 3)
    // Rows with the rare term alone are enough: of the frequent one, only blocks in which they may stand are looked at.
    const mixed: QueryOfTerms = {
      kind: 'terms',
      groups: [[{ term: 'w0', weight: 1 }], [{ term: 'w299', weight: 9 }]],
      all: false,
    }
    expect(await loadsOf(() => best(segment, mixed, means, 3))).toBeLessThan(all / 2)
    const [last] = bestByLoops(matchesByLoops(texts, frequent, means), 1)
    expect(await loadsOf(() => best(segment, frequent, means, 9, last!.score * 2))).toBe(0)
  })
})
