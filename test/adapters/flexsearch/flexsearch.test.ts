import { expect, test } from 'vitest'
import {
  type FlexsearchParts,
  flexsearchTokenizer,
  readFlexsearch,
} from '../../../adapters/flexsearch/public.js'
import { connect } from '../../../src/index.js'
import { failure } from '../../support/failure.js'

async function rowsOf(source: string | FlexsearchParts, options = {}) {
  const rows = []
  for await (const row of readFlexsearch(source, options)) rows.push(row)
  return rows
}

const documents = [
  { id: 1, title: 'Green energy', year: 2020 },
  { id: 2, title: 'The green roof', year: 2021 },
  { id: 7, title: 'Energetic dogs', year: 2022 },
]

test('reads the documents of a folder that FlexSearch exported', async () => {
  expect(await rowsOf('test/golden/flexsearch')).toEqual(documents)
  expect(await rowsOf('test/golden/flexsearch', { id: 'key' })).toEqual(
    documents.map(document => ({ key: document.id, ...document })),
  )
})

test('reads parts in the order of their numbers', async () => {
  const parts = { '10.doc': '[["b",{"n":2}]]', '2.doc.json': '[["a",{"n":1}]]', '1.reg': '["a","b"]' }
  const rows = [
    { id: 'a', n: 1 },
    { id: 'b', n: 2 },
  ]
  expect(await rowsOf(parts)).toEqual(rows)
  expect(await rowsOf(new Map(Object.entries(parts)))).toEqual(rows)
})

test.each([
  [{}, 'no stored documents'],
  [{ '1.doc': '[' }, 'not valid JSON'],
  [{ '1.doc': '{}' }, 'must be an array'],
  [{ '1.doc': '[[1]]' }, 'document 0 must be [id, document]'],
  [{ '1.doc': '[[1,{"id":2}]]' }, 'has the id'],
  [{ '1.doc': '[]', '1.doc.json': '[]' }, 'twice'],
])('parts %j are refused', async (parts, message) => {
  const error = await failure(rowsOf(parts as FlexsearchParts))
  expect(error).toMatchObject({ name: 'InvalidInput', message: expect.stringContaining(message) })
})

test('an encoder becomes a tokenizer with a version', async () => {
  const words = { encode: (text: string) => text.toLowerCase().split(/\s+/) }
  const letters = { encode: (text: string) => [...text] }
  const tokenizer = flexsearchTokenizer(words, { version: '1' })
  expect(flexsearchTokenizer(words, { version: '1' }).version).toBe(tokenizer.version)
  expect(flexsearchTokenizer(words, { version: '2' }).version).not.toBe(tokenizer.version)
  expect(flexsearchTokenizer(letters, { version: '1' }).version).not.toBe(tokenizer.version)
  const ns = await connect('memory://', { tokenizers: [tokenizer] })
  const table = await ns.createTable('docs', documents)
  await table.createIndex('title', {
    type: 'FTS',
    baseTokenizer: 'flexsearch',
    stem: false,
    removeStopWords: false,
    waitTimeoutMs: 60_000,
  })
  expect(await table.query().fullText('the').select(['id']).toArray()).toMatchObject([{ id: 2 }])
  await ns.close()
})

test('a value that is not an encoder is refused', () => {
  for (const encoder of [null, 'LatinBalance', {}]) {
    expect(() => flexsearchTokenizer(encoder as never, { version: '1' })).toThrow(
      'encoder must be an Encoder of FlexSearch',
    )
  }
})
