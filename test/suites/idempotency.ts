/**
 * a write that is sent again under its key commits once. `samples` has a call of every operation that writes and is
 * served; one that is missing here fails the first test.
 */
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { IpcStreamWriter } from '../../src/arrow/encode-ipc.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import type { DataType, Field, Schema } from '../../src/arrow/types.js'
import { TailedLog } from '../../src/commit/tailed-log.js'
import { servedOperations } from '../../src/engine/handlers.js'
import type { Row } from '../../src/index.js'
import { systemClock } from '../../src/primitives/clock.js'
import type { ArrowBody, CallOptions, Operations } from '../../src/protocol/calls.js'
import { type OperationName, operations } from '../../src/protocol/operations.js'
import type { BlobStore } from '../../src/storage/blob-store.js'
import { forceCheckpoint } from '../support/checkpoints.js'
import { failure } from '../support/failure.js'
import { stage } from '../support/lance.js'
import type { Door, OpenedRoot } from '../support/transports.js'

/** What a call is sent to, and the namespace it shall keep to. */
interface Place {
  readonly ops: Operations
  readonly store: BlobStore
  readonly at: readonly string[]
  /** Rows as Arrow. */
  readonly rows: Uint8Array
}

type Send = (ops: Operations, options: CallOptions) => Promise<unknown>

interface Sample {
  /** The call, and one of another request. */
  readonly call: Send
  readonly other: Send
}

/** Made for a place once; the calls can then be sent any number of times, to any opener of the root. */
type Prepare = (place: Place) => Promise<Sample>

export const samples: Partial<Record<OperationName, Prepare>> = {
  async createNamespace({ at }) {
    return {
      call: (ops, options) => ops.createNamespace({ id: [...at, 'n'], properties: { a: 'b' } }, options),
      other: (ops, options) => ops.createNamespace({ id: [...at, 'm'] }, options),
    }
  },
  async dropNamespace({ ops, at }) {
    for (const name of ['n', 'm']) await ops.createNamespace({ id: [...at, name] })
    return {
      call: (ops, options) => ops.dropNamespace({ id: [...at, 'n'] }, options),
      other: (ops, options) => ops.dropNamespace({ id: [...at, 'm'] }, options),
    }
  },
  async declareTable({ at }) {
    return {
      call: (ops, options) => ops.declareTable({ id: [...at, 't'], properties: { a: 'b' } }, options),
      other: (ops, options) => ops.declareTable({ id: [...at, 't'], properties: { a: 'c' } }, options),
    }
  },
  async registerTable({ ops, at, rows }) {
    await ops.createTable({ id: [...at, 't'] }, rows)
    const { location } = await ops.deregisterTable({ id: [...at, 't'] })
    return {
      call: (ops, options) => ops.registerTable({ id: [...at, 'u'], location }, options),
      other: (ops, options) => ops.registerTable({ id: [...at, 'v'], location }, options),
    }
  },
  async deregisterTable({ ops, at, rows }) {
    for (const name of ['t', 'u']) await ops.createTable({ id: [...at, name] }, rows)
    return {
      call: (ops, options) => ops.deregisterTable({ id: [...at, 't'] }, options),
      other: (ops, options) => ops.deregisterTable({ id: [...at, 'u'] }, options),
    }
  },
  async dropTable({ ops, at, rows }) {
    for (const name of ['t', 'u']) await ops.createTable({ id: [...at, name] }, rows)
    return {
      call: (ops, options) => ops.dropTable({ id: [...at, 't'] }, options),
      other: (ops, options) => ops.dropTable({ id: [...at, 'u'] }, options),
    }
  },
  async renameTable({ ops, at, rows }) {
    for (const name of ['t', 'u']) await ops.createTable({ id: [...at, name] }, rows)
    return {
      call: (ops, options) => ops.renameTable({ id: [...at, 't'], new_table_name: 'x' }, options),
      other: (ops, options) => ops.renameTable({ id: [...at, 'u'], new_table_name: 'y' }, options),
    }
  },
  async createTable({ at, rows }) {
    return {
      call: (ops, options) => ops.createTable({ id: [...at, 't'] }, rows, options),
      other: (ops, options) => ops.createTable({ id: [...at, 't'], mode: 'Overwrite' }, rows, options),
    }
  },
  async insertIntoTable({ ops, at, rows }) {
    const id = [...at, 't']
    await ops.createTable({ id }, rows)
    return {
      call: (ops, options) => ops.insertIntoTable({ id }, rows, options),
      other: (ops, options) => ops.insertIntoTable({ id, mode: 'Overwrite' }, rows, options),
    }
  },
  async deleteFromTable({ ops, at, rows }) {
    const id = [...at, 't']
    await ops.createTable({ id }, rows)
    return {
      call: (ops, options) => ops.deleteFromTable({ id, predicate: 'id = 1' }, options),
      other: (ops, options) => ops.deleteFromTable({ id, predicate: 'id = 2' }, options),
    }
  },
  async updateTable({ ops, at, rows }) {
    const id = [...at, 't']
    await ops.createTable({ id }, rows)
    return {
      call: (ops, options) =>
        ops.updateTable({ id, predicate: 'id = 1', updates: [['id', 'id + 10']] }, options),
      other: (ops, options) =>
        ops.updateTable({ id, predicate: 'id = 2', updates: [['id', 'id + 10']] }, options),
    }
  },
  async mergeInsertIntoTable({ ops, at, rows }) {
    const id = [...at, 't']
    await ops.createTable({ id }, rows)
    return {
      call: (ops, options) =>
        ops.mergeInsertIntoTable({ id, on: ['id'], when_matched_update_all: true }, rows, options),
      other: (ops, options) =>
        ops.mergeInsertIntoTable(
          { id, on: ['id'], when_not_matched_by_source_delete: true, when_matched_update_all: true },
          rows,
          options,
        ),
    }
  },
  async alterTableAddColumns({ ops, at, rows }) {
    const id = [...at, 't']
    await ops.createTable({ id }, rows)
    const add = (expression: string) => ({ id, new_columns: [{ name: 'a', expression }] })
    return {
      call: (ops, options) => ops.alterTableAddColumns(add('id + 1'), options),
      other: (ops, options) => ops.alterTableAddColumns(add('id + 2'), options),
    }
  },
  async alterTableAlterColumns({ ops, at, rows }) {
    const id = [...at, 't']
    await ops.createTable({ id }, rows)
    const rename = (to: string) => ({ id, alterations: [{ path: 'id', rename: to }] })
    return {
      call: (ops, options) => ops.alterTableAlterColumns(rename('a'), options),
      other: (ops, options) => ops.alterTableAlterColumns(rename('b'), options),
    }
  },
  async alterTableDropColumns({ ops, at, rows }) {
    const id = [...at, 't']
    await ops.createTable({ id }, rows)
    await ops.alterTableAddColumns({
      id,
      new_columns: ['a', 'b'].map(name => ({ name, expression: '1' })),
    })
    return {
      call: (ops, options) => ops.alterTableDropColumns({ id, columns: ['a'] }, options),
      other: (ops, options) => ops.alterTableDropColumns({ id, columns: ['b'] }, options),
    }
  },
  async alterTableBackfillColumns({ ops, at, rows }) {
    const id = [...at, 't']
    await ops.createTable({ id }, rows)
    await ops.alterTableAddColumns({ id, new_columns: [{ name: 'a', computed: 'id + 1' }] })
    return {
      call: (ops, options) => ops.alterTableBackfillColumns({ id, column: 'a' }, options),
      other: (ops, options) => ops.alterTableBackfillColumns({ id, column: 'a', where: 'id = 1' }, options),
    }
  },
  async createTableIndex({ ops, at, rows }) {
    const id = [...at, 't']
    await ops.createTable({ id }, rows)
    const index = (index_type: 'BTREE' | 'BITMAP') => ({ id, column: 'id', index_type })
    return {
      call: (ops, options) => ops.createTableIndex(index('BTREE'), options),
      other: (ops, options) => ops.createTableIndex(index('BITMAP'), options),
    }
  },
  async createTableScalarIndex({ ops, at, rows }) {
    const id = [...at, 't']
    await ops.createTable({ id }, rows)
    const index = (name: string) => ({ id, column: 'id', index_type: 'BTREE' as const, name })
    return {
      call: (ops, options) => ops.createTableScalarIndex(index('a'), options),
      other: (ops, options) => ops.createTableScalarIndex(index('b'), options),
    }
  },
  async dropTableIndex({ ops, at, rows }) {
    const id = [...at, 't']
    await ops.createTable({ id }, rows)
    for (const name of ['a', 'b']) {
      await ops.createTableScalarIndex({ id, column: 'id', index_type: 'BTREE', name })
    }
    const built = async () => {
      const { indexes } = await ops.listTableIndices({ id })
      return indexes.every(({ status }) => status === 'ready')
    }
    while (!(await built())) await new Promise(resolve => setImmediate(resolve))
    return {
      call: (ops, options) => ops.dropTableIndex({ id, index_name: 'a' }, options),
      other: (ops, options) => ops.dropTableIndex({ id, index_name: 'b' }, options),
    }
  },
  async updateFieldMetadata({ ops, at, rows }) {
    const id = [...at, 't']
    await ops.createTable({ id }, rows)
    const update = (value: string) => ({ id, updates: [{ path: 'id', metadata: { a: value } }] })
    return {
      call: (ops, options) => ops.updateFieldMetadata(update('b'), options),
      other: (ops, options) => ops.updateFieldMetadata(update('c'), options),
    }
  },
  async updateTableSchemaMetadata({ ops, at, rows }) {
    const id = [...at, 't']
    await ops.createTable({ id }, rows)
    return {
      call: (ops, options) => ops.updateTableSchemaMetadata({ id, metadata: { a: 'b' } }, options),
      other: (ops, options) => ops.updateTableSchemaMetadata({ id, metadata: { a: 'c' } }, options),
    }
  },
  async createTableVersion({ ops, store, at }) {
    const id = [...at, 't']
    const { location } = await ops.declareTable({ id })
    const { version, manifest_path } = await stage(store, location, 1)
    const request = { id, version, manifest_path }
    return {
      call: (ops, options) => ops.createTableVersion(request, options),
      other: (ops, options) => ops.createTableVersion({ ...request, e_tag: 'other' }, options),
    }
  },
  async batchDeleteTableVersions({ ops, at, rows }) {
    const id = [...at, 't']
    await ops.createTable({ id }, rows)
    for (let i = 0; i < 3; i++) await ops.insertIntoTable({ id }, rows)
    const range = (start_version: number) => ({ id, ranges: [{ start_version, end_version: 3 }] })
    return {
      call: (ops, options) => ops.batchDeleteTableVersions(range(1), options),
      other: (ops, options) => ops.batchDeleteTableVersions(range(2), options),
    }
  },
  async restoreTable({ ops, at, rows }) {
    const id = [...at, 't']
    await ops.createTable({ id }, rows)
    await ops.insertIntoTable({ id }, rows)
    return {
      call: (ops, options) => ops.restoreTable({ id, version: 1 }, options),
      other: (ops, options) => ops.restoreTable({ id, version: 2 }, options),
    }
  },
  async batchCreateTableVersions({ ops, at }) {
    for (const name of ['t', 'u']) await ops.declareTable({ id: [...at, name] })
    const entries = (manifest_path: string) => ({
      entries: ['t', 'u'].map(name => ({ id: [...at, name], version: 1, manifest_path })),
    })
    return {
      call: (ops, options) => ops.batchCreateTableVersions(entries('x'), options),
      other: (ops, options) => ops.batchCreateTableVersions(entries('y'), options),
    }
  },
  async batchCommitTables({ at }) {
    const declarations = (...names: string[]) => ({
      operations: names.map(name => ({ declare_table: { id: [...at, name] } })),
    })
    return {
      call: (ops, options) => ops.batchCommitTables(declarations('t', 'u'), options),
      other: (ops, options) => ops.batchCommitTables(declarations('v'), options),
    }
  },
  async createTableTag({ ops, at, rows }) {
    const id = [...at, 't']
    await ops.createTable({ id }, rows)
    return {
      call: (ops, options) => ops.createTableTag({ id, tag: 'a', version: 1 }, options),
      other: (ops, options) => ops.createTableTag({ id, tag: 'b', version: 1 }, options),
    }
  },
  async updateTableTag({ ops, at, rows }) {
    const id = [...at, 't']
    await ops.createTable({ id }, rows)
    await ops.insertIntoTable({ id }, rows)
    await ops.createTableTag({ id, tag: 'a', version: 1 })
    return {
      call: (ops, options) => ops.updateTableTag({ id, tag: 'a', version: 2 }, options),
      other: (ops, options) => ops.updateTableTag({ id, tag: 'a', version: 1 }, options),
    }
  },
  async deleteTableTag({ ops, at, rows }) {
    const id = [...at, 't']
    await ops.createTable({ id }, rows)
    for (const tag of ['a', 'b']) await ops.createTableTag({ id, tag, version: 1 })
    return {
      call: (ops, options) => ops.deleteTableTag({ id, tag: 'a' }, options),
      other: (ops, options) => ops.deleteTableTag({ id, tag: 'b' }, options),
    }
  },
  async createTableUpload({ ops, at, rows }) {
    const id = [...at, 't']
    await ops.createTable({ id }, rows)
    return {
      call: (ops, options) => ops.createTableUpload({ id }, options),
      other: (ops, options) => ops.createTableUpload({ id, mode: 'Overwrite' }, options),
    }
  },
  async completeTableUpload({ ops, at, rows }) {
    const [one, two] = await twoUploads(ops, [...at, 't'], rows)
    return {
      call: (ops, options) => ops.completeTableUpload(one, options),
      other: (ops, options) => ops.completeTableUpload(two, options),
    }
  },
  async abortTableUpload({ ops, at, rows }) {
    const [one, two] = await twoUploads(ops, [...at, 't'], rows)
    return {
      call: (ops, options) => ops.abortTableUpload(one, options),
      other: (ops, options) => ops.abortTableUpload(two, options),
    }
  },
  async createMaterializedView({ ops, at, rows }) {
    await ops.createTable({ id: [...at, 't'] }, rows)
    const view = (least: string) => ({
      id: [...at, 'v'],
      kind: 'query' as const,
      source_query: JSON.stringify({ table: [...at, 't'], filter: `id > ${least}` }),
      output_schema: Buffer.from(rows).toString('base64'),
    })
    return {
      call: (ops, options) => ops.createMaterializedView(view('0'), options),
      other: (ops, options) => ops.createMaterializedView(view('1'), options),
    }
  },
  async refreshMaterializedView({ ops, at, rows }) {
    const id = [...at, 'v']
    await ops.createTable({ id: [...at, 't'] }, rows)
    const source_query = JSON.stringify({ table: [...at, 't'] })
    const output_schema = Buffer.from(rows).toString('base64')
    await ops.createMaterializedView({ id, kind: 'query', source_query, output_schema })
    return {
      call: (ops, options) => ops.refreshMaterializedView({ id }, options),
      other: (ops, options) => ops.refreshMaterializedView({ id, src_version: 1 }, options),
    }
  },
  async dropMaterializedView({ ops, at, rows }) {
    await ops.createTable({ id: [...at, 't'] }, rows)
    const source_query = JSON.stringify({ table: [...at, 't'] })
    for (const name of ['v', 'w']) await ops.createMaterializedView({ id: [...at, name], source_query })
    return {
      call: (ops, options) => ops.dropMaterializedView({ id: [...at, 'v'] }, options),
      other: (ops, options) => ops.dropMaterializedView({ id: [...at, 'w'] }, options),
    }
  },
  async alterTransaction({ ops, at, rows }) {
    const { transaction_id } = await ops.createTable({ id: [...at, 't'] }, rows)
    const actions = (value: string) => ({
      id: [transaction_id!],
      actions: [{ setPropertyAction: { key: 'note', value, mode: 'Fail' as const } }],
    })
    return {
      call: (ops, options) => ops.alterTransaction(actions('x'), options),
      other: (ops, options) => ops.alterTransaction(actions('y'), options),
    }
  },
}

const rowSchema: Schema = {
  fields: [
    { name: 'id', type: { kind: 'float', bits: 64 }, nullable: true },
    { name: 'text', type: { kind: 'utf8', large: false }, nullable: true },
    {
      name: 'vector',
      type: { kind: 'fixed_size_list', size: 2, child: item({ kind: 'float', bits: 32 }) },
      nullable: true,
    },
    {
      name: 'list',
      type: { kind: 'list', large: false, child: item({ kind: 'utf8', large: false }) },
      nullable: true,
    },
  ],
}

function item(type: DataType): Field {
  return { name: 'item', type, nullable: true }
}

/** An IPC stream of a batch for each of `batches`. */
function ipc(...batches: readonly (readonly object[])[]): Uint8Array {
  const writer = new IpcStreamWriter(rowSchema)
  const chunks = batches.flatMap(rows => writer.write(rowsToBatch(rows, rowSchema)))
  return Buffer.concat([...chunks, ...writer.finish()])
}

/** The bytes a few at a time. */
async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 100) yield bytes.subarray(at, at + 100)
}

interface RowCall {
  /** Makes what the call needs; `rows` is one row. */
  readonly prepare: (ops: Operations, rows: Uint8Array) => Promise<unknown>
  readonly call: (ops: Operations, rows: ArrowBody, options: CallOptions) => Promise<unknown>
  /** Rows of the table after the call with two rows. */
  readonly stored: number
}

/** Calls that write rows to the table `rows`. */
const rowCalls: Readonly<Record<string, RowCall>> = {
  createTable: {
    prepare: async () => {},
    call: (ops, rows, options) => ops.createTable({ id: ['rows'] }, rows, options),
    stored: 2,
  },
  insertIntoTable: {
    prepare: (ops, rows) => ops.createTable({ id: ['rows'] }, rows),
    call: (ops, rows, options) => ops.insertIntoTable({ id: ['rows'] }, rows, options),
    stored: 3,
  },
  'insertIntoTable, the first of a declared table': {
    prepare: ops => ops.declareTable({ id: ['rows'] }),
    call: (ops, rows, options) => ops.insertIntoTable({ id: ['rows'] }, rows, options),
    stored: 2,
  },
  'insertIntoTable that overwrites': {
    prepare: (ops, rows) => ops.createTable({ id: ['rows'] }, rows),
    call: (ops, rows, options) => ops.insertIntoTable({ id: ['rows'], mode: 'Overwrite' }, rows, options),
    stored: 2,
  },
  mergeInsertIntoTable: {
    prepare: (ops, rows) => ops.createTable({ id: ['rows'] }, rows),
    call: (ops, rows, options) => {
      const merge = { id: ['rows'], on: ['id'], when_not_matched_insert_all: true }
      return ops.mergeInsertIntoTable(merge, rows, options)
    },
    stored: 3,
  },
}

/** Two uploads to a new table, each with a part. */
async function twoUploads(ops: Operations, id: readonly string[], rows: Uint8Array) {
  await ops.createTable({ id }, rows)
  const begin = async () => {
    const { upload_id } = await ops.createTableUpload({ id })
    await ops.insertIntoTable({ id, upload_id, upload_part_id: 'a' }, rows)
    return { id, upload_id }
  }
  return [await begin(), await begin()] as const
}

/** The operations in `samples`. */
export const written = Object.keys(samples) as OperationName[]
/** An entry of a slot, as far as these tests read it. */
interface LogEntry {
  readonly key?: string
  readonly ops: readonly { readonly op: string }[]
}

/** Calls that need no key: a job that was cancelled, or has ended, stays so however often that is asked for. */
const ownKey: readonly OperationName[] = ['cancelJob']
const usedKey = { code: 13, status: 422 }

export function idempotencySuite({ name, open }: Door): void {
  describe(name, () => {
    let opened: OpenedRoot
    let ops: Operations
    let key: string
    let rows: Uint8Array

    beforeEach(async () => {
      opened = await open()
      ops = opened.ns.operations
      key = randomUUID()
      const source = await opened.ns.createTable('source', [{ id: 1 }, { id: 2 }])
      rows = await source.query().toIpc()
    })
    afterEach(() => opened.close())

    /** A fresh place for one operation. */
    const prepared = async (name: OperationName): Promise<Sample> => {
      const at = [`for-${name}`]
      await ops.createNamespace({ id: at })
      return samples[name]!({ ops, store: opened.store, at, rows })
    }
    /**
     * Count the commits of calls with a key, and those that record a version of a Lance engine: another process may record
     * the version before the call does. Jobs that calls began are not counted, because they commit at any time.
     */
    const commits = async (): Promise<number> => {
      let count = 0
      const own = new TailedLog(opened.store, { clock: systemClock, readOnly: true })
      const log = opened.log ?? own
      const last = await log.last()
      for (let slot = 1; slot <= last; slot++) {
        const [header] = Buffer.from((await log.read(slot))!)
          .toString('latin1')
          .split('\n', 1)
        const { entries } = JSON.parse(header!) as { entries: readonly LogEntry[] }
        const isCounted = ({ key, ops }: LogEntry) =>
          key !== undefined || ops.some(({ op }) => op === 'version')
        count += entries.filter(isCounted).length
      }
      own.close()
      return count
    }

    test('A-166 every operation that writes has a sample', () => {
      const writes = servedOperations().served.filter(name => operations[name].access === 'write')
      expect([...written, ...ownKey].sort()).toEqual([...writes].sort())
    })

    describe.each(written)('%s', name => {
      let sample: Sample
      let before: number
      const send = (to: Operations = ops) => sample.call(to, { idempotencyKey: key })
      beforeEach(async () => {
        sample = await prepared(name)
        before = await commits()
      })

      test('A-166 a repeated call gets the recorded reply; another request under its key is refused', async () => {
        const reply = await send()
        expect(await send()).toEqual(reply)
        expect(await commits()).toBe(before + 1)
        expect(await failure(sample.other(ops, { idempotencyKey: key }))).toMatchObject(usedKey)
        expect(await commits()).toBe(before + 1)
        // Whatever becomes of the same request under another key, this one's reply stays.
        await sample.call(ops, { idempotencyKey: `${key}2` }).catch(() => {})
        expect(await send()).toEqual(reply)
      })

      test('A-166 concurrent repetitions, here and in another process, commit once', async () => {
        const other = await opened.another()
        const [here, there, ...again] = await Promise.all([
          send(),
          send(other.operations),
          send(),
          send(other.operations),
        ])
        expect(again).toEqual([here, there])
        // One reply has less to it on the wire.
        expect(there).toMatchObject(here as object)
        expect(await commits()).toBe(before + 1)
      })
    })

    test('A-166 every reply is still known after a restart and a checkpoint', async () => {
      const sent: { name: OperationName; sample: Sample; reply: unknown }[] = []
      for (const name of written) {
        const sample = await prepared(name)
        sent.push({ name, sample, reply: await sample.call(ops, { idempotencyKey: `${key} ${name}` }) })
      }
      const check = async (to: Operations) => {
        const before = await commits()
        for (const { name, sample, reply } of sent) {
          const options = { idempotencyKey: `${key} ${name}` }
          expect([name, await sample.call(to, options)]).toEqual([name, reply])
          expect([name, await failure(sample.other(to, options))]).toMatchObject([name, usedKey])
        }
        expect(await commits()).toBe(before)
      }
      await check((await opened.reopen()).operations)
      await forceCheckpoint(opened.ns, opened.store)
      await check((await opened.reopen()).operations)
    })

    describe.each(Object.entries(rowCalls))('rows of %s', (_, { prepare, call, stored }) => {
      const one = { id: 7, text: 'seven', vector: [1, 2], list: ['a', null] }
      const two = { id: 8, text: null, vector: null, list: null }
      const whole = ipc([one, two])
      const sendRows = (to: Operations, sent: Uint8Array | AsyncIterable<Uint8Array>) =>
        call(to, sent, { idempotencyKey: key })

      beforeEach(() => prepare(ops, ipc([{ ...one, id: 1 }])))

      test('repeated rows are the same rows, for any batches and after any change of the table', async () => {
        const reply = await sendRows(ops, whole)
        const count = async () => (await ops.countTableRows({ id: ['rows'] })) as number
        expect(await count()).toBe(stored)
        const cuts = [ipc([one], [two]), ipc([], [one], [], [two])]
        for (const cut of cuts) expect(await sendRows(ops, cut)).toEqual(reply)
        expect(await sendRows(ops, pieces(whole))).toEqual(reply)
        await ops.alterTableAddColumns({ id: ['rows'], new_columns: [{ name: 'n', expression: 'id + 1' }] })
        await ops.alterTableDropColumns({ id: ['rows'], columns: ['list'] })
        expect(await sendRows(ops, whole)).toEqual(reply)
        const { operations: reopened } = await opened.reopen()
        expect(await sendRows(reopened, cuts[0]!)).toEqual(reply)
        expect(await reopened.countTableRows({ id: ['rows'] })).toBe(stored)
        await reopened.dropTable({ id: ['rows'] })
        expect(await sendRows(reopened, whole)).toEqual(reply)
        expect(await failure(sendRows(reopened, ipc([two, one])))).toMatchObject(usedKey)
      })

      test('repeated rows are the same rows, also if their columns got another type or name since', async () => {
        const reply = await sendRows(ops, whole)
        const table = await opened.ns.openTable('rows')
        await table.alterColumns({ id: { type: 'int64' } })
        expect(await sendRows(ops, whole)).toEqual(reply)
        await table.alterColumns({ id: { rename: 'number' } })
        expect(await sendRows(ops, whole)).toEqual(reply)
        expect(await failure(sendRows(ops, ipc([two, one])))).toMatchObject(usedKey)
        expect(await table.countRows()).toBe(stored)
      })

      test('other rows under the key are refused, also fewer, more, or reordered ones', async () => {
        const reply = await sendRows(ops, whole)
        const others = [
          [one],
          [],
          [one, two, two],
          [two, one],
          [one, { ...two, id: 9 }],
          [one, { ...two, text: '' }],
          [{ ...one, text: 'seve' }, two],
          [{ ...one, vector: [1, 3] }, two],
          [
            { ...one, vector: null },
            { ...two, vector: [1, 2] },
          ],
          [{ ...one, list: ['a'] }, two],
          [{ ...one, list: ['a', ''] }, two],
          [one, { ...two, list: [] }],
        ]
        for (const rows of others) expect(await failure(sendRows(ops, ipc(rows)))).toMatchObject(usedKey)
        const { operations: reopened } = await opened.reopen()
        for (const rows of others) expect(await failure(sendRows(reopened, ipc(rows)))).toMatchObject(usedKey)
        expect(await reopened.countTableRows({ id: ['rows'] })).toBe(stored)
        expect(await sendRows(reopened, whole)).toEqual(reply)
      })

      test('of two concurrent calls with other rows one is refused, and neither gets the reply of the other', async () => {
        const other = await opened.another()
        for (const to of [ops, other.operations]) {
          const at = `${key} ${to === ops}`
          const sent = [
            call(ops, whole, { idempotencyKey: at }),
            call(to, ipc([two]), { idempotencyKey: at }),
          ]
          const outcomes = await Promise.allSettled(sent)
          expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
          const { reason } = outcomes.find(({ status }) => status === 'rejected') as PromiseRejectedResult
          expect(reason).toMatchObject(usedKey)
          const won = outcomes[0]!.status === 'fulfilled' ? [one.id, two.id] : [two.id]
          const rows = await opened.ns.table('rows').query().where('id > 6').toArray()
          expect(rows.map(({ id }) => id).sort()).toEqual(won)
          await ops.dropTable({ id: ['rows'] })
          await prepare(ops, ipc([{ ...one, id: 1 }]))
        }
      })
    })

    test('rows rebuilt from equal objects are the same rows, over every transport', async () => {
      const table = await opened.ns.createTable<Row>('made', [{ id: 1, text: 'a', vector: [0.1, 0.2] }])
      const sent = [
        { id: 2, text: 'b', vector: [0.1, 0.3] },
        { id: 3, text: null, vector: null },
      ]
      const options = { idempotencyKey: key }
      const reply = await table.add(sent, options)
      async function* oneByOne() {
        yield* sent
      }
      expect(await table.add(oneByOne(), options)).toEqual(reply)
      const other = await (await opened.another()).openTable('made')
      expect(await other.add(sent, options)).toEqual(reply)
      expect(await failure(other.add([sent[0]!], options))).toMatchObject(usedKey)
      expect(await table.countRows()).toBe(3)
    })

    test('A-166 long keys are compared to their last character', async () => {
      const long = key + 'x'.repeat(5000)
      const create = (name: string, idempotencyKey: string) =>
        ops.createNamespace({ id: [name] }, { idempotencyKey })
      const reply = await create('a', long)
      expect(await create('a', long)).toEqual(reply)
      expect(await failure(create('b', long))).toMatchObject(usedKey)
      await create('b', `${long}y`)
      for (const length of [127, 128, 129]) await create(`n${length}`, `${length}${key}`.padEnd(length, 'z'))
      expect(await opened.ns.namespaceNames()).toEqual(['a', 'b', 'n127', 'n128', 'n129'])
    })

    test('A-166 a failed call does not use up its key, nor does one without effect', async () => {
      const options = { idempotencyKey: key }
      expect(await failure(ops.dropTable({ id: ['t'] }, options))).toMatchObject({ code: 4 })
      expect(await failure(ops.createNamespace({ id: ['no', 'n'] }, options))).toMatchObject({ code: 1 })
      expect(await ops.dropNamespace({ id: ['n'], mode: 'Skip' }, options)).toEqual({ properties: {} })
      const body = new Uint8Array(3)
      expect(await failure(ops.createTable({ id: ['t'] }, body, options))).toMatchObject({ status: 400 })
      const reply = await ops.declareTable({ id: ['t'] }, options)
      expect(await ops.declareTable({ id: ['t'] }, options)).toEqual(reply)
    })

    test('A-166 reads ignore keys', async () => {
      const options = { idempotencyKey: key }
      await ops.createNamespace({ id: ['n'] }, options)
      expect((await ops.listTables({ id: [] }, options)).tables).toEqual(['source'])
      expect(await ops.countTableRows({ id: ['source'] }, options)).toBe(2)
      expect(await ops.countTableRows({ id: ['source'], predicate: 'id = 1' }, options)).toBe(1)
      expect(await failure(ops.describeTable({ id: ['no'] }, options))).toMatchObject({ code: 4 })
    })

    test('A-166 the caller is not part of the request, bound values are', async () => {
      const options = { idempotencyKey: key }
      const request = { id: ['t'], properties: { a: 'b' } }
      const reply = await ops.declareTable(request, { ...options, context: { a: 'b' } })
      const identity = { api_key: 'k' }
      expect(await ops.declareTable(request, { ...options, identity })).toEqual(reply)
      const { uuid } = await ops.describeTable({ id: ['source'] })
      const drop = { idempotencyKey: `${key}-drop`, table: uuid }
      const gone = await ops.dropTable({ id: ['source'] }, drop)
      expect(await ops.dropTable({ id: ['source'] }, drop)).toEqual(gone)
      const unbound = ops.dropTable({ id: ['source'] }, { idempotencyKey: drop.idempotencyKey })
      expect(await failure(unbound)).toMatchObject(usedKey)
    })

    test('A-166 handles accept keys too', async () => {
      const options = { idempotencyKey: key }
      const table = await opened.ns.openTable('source')
      expect(await table.add([{ id: 3 }], options)).toEqual({ version: 2, rows: 1 })
      expect(await table.add([{ id: 3 }], options)).toEqual({ version: 2, rows: 1 })
      expect(await failure(table.delete('true', undefined, options))).toMatchObject(usedKey)
      expect(await table.countRows()).toBe(3)
    })
  })
}
