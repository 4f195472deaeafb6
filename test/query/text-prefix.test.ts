/** Edge cases of full-text queries with a prefix. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Table, TextIndexOptions, TextQuery } from '../../src/index.js'
import { failure } from '../support/failure.js'
import { openWithBuilder } from '../support/index-builds.js'

let root: Awaited<ReturnType<typeof openWithBuilder>>
beforeEach(async () => {
  root = await openWithBuilder()
})
afterEach(() => root.ns.close())

async function tableOf(texts: readonly string[], options?: TextIndexOptions): Promise<Table> {
  const rows = texts.map((text, id) => ({ id, text }))
  const table = await root.ns.createTable('t', rows)
  if (options !== undefined) {
    await table.createIndex('text', options)
    await table.waitForIndex(['text_idx'])
  }
  return table
}

async function ids(table: Table, query: TextQuery): Promise<number[]> {
  const rows = await table.query().fullText(query).limit(1000).toArray()
  return rows.map(row => Number(row.id)).sort((a, b) => a - b)
}
const begin = (table: Table, match: string, more: object = {}) => ids(table, { match, prefix: true, ...more })

describe.each(['without an index', 'with an index'])('%s', how => {
  const open = (texts: readonly string[]) =>
    tableOf(texts, how === 'with an index' ? { type: 'FTS' } : undefined)

  test('the last word is a prefix, the other words are complete', async () => {
    const table = await open(['green energy', 'greenish energy', 'green house', 'energetic green'])
    expect(await begin(table, 'green ener', { operator: 'and' })).toEqual([0, 3])
    expect(await begin(table, 'green ener')).toEqual([0, 1, 2, 3])
    expect(await begin(table, 'energy green', { operator: 'and' })).toEqual([0, 1])
    expect(await begin(table, 'GREEN ENÉR', { operator: 'and' })).toEqual([0, 3])
    expect(await begin(table, 'xyz')).toEqual([])
  })

  test('a separator at the end completes the last word', async () => {
    const table = await open(['green energy', 'ener'])
    for (const end of [' ', '.', '-', '\n']) expect(await begin(table, `ener${end}`)).toEqual([1])
    for (const empty of ['', ' ', '!']) expect(await begin(table, empty)).toEqual([])
  })

  test('a complete word finds what it finds without a prefix, although the index has stems', async () => {
    const table = await open(['running', 'energies'])
    expect(await begin(table, 'running')).toEqual([0])
    expect(await begin(table, 'energy')).toEqual([1])
    expect(await begin(table, 'runn')).toEqual([])
  })

  test('a stop word is a prefix of other words', async () => {
    const table = await open(['the theater', 'the house'])
    expect(await begin(table, 'the')).toEqual([0])
    expect(await begin(table, 'house the', { operator: 'and' })).toEqual([])
  })

  test('fuzziness applies to complete words, and the last word is one too', async () => {
    const table = await open(['green energy', 'green enrgy', 'gren ener', 'blue energy'])
    expect(await begin(table, 'gree ener', { operator: 'and', fuzziness: 1 })).toEqual([0, 2])
    expect(await begin(table, 'green enegy', { operator: 'and', fuzziness: 2 })).toEqual([0, 1, 2])
    expect(await begin(table, 'green enegy', { operator: 'and' })).toEqual([])
  })

  test('words that begin with the prefix are marked', async () => {
    const table = await open(['Energy for green enérgetics', 'nothing'])
    const rows = await table.query().fullText({ match: 'green ener', prefix: true }).highlight().toArray()
    expect(rows.map(row => row._highlights.text)).toEqual([
      '<b>Energy</b> for <b>green</b> <b>enérgetics</b>',
    ])
  })

  test('a prefix works inside of operators', async () => {
    const table = await open(['green energy', 'green house', 'enerbot', 'hoax'])
    const ener = { match: 'ener', prefix: true }
    const green = { match: 'green' }
    expect(await ids(table, { must: [green, ener] })).toEqual([0])
    expect(await ids(table, { must: [green], mustNot: [ener] })).toEqual([1])
    expect(await ids(table, { should: [ener, { match: 'ho', prefix: true }] })).toEqual([0, 1, 2, 3])
    expect(await ids(table, { positive: ener, negative: green })).toEqual([0, 2])
    expect(
      await ids(table, { multiMatch: 'green ho', columns: ['text'], prefix: true, operator: 'and' }),
    ).toEqual([1])
  })

  test('words that begin with the prefix count as one word in scores', async () => {
    const table = await open(['cab cap', 'cab cab', 'cab', 'dog fox', 'dog'])
    const scored = await table.query().fullText({ match: 'ca', prefix: true }).toArray()
    const scores = new Map(scored.map(row => [row.text, row._score]))
    expect(scores.size).toBe(3)
    expect(scores.get('cab cap')).toBe(scores.get('cab cab'))
    const doubled = await table.query().fullText({ match: 'ca', prefix: true, boost: 2 }).toArray()
    expect(doubled[0]!._score).toBeCloseTo(2 * scored[0]!._score, 5)
  })
})

test('rows are found that no segment has yet', async () => {
  const table = await tableOf(['green energy'], { type: 'FTS' })
  await table.add([{ id: 1, text: 'energetic' }])
  expect(await begin(table, 'ener')).toEqual([0, 1])
  const fast = await table.query().fullText({ match: 'ener', prefix: true }).fastSearch().toArray()
  expect(fast.map(row => row.id)).toEqual([0])
})

test('the base tokenizer decides what the prefix is', async () => {
  const texts = ['Green energy', 'Green enamel', 'A green energy']
  const raw = await tableOf(texts, { type: 'FTS', baseTokenizer: 'raw', stem: false, removeStopWords: false })
  expect(await begin(raw, 'green e')).toEqual([0, 1])
  expect(await begin(raw, 'green ')).toEqual([0, 1])
  await root.ns.dropTable('t')
  const ngram = await tableOf(texts, { type: 'FTS', baseTokenizer: 'ngram' })
  expect(await begin(ngram, 'gy')).toEqual([])
  expect(await begin(ngram, 'am')).toEqual([1])
  expect(await begin(ngram, 'mel')).toEqual([1])
})

test('the plan shows the prefix', async () => {
  const table = await tableOf(['green energy'])
  const search = table.query().fullText({ match: 'Green Energy', prefix: true, operator: 'and' })
  expect(await search.explain()).toContain('MatchQuery: query=green energy*, column=text, operator=And')
})

describe('refused is', () => {
  test('a prefix that is not a boolean', async () => {
    const table = await tableOf(['ape'])
    const query = { match: 'ape', prefix: 1 } as unknown as TextQuery
    expect(await failure(ids(table, query))).toMatchObject({
      code: 13,
      message: expect.stringContaining('prefix'),
    })
  })
  test('a query with more than 64 prefixes', async () => {
    const table = await tableOf(['ape'])
    const search = (count: number) => ids(table, { should: Array(count).fill({ match: 'ap', prefix: true }) })
    expect(await search(64)).toEqual([0])
    expect(await failure(search(65))).toMatchObject({ code: 13, message: expect.stringContaining('64') })
  })
})
