import fc from 'fast-check'
import { expect, test } from 'vitest'
import { buildTextSegment } from '../../../src/indexes/text/build.js'
import { elementGap } from '../../../src/indexes/text/input.js'
import { editDistanceMatcher } from '../../../src/indexes/text/search/near-terms.js'
import type { TextSegment } from '../../../src/indexes/text/segment.js'
import { Pacer } from '../../../src/primitives/pacer.js'
import { runTask } from '../../../src/primitives/task.js'
import { opened } from '../../support/section-files.js'
import { openTextFile, plainAnalyzer, type Text, textFile, textInput } from '../../support/text-segments.js'

const build = async (texts: readonly Text[], positions = false, pieceRows?: number) =>
  textFile(
    await buildTextSegment(textInput(texts, pieceRows), plainAnalyzer, positions, new Pacer(), () => {}),
  )

type Model = Map<string, Map<number, number[]>>

/** By term, where each row has it. */
function modelOf(texts: readonly Text[]): Model {
  const model: Model = new Map()
  for (const [row, text] of texts.entries()) {
    let start = 0
    for (const element of typeof text === 'string' ? [text] : (text ?? [])) {
      const tokens = element === null ? [] : plainAnalyzer.tokens(element)
      for (const { term, position } of tokens) {
        if (!model.has(term)) model.set(term, new Map())
        const rows = model.get(term)!
        const at = rows.get(row)
        if (at === undefined) rows.set(row, [start + position])
        else at.push(start + position)
      }
      start += elementGap + (tokens.length > 0 ? tokens.at(-1)!.position + 1 : 0)
    }
  }
  return model
}

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))

async function termOf(segment: TextSegment, term: string): Promise<Map<number, number[]>> {
  const { positions } = segment.facts
  const postings = await segment.postings(segment.find(term)!, positions, undefined)
  const cursor = postings.cursor()
  const rows = new Map<number, number[]>()
  for (let b = 0; b < postings.blocks; b++) {
    cursor.load(b)
    let shortest = Infinity
    for (let i = 0; i < cursor.count; i++) {
      const frequency = cursor.frequencies[i]!
      rows.set(
        cursor.docs[i]!,
        positions ? [...cursor.positions(i).subarray(0, frequency)] : new Array(frequency).fill(0),
      )
      shortest = Math.min(shortest, segment.lengths[cursor.docs[i]!]!)
      if (rows.get(cursor.docs[i]!)!.length !== frequency) throw new Error(`positions of ${term}`)
    }
    expect(cursor.shortest(b)).toBe(shortest)
  }
  return rows
}

async function check(segment: TextSegment, texts: readonly Text[], model = modelOf(texts)): Promise<void> {
  const { positions } = segment.facts
  const lengths = texts.map((_, row) =>
    [...model.values()].reduce((sum, rows) => sum + (rows.get(row)?.length ?? 0), 0),
  )
  expect([...segment.lengths]).toEqual(lengths)
  expect(segment.facts).toEqual({
    docs: lengths.filter(length => length > 0).length,
    tokens: lengths.reduce((sum, length) => sum + length, 0),
    terms: model.size,
    positions,
    identity: 'plain',
  })
  for (const [number, term] of [...model.keys()].sort(byBytes).entries()) {
    expect(segment.find(term)).toMatchObject({ number, term, docs: model.get(term)!.size })
    const rows = [...(await termOf(segment, term))]
    expect(rows.map(([row]) => row)).toEqual([...model.get(term)!.keys()])
    const places = [...model.get(term)!.values()]
    expect(rows.map(([, at]) => at)).toEqual(positions ? places : places.map(at => at.map(() => 0)))
  }
}

async function near(segment: TextSegment, prefix: string, distance = (_: string): number | null => 0) {
  const work = segment.near({ prefix, shortest: 0, longest: Infinity, distance }, new Pacer())
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
    await value
  }
}

const word = fc.oneof(
  fc.constantFrom('a', 'b', 'ab', '-', 'über', '日本', '𝒳', '\uff5e', 'a\0'),
  fc.string({ unit: fc.constantFrom('a', 'b', 'é', '𝒳'), minLength: 1, maxLength: 12 }),
)
const text = fc.array(word, { maxLength: 20 }).map(words => words.join(' '))
const row: fc.Arbitrary<Text> = fc.oneof(
  { weight: 4, arbitrary: text },
  { weight: 1, arbitrary: fc.constant(null) },
)
const listRow: fc.Arbitrary<Text> = fc.oneof(
  { weight: 4, arbitrary: fc.array(fc.option(text), { maxLength: 4 }) },
  { weight: 1, arbitrary: fc.constant(null) },
)

test('term statistics of a segment match its rows', async () => {
  const texts = fc.oneof(fc.array(row, { maxLength: 60 }), fc.array(listRow, { maxLength: 30 }))
  await fc.assert(
    fc.asyncProperty(texts, fc.boolean(), async (rows, positions) => {
      await check(await openTextFile(await build(rows, positions, 7)), rows)
    }),
    { numRuns: 60 },
  )
})

test('terms in many rows, over several pages', async () => {
  const rows = 17_000
  const texts = Array.from({ length: rows }, (_, i) =>
    [
      'every',
      ...(i % 3 === 0 ? ['third third'] : []),
      `r${i % 300}`,
      i % 2 === 0 ? 'even even' : 'odd',
      ...(i < 129 ? ['few'] : []),
      `t${(i * 7919) % 9001}`,
      `only${i}`,
    ].join(' '),
  )
  const file = await build(texts, true)
  const read: number[] = []
  const segment = await openTextFile(file, read)
  const model = modelOf(texts)
  for (const term of [
    'every',
    'third',
    'r7',
    'r299',
    'even',
    'odd',
    'few',
    't0',
    't9000',
    'only0',
    'only16999',
  ]) {
    // As text: comparing so many arrays one by one takes seconds.
    expect(JSON.stringify([...(await termOf(segment, term))])).toBe(JSON.stringify([...model.get(term)!]))
  }
  // Each page once, those of rows before those of positions.
  expect(new Set(read).size).toBe(read.length)
  expect(read.length).toBeGreaterThan(3)
  const again = segment.postings(segment.find('every')!, true, undefined)
  expect(again).not.toBeInstanceOf(Promise)
})

test('positions are read only if a query needs them', async () => {
  const read: number[] = []
  const segment = await openTextFile(await build(['a b a', 'b'], true), read)
  const postings = await segment.postings(segment.find('a')!, false, undefined)
  expect(read).toEqual([0])
  const cursor = postings.cursor()
  cursor.load(0)
  expect([cursor.docs[0], cursor.frequencies[0]]).toEqual([0, 2])
  expect(() => cursor.positions(0)).toThrow('without positions')
  await segment.postings(segment.find('a')!, true, undefined)
  expect(read).toEqual([0, 1])
  const without = await openTextFile(await build(['a']))
  expect(() => without.postings(without.find('a')!, true, undefined)).toThrow('without positions')
})

test('no rows, and rows without terms', async () => {
  for (const texts of [[], [null], ['', ' ', '- -', null], [[], [null, ''], null]] satisfies Text[][]) {
    for (const positions of [false, true]) {
      const segment = await openTextFile(await build(texts, positions))
      await check(segment, texts)
      expect(segment.find('a')).toBeNull()
      expect(segment.find('')).toBeNull()
      expect(await near(segment, '')).toEqual([])
    }
  }
})

test('terms that share prefixes, in the order of their bytes', async () => {
  const terms = ['a', 'ab', 'abc', 'a\0', 'ab\0\0', 'b', 'é', 'e\u0301', '日', '日本', '\uff5e', '𝒳', '𝒳𝒳']
  const more = Array.from({ length: 200 }, (_, i) => `日本${String.fromCodePoint(0x4e00 + (i % 50))}${i}`)
  const long = ['x'.repeat(5000), `${'x'.repeat(4999)}y`, `${'x'.repeat(5000)}𝒳`]
  const texts = [...terms, ...more, ...long]
  const segment = await openTextFile(await build(texts))
  await check(segment, texts)
  for (const absent of ['', 'aa', 'abcd', 'c', '日本', '\uffff', '𝒴', 'x', 'x'.repeat(4999)]) {
    if (!texts.includes(absent)) expect(segment.find(absent)).toBeNull()
  }
  for (const prefix of ['', 'a', 'ab', '日', '日本', '日本一', '𝒳', 'x'.repeat(5000), 'zz', '\u0000']) {
    const found = await near(segment, prefix)
    const expected = texts.filter(term => term.startsWith(prefix)).sort(byBytes)
    expect(found.map(({ entry }) => entry.term)).toEqual(expected)
    for (const { entry } of found) expect(entry).toEqual(segment.find(entry.term))
  }
})

test('the caller decides by nearness which terms are returned', async () => {
  const segment = await openTextFile(await build(['cat cart car dog carpet']))
  const found = await near(segment, 'ca', term => (term.length > 4 ? null : term.length))
  expect(found.map(({ entry: { term }, distance }) => [term, distance])).toEqual([
    ['car', 3],
    ['cart', 4],
    ['cat', 3],
  ])
})

test('the terms near to a word are those that a comparison with every term finds', async () => {
  const words = (...letters: string[]) => {
    const word = fc.string({ unit: fc.constantFrom(...letters), minLength: 1, maxLength: 7 })
    return fc.tuple(fc.uniqueArray(word, { minLength: 1, maxLength: 90 }), word)
  }
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(words('a', 'b'), words('a', 'b', 'é', '𝒳')),
      fc.integer({ min: 1, max: 2 }),
      fc.nat(2),
      async ([terms, word], edits, prefixLength) => {
        const segment = await openTextFile(await build([terms.join(' ')]))
        const matcher = editDistanceMatcher(word, edits, prefixLength)
        const found = await runTask(segment.near(matcher, new Pacer()))
        const expected = terms.filter(term => matcher.distance(term) !== null).sort(byBytes)
        expect(found.map(({ entry }) => entry.term)).toEqual(expected)
      },
    ),
    { numRuns: 100 },
  )
})

test('lengths and frequencies above one byte', async () => {
  for (const most of [255, 256, 65_535, 65_536]) {
    const texts = ['b', 'a '.repeat(most), 'a b']
    const segment = await openTextFile(await build(texts))
    expect([...segment.lengths]).toEqual([1, most, 2])
    expect([...(await termOf(segment, 'a'))].map(([row, at]) => [row, at.length])).toEqual([
      [1, most],
      [2, 1],
    ])
  }
})

test('a full segment says how many rows it has', async () => {
  const texts = ['a', 'b', 'c', 'd', 'e']
  const numbering = () => {
    const plain = plainAnalyzer.numbering()
    // So large that two terms are all there is room for.
    return new Proxy(plain, {
      get: (of, key) => {
        if (key === 'bytes') return of.terms.length * 2 ** 28
        const value = Reflect.get(of, key, of)
        return typeof value === 'function' ? value.bind(of) : value
      },
    })
  }
  const file = await textFile(
    await buildTextSegment(textInput(texts), { ...plainAnalyzer, numbering }, false, new Pacer(), () => {}),
  )
  expect(file.rows).toBe(2)
  await check(await openTextFile(file), texts.slice(0, 2))
})

test('progress is reported', async () => {
  const told: [number, string][] = []
  const texts = Array.from({ length: 30 }, (_, i) => `t${i}`)
  await buildTextSegment(textInput(texts, 10), plainAnalyzer, false, new Pacer(), (done, phase) => {
    told.push([done, phase])
  })
  expect(told.filter(([, phase]) => phase === 'reading').map(([done]) => done)).toEqual([10, 20, 30])
})

test('a segment with another number of rows is refused', async () => {
  const file = await build(['a'])
  await expect(openTextFile({ ...file, rows: 2 })).rejects.toMatchObject({ code: 18 })
})

test('an aborted build rejects with the reason', async () => {
  const controller = new AbortController()
  const pacer = new Pacer(controller.signal)
  const input = textInput(
    Array.from({ length: 50_000 }, (_, i) => `t${i} a b c`),
    500,
  )
  const building = buildTextSegment(input, plainAnalyzer, true, pacer, done => {
    if (done >= 20_000) controller.abort(new Error('enough'))
  })
  await expect(building).rejects.toThrow('enough')
  const segment = await openTextFile(await build(['a']))
  const reading = segment.postings(segment.find('a')!, false, controller.signal)
  await expect(reading).rejects.toThrow('enough')
})

test('a changed bit is found before the segment answers', async () => {
  const texts = Array.from({ length: 3000 }, (_, i) => `all ${i % 2 === 0 ? 'even' : 'odd'} n${i}`)
  const file = await build(texts, true)
  const whole = await openTextFile(file)
  const terms = ['all', 'even', 'n7']
  const expected = await Promise.all(terms.map(term => termOf(whole, term)))
  const { sections } = opened(file.bytes, file.crc).footer
  expect(sections).toHaveLength(8)
  let untouched = 0
  for (const { name, start, bytes } of sections) {
    expect(bytes, name).toBeGreaterThan(0)
    for (const part of [0, 0.2, 0.5, 0.8, 0.999999]) {
      const broken = Buffer.from(file.bytes)
      broken[start + Math.floor(bytes * part)]! ^= 1 << Math.floor(part * 8)
      try {
        const segment = await openTextFile({ ...file, bytes: broken })
        for (const [i, term] of terms.entries()) expect(await termOf(segment, term)).toEqual(expected[i])
        untouched++
      } catch (error) {
        expect(error, `${name} ${part}`).toMatchObject({ code: 18 })
      }
    }
  }
  expect(untouched).toBeLessThan(sections.length)
})
