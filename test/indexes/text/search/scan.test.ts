/** Segments over rows that no index has: what they count, and where they say that terms stand. */
import { expect, test } from 'vitest'
import type { Column } from '../../../../src/arrow/column.js'
import { rowsToBatch } from '../../../../src/arrow/rows.js'
import type { DataType } from '../../../../src/arrow/types.js'
import type { Analyzer } from '../../../../src/indexes/text/analysis/analyzer.js'
import { buildTextSegment } from '../../../../src/indexes/text/build.js'
import type { TextInput } from '../../../../src/indexes/text/input.js'
import { type ScannedTexts, scannedSegment } from '../../../../src/indexes/text/search/scan.js'
import type { TextSegment } from '../../../../src/indexes/text/segment.js'
import { Pacer } from '../../../../src/primitives/pacer.js'
import { runTask } from '../../../../src/primitives/task.js'
import { spaceAnalyzer, textColumn } from '../../../support/plain-text.js'
import { openTextFile, textFile } from '../../../support/text-segments.js'

const utf8: DataType = { kind: 'utf8', large: false }
const list: DataType = { kind: 'list', large: false, child: { name: 'item', type: utf8, nullable: true } }
const coded: DataType = {
  kind: 'dictionary',
  index: { kind: 'int', bits: 8, signed: true },
  value: utf8,
  ordered: false,
}
const codedList: DataType = {
  kind: 'list',
  large: false,
  child: { name: 'item', type: coded, nullable: true },
}

function columnOf(type: DataType, values: readonly unknown[]): Column {
  return rowsToBatch(
    values.map(text => ({ text })),
    { fields: [{ name: 'text', type, nullable: true }] },
  ).columns[0]!
}

async function scanned(texts: readonly ScannedTexts[], accept: (term: string) => boolean = () => true) {
  return runTask(scannedSegment(texts, spaceAnalyzer, { accept, prefixes: [], positions: true }, new Pacer()))
}

/** Rows that have a term, each with where. */
async function places(segment: TextSegment, term: string): Promise<Record<number, number[]>> {
  const found: Record<number, number[]> = {}
  const entry = segment.find(term)
  if (entry === null) return found
  const postings = await segment.postings(entry, true, undefined)
  expect(postings.docs).toBe(entry.docs)
  const cursor = postings.cursor()
  for (let block = 0; block < postings.blocks; block++) {
    cursor.load(block)
    for (let i = 0; i < cursor.count; i++) {
      found[cursor.docs[i]!] = [...cursor.positions(i).subarray(0, cursor.frequencies[i])]
      expect(cursor.frequencies[i]).toBe(found[cursor.docs[i]!]!.length)
    }
    expect(cursor.docs[cursor.count - 1]).toBe(cursor.last(block))
  }
  return found
}

test('ordinals number the given rows, one column after another', async () => {
  const segment = await scanned([
    { column: textColumn(['a b', 'b', null, 'c  a']), rows: Uint32Array.of(3, 0) },
    { column: textColumn([null, 'b a b', '']), rows: null },
  ])
  expect([...segment.lengths]).toEqual([2, 2, 0, 3, 0])
  expect(segment.rows).toBe(5)
  expect(segment.facts).toEqual({ docs: 3, tokens: 7, terms: 3, positions: true, identity: 'spaces' })
  expect(await places(segment, 'a')).toEqual({ 0: [2], 1: [0], 3: [1] })
  expect(await places(segment, 'b')).toEqual({ 1: [1], 3: [0, 2] })
})

test('words of an earlier scan are not in the next', async () => {
  await scanned([{ column: textColumn(['a b', 'd']), rows: null }])
  const segment = await scanned([{ column: textColumn(['c a']), rows: null }])
  expect(segment.facts).toMatchObject({ docs: 1, tokens: 2, terms: 2 })
  expect([segment.find('b'), segment.find('d')]).toEqual([null, null])
  expect(await places(segment, 'a')).toEqual({ 0: [1] })
})

test('elements of a list are one row, each 100 positions after the one before, also if empty or null', async () => {
  const values = [['a b', null, 'a', '', 'b a'], null, [], ['b']]
  for (const type of [list, codedList]) {
    const segment = await scanned([{ column: columnOf(type, values), rows: null }])
    expect([...segment.lengths]).toEqual([5, 0, 0, 1])
    expect(await places(segment, 'a')).toEqual({ 0: [0, 202, 404] })
    expect(await places(segment, 'b')).toEqual({ 0: [1, 403], 3: [0] })
  }
})

test('texts of a dictionary', async () => {
  const segment = await scanned([{ column: columnOf(coded, ['a b', 'b', 'a b', null]), rows: null }])
  expect([...segment.lengths]).toEqual([2, 1, 2, 0])
  expect(await places(segment, 'b')).toEqual({ 0: [1], 1: [0], 2: [1] })
})

test('only accepted terms are found, each is tested once, and all are counted', async () => {
  const asked: string[] = []
  const texts = Array.from({ length: 300 }, (_, i) => `a w${i % 40}`)
  const segment = await scanned([{ column: textColumn(texts), rows: null }], term => {
    asked.push(term)
    return term === 'a' || term === 'w7'
  })
  expect(asked.length).toBe(41)
  expect(new Set(asked).size).toBe(41)
  expect(segment.facts).toMatchObject({ docs: 300, tokens: 600, terms: 41 })
  expect(segment.find('w8')).toBeNull()
  expect(segment.find('a')!.docs).toBe(300)
  expect(Object.keys(await places(segment, 'a')).length).toBe(300)
  expect(Object.keys(await places(segment, 'w7'))).toEqual([
    '7',
    '47',
    '87',
    '127',
    '167',
    '207',
    '247',
    '287',
  ])
})

test('terms are numbered in the order of their code points', async () => {
  const segment = await scanned([{ column: textColumn(['b 🎉 \uffff a']), rows: null }])
  expect(['a', 'b', '\uffff', '🎉'].map(term => segment.find(term)!.number)).toEqual([0, 1, 2, 3])
})

test('a position beyond the maximum becomes the maximum, in a built segment as in a scanned one', async () => {
  const far = 2 ** 32 - 50
  const analyzer: Analyzer = {
    ...spaceAnalyzer,
    numbering: () => {
      const plain = spaceAnalyzer.numbering()
      return {
        terms: plain.terms,
        read: (...text) => plain.read(...text),
        get numbers() {
          return plain.numbers
        },
        get positions() {
          return plain.positions.map(position => position + far)
        },
        bytes: 0,
      }
    },
  }
  const column = columnOf(list, [['a b', 'a'], ['a']])
  const expected = { 0: [far, 2 ** 32 - 1], 1: [far] }
  const all = () => true
  const wanted = { accept: all, prefixes: [], positions: true }
  const found = await runTask(scannedSegment([{ column, rows: null }], analyzer, wanted, new Pacer()))
  expect(await places(found, 'a')).toEqual(expected)
  const input: TextInput = {
    rows: 2,
    async *pieces() {
      yield { first: 0, column }
    },
  }
  const built = await buildTextSegment(input, analyzer, true, new Pacer(), () => {})
  expect(await places(await openTextFile(await textFile(built)), 'a')).toEqual(expected)
})
