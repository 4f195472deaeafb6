/** What queries for text answer, where it is easily got wrong. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Table, TextQuery } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { failure } from '../support/failure.js'
import { openWithBuilder } from '../support/index-builds.js'

let root: Awaited<ReturnType<typeof openWithBuilder>>
beforeEach(async () => {
  root = await openWithBuilder()
})
afterEach(() => root.ns.close())

describe('highlights', () => {
  const highlights = async (table: Table, words: string, options: object = {}) => {
    const rows = await table.query().fullText(words).highlight(options).toArray()
    return rows.map(({ _highlights }) => _highlights.text)
  }

  test('a text longer than the limit is cut there, with any characters', async () => {
    const texts = ['a', 'é', '東', '𐐨'].map(letter => `\ufeffcat ${letter.repeat(20_000)}`)
    texts.push(`\ufeffcat ${'東'.repeat(16_378)}𐐨`)
    const table = await root.ns.createTable(
      't',
      texts.map(text => ({ text })),
    )
    const shown = await highlights(table, 'cat')
    expect(shown.sort()).toEqual(
      texts.map(text => text.slice(0, 16_384).toWellFormed().replace('cat', '<b>cat</b>')).sort(),
    )
  })
  test('words of a phrase are marked with the others, with any indexes of their column', async () => {
    const table = await root.ns.createTable('t', [{ text: 'ape bee cat' }])
    for (const [name, withPosition] of [
      ['a', false],
      ['b', true],
    ] as const) {
      await table.createIndex('text', { type: 'FTS', name, withPosition })
      await table.waitForIndex(name)
    }
    const search = table
      .query()
      .fullText({ must: [{ match: 'cat' }, { phrase: 'ape bee' }] })
      .highlight()
    expect(await search.toArray()).toMatchObject([
      { _highlights: { text: '<b>ape</b> <b>bee</b> <b>cat</b>' } },
    ])
    expect((await search.explain()).match(/not used: .*/g)).toEqual(['not used: a: b is used'])
  })
  test('words that lower a score or exclude a row are not marked', async () => {
    const table = await root.ns.createTable('t', [{ text: 'ape bee cat' }])
    const marked = async (query: TextQuery) => {
      const rows = await table.query().fullText(query).highlight().toArray()
      return rows.map(({ _highlights }) => _highlights.text)
    }
    const [ape, bee, dog] = ['ape', 'bee', 'dog'].map(match => ({ match })) as [
      TextQuery,
      TextQuery,
      TextQuery,
    ]
    expect(await marked({ positive: ape, negative: bee })).toEqual(['<b>ape</b> bee cat'])
    expect(await marked({ positive: ape, negative: { should: [ape, bee] } })).toEqual(['<b>ape</b> bee cat'])
    const partly = { must: [ape], mustNot: [{ must: [bee, dog] }] }
    expect(await marked(partly)).toEqual(['<b>ape</b> bee cat'])
  })
  test('more snippets than the maximum are refused, with or without rows', async () => {
    const table = await root.ns.createTable('t', [{ text: 'cat' }])
    expect(await failure(highlights(table, 'dog', { snippets: 101 }))).toMatchObject({ code: 13 })
  })
})

describe('scores', () => {
  test('use live rows and their lengths; document frequencies are those of the index build', async () => {
    const texts = ['ape', 'ape bee', 'bee cow dog', 'cow', 'ape ape elk fly gnu hen', 'dog elk', 'fly fly']
    const table = await root.ns.createTable(
      't',
      texts.map((text, id) => ({ id, text })),
    )
    await table.createIndex('text', { type: 'FTS', stem: false, removeStopWords: false })
    await table.waitForIndex('text_idx')
    const scores = async (where?: string) => {
      const search = table.query().fullText('ape')
      const rows = await (where === undefined ? search : search.where(where)).toArray()
      return rows.map(({ id, _score }) => [id, _score])
    }
    /** By the book. `having`: how many rows are said to have the word. */
    const expected = (living: readonly number[], having: number) => {
      const lengths = living.map(id => texts[id]!.split(' ').length)
      const average = lengths.reduce((sum, length) => sum + length, 0) / lengths.length
      const idf = Math.log(1 + (living.length - having + 0.5) / (having + 0.5))
      return living
        .map((id, i) => {
          const often = texts[id]!.split(' ').filter(word => word === 'ape').length
          return [id, (2.2 * idf * often) / (often + 1.2 * (0.25 + (0.75 * lengths[i]!) / average))] as const
        })
        .filter(([, score]) => score > 0)
        .sort(([, a], [, b]) => b - a)
        .map(([id, score]) => [id, expect.closeTo(score, 6)])
    }
    expect(await scores()).toEqual(expected([0, 1, 2, 3, 4, 5, 6], 3))
    await table.delete('id IN (0, 2, 6)')
    expect(await scores()).toEqual(expected([1, 3, 4, 5], 3))
    // A filter changes nothing of that.
    expect(await scores('id > 1')).toEqual(expected([1, 3, 4, 5], 3).filter(([id]) => id !== 1))
    // Of rows that changed the old text is dead.
    await table.update({ text: 'ape' }, 'id = 3')
    texts[3] = 'ape'
    expect(await scores()).toEqual(expected([1, 3, 4, 5], 4))
    await table.delete('id <> 1')
    // More rows are said to have the word than live.
    expect(await scores()).toEqual(expected([1], 1))
    await root.ns.optimize()
    expect(await scores()).toEqual(expected([1], 1))
  })

  test('are numbers, for any factors', async () => {
    const table = await root.ns.createTable('t', [{ text: 'ape bee' }, { text: 'bee' }])
    const score = async (query: TextQuery) => {
      const rows = await table.query().fullText(query).toArray()
      return rows.map(({ _score }) => _score)
    }
    for (const boost of [1e10, 1e308]) {
      expect(await failure(score({ match: 'ape', boost }))).toMatchObject({ code: 13 })
    }
    const bee = { match: 'bee', boost: 1e9 }
    const raised: TextQuery = { positive: bee, negative: bee, negativeBoost: -1e308 }
    const lowered: TextQuery = { positive: { should: [raised, raised] }, negative: raised, negativeBoost: 2 }
    for (const query of [raised, lowered]) {
      for (const each of await score(query)) expect(Math.abs(each)).toBeLessThan(Infinity)
    }
    expect(await score(raised)).toEqual([2 ** 128 - 2 ** 104, 2 ** 128 - 2 ** 104])
  })
})

test('of many equally good rows those with the least ids are returned, from any fragment', async () => {
  const count = 10_000
  const table = await root.ns.createTable(
    't',
    Array.from({ length: count }, (_, id) => ({ id, text: id % 4 === 3 ? 'bee' : 'ape' })),
  )
  await table.createIndex('text', { type: 'FTS' })
  await table.waitForIndex('text_idx')
  // They go behind the others, and keep their ids.
  await table.update({ text: 'ape' }, 'id < 5000 AND id % 2 = 0')
  const found = async (limit: number, offset: number) => {
    const rows = await table.query().fullText('ape').select(['id']).limit(limit).offset(offset).toArray()
    return rows.map(({ id }) => id)
  }
  const expected = Array.from({ length: count }, (_, id) => id).filter(id => id % 4 !== 3)
  for (const [limit, offset] of [
    [3, 0],
    [10, 2495],
    [4000, 100],
    [count, 0],
  ] as const) {
    expect(await found(limit, offset)).toEqual(expected.slice(offset, offset + limit))
  }
})

describe('refused with an explanation', () => {
  const search = async (query: unknown) => {
    const table = await root.ns.createTable('t', [{ text: 'ape' }])
    return table
      .query()
      .fullText(query as TextQuery)
      .toArray()
  }
  test.each([null, 5, { must: [null] }, { must: { match: 'ape' } }, { positive: 'ape', negative: 'ape' }])(
    '%j instead of a query',
    async query => {
      expect(await failure(search(query))).toMatchObject({ code: 13 })
    },
  )
  test('operators nested too deeply for the stack', async () => {
    let query: TextQuery = { match: 'ape' }
    for (let i = 0; i < 100_000; i++) query = { must: [query] }
    expect(await failure(search(query))).toMatchObject({ code: 13 })
  })
  test('more fuzzy words than can be compared with every term in time', async () => {
    const table = await root.ns.createTable('t', [{ text: 'ape' }])
    const words = (count: number) => Array.from({ length: count }, (_, i) => `w${i}`).join(' ')
    const search = (count: number) => {
      const should = [words(count), 'apes'].map(match => ({ match, fuzziness: 1 }))
      return table.query().fullText({ should }).toArray()
    }
    expect(await search(63)).toHaveLength(1)
    expect(await failure(search(64))).toMatchObject({ code: 13, message: expect.stringContaining('64') })
  })
})

test('a phrase keeps the order of its words at any slop', async () => {
  const texts = ['quick fox', 'fox quick', 'quick brown fox', 'quick very brown fox', 'quick fox quick']
  const table = await root.ns.createTable(
    't',
    texts.map(text => ({ text })),
  )
  const found = async (phrase: string, slop: number) => {
    const rows = await table.query().fullText({ phrase, slop }).toArray()
    return rows.map(({ text }) => text).sort()
  }
  expect(await found('quick fox', 0)).toEqual(['quick fox', 'quick fox quick'])
  expect(await found('quick fox', 1)).toEqual(['quick brown fox', 'quick fox', 'quick fox quick'])
  expect(await found('quick fox', 9)).toEqual(texts.filter(each => each !== 'fox quick').sort())
  expect(await found('fox quick', 9)).toEqual(['fox quick', 'quick fox quick'])
  // The slop is counted anew between each word and the next.
  await table.add([{ text: 'one and two and three' }])
  expect(await found('one two three', 1)).toEqual(['one and two and three'])
})

describe('rows by vector and by text, as one list', () => {
  const words = ['ape', 'bee', 'cow']
  const rows = Array.from({ length: 40 }, (_, i) => ({
    id: i,
    // Some are found by one of the two alone, and many equally well.
    text: i % 4 === 0 ? null : `${words[i % 3]!} ${words[i % 2]!} ${'dog '.repeat(i % 5)}`,
    v: i % 7 === 0 ? null : [i % 5, i % 3],
  }))
  const fusions = [
    { by: undefined, share: (rank: number) => 1 / (60 + rank), weights: [1, 1] },
    { by: { rrf: { k: 1 } }, share: (rank: number) => 1 / (1 + rank), weights: [1, 1] },
    { by: { vectorWeight: 0.3 }, share: null, weights: [0.3, 0.7] },
    { by: { vectorWeight: 1 }, share: null, weights: [1, 0] },
  ] as const

  test.each(fusions)('$by', async ({ by, share, weights }) => {
    const table = await root.ns.createTable('t', rows, { vectorColumns: ['v'] })
    const near = table.search([1, 1])
    const found = (search: typeof near, limit: number) =>
      search.withRowId().limit(limit).toArray() as Promise<
        { id: number; _rowid: number; _distance?: number; _score?: number }[]
      >
    for (const [limit, offset, where, candidates] of [
      [5, 0, 'true', undefined],
      [10, 3, 'true', undefined],
      [5, 3, 'true', 8],
      [40, 0, 'id > 10', 41],
      [40, 35, 'true', undefined],
    ] as const) {
      const window = candidates ?? 200
      const byVector = await found(near.where(where), window)
      const byText = await found(table.query().fullText('ape bee').where(where) as never, window)
      const relevance = new Map<number, number>()
      const add = (list: typeof byVector, worths: readonly number[], weight: number) => {
        const [best, worst] = [worths[0]!, worths.at(-1)!]
        for (const [rank, { _rowid }] of list.entries()) {
          const scaled = best === worst ? 1 : (worths[rank]! - worst) / (best - worst)
          const own = weight * (share?.(rank) ?? scaled)
          relevance.set(_rowid, (relevance.get(_rowid) ?? 0) + own)
        }
      }
      const distances = byVector.map(({ _distance }) => _distance!)
      const scores = byText.map(({ _score }) => _score!)
      add(
        byVector,
        distances.map(distance => -distance),
        weights[0],
      )
      add(byText, scores, weights[1])
      const wanted = [...relevance]
        .map(([id, own]) => ({ id, own: Math.fround(own) }))
        .sort((a, b) => b.own - a.own || a.id - b.id)
        .slice(offset, offset + limit)
      const search = near.fullText('ape bee').where(where).withRowId().limit(limit).offset(offset)
      const isPlain = by === undefined && candidates === undefined
      const rowsFound = await (isPlain ? search : search.fuse({ ...by, candidates })).toArray()
      const list = rowsFound as unknown as Record<'_rowid' | '_relevance_score', number>[]
      expect(list.map(({ _rowid }) => _rowid)).toEqual(wanted.map(({ id }) => id))
      expect(list.map(row => row._relevance_score)).toEqual(wanted.map(({ own }) => own))
      for (const row of rowsFound as unknown as Record<string, unknown>[]) {
        const at = byVector.findIndex(({ _rowid }) => _rowid === row._rowid)
        const said = byText.findIndex(({ _rowid }) => _rowid === row._rowid)
        expect(row).toMatchObject({ _distance: distances[at] ?? null, _score: scores[said] ?? null })
      }
    }
  })
})

describe('joined by a function', () => {
  const rows = [
    { id: 1, text: 'ape bee', v: [1, 2] },
    { id: 2, text: 'bee', v: [2, 2] },
  ]
  const searched = async () =>
    (await root.ns.createTable('t', rows, { vectorColumns: ['v'] })).search([1, 2]).fullText('ape')

  test.each([
    undefined,
    [null],
    [{ _rowid: 0 }],
    [{ _rowid: 0, _relevance_score: NaN }],
    [
      { _rowid: 0, _relevance_score: 1 },
      { _rowid: 0, _relevance_score: 2 },
    ],
  ])('%j is no list of rows', async given => {
    const search = (await searched()).fuse((() => given) as never)
    expect(await failure(search.toArray())).toMatchObject({ code: 13 })
  })
  test('another order is refused', async () => {
    const search = (await searched())
      .orderBy('id')
      .fuse(near => near.map(row => ({ ...row, _relevance_score: 1 })))
    expect(await failure(search.toArray())).toMatchObject({ code: 13 })
  })
  test('the last call that sets how to join rows wins', async () => {
    const none = () => []
    const search = await searched()
    expect(await search.fuse(none).fuse({ vectorWeight: 1 }).toArray()).toHaveLength(2)
    expect(await search.fuse({ vectorWeight: 1 }).fuse(none).toArray()).toEqual([])
  })
})

test('if the pages of an index are gone, the error says why', async () => {
  let meanwhile = async () => {}
  class Store extends MemoryStore {
    override async readInto(...[key, ...rest]: Parameters<MemoryStore['readInto']>): Promise<void> {
      if (!key.includes('/indexes/')) return super.readInto(key, ...rest)
      await meanwhile()
      return super.readInto(key, ...rest)
    }
  }
  const { ns, store } = await openWithBuilder(new Store('memory://'))
  const table = await ns.createTable('t', [{ text: 'ape' }])
  await table.createIndex('text', { type: 'FTS' })
  await table.waitForIndex('text_idx')
  // The segment is in memory from then on, its pages are not.
  expect(await table.query().fullText('bee').toArray()).toEqual([])
  meanwhile = async () => {
    await ns.dropTable('t')
    for await (const { key } of store.list('')) if (key.includes('/indexes/')) await store.delete(key)
  }
  expect(await failure(table.query().fullText('ape').toArray())).toMatchObject({
    code: 4,
    message: expect.stringContaining('dropped while it was read'),
  })
  await ns.close()
})
