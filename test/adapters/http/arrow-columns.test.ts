/** Columns that clients of LanceDB add by an Arrow schema. */
import * as arrow from 'apache-arrow'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { connect, type Namespace } from '../../../src/index.js'
import { ask } from '../../support/http.js'
import { servers } from './servers.js'

const serveOn = servers()
let ns: Namespace
let url: string
beforeEach(async () => {
  ns = await connect('memory://')
  await ns.createTable('t', [{ id: 1 }])
  url = await serveOn(ns)
})
afterEach(() => ns.close())

const add = async (table: arrow.Table, type = 'application/vnd.apache.arrow.stream') => {
  const body = Buffer.from(arrow.tableToIPC(table, 'stream'))
  const headers = { 'content-type': type }
  const reply = await ask(url, { method: 'POST', path: '/v1/table/t/add_columns/', headers, body })
  return { status: reply.status, body: JSON.parse(String(reply.text)) }
}
const without = (fields: readonly arrow.Field[]) => new arrow.Table(new arrow.Schema([...fields]))

test('a schema without rows adds columns of nulls', async () => {
  const vector = new arrow.FixedSizeList(2, new arrow.Field('item', new arrow.Float32(), true))
  const fields = [
    new arrow.Field('word', new arrow.LargeUtf8(), true),
    new arrow.Field('at', new arrow.TimestampMicrosecond('UTC'), true),
    new arrow.Field('v', vector, true),
    new arrow.Field('s', new arrow.Struct([new arrow.Field('a', new arrow.Int8(), true)]), true),
  ]
  expect(await add(without(fields))).toMatchObject({ status: 200, body: { version: 2 } })
  const table = ns.table('t')
  expect(await table.query().toArray()).toEqual([{ id: 1, word: null, at: null, v: null, s: null }])
  const types = (await table.schema()).fields.map(({ type }) => type)
  expect(types).toMatchObject([
    {},
    { kind: 'utf8', large: true },
    { kind: 'timestamp', unit: 'us', timezone: 'UTC' },
    { kind: 'fixed_size_list', size: 2, child: { type: { kind: 'float', bits: 32 } } },
    { kind: 'struct', children: [{ name: 'a', type: { kind: 'int', bits: 8 } }] },
  ])
})

test('rows, columns that allow no null, metadata, names that are taken and other content types are refused', async () => {
  const field = (name: string, nullable = true, metadata?: Map<string, string>) =>
    new arrow.Field(name, new arrow.Int32(), nullable, metadata)
  const rows = arrow.tableFromArrays({ n: Int32Array.of(1) })
  expect(await add(rows)).toMatchObject({ status: 400, body: { code: 13 } })
  expect(await add(without([field('n', false)]))).toMatchObject({ status: 400, body: { code: 20 } })
  expect(await add(without([field('n', true, new Map([['a', 'b']]))]))).toMatchObject({ body: { code: 0 } })
  expect(await add(without([field('id')]))).toMatchObject({ status: 400, body: { code: 20 } })
  expect(await add(without([]))).toMatchObject({ status: 400, body: { code: 13 } })
  expect(await add(without([field('n')]), 'text/plain')).toMatchObject({ status: 400, body: { code: 13 } })
  expect(await ns.table('t').version()).toBe(1)
})
