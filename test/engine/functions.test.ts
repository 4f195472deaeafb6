/** Columns that functions of the application fill: virtual columns, and the jobs that fill them. */
import { afterEach, expect, test } from 'vitest'
import { connectHttp } from '../../adapters/http/client.js'
import { serve } from '../../adapters/http/server.js'
import type { ColumnFunction, ConnectOptions, Namespace, Table } from '../../src/index.js'
import { connect } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { failure } from '../support/failure.js'

const open: Namespace[] = []
afterEach(async () => {
  for (const ns of open.splice(0)) await ns.close()
})

let calls: unknown[] = []
const length: ColumnFunction = {
  name: 'length',
  version: '1',
  call: row => {
    calls.push(row)
    return typeof row.text === 'string' ? row.text.length : null
  },
}
const embed: ColumnFunction = {
  name: 'embed',
  batch: 2,
  call: async rows => {
    calls.push(rows.length)
    return rows.map(({ text }) => (typeof text === 'string' ? [text.length, 1] : null))
  },
}
const failing: ColumnFunction = {
  name: 'failing',
  call: ({ id }) => {
    if (id === 2) throw new Error('no such luck')
    return 1
  },
}

const texts = [
  { id: 1, text: 'a', meta: { size: 1 } },
  { id: 2, text: 'bb', meta: { size: 2 } },
  { id: 3, text: null, meta: null },
  { id: 4, text: 'dddd', meta: { size: 4 } },
]

async function opened(options: ConnectOptions = {}): Promise<{ ns: Namespace; table: Table }> {
  calls = []
  const ns = await connect('memory://', { functions: [length, embed, failing], ...options })
  open.push(ns)
  return { ns, table: await ns.createTable('t', texts) }
}

async function ended(ns: Namespace, id: string) {
  for (;;) {
    const { status, properties } = await ns.operations.describeTransaction({ id: [id] })
    if (status !== 'Queued' && status !== 'Running') return { status, ...properties }
    await new Promise(setImmediate)
  }
}

const values = async (table: Table, column: string) => {
  return (await table.query().select([column]).orderBy('id').toArray()).map(row => row[column])
}

/** Everything a definition can say. */
const definition = {
  input_columns: ['text'],
  data_type: { type: 'int32' },
  image: 'registry/image:1',
  udf: 'gASVAAAA',
  udf_name: 'length',
  udf_version: '1',
  udf_backend: 'js',
  auto_backfill: false,
  manifest: '{"pip":[]}',
  manifest_checksum: 'e3b0c442',
  field_metadata: { plain: 'text', object: { a: [1] }, number: 7 },
}

test('A-100 a definition is kept unchanged, with its metadata', async () => {
  const { ns, table } = await opened()
  await ns.operations.alterTableAddColumns({
    id: ['t'],
    new_columns: [{ name: 'n', virtual_column: definition }],
  })
  const { fields } = await table.schema()
  const { metadata, type } = fields.at(-1)!
  expect(JSON.parse(metadata!['sheaf:virtual_column']!)).toEqual(definition)
  expect(metadata).toMatchObject({ plain: 'text', object: '{"a":[1]}', number: '7' })
  expect(type).toEqual({ kind: 'int', bits: 32, signed: true })
  expect(await values(table, 'n')).toEqual([null, null, null, null])
  expect(calls).toEqual([])

  const change = { udf_version: '2', field_metadata: { plain: 'other' } }
  await ns.operations.alterTableAlterColumns({
    id: ['t'],
    alterations: [{ path: 'n', rename: 'm', virtual_column: change }],
  })
  const now = (await table.schema()).fields.at(-1)!
  expect(JSON.parse(now.metadata!['sheaf:virtual_column']!)).toEqual({ ...definition, ...change })
  expect(now.metadata).toMatchObject({ plain: 'other' })
  expect(now.metadata).not.toHaveProperty('object')
  expect(await failure(table.backfillColumn('m'))).toMatchObject({ code: 0, status: 406 })
})

test('a column is filled as a job, in all rows or some', async () => {
  const { ns, table } = await opened()
  await table.delete('id = 2')
  await table.addColumns({ n: { function: 'length', inputs: ['text'], type: 'int8' } })
  const some = await table.backfillColumn('n', { where: 'id > 1' })
  expect(await ended(ns, some.jobId)).toMatchObject({ status: 'Succeeded', operation: 'backfill:length@1' })
  expect(await values(table, 'n')).toEqual([null, null, 4])
  expect(calls).toEqual([{ text: null }, { text: 'dddd' }])
  await table.add([{ id: 5, text: 'eeeee' }])
  expect(await values(table, 'n')).toEqual([null, null, 4, null])
  await ended(ns, (await table.backfillColumn('n')).jobId)
  expect(await values(table, 'n')).toEqual([1, null, 4, 5])
  expect(await values(await table.checkout(4), 'n')).toEqual([null, null, 4])
})

test('auto_backfill: fills existing rows, new rows, and rows whose inputs change; no others', async () => {
  const { ns, table } = await opened()
  const { transaction_id } = await ns.operations.alterTableAddColumns({
    id: ['t'],
    new_columns: [
      {
        name: 'v',
        data_type: { type: 'fixed_size_list:float32:2' },
        virtual_column: { input_columns: ['text'], udf_name: 'embed', auto_backfill: true },
      },
    ],
  })
  expect(await ended(ns, transaction_id!)).toMatchObject({ status: 'Succeeded' })
  expect(calls).toEqual([2, 2])
  await table.add([{ id: 5, text: 'eeeee' }])
  expect((await table.search([5, 1]).limit(1).toArray())[0]).toMatchObject({ id: 5, _distance: 0 })
  calls = []
  await table.update({ id: 9 }, 'id = 4')
  expect(calls).toEqual([])
  await table.update({ text: 'xxxxxxx' }, 'id = 9')
  expect(calls).toEqual([1])
  expect((await table.search([7, 1]).limit(1).toArray())[0]).toMatchObject({ id: 9, _distance: 0 })
  expect(await failure(table.update({ v: null }))).toMatchObject({ code: 20 })
  const mine = [{ id: 1, v: new Float32Array([1, 2]) }]
  expect(await failure(table.mergeInsert('id').whenMatchedUpdateAll().execute(mine))).toMatchObject({
    code: 20,
  })
})

test('several columns from one result, and inputs within a struct', async () => {
  const split: ColumnFunction = {
    name: 'split',
    call: row => ({ half: Number(row['meta.size']) / 2, word: `w${row['meta.size']}`, other: 1 }),
  }
  const { ns, table } = await opened({ functions: [split] })
  const output = (column: string, struct_field: string, type: string) => {
    return { column, struct_field, data_type: { type }, nullable: true, metadata: { of: struct_field } }
  }
  const { transaction_id } = await ns.operations.alterTableAddColumns({
    id: ['t'],
    new_columns: [
      {
        name: 'parts',
        virtual_column: {
          input_columns: ['meta.size'],
          udf_name: 'split',
          auto_backfill: true,
          outputs: [output('a', 'half', 'double'), output('b', 'word', 'string')],
        },
      },
    ],
  })
  await ended(ns, transaction_id!)
  await table.add([{ id: 5, meta: { size: 10 } }])
  expect(await values(table, 'a')).toEqual([0.5, 1, 0, 2, 5])
  expect(await values(table, 'b')).toEqual(['w1', 'w2', 'wnull', 'w4', 'w10'])
  expect((await table.schema()).fields.at(-1)!.metadata).toMatchObject({ of: 'word' })
  expect(await failure(table.alterColumns({ 'meta.size': { rename: 's' } }))).toMatchObject({ code: 20 })
})

test.each<[string, ColumnFunction, RegExp]>([
  ['throws', failing, /failing.*row 1.*no such luck/],
  ['gives another type', { name: 'f', call: () => 'text' }, /column "n".*"f".*text/s],
  ['gives too few', { name: 'f', batch: 3, call: () => [1] }, /"f".*rows 0 to 2.*1 values for 3 rows/],
  ['gives no array', { name: 'f', batch: 3, call: () => 5 as never }, /5 for 3 rows/],
])('a function that %s fails its job, which says so, and changes nothing', async (_, called, reason) => {
  const { ns, table } = await opened({ functions: [called] })
  await table.addColumns({ n: { function: called.name, inputs: ['id'], type: 'int8' } })
  const { jobId } = await table.backfillColumn('n')
  const { status, reason: given } = (await ended(ns, jobId)) as { status: string; reason?: string }
  expect(status).toBe('Failed')
  expect(given).toMatch(reason)
  expect(await table.version()).toBe(2)
})

test('a failing function refuses the new rows', async () => {
  const { ns, table } = await opened()
  await table.delete('id = 2')
  const { version } = await table.addColumns({
    n: { function: 'failing', inputs: ['id'], type: 'int8', autoBackfill: true },
  })
  const { versions } = await ns.operations.listTableVersions({ id: ['t'] })
  expect(versions.at(-1)!.version).toBe(version)
  expect(await failure(table.add([{ id: 2 }]))).toMatchObject({ code: 13, status: 400 })
})

/** A function that waits until it may go on, and tells when it has begun. */
function gated() {
  let begin!: (signal: AbortSignal | undefined) => void
  let go!: () => void
  const began = new Promise<AbortSignal | undefined>(resolve => {
    begin = resolve
  })
  const gate = new Promise<void>(resolve => {
    go = resolve
  })
  const slow: ColumnFunction = {
    name: 'slow',
    call: async ({ id }, { signal }) => {
      begin(signal)
      await gate
      calls.push(id)
      return id
    },
  }
  return { slow, began, go }
}

test('rows added during the job are filled too, and only these', async () => {
  const { slow, began, go } = gated()
  const { ns, table } = await opened({ functions: [slow] })
  await table.addColumns({ n: { function: 'slow', inputs: ['id'], type: 'int8' } })
  const { jobId } = await table.backfillColumn('n')
  await began
  await table.add([{ id: 5 }])
  go()
  expect(await ended(ns, jobId)).toMatchObject({ status: 'Succeeded' })
  expect(await values(table, 'n')).toEqual([1, 2, 3, 4, 5])
  expect(calls).toEqual([1, 2, 3, 4, 5])
})

test('a job that is canceled stops, and changes nothing', async () => {
  const { slow, began, go } = gated()
  const { ns, table } = await opened({ functions: [slow] })
  await table.addColumns({ n: { function: 'slow', inputs: ['id'], type: 'int8' } })
  const { jobId } = await table.backfillColumn('n')
  const signal = await began
  await ns.operations.alterTransaction({
    id: [jobId],
    actions: [{ setStatusAction: { status: 'Canceled' } }],
  })
  expect(await ended(ns, jobId)).toMatchObject({ status: 'Canceled' })
  expect(signal!.aborted).toBe(true)
  go()
  expect(await table.version()).toBe(2)
  expect(await values(table, 'n')).toEqual([null, null, null, null])
})

test('a process leaves functions that it does not know to others', async () => {
  const store = new MemoryStore('memory://')
  const plain = await connect('memory://', { store })
  const knowing = await connect('memory://', { store, functions: [length] })
  open.push(plain, knowing)
  const table = await plain.createTable('t', texts)
  await table.addColumns({ n: { function: 'length', inputs: ['text'], type: 'int8', autoBackfill: true } })
  expect(await values(table, 'n')).toEqual([null, null, null, null])
  expect(await failure(table.backfillColumn('n'))).toMatchObject({ code: 0, status: 406 })
  // It cannot fill them, and does not leave what is not true any more.
  const { jobId } = await (await knowing.openTable('t')).backfillColumn('n')
  await ended(knowing, jobId)
  expect(await values(table, 'n')).toEqual([1, 2, null, 4])
  await table.add([{ id: 5, text: 'eeeee' }])
  await table.update({ text: 'x' }, 'id = 4')
  expect(await values(table, 'n')).toEqual([1, 2, null, null, null])
})

test('in a transaction columns change with rows, and the job is queued when it commits', async () => {
  const { ns, table } = await opened()
  await ns.transaction(async tx => {
    const t = await tx.openTable('t')
    await t.addColumns({ twice: { computed: 'id * 2' }, word: "'w'" })
    await t.alterColumns({ word: { rename: 'term' }, text: { nullable: true } })
    await t.addColumns({ n: { function: 'length', inputs: ['text'], type: 'int8', autoBackfill: true } })
    const second = t.addColumns({
      m: { function: 'embed', inputs: ['text'], type: 'int8', autoBackfill: true },
    })
    expect(await failure(second)).toMatchObject({ code: 0 })
    await t.add([{ id: 5, text: 'eeeee', term: 'x' }])
  })
  while ((await table.countRows('n IS NULL')) > 1) await new Promise(setImmediate)
  expect(await values(table, 'n')).toEqual([1, 2, null, 4, 5])
  expect(await values(table, 'twice')).toEqual([2, 4, 6, 8, 10])
  expect(await values(table, 'term')).toEqual(['w', 'w', 'w', 'w', 'x'])
})

test('a computed column of random() or uuid() is refused; a column filled once is allowed', async () => {
  const { table } = await opened()
  const computed = table.addColumns({ u: { computed: "concat(uuid(), '!')" } })
  expect(await failure(computed)).toMatchObject({
    code: 13,
    message: expect.stringContaining('column "u" would change with every write'),
  })
  await table.addColumns({ u: 'uuid()' })
  expect(new Set(await values(table, 'u')).size).toBe(4)
})

test('over HTTP the functions are those of the server', async () => {
  const { ns } = await opened()
  const server = await serve(ns, { port: 0 })
  const remote = connectHttp(server.url)
  const table = await remote.openTable('t')
  await table.addColumns({ n: { function: 'length', inputs: ['text'], type: 'int8' } })
  const { jobId } = await table.backfillColumn('n', { concurrency: 2 })
  await ended(remote, jobId)
  expect(await values(table, 'n')).toEqual([1, 2, null, 4])
  await remote.close()
  await server.close()
})

test.each<[string, unknown, RegExp]>([
  ['no array', {}, /array/],
  ['no name', [{ call: () => 1 }], /name/],
  ['no call', [{ name: 'a' }], /call/],
  ['no size', [{ name: 'a', batch: 0, call: () => [] }], /batch/],
  ['a name twice', [length, length], /two functions.*length@1/],
])('functions with %s are refused', async (_, functions, message) => {
  const error = await failure(connect('memory://', { functions: functions as never }))
  expect([error.code, error.message]).toEqual([13, expect.stringMatching(message)])
})

test('an invalid definition is refused', async () => {
  const { ns, table } = await opened()
  const add = (virtual_column: object, more: object = {}) =>
    failure(
      ns.operations.alterTableAddColumns({
        id: ['t'],
        new_columns: [{ name: 'n', ...more, virtual_column: virtual_column as never }],
      }),
    )
  expect(await add({ input_columns: ['txt'], data_type: 'int8' })).toMatchObject({ code: 12 })
  expect(await add({ input_columns: ['text'] })).toMatchObject({ code: 20 })
  const output = { column: 'n', struct_field: 'n', data_type: 'int8', nullable: true }
  expect(await add({ input_columns: ['text'], data_type: 'int8', outputs: [output] })).toMatchObject({
    code: 20,
  })
  expect(await add({ input_columns: ['text'], outputs: [] })).toMatchObject({ code: 20 })
  expect(await add({ data_type: 'int8' })).toMatchObject({ code: 13 })
  const forged = { input_columns: [], data_type: 'int8', field_metadata: { 'sheaf:computed': '1' } }
  expect(await add(forged)).toMatchObject({ code: 13 })
  expect(await table.version()).toBe(1)
})
