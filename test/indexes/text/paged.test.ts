import fc from 'fast-check'
import { expect, test } from 'vitest'
import { buildTextSegment } from '../../../src/indexes/text/build.js'
import { openPagedText } from '../../../src/indexes/text/paged.js'
import type { TextSegment } from '../../../src/indexes/text/segment.js'
import { Pacer } from '../../../src/primitives/pacer.js'
import { runTask } from '../../../src/primitives/task.js'
import { opened } from '../../support/section-files.js'
import {
  openPagedTextFile,
  openTextFile,
  plainAnalyzer,
  type TextFile,
  textFile,
  textInput,
} from '../../support/text-segments.js'

const build = async (texts: readonly string[], positions: boolean, pageBytes: number | null) =>
  textFile(
    await buildTextSegment(textInput(texts), plainAnalyzer, positions, new Pacer(), () => {}, pageBytes),
  )

const sectionsOf = ({ bytes, crc }: TextFile) => opened(bytes, crc).footer.sections
const hasPages = (file: TextFile) => sectionsOf(file).some(({ name }) => name === 'termPages')

/** Everything that a segment knows of a term. */
async function known(segment: TextSegment, term: string): Promise<unknown> {
  const entry = segment.find(term)
  if (entry === null) return null
  const { positions } = segment.facts
  const postings = await segment.postings(entry, positions, undefined)
  const cursor = postings.cursor()
  const rows: unknown[] = []
  for (let block = 0; block < postings.blocks; block++) {
    cursor.load(block)
    for (let i = 0; i < cursor.count; i++) {
      const places = positions ? [...cursor.positions(i).subarray(0, cursor.frequencies[i])] : []
      rows.push([cursor.docs[i], cursor.frequencies[i], segment.lengths[cursor.docs[i]!], places])
    }
  }
  return { number: entry.number, term: entry.term, docs: entry.docs, rows }
}

const word = fc.oneof(
  { weight: 4, arbitrary: fc.stringMatching(/^[a-c]{1,4}$/) },
  { weight: 1, arbitrary: fc.constantFrom('ä', 'é€', '😀', 'x'.repeat(300), 'y'.repeat(256), 'z') },
)
const texts = fc.array(
  fc.array(word, { maxLength: 12 }).map(words => words.join(' ')),
  { maxLength: 60 },
)

test('a segment that reads pages of its dictionary knows the same of every term', async () => {
  let paged = 0
  const property = fc.asyncProperty(
    texts,
    fc.array(word, { maxLength: 6 }),
    fc.boolean(),
    fc.integer({ min: 1, max: 60 }),
    async (texts, others, positions, pageBytes) => {
      const plain = await build(texts, positions, null)
      const file = await build(texts, positions, pageBytes)
      const whole = await openTextFile(plain)
      const withPages = await openTextFile(file)
      const terms = [...new Set([...texts.flatMap(text => text.split(' ')), ...others])].filter(Boolean)
      for (const term of terms) expect(await known(withPages, term)).toEqual(await known(whole, term))
      if (!hasPages(file)) return
      paged++
      const reader = await openPagedTextFile(file)
      for (let i = 0; i < terms.length; i += 3) {
        const some = terms.slice(i, i + 3)
        const segment = await reader.having({ terms: some, positions }, undefined)
        expect([segment.rows, segment.facts]).toEqual([whole.rows, whole.facts])
        for (const term of some) expect(await known(segment, term)).toEqual(await known(whole, term))
      }
    },
  )
  await fc.assert(property, { numRuns: 60 })
  expect(paged).toBeGreaterThan(20)
})

test('a search reads the page of its term and the postings beside it, and nothing else', async () => {
  const texts = Array.from({ length: 4000 }, (_, i) => `w${i % 50} ${i} of`)
  const file = await build(texts, false, 256)
  const read: number[] = []
  const reader = await openPagedTextFile(file, read)
  const { sections } = opened(file.bytes, file.crc).footer
  const postingPages = sections.find(({ name }) => name === 'postingPages')!.bytes / 8
  const segment = await reader.having({ terms: ['w7'], positions: false }, undefined)
  const before = [...read]
  expect(before.filter(number => number >= postingPages)).toHaveLength(2)
  expect(before.length).toBeLessThanOrEqual(4)
  expect(segment.find('w7')!.docs).toBe(80)
  await segment.postings(segment.find('w7')!, false, undefined)
  expect(read).toEqual(before)
  // Later searches for the same term read nothing.
  await reader.having({ terms: ['w7'], positions: false }, undefined)
  expect(read).toEqual(before)
  expect(reader.isMuchRead).toBe(false)
  for (let i = 0; i < 4000; i++) await reader.having({ terms: [String(i)], positions: false }, undefined)
  expect(reader.isMuchRead).toBe(true)
})

test('a segment with the terms of a query refuses other terms', async () => {
  const reader = await openPagedTextFile(await build(['a b c d e f g h i j'], false, 1))
  const segment = await reader.having({ terms: ['a'], positions: false }, undefined)
  expect(segment.find('a')).not.toBeNull()
  expect(() => segment.find('b')).toThrow('a search looks for a term that its query does not have')
  const matcher = { prefix: '', shortest: 1, longest: 2, distance: () => 0 }
  const needsAll = 'a search needs all terms of a segment'
  expect(() => runTask(segment.near(matcher, new Pacer()))).toThrow(needsAll)
  expect(() => [...segment.begun('a', new Pacer())]).toThrow(needsAll)
})

test('pages that are damaged or do not fit to the dictionary are errors', async () => {
  const texts = Array.from({ length: 600 }, (_, i) => `word${i}`)
  const file = await build(texts, true, 128)
  const all = sectionsOf(file)
  const changed = (name: string, at = 0) => {
    const bytes = new Uint8Array(file.bytes)
    const index = all.find(section => section.name === name)!.start + at
    bytes[index] = bytes[index]! ^ 1
    return { ...file, bytes }
  }
  for (const name of ['termPages', 'firstTerms', 'postingPages', 'positionPages'])
    await expect(openPagedTextFile(changed(name)), name).rejects.toThrow('was changed')
  for (const name of ['terms', 'entries', 'lengths']) {
    const reader = await openPagedTextFile(changed(name))
    await expect(reader.having({ terms: ['word0'], positions: true }, undefined), name).rejects.toThrow(
      'was changed',
    )
  }
  // Damaged postings are an error of the search that reads them.
  const reader = await openPagedTextFile(changed('postings'))
  const segment = await reader.having({ terms: ['word0', 'nothing'], positions: true }, undefined)
  expect(segment.find('nothing')).toBeNull()
  await expect(segment.postings(segment.find('word0')!, true, undefined)).rejects.toThrow('was changed')
  // The first numbers of the first page must be zeros, and all numbers must ascend.
  const { footer, ...others } = opened(file.bytes, file.crc)
  for (const [number, value] of [
    [0, 1],
    [9, 0],
    [10, 2 ** 31],
    [7, 99],
  ] as const) {
    const lying = {
      ...others,
      footer,
      async readInto(section: (typeof all)[number], target: Uint8Array) {
        await others.readInto(section, target)
        if (section.name === 'termPages') new Uint32Array(target.buffer)[number] = value
      },
    }
    const pages = { page: () => Promise.reject(new Error('no page is read')) }

    await expect(openPagedText(lying, pages, file.rows), String(number)).rejects.toThrow(
      'the pages of the dictionary in a file do not fit to its sections',
    )
  }
})

test('a failed read of the row lengths is repeated by the next search', async () => {
  const file = await build(
    Array.from({ length: 600 }, (_, i) => `word${i}`),
    false,
    128,
  )
  const section = opened(file.bytes, file.crc)
  let fails = true
  const failing = {
    ...section,
    async readInto(...read: Parameters<typeof section.readInto>) {
      if (fails && read[0].name === 'lengths') throw new Error('no connection')
      await section.readInto(...read)
    },
  }

  const page = async (_: number, { start, bytes }: { start: number; bytes: number }) =>
    new Uint8Array(file.bytes.subarray(start, start + bytes))
  const reader = await openPagedText(failing, { page }, file.rows)
  const search = () => reader.having({ terms: ['word1'], positions: false }, undefined)
  await expect(search()).rejects.toThrow('no connection')
  fails = false
  expect((await search()).find('word1')!.docs).toBe(1)
})
