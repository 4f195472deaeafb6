/** The example `examples/notes-search`, over notes that lie on a circle of meanings. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  countByFolder,
  countByTag,
  findByBoth,
  findByMeaning,
  findByWords,
  type NoteTable,
  openNotes,
  saveNotes,
} from '../../examples/notes-search/notes.js'
import { connect, type Namespace } from '../../src/index.js'

const texts = ['red apples', 'green apples', 'red cars', 'fast cars', 'slow & red trains', 'night trains']
const notes = texts.map((text, i) => ({
  id: `n${i}`,
  title: `Note ${i}`,
  text,
  folder: i < 4 ? 'work' : 'home',
  tags: i % 2 === 0 ? ['even', 'all'] : ['all'],
  edited: new Date(Date.UTC(2026, 0, i + 1)),
}))

/** The note `i` has the angle `i` * 15 degrees. */
function meaningOf(place: number): Float32Array {
  const angle = (place * Math.PI) / 12
  const embedding = new Float32Array(64)
  embedding[0] = Math.cos(angle)
  embedding[1] = Math.sin(angle)
  return embedding
}

const embed = async (text: string) =>
  meaningOf(notes.findIndex(note => text === `${note.title} ${note.text}`))
const whole = { number: 0, size: 10 }
const idsOf = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id)

let ns: Namespace
let table: NoteTable

beforeAll(async () => {
  ns = await connect('memory://')
  table = await openNotes(ns)
  expect(await saveNotes(table, notes, embed)).toBe(6)
})

afterAll(() => ns.close())

test('the nearest notes come first, and pages continue each other', async () => {
  const found = await findByMeaning(table, meaningOf(0.1), {}, whole)
  expect(idsOf(found)).toEqual(['n0', 'n1', 'n2', 'n3', 'n4', 'n5'])
  expect(found[0]?._distance).toBeCloseTo(1 - Math.cos(Math.PI / 120), 6)
  const pages = [0, 1, 2].map(number => findByMeaning(table, meaningOf(0.1), {}, { number, size: 2 }))
  expect((await Promise.all(pages)).map(idsOf)).toEqual([
    ['n0', 'n1'],
    ['n2', 'n3'],
    ['n4', 'n5'],
  ])
})

test('all conditions of a filter hold', async () => {
  const near = (filter: Parameters<typeof findByMeaning>[2]) =>
    findByMeaning(table, meaningOf(5), filter, whole).then(idsOf)
  expect(await near({ folder: 'work' })).toEqual(['n3', 'n2', 'n1', 'n0'])
  expect(await near({ tag: 'even' })).toEqual(['n4', 'n2', 'n0'])
  expect(await near({ editedSince: new Date('2026-01-03') })).toEqual(['n5', 'n4', 'n3', 'n2'])
  expect(await near({ folder: 'work', tag: 'even', editedSince: new Date('2026-01-03') })).toEqual(['n2'])
})

test('words are found in titles and texts, and marked as HTML', async () => {
  const found = await findByWords(table, 'red', {}, whole)
  expect(idsOf(found).sort()).toEqual(['n0', 'n2', 'n4'])
  expect(found.find(({ id }) => id === 'n4')?._highlights.text).toBe('slow &amp; <b>red</b> trains')
  expect(idsOf(await findByWords(table, 'Note red', { folder: 'home' }, whole))).toEqual(['n4', 'n5'])
})

test('a note that is near and has the words is before notes with one of both', async () => {
  const query = { words: 'cars', embedding: meaningOf(3.4) }
  const found = await findByBoth(table, query, {}, whole)
  expect(idsOf(found).slice(0, 2)).toEqual(['n3', 'n2'])
  expect(idsOf(found).sort()).toEqual(['n0', 'n1', 'n2', 'n3', 'n4', 'n5'])
  expect(found.find(({ id }) => id === 'n0')?._score).toBeNull()
  expect(idsOf(await findByBoth(table, query, { tag: 'even' }, { number: 0, size: 1 }))).toEqual(['n2'])
})

test('folders and tags are counted', async () => {
  expect(await countByFolder(table, 'red trains')).toEqual([
    { folder: 'home', notes: 2, newest: new Date('2026-01-06') },
    { folder: 'work', notes: 2, newest: new Date('2026-01-03') },
  ])
  expect(await countByTag(table, {})).toEqual(
    new Map([
      ['even', 3],
      ['all', 6],
    ]),
  )
  expect(await countByTag(table, { folder: 'home' })).toEqual(
    new Map([
      ['even', 1],
      ['all', 2],
    ]),
  )
})

test('saving a note again replaces the note, and opening the table again changes nothing', async () => {
  const again = await openNotes(ns)
  const version = await again.version()
  const moved = {
    ...notes[5],
    id: 'n5',
    title: 'Moved',
    text: 'blue boats',
    folder: 'sea',
    tags: [],
    edited: new Date(0),
  }
  expect(await saveNotes(again, [moved], async () => meaningOf(20))).toBe(0)
  expect(await again.version()).toBe(version + 1)
  expect(idsOf(await findByWords(again, 'boats trains', {}, whole)).sort()).toEqual(['n4', 'n5'])
  expect(await again.countRows()).toBe(6)
})
