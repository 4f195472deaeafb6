/** The life of text indexes, STORAGE S12, S21. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { serve } from '../../adapters/http/server.js'
import {
  type ConnectOptions,
  type CustomTokenizer,
  connect,
  type DataType,
  type Namespace,
  type Schema,
  type Table,
  tokenize,
} from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { SeededClock } from '../support/clock.js'
import { failure } from '../support/failure.js'
import { openWithBuilder } from '../support/index-builds.js'
import { CrashingStore, keysIn } from '../support/stores.js'
import { expectFound, readerOf } from '../support/text-index.js'

let root: Awaited<ReturnType<typeof openWithBuilder>>
let table: Table
beforeEach(async () => {
  root = await openWithBuilder()
  table = await root.ns.createTable('t', rowsFrom(0, 4), { vectorColumns: ['v'] })
})
afterEach(() => root.ns.close())

const words = ['ape', 'bee', 'cat', 'dog', 'elk']
const rowsFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, i) => {
    const id = first + i
    return {
      id,
      text: id % 50 === 49 ? null : `${words[id % 5]} ${words[(id * 3 + 1) % 5]} w${id % 97}`,
      v: [id, 1],
    }
  })

const shown = async (of: Pick<Table, 'listIndices'> = table) =>
  (await of.listIndices()).map(({ name, type, status, indexedRows, unindexedRows }) => {
    return `${name} ${type} ${status} ${indexedRows}+${unindexedRows}`
  })

const create = (more: object = {}) =>
  root.ops.createTableIndex({ id: ['t'], column: 'text', index_type: 'FTS', ...more })

const needOf = async (slot: number) => (await root.engine.versions.slots.get(slot)).header.need

const defaults = {
  with_position: false,
  base_tokenizer: 'simple',
  language: 'English',
  max_token_length: 40,
  lower_case: true,
  stem: true,
  remove_stop_words: true,
  custom_stop_words: null,
  ascii_folding: true,
  min_ngram_length: 3,
  max_ngram_length: 3,
  prefix_only: false,
}

describe('while it is built', () => {
  const titled = (text: string, title: string) => ({ text, title })
  const found = async (of: Table, words: string) =>
    (await of.query().fullText(words).select(['text']).toArray()).map(({ text }) => text)

  test('its column is the only one searched by default, by its own analyzer', async () => {
    const notes = await root.ns.createTable('notes', [
      titled('Lance and the balance', 'x'),
      titled('x', 'lance'),
    ])
    expect((await found(notes, 'lance')).sort()).toEqual(['Lance and the balance', 'x'])
    expect(await found(notes, 'lan')).toEqual([])
    const { begun, release } = root.builder.hold()
    await notes.createIndex('text', { type: 'FTS', baseTokenizer: 'ngram' })
    const meanwhile = [await found(notes, 'lan'), await found(notes, 'lance')]
    await begun
    expect(await found(notes, 'lan')).toEqual(meanwhile[0])
    expect(await notes.query().fullText('lan').explain()).toContain('not used: text_idx: it is being built')
    const strict = notes.query().fullText('lan', { requireIndex: true })
    expect(await failure(strict.toArray())).toMatchObject({
      code: 13,
      hint: expect.stringContaining('waitForIndex'),
    })
    release()
    await notes.waitForIndex('text_idx')
    expect([await found(notes, 'lan'), await found(notes, 'lance')]).toEqual(meanwhile)
    expect(meanwhile).toEqual([['Lance and the balance'], ['Lance and the balance']])
  })

  test('phrases are found without waiting, and an index that is being replaced still answers', async () => {
    const notes = await root.ns.createTable('notes', [titled('the red fox', 'x')])
    await notes.createIndex('text', { type: 'FTS' })
    await notes.waitForIndex('text_idx')
    const phrase = () => notes.query().fullText({ phrase: 'red fox', column: 'text' }).toArray()
    expect(await failure(phrase())).toMatchObject({ code: 13 })
    const { release } = root.builder.hold()
    await notes.createIndex('text', { type: 'FTS', name: 'other', withPosition: true })
    expect(await phrase()).toHaveLength(1)
    await notes.createIndex('text', { type: 'FTS', name: 'text_idx', baseTokenizer: 'ngram' })
    expect(await found(notes, 'fox')).toEqual(['the red fox'])
    expect(await found(notes, 'ed f')).toEqual([])
    release()
    await notes.waitForIndex(['other', 'text_idx'])
    expect(await phrase()).toHaveLength(1)
  })

  test('earlier versions are searched unchanged', async () => {
    const notes = await root.ns.createTable('notes', [titled('balance', 'lan')])
    await notes.add([titled('x', 'y')])
    const { release } = root.builder.hold()
    await notes.createIndex('text', { type: 'FTS', baseTokenizer: 'ngram' })
    expect(await found(await notes.checkout(1), 'lan')).toEqual(['balance'])
    expect(await found(await notes.checkout(2), 'lan')).toEqual(['balance'])
    expect(await found(await notes.checkout(1), 'ala')).toEqual([])
    expect(await found(notes, 'ala')).toEqual(['balance'])
    release()
  })
})

test('maxTokenLength: null drops no token, in an index, without one, and in tokenize', async () => {
  const long = 'x'.repeat(100_000)
  const notes = await root.ns.createTable('notes', [{ text: `ape ${long}` }, { text: 'bee' }])
  await notes.createIndex('text', { type: 'FTS', stem: false, maxTokenLength: null })
  const search = notes.query().fullText(long)
  const before = await search.toArray()
  await notes.waitForIndex('text_idx')
  expect(await search.toArray()).toEqual(before)
  expect(before).toMatchObject([{ text: `ape ${long}` }])
  const { indexes } = await root.ops.listTableIndices({ id: ['notes'] })
  expect(JSON.parse(indexes[0]!.index_details!)).toMatchObject({ max_token_length: null })
  expect((await notes.tokenize('text', long)).length).toBe(1)
  expect(tokenize('y'.repeat(41), { maxTokenLength: null })).toMatchObject([{ term: 'y'.repeat(41) }])
  expect(tokenize('y'.repeat(41))).toEqual([])
})

describe('defined', () => {
  test('A-080 A-085 A-090 A-092 an index is requested, built, and described with its counts', async () => {
    const { transaction_id } = await create({ with_position: true, custom_stop_words: ['ape'] })
    expect(await needOf(root.engine.root.head)).toEqual(['indexes', 'text-indexes'])
    await table.waitForIndex('text_idx')
    expect(await needOf(root.engine.root.head)).toEqual(['indexes', 'text-indexes'])
    expect(await root.ops.describeTransaction({ id: [transaction_id!] })).toMatchObject({
      status: 'Succeeded',
    })
    const [record] = (await root.ops.listTableIndices({ id: ['t'] })).indexes
    expect(record).toMatchObject({
      index_name: 'text_idx',
      columns: ['text'],
      status: 'ready',
      index_type: 'FTS',
      num_indexed_rows: 4,
      num_unindexed_rows: 0,
      num_segments: 1,
      type_url: '/lance.table.InvertedIndexDetails',
    })
    expect(record!.size_bytes).toBeGreaterThan(100)
    const details = { ...defaults, with_position: true, custom_stop_words: ['ape'] }
    expect(JSON.parse(record!.index_details!)).toEqual(details)
    expect(Object.keys(JSON.parse(record!.index_details!))).toEqual(Object.keys(defaults))
    expect(await table.indexStats('text_idx')).toEqual({
      type: 'FTS',
      distanceType: null,
      status: 'ready',
      indexedRows: 4,
      unindexedRows: 0,
      segments: 1,
    })
    expect(await expectFound(root.engine, table, 'text')).toBe(4)
  })

  test('A-078 INVERTED is the same, and a handle says all of it in its own words', async () => {
    await create({ index_type: 'inverted' })
    expect(await create()).toMatchObject({ index_name: 'text_idx' })
    await table.createIndex('text', {
      type: 'FTS',
      withPosition: true,
      baseTokenizer: 'ngram',
      language: 'German',
      maxTokenLength: 50,
      lowerCase: false,
      removeStopWords: true,
      customStopWords: ['und'],
      asciiFolding: false,
      ngramMinLength: 2,
      ngramMaxLength: 4,
      prefixOnly: true,
      waitTimeoutMs: 60_000,
    })
    const [record] = (await root.ops.listTableIndices({ id: ['t'] })).indexes
    expect(JSON.parse(record!.index_details!)).toEqual({
      with_position: true,
      base_tokenizer: 'ngram',
      language: 'German',
      max_token_length: 50,
      lower_case: false,
      stem: false,
      remove_stop_words: true,
      custom_stop_words: ['und'],
      ascii_folding: false,
      min_ngram_length: 2,
      max_ngram_length: 4,
      prefix_only: true,
    })
  })

  test('A-079 texts of every sort, and lists of them, are indexed, also inside of structs', async () => {
    const utf8: DataType = { kind: 'utf8', large: false }
    const large: DataType = { kind: 'utf8', large: true }
    const index = { kind: 'int', bits: 16, signed: true } as const
    const coded: DataType = { kind: 'dictionary', index, value: utf8, ordered: false }
    const listOf = (type: DataType, isLarge = false): DataType => {
      return { kind: 'list', large: isLarge, child: { name: 'item', type, nullable: true } }
    }
    const of: Record<string, DataType> = {
      plain: utf8,
      large,
      coded,
      list: listOf(utf8),
      codes: listOf(coded),
      larges: listOf(large, true),
    }
    const values = (column: string, i: number): unknown => {
      if (i % 4 === 3) return null
      const text = i % 4 === 2 ? '' : rowsFrom(i, 1)[0]!.text
      return of[column]!.kind === 'list' ? [text, null, `Other ${i}`].slice(0, i % 5) : text
    }
    for (const [column, type] of Object.entries(of)) {
      const schema: Schema = { fields: [{ name: 'x', type, nullable: true }] }
      const rows = Array.from({ length: 40 }, (_, i) => ({ x: values(column, i) }))
      const one = await root.ns.createTable(column, rows.slice(0, 25), { schema })
      await one.createIndex('x', { type: 'FTS', waitTimeoutMs: 60_000 })
      expect(await expectFound(root.engine, one, 'x', column)).toBe(25)
      await one.delete('_rowid IN (0, 1, 2, 3, 4, 5, 6, 7)')
      await one.add(rows.slice(25))
      await root.ns.optimize()
      expect(await shown(one)).toEqual(['x_idx FTS ready 32+0'])
      expect(await expectFound(root.engine, one, 'x', column)).toBe(32)
    }
    const nested = await root.ns.createTable('n', [{ meta: { t: 'ape' } }, { meta: null }])
    await nested.createIndex('meta.t', { type: 'FTS', waitTimeoutMs: 60_000 })
    expect(await nested.listIndices()).toMatchObject([{ name: 'meta.t_idx', columns: ['meta.t'] }])
    const reader = await readerOf(root.engine, 'n')
    const opened = await reader.textIndexes[0]!.segments[0]!.open()
    expect([opened.facts.docs, opened.find('ape')?.term]).toEqual([1, 'ape'])
  })

  const refused: readonly (readonly [object, object])[] = [
    [
      { column: 'id' },
      {
        code: 13,
        status: 400,
        message: expect.stringMatching(/^column "id" is of type .*: an FTS index cannot be built on it$/),
        hint: 'FTS indexes are for texts (utf8 or large_utf8, also dictionary-encoded) and for lists of texts',
      },
    ],
    [{ column: 'v' }, { code: 13, message: expect.stringContaining('an FTS index cannot be built') }],
    [{ column: 'txt' }, { code: 12 }],
    [{ language: 'Klingon' }, { code: 13, status: 400, message: expect.stringContaining('Klingon') }],
    [{ base_tokenizer: 'jieba/default' }, { code: 13, message: expect.stringContaining('jieba/default') }],
    [{ block_size: 100 }, { code: 13, message: 'block_size of an FTS index must be 128 or 256, got 100' }],
    [{ lance_tokenizer: 'json' }, { code: 13, message: expect.stringContaining('lance_tokenizer') }],
    [{ split_identifiers: true }, { code: 13, message: expect.stringContaining('split_identifiers') }],
    [{ distance_type: 'l2' }, { code: 13, message: 'an FTS index has no use for distance_type' }],
    [{ num_partitions: 2 }, { code: 13, hint: 'leave it out; it is for indexes of vectors' }],
    [
      { index_type: 'BTREE', with_position: true },
      {
        code: 13,
        message: 'a BTREE index has no use for with_position',
        hint: 'leave it out; it is for FTS',
      },
    ],
    [
      { index_type: 'BTREE', num_partitions: 3 },
      {
        code: 13,
        message: 'a BTREE index has no use for num_partitions',
        hint: 'leave it out; it is for indexes of vectors',
      },
    ],
    [
      { index_type: 'IVF_PQ', column: 'v', stem: false },
      { code: 13, message: expect.stringContaining('stem') },
    ],
  ]

  test('A-079 A-085 A-086 invalid requests are refused without effect', async () => {
    for (const [request, expected] of refused) {
      const error = await failure(create(request))
      expect({ request, error }).toMatchObject({ request, error: expected })
    }
    // @ts-expect-error
    expect(await failure(table.createIndex('id', { type: 'BITMAP', stem: true }))).toMatchObject({
      code: 13,
      message: 'createIndex: a BITMAP index has no use for stem',
      hint: 'it is for text indexes: set type to FTS',
    })
    expect(await shown()).toEqual([])
  })

  test('A-085 over HTTP the requests of LanceDB are understood as they are', async () => {
    const server = await serve(root.ns, { port: 0 })
    try {
      const usual = {
        ...defaults,
        block_size: 128,
        index_operators: false,
        lance_tokenizer: null,
        preserve_original: false,
        split_identifiers: false,
        split_on_numerics: false,
      }
      for (const more of [{}, { base_tokenizer: 'ngram', with_position: true, stem: false }]) {
        const reply = await fetch(`${server.url}/v1/table/t/create_index/`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ column: 'text', index_type: 'FTS', ...usual, ...more }),
        })
        expect({ more, status: reply.status }).toEqual({ more, status: 200 })
        await table.waitForIndex('text_idx')
      }
      expect(await shown()).toEqual(['text_idx FTS ready 4+0'])
    } finally {
      await server.close()
    }
  })

  test('A-082 A-083 an equal definition changes nothing, another family gets another name', async () => {
    const { begun, release } = root.builder.hold()
    const first = await create({ stem: false })
    await begun
    expect(await create({ stem: false, language: 'english', max_ngram_length: 3 })).toEqual(first)
    expect(await failure(create({ replace: false }))).toMatchObject({
      code: 7,
      message: 'table "t" already has an index "text_idx": FTS on "text"',
    })
    const second = await create({ custom_stop_words: ['a'], replace: true })
    expect(second.transaction_id).not.toBe(first.transaction_id)
    release()
    await table.waitForIndex('text_idx')
    expect(await create({ custom_stop_words: ['a'], replace: false })).toEqual({ index_name: 'text_idx' })
    expect(await table.createIndex('text', { type: 'BITMAP' })).toEqual({ name: 'text_idx_2' })
    expect(await table.createIndex('text', { type: 'FTS' })).toEqual({ name: 'text_idx' })
  })
})

describe('a change of the column', () => {
  test('applies to the index, and earlier versions keep theirs', async () => {
    await table.createIndex('text', { type: 'FTS', waitTimeoutMs: 60_000 })
    const version = await table.version()
    await table.alterColumns({ text: { rename: 'words' } })
    expect(await table.listIndices()).toMatchObject([{ columns: ['words'], status: 'ready' }])
    expect((await readerOf(root.engine)).textIndexes[0]!.path).toEqual(['words'])
    await table.alterColumns({ words: { type: { kind: 'utf8', large: true } } })
    expect(await shown()).toEqual(['text_idx FTS stale 0+4'])
    await root.ns.optimize()
    expect(await shown()).toEqual(['text_idx FTS ready 4+0'])
    expect(await expectFound(root.engine, table, 'words')).toBe(4)
    await table.restore(version)
    expect(await shown()).toEqual(['text_idx FTS ready 4+0'])
    await table.update({ text: '12' })
    await table.alterColumns({ text: { type: 'int64' } })
    await root.ns.optimize()
    expect(await shown()).toEqual(['text_idx FTS stale 0+4'])
    expect((await readerOf(root.engine)).textIndexes).toEqual([])
    await table.dropColumns(['text'])
    expect(await shown()).toEqual([])
    expect(await shown(await table.checkout(version))).toEqual(['text_idx FTS ready 4+0'])
    await table.restore(version)
    expect(await expectFound(root.engine, table, 'text')).toBe(4)
  })

  test('a build for a column that is no longer text fails, and says why', async () => {
    const { begun, release } = root.builder.hold()
    await create()
    await begun
    await table.update({ text: '7' })
    await table.alterColumns({ text: { type: 'int32' } })
    release()
    expect(await failure(table.waitForIndex('text_idx'))).toMatchObject({
      message: expect.stringContaining('got the type int32 before it was indexed'),
    })
  })

  test('a build during which rows are added, deleted and restored misses none of them', async () => {
    await table.add(rowsFrom(4, 60))
    await table.delete('id < 30')
    const { begun, release } = root.builder.hold()
    await create()
    await begun
    await table.add(rowsFrom(64, 10))
    await table.restore(2)
    release()
    await table.waitForIndex('text_idx')
    // The rows that came back were left out as dead, so it was built again.
    expect(await shown()).toEqual(['text_idx FTS ready 64+0'])
    expect(await expectFound(root.engine, table, 'text')).toBe(64)
  })

  test('a build indexes only the live rows of its version', async () => {
    await table.delete('id = 0')
    await create()
    await table.waitForIndex('text_idx')
    const reader = await readerOf(root.engine, 't')
    const segment = await reader.textIndexes[0]!.segments[0]!.open()
    expect([segment.rows, segment.facts.docs]).toEqual([4, 3])
  })

  test('dropping cancels a build, and a build that outlives its process continues in the next', async () => {
    const { begun } = root.builder.hold()
    const { transaction_id } = await create()
    await begun
    await table.dropIndex('text_idx')
    expect(await root.ops.describeTransaction({ id: [transaction_id!] })).toMatchObject({
      status: 'Canceled',
    })
    await create()
    await root.ns.close()
    root = await openWithBuilder(root.store)
    table = await root.ns.openTable('t')
    await table.waitForIndex('text_idx')
    expect(await shown()).toEqual(['text_idx FTS ready 4+0'])
  })
})

// ---- maintenance

const open: Namespace[] = []
afterEach(async () => {
  for (const ns of open.splice(0)) await ns.close()
})
async function opened(store: MemoryStore | CrashingStore, options: ConnectOptions = {}) {
  const maintenance = { keepVersionsMs: 0, keepOrphansMs: 0, keepLogMs: 0 }
  const ns = await connect('memory://', { store, maintenance, onWarning: () => {}, ...options })
  open.push(ns)
  return ns
}

async function indexed(rows: number, options: ConnectOptions = {}) {
  const store = new MemoryStore('memory://')
  const ns = await opened(store, options)
  const table = await ns.createTable('t', rowsFrom(0, rows), { vectorColumns: ['v'] })
  await table.createIndex('text', { type: 'FTS', waitTimeoutMs: 60_000 })
  return { store, ns, table }
}

const indexFiles = async (store: MemoryStore) =>
  (await keysIn(store, 'tables/')).filter(key => key.includes('/indexes/'))

/** As `expectFound`, of a root that others have open. */
async function expectAll(store: MemoryStore, table: Table): Promise<number> {
  const { ns, engine } = await openWithBuilder(store)
  try {
    return await expectFound(engine, table, 'text')
  } finally {
    await ns.close()
  }
}

describe('maintenance', () => {
  test('unindexed rows are merged in, and segments stay few', async () => {
    const { ns, store, table } = await indexed(2000)
    for (let i = 0; i < 6; i++) {
      await table.add(rowsFrom(2000 + 10 * i, 10))
      expect(await shown(table)).toEqual([`text_idx FTS stale ${2000 + 10 * i}+10`])
      await ns.optimize()
      expect(await shown(table)).toEqual([`text_idx FTS ready ${2010 + 10 * i}+0`])
    }
    expect((await table.indexStats('text_idx')).segments).toBeLessThan(5)
    expect(await expectAll(store, table)).toBe(2060)
    expect((await ns.verify()).problems).toEqual([])
  })

  test('a compaction updates row mappings; once a fifth is deleted, the index is rebuilt without deleted rows', async () => {
    const { ns, store, table } = await indexed(2000)
    const before = await indexFiles(store)
    await table.delete('id % 11 = 0')
    await ns.optimize()
    expect(await indexFiles(store)).toEqual(before)
    expect(await expectAll(store, table)).toBe(1818)
    await table.delete('id % 7 = 0')
    await table.delete('id % 5 = 0')
    await ns.optimize()
    const after = await indexFiles(store)
    expect([after.length, after.includes(before[0]!)]).toEqual([1, false])
    expect(await expectAll(store, table)).toBe(await table.countRows())
    const { ns: other, engine } = await openWithBuilder(store)
    const [segment] = (await readerOf(engine)).textIndexes[0]!.segments
    expect((await segment!.open()).facts.docs).toBe(await table.countRows('text IS NOT NULL'))
    await other.close()
    await ns.optimize()
    expect(await indexFiles(store)).toEqual(after)
    expect((await ns.verify()).problems).toEqual([])
  })

  test('files of replaced and dropped indexes are deleted by GC', async () => {
    const { ns, store, table } = await indexed(200)
    const before = await indexFiles(store)
    await table.createIndex('text', { type: 'FTS', stem: false, waitTimeoutMs: 60_000 })
    await ns.optimize()
    const after = await indexFiles(store)
    expect([after.length, after.includes(before[0]!)]).toEqual([1, false])
    await table.dropIndex('text_idx')
    await ns.optimize()
    expect(await indexFiles(store)).toEqual([])
  })

  test('a file that is missing, cut or flipped is found by a verification', async () => {
    const { ns, store } = await indexed(300)
    const [key] = await indexFiles(store)
    const bytes = (await store.get(key!))!
    const broken = [64, bytes.length >> 1, bytes.length - 40].map(at => {
      const flipped = bytes.slice()
      flipped[at]! ^= 1
      return flipped
    })
    for (const wrong of [...broken, bytes.subarray(0, -1), null]) {
      await store.delete(key!)
      if (wrong !== null) await store.put(key!, wrong)
      expect((await ns.verify()).problems).toMatchObject([{ kind: 'index', path: key }])
    }
    await store.put(key!, bytes)
    expect((await ns.verify()).problems).toEqual([])
  })

  test('a process that dies during a build leaves nothing that counts, and the next one builds', async () => {
    for (let survives = 6, isAlive = false; !isAlive; survives += 2) {
      const clock = new SeededClock(survives)
      const store = new MemoryStore('memory://', clock)
      const first = await opened(store, { clock })
      await first.createTable('t', rowsFrom(0, 200), { vectorColumns: ['v'] })
      await first.close()
      const crashing = new CrashingStore(store, survives, survives % 4 === 0)
      const work = async () => {
        const dying = await connect('memory://', { store: crashing, clock, onWarning: () => {} })
        try {
          const of = await dying.openTable('t')
          await of.createIndex('text', { type: 'FTS' })
          await of.waitForIndex('text_idx', { timeoutMs: 10_000 })
        } finally {
          await dying.close().catch(() => {})
        }
      }
      await work().catch(() => {})
      isAlive = !crashing.dead
      const ns = await opened(store, { clock })
      const of = await ns.openTable('t')
      await of.createIndex('text', { type: 'FTS', replace: false, waitTimeoutMs: 60_000 })
      expect(await of.indexStats('text_idx')).toMatchObject({
        status: 'ready',
        indexedRows: 200,
        segments: 1,
      })
      clock.advance(24 * 60 * 60 * 1000)
      await ns.optimize()
      expect(await indexFiles(store)).toHaveLength(1)
      expect((await ns.verify()).problems).toEqual([])
      clock.stop()
    }
  })
})

// ---- tokenizers of callers

const tokenizer = (version: string): CustomTokenizer => ({
  name: 'commas',
  version,
  tokenize: text => text.split(','),
})

describe('registered tokenizers', () => {
  test('are validated, and used', async () => {
    const bad: readonly (readonly [unknown, string])[] = [
      ['commas', 'tokenizers must be an array'],
      [[{ ...tokenizer('1'), name: 'simple' }], 'simple'],
      [[tokenizer('1'), tokenizer('2')], 'commas'],
      [[{ name: 'x', version: '1' }], 'tokenize'],
    ]
    for (const [tokenizers, message] of bad) {
      const options = { tokenizers } as ConnectOptions
      expect(await failure(connect('memory://', options))).toMatchObject({
        code: 13,
        message: expect.stringContaining(message),
      })
    }
    const store = new MemoryStore('memory://')
    const ns = await opened(store, { tokenizers: [tokenizer('1')] })
    const of = await ns.createTable('t', [{ text: 'A b,c' }])
    await of.createIndex('text', { type: 'FTS', baseTokenizer: 'commas', stem: false, waitTimeoutMs: 60_000 })
    expect(await shown(of)).toEqual(['text_idx FTS ready 1+0'])
    expect(await failure(create({ base_tokenizer: 'commas' }))).toMatchObject({
      code: 13,
      message: expect.stringContaining('commas'),
    })
  })

  test('an index of an unknown tokenizer, or one with other tokens now, is not used and says so', async () => {
    const store = new MemoryStore('memory://')
    let ns = await opened(store, { tokenizers: [tokenizer('1')] })
    let of = await ns.createTable('t', [{ text: 'A b,c' }])
    await of.createIndex('text', { type: 'FTS', baseTokenizer: 'commas', waitTimeoutMs: 60_000 })
    const before = await indexFiles(store)
    await ns.close()

    ns = await opened(store)
    of = await ns.openTable('t')
    expect(await of.listIndices()).toMatchObject([
      { status: 'stale', indexedRows: 0, unindexedRows: 1, reason: expect.stringContaining('"commas"') },
    ])
    expect(await of.indexStats('text_idx')).toMatchObject({ reason: expect.stringContaining('"commas"') })
    await of.add([{ text: 'd,e' }])
    await ns.optimize()
    expect(await indexFiles(store)).toEqual(before)
    expect((await ns.verify()).problems).toEqual([])
    await ns.close()

    ns = await opened(store, { tokenizers: [tokenizer('2')] })
    of = await ns.openTable('t')
    expect(await of.listIndices()).toMatchObject([
      {
        status: 'stale',
        indexedRows: 0,
        unindexedRows: 2,
        reason: expect.stringContaining('another version'),
      },
    ])
    await ns.optimize()
    expect(await of.listIndices()).toMatchObject([{ status: 'ready', indexedRows: 2, segments: 1 }])
    expect((await of.listIndices())[0]!.reason).toBeUndefined()
  })

  test('a segment that does not find a row by its words is reported by a verification', async () => {
    const store = new MemoryStore('memory://')
    const ns = await opened(store, { tokenizers: [tokenizer('1')] })
    const of = await ns.createTable('t', rowsFrom(0, 200), { vectorColumns: ['v'] })
    await of.createIndex('text', { type: 'FTS', baseTokenizer: 'commas', waitTimeoutMs: 60_000 })
    expect((await ns.verify()).problems).toEqual([])
    const [key] = await indexFiles(store)
    const other = { ...tokenizer('1'), tokenize: (text: string) => text.split(' ') }
    const wrong = await opened(store, { tokenizers: [other] })
    expect((await wrong.verify()).problems).toMatchObject([
      { kind: 'index', path: key, what: expect.stringContaining('does not find row') },
    ])
  })

  test('a build waits for a process that knows the tokenizer', async () => {
    const store = new MemoryStore('memory://')
    let closing: Promise<void> | undefined
    const tokenize = (text: string) => {
      closing ??= knows.close()
      return text.split(',')
    }
    const knows = await opened(store, { tokenizers: [{ ...tokenizer('1'), tokenize }] })
    const of = await knows.createTable('t', [{ text: 'A b,c' }])
    const ended = of.createIndex('text', { type: 'FTS', baseTokenizer: 'commas', waitTimeoutMs: 60_000 })
    await ended.catch(() => {})
    await closing
    const other = await (await opened(store)).openTable('t')
    expect(await shown(other)).toEqual(['text_idx FTS pending 0+1'])
    const again = await (await opened(store, { tokenizers: [tokenizer('1')] })).openTable('t')
    await again.waitForIndex('text_idx', { timeoutMs: 60_000 })
    expect(await shown(again)).toEqual(['text_idx FTS ready 1+0'])
  })
})
