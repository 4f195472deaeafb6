/**
 * The public face: a namespace of tables, however it is reached. Conveniences of a few lines each over the
 * operations of the specification; what they send is what any client could send.
 */

import type { Schema } from '../arrow/types.js'
import type { CallOptions, Operations } from '../protocol/calls.js'
import { parseId } from '../protocol/identifiers.js'
import { checkFits, conformBatch } from '../write/conform.js'
import { ArrowRows } from './arrow-rows.js'
import { wireWord } from './options.js'
import { Table } from './table.js'
import { type TableData, tableRows } from './table-data.js'

/** `'a$b$t'`, or the names as an array (which may then contain `$`). */
export type Identifier = string | readonly string[]

export interface CreateTableOptions extends CallOptions {
  /** What to do when the table exists: fail (`create`, the default), keep it as it is, or replace rows and schema. */
  readonly mode?: 'create' | 'exist_ok' | 'overwrite'
  /** Types of the columns; absent: taken from the rows. */
  readonly schema?: Schema
  readonly properties?: Readonly<Record<string, string>>
  /** Whether to create missing namespaces on the way. Default false. */
  readonly createParents?: boolean
}

export interface CreateNamespaceOptions extends CallOptions {
  readonly mode?: 'create' | 'exist_ok' | 'overwrite'
  readonly properties?: Readonly<Record<string, string>>
}

export interface DropNamespaceOptions extends CallOptions {
  readonly mode?: 'fail' | 'skip'
  readonly behavior?: 'restrict' | 'cascade'
}

export class Namespace implements AsyncDisposable {
  /** Every operation of the specification, with its wire names. */
  readonly operations: Operations
  readonly #close: () => Promise<void>

  constructor(operations: Operations, close: () => Promise<void>) {
    this.operations = operations
    this.#close = close
  }

  /** Creates a table from rows, or an empty one from a schema. Throws code 5 when it exists, 20 for rows that do not fit. */
  async createTable(id: Identifier, data: TableData, options: CreateTableOptions = {}): Promise<Table> {
    const { mode = 'create', schema, properties, createParents, ...call } = options
    const path = pathOf(id)
    const rows = withSchema(await tableRows(data, schema, call.signal), schema)
    if (createParents === true) {
      for (let depth = 1; depth < path.length; depth++) {
        await this.operations.createNamespace({ id: path.slice(0, depth), mode: 'ExistOk' }, call)
      }
    }
    const request = { id: path, mode: wireWord('mode', mode, createModes), ...(properties && { properties }) }
    await this.operations.createTable(request, rows, call)
    return new Table(this.operations, path)
  }

  /** A table that exists. Throws code 4 when it does not. */
  async openTable(id: Identifier, options: CallOptions = {}): Promise<Table> {
    const path = pathOf(id)
    await this.operations.tableExists({ id: path }, options)
    return new Table(this.operations, path)
  }

  async dropTable(id: Identifier, options: CallOptions = {}): Promise<void> {
    await this.operations.dropTable({ id: pathOf(id) }, options)
  }

  /** Names of the tables in a namespace (default: the root), sorted. */
  async tableNames(namespace: Identifier = [], options: CallOptions = {}): Promise<readonly string[]> {
    return (await this.operations.listTables({ id: pathOf(namespace) }, options)).tables
  }

  async createNamespace(id: Identifier, options: CreateNamespaceOptions = {}): Promise<void> {
    const { mode = 'create', properties, ...call } = options
    const request = {
      id: pathOf(id),
      mode: wireWord('mode', mode, createModes),
      ...(properties && { properties }),
    }
    await this.operations.createNamespace(request, call)
  }

  async dropNamespace(id: Identifier, options: DropNamespaceOptions = {}): Promise<void> {
    const { mode = 'fail', behavior = 'restrict', ...call } = options
    const request = {
      id: pathOf(id),
      mode: wireWord('mode', mode, { fail: 'Fail', skip: 'Skip' }),
      behavior: wireWord('behavior', behavior, { restrict: 'Restrict', cascade: 'Cascade' }),
    }
    await this.operations.dropNamespace(request, call)
  }

  /** Names of the namespaces below one (default: the root), sorted. */
  async namespaceNames(namespace: Identifier = [], options: CallOptions = {}): Promise<readonly string[]> {
    return (await this.operations.listNamespaces({ id: pathOf(namespace) }, options)).namespaces
  }

  /** Lets commits that have begun end, then refuses further ones. */
  close(): Promise<void> {
    return this.#close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

const createModes = { create: 'Create', exist_ok: 'ExistOk', overwrite: 'Overwrite' } as const

/** Rows that came as Arrow take the types that were asked for, where they fit. */
function withSchema(rows: ArrowRows, schema: Schema | undefined): ArrowRows {
  if (schema === undefined || rows.schema === schema) return rows
  checkFits(rows.schema, schema)
  let firstRow = 0
  const batches = rows.batches.map(batch => {
    const conformed = conformBatch(batch, schema, firstRow)
    firstRow += batch.length
    return conformed
  })
  return new ArrowRows(schema, batches)
}

function pathOf(id: Identifier): readonly string[] {
  return typeof id === 'string' ? parseId(id) : id
}
