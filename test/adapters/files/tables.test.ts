/** Readers and the tables to which their rows are written exchange the types of columns. */
import { afterAll, describe, expect, test } from 'vitest'
import { type FileSource, readCsv, readJsonLines } from '../../../adapters/files/public.js'
import { ErrorCode } from '../../../src/errors.js'
import { connect, type RowOf, schema } from '../../../src/index.js'
import { failure } from '../../support/failure.js'

const ns = await connect('memory://files-and-tables')
afterAll(() => ns.close())
let tables = 0
const fresh = () => `t${tables++}`

async function* stream(text: string): AsyncGenerator<string> {
  yield text
}

/** The types of the columns of a new table, as texts. */
async function typesOf(rows: AsyncIterable<object>): Promise<Record<string, string>> {
  const table = await ns.createTable(fresh(), rows)
  const { fields } = await table.schema()
  return Object.fromEntries(
    fields.map(({ name, type, nullable }) => {
      const bits = 'bits' in type ? type.bits : ''
      return [name, `${type.kind}${bits}${nullable ? '' : '!'}`]
    }),
  )
}

describe('createTable without a schema', () => {
  const csv = 'id,day,price,note\n1,2026-01-02,3,a\n2,,4,b\n'

  test('types of readCsv are the types of the columns; other columns are inferred', async () => {
    const types = { id: 'int32!', day: 'date', price: 'decimal(10, 2)' }
    expect(await typesOf(readCsv(stream(csv), { types }))).toEqual({
      id: 'int32!',
      day: 'date',
      price: 'decimal128',
      note: 'utf8',
    })
  })

  test('the schema of readCsv is the schema of the table, also for columns that the file lacks', async () => {
    const given = schema({ note: 'string', id: 'int16!', day: 'date', price: 'float32', more: 'bool' })
    const types = await typesOf(readCsv(stream(csv), { schema: given, types: { price: 'int8' } }))
    expect(Object.entries(types)).toEqual([
      ['note', 'utf8'],
      ['id', 'int16!'],
      ['day', 'date'],
      ['price', 'int8'],
      ['more', 'bool'],
    ])
  })

  test('typed columns exist if the file has no rows', async () => {
    expect(await typesOf(readCsv(stream('id,n\n'), { types: { id: 'int32', n: 'int8' } }))).toEqual({
      id: 'int32',
      n: 'int8',
    })
  })

  test('the schema of readJsonLines is the schema of the table', async () => {
    const given = schema({ id: 'int8!', at: 'timestamp(us, UTC)', sum: 'decimal(8, 2)' })
    const lines = '{"id":1,"at":"2026-01-02T03:04:05Z","sum":"1.50"}\n{"id":2}\n'
    expect(await typesOf(readJsonLines(stream(lines), { schema: given }))).toEqual({
      id: 'int8!',
      at: 'timestamp',
      sum: 'decimal128',
    })
  })

  test('an option of createTable is the schema before the types of the reader', async () => {
    const rows = readCsv(stream('id\n1\n'), { types: { id: 'int32' } })
    const table = await ns.createTable(fresh(), rows, { schema: schema({ id: 'int64' }) })
    expect((await table.schema()).fields[0]!.type).toMatchObject({ kind: 'int', bits: 64 })
  })

  test('a wrong type, and vectorColumns with a schema, are refused', async () => {
    const wrong = ns.createTable(fresh(), readCsv(stream('id\n1\n'), { types: { id: 'integer' } }))
    expect(await failure(wrong)).toMatchObject({ code: ErrorCode.InvalidInput })
    const rows = readCsv(stream('v\n"[1,2]"\n'), { schema: schema({ v: 'vector(2)' }) })
    const both = ns.createTable(fresh(), rows, { vectorColumns: ['v'] })
    expect(await failure(both)).toMatchObject({
      message: /vectorColumns and schema cannot be given together/,
    })
  })
})

describe('rows for a table with columns', () => {
  const columns = schema({ id: 'int64!', zip: 'string', day: 'date', vector: 'vector(2)' })

  type Doc = RowOf<typeof columns>

  async function newTable() {
    return ns.createTable(fresh(), [], { schema: columns })
  }

  test('readCsv reads cells as the types of the table', async () => {
    const table = await newTable()
    await table.add(readCsv<Doc>(stream('id,zip,day,vector\n1,10115,2026-01-02,"[1,2]"\n')))
    expect(await table.query().toArray()).toEqual([
      { id: 1, zip: '10115', day: new Date('2026-01-02'), vector: new Float32Array([1, 2]) },
    ])
  })

  test('an error has the line of the file', async () => {
    const table = await newTable()
    const csv = `id,zip\n${Array.from({ length: 3000 }, (_, i) => `${i === 2500 ? 'oops' : i},x\n`).join('')}`
    expect(await failure(table.add(readCsv<Doc>(stream(csv))))).toMatchObject({
      code: ErrorCode.SchemaValidation,
      message: 'line 2502: column "id" has the type int64, got "oops"',
    })
    const unknown = table.add(readCsv<Doc>(stream('id,zap\n1,x\n')))
    expect(await failure(unknown)).toMatchObject({ message: /row 0 has the unknown key "zap"/ })
  })

  test('the table checks the length of vectors', async () => {
    const table = await newTable()
    const csv = 'id,vector\n1,"[1,2]"\n2,"[1]"\n'
    expect(await failure(table.add(readCsv<Doc>(stream(csv))))).toMatchObject({
      message: /row 1.*needs 2 values/,
    })
    await table.add(readCsv<Doc>(stream(csv)), { badVectors: 'skip' })
    expect(await table.countRows()).toBe(1)
  })

  test('readJsonLines reads texts as the types of the table, and keeps other values', async () => {
    const given = schema({ at: 'timestamp', data: 'binary', sum: 'decimal(8, 2)' })
    const table = await ns.createTable(fresh(), [], { schema: given })
    await table.add(readJsonLines(stream('{"at":"2026-01-02","data":"aGk=","sum":1.5}\n{"at":1000}\n')))
    expect(await table.query().toArray()).toEqual([
      { at: new Date('2026-01-02'), data: new Uint8Array([104, 105]), sum: '1.50' },
      { at: new Date(1000), data: null, sum: null },
    ])
    const wrong = table.add(readJsonLines(stream('{"sum":1}\n{"sum":true}\n')))
    expect(await failure(wrong)).toMatchObject({ message: /row 1: column "sum"/ })
  })

  test('TypeScript accepts readers for typed tables', async () => {
    const table = await newTable()
    const source = (): FileSource => stream('id,zip\n1,10115\n')
    await table.add(readCsv<Doc>(source()))
    await table.add(readCsv<Doc>(source(), { types: { id: 'int64' } }))
    await table.add(readCsv(source(), { schema: columns }))
    await table.add(readJsonLines<Doc>(stream('{"id":1}\n')))
    // @ts-expect-error the rows of another type
    await table.add(readCsv<{ readonly name: string }>(stream('id\n1\n')))
    expect(await table.countRows()).toBe(5)
  })
})
