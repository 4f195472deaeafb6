/** Rows with all words, or with a phrase, are those that loops over sets of rows find, with the same scores. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type EncodedPostings, encodePostings } from '../../../../src/indexes/text/encode-postings.js'
import { Postings, type PostingsOwner } from '../../../../src/indexes/text/postings.js'
import type { SegmentQuery } from '../../../../src/indexes/text/query.js'
import { bestRows } from '../../../../src/indexes/text/search/best-rows.js'
import { everyRow } from '../../../../src/indexes/text/search/every-row.js'
import type { TextSegment } from '../../../../src/indexes/text/segment.js'
import { Bitset } from '../../../../src/primitives/bitset.js'
import { systemClock } from '../../../../src/primitives/clock.js'
import { Pacer } from '../../../../src/primitives/pacer.js'
import { seededRandom } from '../../../../src/primitives/seeded-random.js'
import { runTask } from '../../../../src/primitives/task.js'
import { bestByLoops, type ScoredRow } from '../../../support/plain-text.js'

/** More rows than the bits of the filter, so that different rows have the same bit. */
const rows = 70_000
const averageLength = 12
/** By row, the positions of a term. */
type Places = ReadonlyMap<number, readonly number[]>

const patient = new Pacer(undefined, { ...systemClock, elapsed: () => 0 })
const whole = (bytes: Uint8Array) => ({ bytes, at: 0, end: bytes.length })

/** A segment of rows of `lengths` terms, that has the terms 0, 1 and so on. */
function segmentOf(terms: readonly Places[], lengths: Uint8Array): TextSegment {
  const owner: PostingsOwner = { name: 'test', lengths }
  const postings = terms.map(places => {
    const encoded = encodePostings(
      {
        ordinals: Uint32Array.from(places.keys()),
        frequencies: Uint32Array.from(places.values(), ({ length }) => length),
        positions: Uint32Array.from([...places.values()].flat()),
        lengths,
      },
      patient,
    )
    const { postings, positions } = runTask(encoded) as EncodedPostings
    return new Postings(places.size, whole(postings), whole(positions!), owner)
  })
  const find = (term: string) =>
    terms[Number(term)]!.size === 0 ? null : { number: Number(term), term, docs: terms[Number(term)]!.size }
  const facts = { positions: true } as TextSegment['facts']
  return {
    rows,
    lengths,
    facts,
    find,
    postings: ({ number }: { number: number }) => postings[number]!,
  } as unknown as TextSegment
}

/** Rows in four clusters of `span` rows. Rows of different clusters have the same bits. */
function placesOf(count: number, span: number, random: () => number): Places {
  const below = (limit: number) => Math.floor(limit * random())
  const all = new Set<number>()
  while (all.size < Math.min(count, 2 * span)) all.add(below(4) * 16_384 + below(span))
  const wordsOf = () => new Set(Array.from({ length: 1 + below(random() < 0.1 ? 9 : 2) }, () => below(12)))
  return new Map(
    [...all].sort((a, b) => a - b).map(row => [row, [...wordsOf()].sort((a, b) => a - b)] as const),
  )
}

function byLoops(terms: readonly Places[], query: SegmentQuery, lengths: Uint8Array): ScoredRow[] {
  const groups = (query.kind === 'phrase' ? query.terms.map(term => [term]) : query.groups) as readonly {
    readonly term: string
    readonly weight: number
  }[][]
  const found: ScoredRow[] = []
  for (let row = 0; row < rows; row++) {
    if (!groups.every(group => group.some(({ term }) => terms[Number(term)]!.has(row)))) continue
    if (query.kind === 'phrase') {
      const tries = (i: number, before: number | null): boolean =>
        i === query.terms.length ||
        terms[Number(query.terms[i]!.term)]!.get(row)!.some(place => {
          const start = place - query.terms[i]!.offset
          const late = before === null ? 0 : start - before
          return late >= 0 && late <= query.slop && tries(i + 1, start)
        })
      if (!tries(0, null)) continue
    }
    let score = 0
    for (const { term, weight } of groups.flat()) {
      const count = terms[Number(term)]!.get(row)?.length ?? 0
      if (count === 0) continue
      score += weight * (count / (count + 1.2 * (1 - 0.75 + (0.75 * lengths[row]!) / averageLength)))
    }
    found.push({ row, score: Math.fround(score) })
  }
  return found
}

const size = fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 100, max: 3000 }))
const weight = fc.double({ min: 0, max: 9, noNaN: true })
const slots = fc.uniqueArray(fc.nat(4), { minLength: 2, maxLength: 5 })
const query = fc.oneof(
  fc.record({ kind: fc.constant('phrase' as const), slots, weight, slop: fc.constantFrom(0, 0, 1, 3) }),
  fc.record({ kind: fc.constant('terms' as const), slots, weight, cut: fc.boolean() }),
)

test('all words and phrases, over rows that share bits of the filter', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(size, { minLength: 5, maxLength: 5 }),
      fc.integer(),
      fc.array(query, { minLength: 1, maxLength: 4 }),
      fc.constantFrom(1, 3, 10, 500),
      fc.boolean(),
      fc.constantFrom(60, 1500, 4000),
      async (sizes, seed, queries, k, isFiltered, span) => {
        const random = seededRandom(seed)
        const terms = sizes.map(count => placesOf(count, span, random))
        const lengths = Uint8Array.from({ length: rows }, () => 9 + Math.floor(20 * random()))
        const segment = segmentOf(terms, lengths)
        const allowed = isFiltered ? new Bitset(rows) : null
        if (allowed !== null) for (let row = 0; row < rows; row++) if (random() < 0.4) allowed.add(row)
        for (const { slots, weight, ...rest } of queries) {
          const weighted = slots.map((slot, i) => ({ term: String(slot), weight: weight + i, offset: i }))
          // With `cut`, the first two terms are one group.
          const groups =
            'cut' in rest && rest.cut
              ? [weighted.slice(0, 2), ...weighted.slice(2).map(term => [term])]
              : weighted.map(term => [term])
          const asked: SegmentQuery =
            rest.kind === 'phrase'
              ? { kind: 'phrase', terms: weighted, slop: rest.slop }
              : { kind: 'terms', groups, all: true }
          const matches = byLoops(terms, asked, lengths).filter(({ row }) => allowed?.has(row) ?? true)
          const corpus = { averageLength }
          const all = await runTask(everyRow(segment, asked, corpus, allowed, new Pacer()))
          expect(Array.from(all.ordinals, (row, i) => ({ row, score: all.scores[i] }))).toEqual(matches)
          const best = await runTask(bestRows(segment, asked, corpus, { k, allowed }, new Pacer()))
          expect(Array.from(best.ordinals, (row, i) => ({ row, score: best.scores[i] }))).toEqual(
            bestByLoops(matches, k),
          )
        }
      },
    ),
    { numRuns: 35 },
  )
})
