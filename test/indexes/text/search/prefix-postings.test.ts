/** The joined postings of a prefix are the rows that loops over the words of all texts find, in any kind of segment. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { buildTextSegment } from '../../../../src/indexes/text/build.js'
import type { Postings } from '../../../../src/indexes/text/postings.js'
import { beginningsOf, prefixPostings } from '../../../../src/indexes/text/search/prefix-postings.js'
import type { TextSegment } from '../../../../src/indexes/text/segment.js'
import { Pacer } from '../../../../src/primitives/pacer.js'
import { runTask } from '../../../../src/primitives/task.js'
import { segmentOfTexts } from '../../../support/plain-text.js'
import { openTextFile, plainAnalyzer, textFile, textInput } from '../../../support/text-segments.js'

const letters = ['a', 'b', 'é', 'σ', 'ς', '東', '\uffff', '🎉']
const word = fc.array(fc.constantFrom(...letters), { minLength: 1, maxLength: 4 }).map(all => all.join(''))
const text = fc.option(fc.array(word, { maxLength: 8 }).map(all => all.join(' ')))

async function storedSegment(texts: readonly (string | null)[]): Promise<TextSegment> {
  const built = await buildTextSegment(textInput(texts), plainAnalyzer, false, new Pacer(), () => {})
  return openTextFile(await textFile(built))
}

function begins(word: string, start: string): boolean {
  const last = start.at(-1)!
  const ends = last === 'σ' || last === 'ς' ? ['σ', 'ς'] : [last]
  return ends.some(end => word.startsWith(start.slice(0, -1) + end)) || word.startsWith(start)
}

function byLoops(texts: readonly (string | null)[], start: string, others: readonly string[]) {
  return texts.flatMap((text, row) => {
    const words = (text ?? '').split(' ').filter(each => each !== '')
    const count = words.filter(each => begins(each, start) || others.includes(each)).length
    return count === 0 ? [] : [[row, count]]
  })
}

function rowsOf(postings: Postings | null): number[][] {
  if (postings === null) return []
  const cursor = postings.cursor()
  const rows: number[][] = []
  for (let block = 0; block < postings.blocks; block++) {
    cursor.load(block)
    for (let i = 0; i < cursor.count; i++) rows.push([cursor.docs[i]!, cursor.frequencies[i]!])
  }
  expect(postings.docs).toBe(rows.length)
  return rows
}

const found = async (segment: TextSegment, start: string, others: readonly string[], pacer = new Pacer()) =>
  rowsOf(await runTask(prefixPostings(segment, start, others, pacer)))

test('the rows of a prefix and of other terms are found with the number of their words', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(text, { minLength: 1, maxLength: 300 }),
      word,
      fc.array(word, { maxLength: 2 }).map(all => [...new Set(all)]),
      async (texts, start, others) => {
        const wanted = byLoops(texts, start, others)
        expect(await found(await segmentOfTexts(texts, beginningsOf(start)), start, others)).toEqual(wanted)
        expect(await found(await storedSegment(texts), start, others)).toEqual(wanted)
      },
    ),
    { numRuns: 150 },
  )
})

test('thousands of terms with one prefix are all found, and the search pauses for other work', async () => {
  const texts = Array.from({ length: 20_000 }, (_, i) => `x${i} x${i % 7} y`)
  const segment = await storedSegment(texts)
  let pauses = 0
  class Counting extends Pacer {
    override due() {
      return true
    }
    override async pause() {
      pauses++
    }
  }
  expect(await found(segment, 'x', [], new Counting())).toEqual(texts.map((_, i) => [i, 2]))
  expect(pauses).toBeGreaterThan(100)
})

test('a canceled search stops', async () => {
  const segment = await storedSegment(Array.from({ length: 5000 }, (_, i) => `x${i}`))
  const controller = new AbortController()
  class Due extends Pacer {
    override due() {
      return true
    }
  }
  const work = found(segment, 'x', [], new Due(controller.signal))
  controller.abort(new Error('no longer wanted'))
  await expect(work).rejects.toThrow('no longer wanted')
})

test('a sigma at the end of a prefix stands for both of its forms', () => {
  expect(['οδοσ', 'οδος'].map(beginningsOf)).toEqual([
    ['οδος', 'οδοσ'],
    ['οδος', 'οδοσ'],
  ])
  expect(beginningsOf('οσο')).toEqual(['οσο'])
})
