/** What becomes of a text, for those who wonder. */
import { expect, test } from 'vitest'
import { type CustomTokenizer, connect, tokenize } from '../../src/index.js'
import { failure } from '../support/failure.js'
import { openWithBuilder } from '../support/index-builds.js'

const terms = (tokens: readonly { readonly term: string }[]) => tokens.map(({ term }) => term)

test('terms with their positions, and where they stand in the text', () => {
  expect(tokenize('The Cafés: running')).toEqual([
    { term: 'cafe', position: 1, start: 4, end: 9 },
    { term: 'run', position: 2, start: 11, end: 18 },
  ])
  expect(tokenize('')).toEqual([])
  expect(tokenize('the of and')).toEqual([])
  expect(terms(tokenize('xx\ud800zz'))).toEqual(['xx', 'zz'])
})

test('options are those of an index', () => {
  const text = 'The Größe of Horses'
  expect(terms(tokenize(text, { removeStopWords: false, stem: false, lowerCase: false }))).toEqual([
    'The',
    'Grosse',
    'of',
    'Horses',
  ])
  expect(terms(tokenize(text, { language: 'German', asciiFolding: false }))).toContain('gross')
  expect(terms(tokenize(text, { customStopWords: ['hors'] }))).not.toContain('hors')
  expect(terms(tokenize('abcd', { baseTokenizer: 'ngram', ngramMinLength: 2, ngramMaxLength: 3 }))).toEqual([
    'ab',
    'abc',
    'bc',
    'bcd',
    'cd',
  ])
  const chars: CustomTokenizer = { name: 'chars', version: '1', tokenize: each => [...each] }
  expect(tokenize('äx', { baseTokenizer: 'chars', tokenizers: [chars], stem: false })).toEqual([
    { term: 'a', position: 0, start: 0, end: 1 },
    { term: 'x', position: 1, start: 1, end: 2 },
  ])
})

test.each<[object, RegExp]>([
  [{ language: 'Klingon' }, /language/],
  [{ baseTokenizer: 'chars' }, /"chars"/],
  [{ baseTokenizer: 'ngram', ngramMinLength: 4 }, /n-gram length/],
  [{ stem: 'yes' }, /stem/],
  [{ tokenizers: [{ name: 'raw', version: '1', tokenize: () => [] }] }, /"raw"/],
])('refuses %j with code 13', (options, message) => {
  expect(() => tokenize('text', options)).toThrow(
    expect.objectContaining({ code: 13, message: expect.stringMatching(message) }),
  )
})

test('input that is not text is refused', () => {
  expect(() => tokenize(7 as unknown as string)).toThrow(expect.objectContaining({ code: 13 }))
})

test('terms are those of the column’s index, at a version too', async () => {
  const { ns } = await openWithBuilder()
  const table = await ns.createTable('t', [{ text: 'a', other: 'b' }])
  expect(await failure(table.tokenize('text', 'Horses'))).toMatchObject({
    code: 6,
    hint: expect.stringContaining('tokenize(text)'),
  })
  await table.createIndex('text', {
    type: 'FTS',
    stem: false,
    baseTokenizer: 'ngram',
    ngramMaxLength: 4,
    waitTimeoutMs: 60_000,
  })
  expect(terms(await table.tokenize('text', 'abcd'))).toEqual(['abc', 'abcd', 'bcd'])
  expect(await failure(table.tokenize('other', 'Horses'))).toMatchObject({ code: 6 })
  const version = await table.version()
  await table.dropIndex('text_idx')
  expect(await failure(table.tokenize('text', 'abcd'))).toMatchObject({ code: 6 })
  expect(terms(await (await table.checkout(version)).tokenize('text', 'abcd'))).toEqual([
    'abc',
    'abcd',
    'bcd',
  ])
  await ns.close()
})

test('a given tokenizer of the application is used', async () => {
  const chars: CustomTokenizer = { name: 'chars', version: '1', tokenize: each => [...each] }
  const ns = await connect('memory://', { tokenizers: [chars] })
  const table = await ns.createTable('t', [{ text: 'a' }])
  await table.createIndex('text', { type: 'FTS', baseTokenizer: 'chars', removeStopWords: false })
  expect(await failure(table.tokenize('text', 'ab'))).toMatchObject({
    code: 13,
    message: expect.stringContaining('"chars"'),
    hint: expect.stringContaining('tokenizers'),
  })
  expect(terms(await table.tokenize('text', 'ab', { tokenizers: [chars] }))).toEqual(['a', 'b'])
  await ns.close()
})
