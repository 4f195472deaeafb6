/**
 * Runs one kind of work on a large table in a separate process, for the bench `memory`. Arguments: the work, the root,
 * and as JSON the number of rows, the dimension of the vectors, and `cacheBytes`. Prints the time, the memory and the
 * answer as JSON.
 */
import { readdirSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import {
  Field,
  FixedSizeList,
  Float32,
  Float64,
  Int64,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Utf8,
} from 'apache-arrow'
import { connect } from 'sheaf'
import { peakBytes } from './peak-bytes.mjs'

const [name, root, json] = process.argv.slice(2)
const { rows, dim, cacheBytes } = JSON.parse(json)

const batchRows = 8 * 1024
const fields = [
  new Field('id', new Int64(), false),
  new Field('score', new Float64(), false),
  new Field('text', new Utf8(), false),
  new Field('vector', new FixedSizeList(dim, new Field('item', new Float32(), false)), false),
]
const schema = new Schema(fields)
const pool = new Float32Array((64 * 1024 + batchRows) * dim)

/** Return a number in [0, 1) that depends only on the row number. */
function scoreOf(row) {
  let mixed = Math.imul(row ^ 0x2545f491, 0x9e3779b1)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b)
  return ((mixed ^ (mixed >>> 13)) >>> 0) / 2 ** 32
}

/** Yield the rows `first..end` as Arrow record batches. A text has 44 bytes. */
function* batchesOf(first, end) {
  if (pool[0] === 0) for (let i = 0; i < pool.length; i++) pool[i] = 2 * scoreOf(i + 1) - 1
  const word = Buffer.from('the text of the row that has the id ')
  for (let from = first; from < end; from += batchRows) {
    const length = Math.min(batchRows, end - from)
    const ids = BigInt64Array.from({ length }, (_, i) => BigInt(from + i))
    const scores = Float64Array.from({ length }, (_, i) => scoreOf(from + i))
    const text = Buffer.alloc(44 * length, word)
    const offsets = Int32Array.from({ length: length + 1 }, (_, i) => 44 * i)
    for (let i = 0; i < length; i++) text.write(String(10_000_000 + from + i), 44 * i + 36, 'latin1')
    const at = (from % (64 * 1024)) * dim
    const item = makeData({ type: new Float32(), data: pool.subarray(at, at + length * dim) })
    const children = [
      makeData({ type: fields[0].type, data: ids }),
      makeData({ type: fields[1].type, data: scores }),
      makeData({ type: fields[2].type, valueOffsets: offsets, data: text }),
      makeData({ type: fields[3].type, length, nullCount: 0, child: item }),
    ]
    yield new RecordBatch(schema, makeData({ type: new Struct(fields), length, nullCount: 0, children }))
  }
}

const query = Float32Array.from({ length: dim }, (_, i) => scoreOf(7 * i + 1) - 0.5)
const inRoot = work => async () => {
  const ns = await connect(root, { create: name === 'ingest', cacheBytes })
  const answer = await work(ns)
  const memory = ns.stats === undefined ? null : ns.stats().memory
  await ns.close()
  return { answer, memory }
}
const onTable = work => inRoot(async ns => work(await ns.openTable('t')))

/** By name: the kinds of work. The answer of each does not depend on `cacheBytes`. */
const works = {
  'bare process': inRoot(async () => 0),
  'read the files': async () => {
    const piece = new Uint8Array(4 * 1024 * 1024)
    let bytes = 0
    for (const path of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
      if (!path.endsWith('.arrow')) continue
      const file = await open(join(root, path))
      for (let read = 1; read > 0; bytes += read) read = (await file.read(piece, 0, piece.length)).bytesRead
      await file.close()
    }
    return { answer: bytes, memory: null }
  },
  ingest: inRoot(async ns => {
    await ns.createTable('t', batchesOf(0, rows))
    return rows
  }),
  'scan all columns': onTable(async table => {
    let count = 0
    let bytes = 0
    for await (const batch of table.query().batches()) {
      count += batch.numRows
      bytes +=
        batch.getChild('text').data[0].values.length + batch.getChild('vector').data[0].children[0].length
    }
    return [count, bytes]
  }),
  'count a filter': onTable(table => table.countRows("score < 0.25 AND text LIKE '%7'")),
  'filter, 1 % of the rows': onTable(async table => {
    let sum = 0
    for (const { id } of await table.query().where('score < 0.01').select(['id']).toArray()) sum += id
    return sum
  }),
  'search by vector': onTable(async table => {
    const hits = []
    for (let i = 0; i < 3; i++) hits.push(...(await table.search(query).select(['id']).limit(10).toArray()))
    return hits.map(({ id }) => id)
  }),
  'search by vector, filtered': onTable(async table => {
    const hits = await table.search(query).where('score < 0.1').select(['id', 'text']).limit(100).toArray()
    return hits.map(({ id }) => id)
  }),
  'group by': onTable(async table => {
    const groups = await table
      .query()
      .groupBy('id % 10')
      .select({ digit: 'id % 10', n: 'count(*)', most: 'max(score)' })
      .toArray()
    return groups.map(({ n }) => n)
  }),
  'the first 1,000 in an order': onTable(async table => {
    const found = await table.query().orderBy('score').limit(1000).toArray()
    return found.map(({ id }) => id)
  }),
  'the first tenth in an order': onTable(async table => {
    const search = table.query().orderBy('score').select(['id', 'text'])
    const ids = (await search.limit(Math.floor(rows / 10)).toArrow()).getChild('id')
    return [ids.length, String(ids.get(0)), String(ids.get(ids.length - 1))]
  }),
  'append 2 %': onTable(async table => (await table.add(batchesOf(rows, rows + Math.ceil(rows / 50)))).rows),
  'update 1,000 rows': onTable(async table => {
    const at = Math.floor(rows / 2)
    return (await table.update({ text: 'changed' }, `id >= ${at} AND id < ${at + 1000}`)).rows
  }),
  'update 1 % all over': onTable(async table => {
    return (await table.update({ text: 'changed' }, 'score < 0.01')).rows
  }),
  'delete every other row': onTable(async table => (await table.delete('id % 2 = 0')).rows),
  'compact it': inRoot(async ns => {
    await ns.optimize()
    return await ns.table('t').countRows()
  }),
  'convert the vectors': onTable(async table => {
    const child = { name: 'item', type: { kind: 'float', bits: 16 }, nullable: false }
    await table.alterColumns({ vector: { type: { kind: 'fixed_size_list', size: dim, child } } })
    return (await table.schema()).fields.length
  }),
  'update every row': onTable(async table => (await table.update({ text: 'changed' })).rows),
  'add a column': onTable(async table => {
    await table.addColumns({ twice: 'score * 2' })
    return (await table.schema()).fields.length
  }),
}

const started = performance.now()
const { answer, memory } = await works[name]()
const milliseconds = performance.now() - started
process.stdout.write(JSON.stringify({ milliseconds, peakBytes: peakBytes(), answer, memory }))
