/** Whatever way rows come in without a schema, what is read is what was written: no inferred type changes a value. */
import { PassThrough, type Writable } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  readArrow,
  readCsv,
  readJsonLines,
  writeArrow,
  writeCsv,
  writeJsonLines,
} from '../../adapters/files/public.js'
import { type CreateTableOptions, connect, type TableData } from '../../src/index.js'
import { failure } from '../support/failure.js'

type Row = Readonly<Record<string, unknown>>

const wide = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
const numbers = fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), { minLength: 1, maxLength: 4 })
const orNull = <T>(value: fc.Arbitrary<T>) => fc.oneof({ weight: 5, arbitrary: value }, fc.constant(null))

/** Values that each of the ways has words for. */
const row = fc.record({
  number: orNull(fc.double({ noNaN: true, noDefaultInfinity: true })),
  whole: orNull(fc.maxSafeInteger()),
  big: orNull(wide),
  mixed: orNull(
    fc.oneof(
      fc.maxSafeInteger().map(n => n + 0),
      wide,
    ),
  ),
  prices: orNull(numbers),
  pair: orNull(fc.tuple(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.nat(2 ** 31))),
  ids: orNull(fc.array(fc.oneof(fc.maxSafeInteger(), wide), { minLength: 1, maxLength: 3 })),
  text: orNull(fc.string({ unit: 'grapheme', minLength: 1 })),
  flag: orNull(fc.boolean()),
})

/** Numbers by what they are worth, whether they come as numbers, bigints, or in typed arrays. */
function plain(value: unknown): unknown {
  if (value === null || value === undefined) return null
  if (typeof value === 'bigint') return `${value}`
  if (typeof value === 'number') {
    return Object.is(value, -0) ? '-0' : Number.isInteger(value) ? `${BigInt(value)}` : `${value}`
  }
  if (Array.isArray(value) || ArrayBuffer.isView(value)) return Array.from(value as unknown[], plain)
  if (typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)]))
}

async function written(
  write: (target: Writable, rows: readonly Row[]) => Promise<unknown>,
  rows: readonly Row[],
) {
  const target = new PassThrough()
  const [chunks] = await Promise.all([target.toArray(), write(target, rows)])
  return chunks as Uint8Array[]
}

async function* each<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items
}

/** How rows become what `createTable` takes. CSV has one word for texts and what they may be taken for. */
const ways: readonly (readonly [string, (rows: readonly Row[]) => Promise<TableData>, without: string[]])[] =
  [
    ['an array', async rows => rows, []],
    ['an async iterable', async rows => each(rows), []],
    ['JSON lines', async rows => readJsonLines(each(await written(writeJsonLines, rows))), []],
    ['CSV', async rows => readCsv(each(await written(writeCsv, rows))), ['ids', 'mixed']],
    ['Arrow IPC bytes', async rows => Buffer.concat(await written(writeArrow, rows)), []],
    ['an Arrow file', async rows => readArrow(each(await written(writeArrow, rows))), []],
  ]

test.each(ways)('rows from %s are read back unchanged', async (_, dataOf, without) => {
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 20 }), async given => {
      const rows = given.map((each, id) => {
        const kept = Object.entries(each).filter(([name]) => !without.includes(name))
        return { id, ...Object.fromEntries(kept), text: each.text === null ? null : `t${each.text}` }
      })
      const ns = await connect('memory://')
      const table = await ns.createTable('t', await dataOf(rows))
      const read = await table.query().toArray({ int64: 'bigint' })
      expect(read.map(plain)).toEqual(rows.map(plain))
      expect((await table.query().toArray({ int64: 'bigint', vectors: 'array' })).map(plain)).toEqual(
        rows.map(plain),
      )
      await ns.close()
    }),
    { numRuns: 25 },
  )
})

describe('vectors', () => {
  const typeOf = async (rows: readonly Row[], options: Omit<CreateTableOptions, 'schema'> = {}) => {
    const ns = await connect('memory://')
    const table = await ns.createTable('t', rows, options)
    const { fields } = await table.schema()
    const { type } = fields.at(-1)!
    await ns.close()
    return type.kind === 'fixed_size_list' ? `${type.child.type.kind}[${type.size}]` : type.kind
  }

  test.each(['vector', 'embedding', 'title_vector', 'title_embedding', 'Embedding'])(
    'are columns called %s',
    async name => {
      expect(await typeOf([{ [name]: [0.1, 0.2] }])).toBe('float[2]')
      const error = await failure(typeOf([{ [name]: [0.1, 0.2] }, { [name]: [0.1] }]))
      expect(error.message).toBe(
        `row 1: column "${name}" holds a vector of 1 numbers, but row 0 holds a vector of 2`,
      )
      expect(error.hint).toMatch(/badVectors/)
    },
  )

  test.each(['v', 'vectors', 'prices', 'vector_id', 'embeddings', 'myvector'])(
    'are not inferred for columns called %s, unless the option says so',
    async name => {
      expect(await typeOf([{ [name]: [0.1, 0.2] }])).toBe('list')
      expect(await typeOf([{ [name]: [0.1, 0.2] }], { vectorColumns: [name] })).toBe('float[2]')
      expect(await typeOf([{ [name]: Float32Array.of(1, 2) }])).toBe('float[2]')
    },
  )

  test('are not inferred from unsuitable values', async () => {
    const vectorColumns = ['v']
    const refused = async (rows: readonly Row[], options: CreateTableOptions, error: object) =>
      expect(await failure(typeOf(rows, options))).toMatchObject(error)
    const message = /vectorColumns names "v", which does not hold vectors: its values are list<utf8>/
    await refused([{ v: ['a'] }], { vectorColumns }, { code: 13, message: expect.stringMatching(message) })
    await refused([{ v: [1] }, { v: [1, 2] }], { vectorColumns }, { code: 13 })
    await refused([{ v: 1 }], { vectorColumns }, { code: 13 })
    await refused([{ w: [1] }], { vectorColumns }, { code: 12 })
    await refused([{ v: [1, Number.NaN] }], { vectorColumns }, { code: 13 })
    await refused([{ v: [1] }], { vectorColumns: 'v' as never }, { code: 13 })
    await refused([{ v: [1] }], { vectorColumns, schema: { fields: [] } }, { code: 13 })
  })

  test('are required by a search: lists of numbers are refused, and the error says what to do', async () => {
    const ns = await connect('memory://')
    const table = await ns.createTable('t', [{ prices: [19.99, 5.49] }])
    for (const search of [table.search([1, 2]), table.search([1, 2]).column('prices')]) {
      const error = await failure(search.toArray())
      expect(error).toMatchObject({ code: 13 })
      expect(error.message).toBe('column "prices" is list<float64>, which holds no vectors')
      expect(error.hint).toMatch(/vectorColumns: \["prices"\]/)
    }
    await ns.close()
  })

  test('are written as JSON, and compared, as plain arrays if the option says so', async () => {
    const ns = await connect('memory://')
    const table = await ns.createTable('t', [{ id: 1, vector: [0.5, 2] }])
    const [row] = await table.search([0.5, 2]).select(['id', 'vector']).toArray({ vectors: 'array' })
    expect(row).toStrictEqual({ id: 1, vector: [0.5, 2], _distance: 0 })
    expect(JSON.stringify(row)).toBe('{"id":1,"vector":[0.5,2],"_distance":0}')
    const [typed] = await table.query().toArray()
    expect(typed!.vector).toEqual(Float32Array.of(0.5, 2))
    const [taken] = await table.takeRowIds([0]).toArray({ vectors: 'array' })
    expect(taken!.vector).toStrictEqual([0.5, 2])
    expect(await failure(table.query().toArray({ vectors: 'plain' as never }))).toMatchObject({ code: 13 })
    await ns.close()
  })
})
