/** Sheaf behind its public surface: a namespace in memory. */
import { decodeIpc } from '../../../src/arrow/decode-ipc.js'
import { columnValues } from '../../../src/arrow/values.js'
import { connect, type Namespace, type Table } from '../../../src/index.js'
import type { Answer, Engine, Query, Row } from './engine.js'

/** The table of one row, for queries without FROM; no script has one of that name. */
const oneRow = 'one_row'

/**
 * `typed`: whether answers say their types, for which they are read as Arrow IPC. Without, which is faster, every type is
 * null: scripts of SQLite do not look at them.
 */
export async function sheafEngine(typed: boolean): Promise<Engine> {
  const namespace: Namespace = await connect('memory://')
  const tables = new Map<string, Table>()
  const find = async (name: string) => tables.get(name) ?? (await namespace.openTable([name]))
  tables.set(oneRow, await namespace.createTable([oneRow], [{ only_column: true }]))
  return {
    create: async (table, schema, rows) => {
      tables.set(table, await namespace.createTable([table], rows, { schema }))
    },
    insert: async (table, rows) => {
      await (await find(table)).add(rows)
    },
    delete: async (table, predicate) => {
      await (await find(table)).delete(predicate)
    },
    drop: async table => {
      await namespace.dropTable([table])
      tables.delete(table)
    },
    select: async query => {
      const found = search(await find(query.table ?? oneRow), query)
      return typed
        ? fromIpc(await found.toIpc())
        : fromObjects(query, await found.toArray({ int64: 'bigint' }))
    },
    close: () => namespace.close(),
  }
}

const alias = (output: number) => `output_${output}`

function search(table: Table, query: Query) {
  const { where, outputs, groupBy, distinct, orderBy, limit, offset } = query
  let found = table.query().select(Object.fromEntries(outputs.map((text, i) => [alias(i), text])))
  if (where !== null) found = found.where(where)
  if (groupBy.length > 0) found = found.groupBy(...groupBy)
  if (distinct) found = found.distinct()
  if (orderBy.length > 0) {
    found = found.orderBy(
      ...orderBy.map(({ output, ascending, nullsFirst }) => ({
        column: alias(output),
        ascending,
        nullsFirst,
      })),
    )
  }
  if (limit !== null) found = found.limit(limit)
  return offset === 0 ? found : found.offset(offset)
}

function fromIpc(ipc: Uint8Array): Answer {
  const { schema, batches } = decodeIpc(ipc)
  const rows: unknown[][] = []
  for (const { columns, length } of batches) {
    const values = columns.map(column => columnValues(column, { int64: 'bigint' }))
    for (let row = 0; row < length; row++) rows.push(values.map(column => column[row]))
  }
  return { types: schema.fields.map(({ type }) => type), rows }
}

function fromObjects({ outputs }: Query, objects: readonly Row[]): Answer {
  return {
    types: outputs.map(() => ({ kind: 'null' })),
    rows: objects.map(object => outputs.map((_, i) => object[alias(i)])),
  }
}
