/**
 * Updates, deletes and merges one row, which its key selects. This is the shortest way from a call to a slot:
 *
 * - The condition is parsed once. The row is found in memory (`NewestRows`), on the state that the entry of the commit
 *   follows. So no other commit can come between.
 * - The new row and the deletion of the old row are in the slot. No other file is written.
 *
 * In every other case, the functions return null, and nothing is committed. Examples: an assigned expression, a column
 * that is not in memory, several rows with the key, none. Then the caller edits the rows in the usual steps, which wait
 * for data and throw the errors.
 */
import type { Column } from '../arrow/column.js'
import { isRow } from '../arrow/rows.js'
import type { DataType } from '../arrow/types.js'
import { setOwn } from '../arrow/values.js'
import { tableNamed } from '../catalog/lookup.js'
import { type CatalogState, latestOf, type TableHead } from '../catalog/state.js'
import type { ProposalPosition } from '../commit/machine.js'
import type { Key } from '../indexes/scalar/place-of.js'
import { arrowSchema, type TableField, type TableSchema } from '../manifest/table-schema.js'
import { Pacer } from '../primitives/pacer.js'
import { type MaybePromise, whenResolved } from '../primitives/task.js'
import type { HandlerOptions, Reply, Request } from '../protocol/calls.js'
import type { ChangeKind } from '../protocol/change-kind.js'
import { readParameters } from '../protocol/parameters.js'
import { keysFor, soleParameter } from '../query/key-condition.js'
import { commit, type Decide, requirementsOf } from '../root/commit.js'
import type { Engine } from '../root/engine.js'
import { knownVersion } from '../root/open-table.js'
import type { TableReader } from '../table/table-reader.js'
import { changedRow } from '../write/build-change.js'
import { isMaintained } from '../write/definitions.js'
import { InlineRowEncoder } from '../write/inline-rows.js'
import { type NewestRow, NewestRows, noteKey } from '../write/newest-rows.js'
import { keyConditionIn } from './key-conditions.js'

/** A table whose rows are written by the values of one column. */
interface KeyedTable {
  readonly rows: NewestRows
  readonly fields: readonly TableField[]
  readonly fieldIds: readonly number[]
  readonly encoder: InlineRowEncoder
}

/** Maximum number of tables per root, and of numbers of misses. */
const tablesMax = 16
const missesMax = 1000

/** Number of writes by the same column of a table after which its rows are found in memory without an index. */
const writesMin = 16

/** The tables of one root, by table UUID and column. */
class KeyedTables {
  readonly tables = new Map<string, KeyedTable>()
  /** The number of writes for which there was no table. */
  readonly misses = new Map<string, number>()
}

const tablesOf = new WeakMap<Engine, KeyedTables>()

/** Update one row. Returns null if the rows must be updated in the usual steps. See the head of this file. */
export async function updateOneRow(
  engine: Engine,
  { id, predicate, parameters, updates, update_parameters, properties }: Request<'updateTable'>,
  options: HandlerOptions,
): Promise<Reply<'updateTable'> | null> {
  if (properties !== undefined) return null
  const selection = selectionOf(predicate, parameters)
  const set = selection && assigned(updates, update_parameters)
  if (set === null) return null
  return writeOneRow(engine, { id, ...selection!, options }, 'update', {
    write(row, { fields, encoder }) {
      if (row === null) return null
      for (const [name, value] of Object.entries(set)) {
        const field = fields.find(known => known.name === name)
        if (field === undefined || !isSame(field.type, value)) return null
      }
      return whenResolved(keptColumns(row, fields, set, options), kept => encoder.encodeChanged(set, kept))
    },
    keepsKey: !Object.hasOwn(set, selection!.column),
    reply: ({ version, transaction_id, head }) => {
      return { updated_rows: 1, version, transaction_id, properties: head.props }
    },
  })
}

/** Delete one row. Returns null if the rows must be deleted in the usual steps. See the head of this file. */
export async function deleteOneRow(
  engine: Engine,
  { id, predicate, parameters }: Request<'deleteFromTable'>,
  options: HandlerOptions,
): Promise<Reply<'deleteFromTable'> | null> {
  const selection = selectionOf(predicate, parameters)
  if (selection === null) return null
  return writeOneRow(engine, { id, ...selection, options }, 'delete', {
    write: row => (row === null ? null : 'nothing'),
    keepsKey: false,
    reply: ({ version, transaction_id }) => ({ num_deleted_rows: 1, version, transaction_id }),
  })
}

/** Update or insert one row. Returns null if the rows must be merged in the usual steps. See the head of this file. */
export async function mergeOneRow(
  engine: Engine,
  request: Request<'mergeInsertIntoTable'>,
  rows: readonly object[],
  options: HandlerOptions,
): Promise<Reply<'mergeInsertIntoTable'> | null> {
  const { when_matched_update_all: update, when_not_matched_insert_all: insert } = request
  const hasMore = mergeExtras.some(name => request[name] !== undefined)
  const [row, ...others] = rows
  const [column, ...otherColumns] = request.on
  if (hasMore || !isPlainRow(row) || others.length + otherColumns.length > 0) return null
  // A column whose value is undefined counts as missing.
  if (!Object.hasOwn(row, column!) || Object.values(row).includes(undefined)) return null
  const condition = { column: column!, parameter: soleParameter, takes: 'value', values: [] } as const
  const value = row[column!]
  const keyOf = (type: DataType) =>
    isMergeKey(type, value) ? soleKey(keysFor(condition, [value], type)) : null
  return writeOneRow(engine, { id: request.id, column: column!, keyOf, options }, 'merge', {
    write(found, { fields, encoder }) {
      if (found === null) return insert ? encoder.encode([row]) : null
      if (!update) return null
      return whenResolved(keptColumns(found, fields, row, options), kept => encoder.encodeChanged(row, kept))
    },
    keepsKey: true,
    reply: ({ version, transaction_id, isFound }) => {
      const counts = { num_updated_rows: isFound ? 1 : 0, num_inserted_rows: isFound ? 0 : 1 }
      return { ...counts, num_deleted_rows: 0, num_rows: 1, num_attempts: 1, version, transaction_id }
    },
  })
}

/** Return whether a value is a row all of whose properties are its own and enumerable. */
function isPlainRow(value: unknown): value is Readonly<Record<string, unknown>> {
  if (!isRow(value) || ![Object.prototype, null].includes(Object.getPrototypeOf(value))) return false
  return Object.getOwnPropertyNames(value).length === Object.keys(value).length
}

/**
 * Return whether a merge finds the rows that a comparison with the value finds. Merges compare values after their
 * conversion to the type of the column.
 */
function isMergeKey(type: DataType, value: unknown): boolean {
  if (type.kind === 'float') return type.bits === 64 && Number.isSafeInteger(value)
  return type.kind === 'int' || type.kind === 'utf8'
}

/** The fields of a merge request with which a merge does more than to update or insert rows. */
const mergeExtras = [
  'when_matched_update_all_filt',
  'when_not_matched_by_source_delete',
  'when_not_matched_by_source_delete_filt',
  'parameters',
  'timeout',
] as const

/** Identifies a row of a table. */
interface Selection {
  readonly column: string
  /** Return the key for a column of this type. Null: the usual steps must decide what the condition means. */
  readonly keyOf: (type: DataType) => Key | null
}

function selectionOf(
  predicate: string | undefined,
  parameters: Request<'updateTable'>['parameters'],
): Selection | null {
  const condition = predicate === undefined ? null : keyConditionIn(predicate)
  if (condition === null) return null
  const values = valuesOf(parameters)
  return {
    column: condition.column,
    keyOf: type => soleKey(keysFor(condition, values, type)),
  }
}

function soleKey(keys: readonly Key[] | null): Key | null {
  return keys?.length === 1 ? keys[0]! : null
}

interface Call extends Selection {
  readonly id: readonly string[]
  readonly options: HandlerOptions
}

interface Written {
  readonly version: number
  readonly transaction_id: string
  /** The table before the commit. */
  readonly head: TableHead
  /** Whether there was a row with the key. */
  readonly isFound: boolean
}

/** The bytes of a new row. `nothing`: there is no new row. */
type RowBytes = Uint8Array | 'nothing'

interface Writer<R> {
  /**
   * Return the bytes of the new row, or that there is none. Null: the row must be written in the usual steps. `row`: the
   * row with the key; null: there is none.
   */
  readonly write: (row: NewestRow | null, table: KeyedTable) => MaybePromise<RowBytes | null>
  /** Whether the new row has the key of the selection. */
  readonly keepsKey: boolean
  readonly reply: (written: Written) => R
}

/** A row that was found on one version. */
interface Located {
  readonly head: TableHead
  readonly table: KeyedTable
  readonly key: Key
  /** Null: no row has the key. */
  readonly row: NewestRow | null
}

async function writeOneRow<R>(
  engine: Engine,
  call: Call,
  kind: ChangeKind,
  writer: Writer<R>,
): Promise<R | null> {
  const { options } = call
  // A transaction reads its own changes, and has no `current`.
  if (engine.root.current === undefined || options.callKey !== undefined) return null
  if (engine.root.isBehind?.() === true) await engine.root.refresh(options.signal)
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    let found = locateNow(engine, call)
    for (let reads = 0; found instanceof Promise && reads < readsMax; reads++) {
      // The usual steps report the error of a read.
      await found.catch(() => {})
      found = locateNow(engine, call)
    }
    if (!isLocated(found)) return null
    const writing = bytesFor(engine, call, found, writer)
    const bytes = writing instanceof Promise ? await writing : writing
    if (bytes === null) return null
    const committed = await commit(engine, decisionFor(engine, call, kind, found, bytes, writer), options)
    if (committed !== null) return committed.reply
  }
  return null
}

/** Return the bytes of the new row. Returns null if the row must be written in the usual steps. */
function bytesFor<R>(
  engine: Engine,
  { column }: Call,
  { head, row, table }: Located,
  { write }: Writer<R>,
): MaybePromise<RowBytes | null> {
  const writing = write(row, table)
  if (!(writing instanceof Promise)) return writing
  return writing.catch(() => {
    // Perhaps the base is too old, so that its files were deleted.
    keyedTables(engine).tables.delete(`${head.uuid}/${column}`)
    return null
  })
}

/**
 * Return the decision to write a row. It is null if the row has changed since it was found, or if it cannot be found
 * without waiting.
 */
function decisionFor<R>(
  engine: Engine,
  call: Call,
  kind: ChangeKind,
  first: Located,
  bytes: RowBytes,
  { keepsKey, reply }: Pick<Writer<R>, 'keepsKey' | 'reply'>,
): Decide<R, null> {
  return (state, at) => {
    const head = tableIn(state, call)
    const now = head === first.head ? first : locateAfter(engine, head, call, at)
    // The values of a row of an origin never change. So the bytes are valid as long as it is the same row.
    if (!isLocated(now) || now.table !== first.table || !isSameRow(now.row, first.row)) return null
    const { row, key, table } = now
    const written = bytes === 'nothing' ? null : { bytes, id: row?.id ?? null }
    const { change, blobs } = changedRow(
      now.head,
      { kind, removed: row, written },
      table.fieldIds,
      at.firstBlob,
    )
    if (keepsKey) noteKey(change, table.rows.keyField, key)
    return {
      ops: [change],
      blobs,
      req: requirementsOf(now.head),
      isPlain: true,
      reply: reply({
        version: change.v,
        transaction_id: at.transactionId,
        head: now.head,
        isFound: row !== null,
      }),
    }
  }
}

/** Maximum number of attempts. Other commits change the row or the table between an attempt and its commit. */
const attemptsMax = 3
/** Maximum number of reads before a row is found: its deletion vector and its row ids, and both for a newer version. */
const readsMax = 4

/** Find the row with the key of a call on the newest known version, without waiting. */
function locateNow(engine: Engine, call: Call): Located | Promise<unknown> | null {
  const head = tableIn(engine.root.state, call)
  return head !== undefined && engine.writers.isUrgent(head.uuid) ? null : locate(engine, head, call)
}

/**
 * Find the row with the key of a call on a state that may include earlier entries of the slot `at`. The log may never
 * have these entries, so the row is found on the state before them, and their changes must not affect the row.
 */
function locateAfter(
  engine: Engine,
  head: TableHead | undefined,
  call: Call,
  { earlier }: ProposalPosition,
): Located | Promise<unknown> | null {
  const before = tableIn(engine.root.state, call)
  if (before?.mark === head?.mark) return locate(engine, head, call)
  if (before?.uuid !== head?.uuid || !isWritable(head!)) return null
  const found = locate(engine, before, call)
  if (!isLocated(found)) return found
  const changes = engine.versions.recent.between(head!.uuid, before!.mark, head!.mark, earlier)
  const row = changes === null ? undefined : found.table.rows.after(found.row, found.key, changes)
  return row === undefined ? null : { ...found, head: head!, row }
}

/** Return whether this module may write to a table. Earlier versions than the newest one may have expired. */
function isWritable(head: TableHead): boolean {
  return head.kind === 'sheaf' && head.view === null && latestOf(head) === head.mark
}

function tableIn(state: CatalogState, { id, options }: Call): TableHead | undefined {
  return options.table === undefined ? tableNamed(state, id) : state.tables.get(options.table)
}

function isLocated(found: Located | Promise<unknown> | null): found is Located {
  return found !== null && !(found instanceof Promise)
}

function isSameRow(a: NewestRow | null, b: NewestRow | null): boolean {
  return a?.origin.fragment === b?.origin.fragment && a?.origin.offset === b?.origin.offset
}

/**
 * Find the row with the key of a call. Returns a promise if needed data is being read. Returns null if the row cannot be
 * found, or if there are several rows.
 */
function locate(
  engine: Engine,
  head: TableHead | undefined,
  { column, keyOf }: Call,
): Located | Promise<unknown> | null {
  if (head === undefined) return null
  const table = keyedTable(engine, head, column)
  const key = table && keyOf(table.rows.type)
  if (key === null) return null
  const found = table!.rows.find(key)
  // The usual steps read data for the newest version. The base of another version would not see it.
  if (found === null) keyedTables(engine).tables.delete(`${head.uuid}/${column}`)
  if (found instanceof Promise) found.catch(() => {})
  if (found === null || found instanceof Promise) return found
  return found.length > 1 ? null : { head, table: table!, key, row: found[0] ?? null }
}

/** Return the columns of a row that `set` does not have, in the order of the columns of the table. */
function keptColumns(
  row: NewestRow,
  fields: readonly TableField[],
  set: object,
  { signal }: HandlerOptions,
): MaybePromise<readonly Column[]> {
  const numbers: number[] = []
  for (let i = 0; i < fields.length; i++) if (!Object.hasOwn(set, fields[i]!.name)) numbers.push(i)
  return numbers.length === 0 ? [] : row.columns(numbers, new Pacer(signal))
}

/**
 * Return a table at its newest version. Returns null if its rows cannot be found in memory, or if they must be written in
 * the usual steps.
 */
function keyedTable(engine: Engine, head: TableHead, column: string): KeyedTable | null {
  const { uuid } = head
  if (!isWritable(head)) return null
  const { tables, misses } = keyedTables(engine)
  const key = `${uuid}/${column}`
  const known = tables.get(key)
  if (known !== undefined && isFollowing(engine, known.rows, head)) return known
  tables.delete(key)
  const table = newTable(engine, head, column, (misses.get(key) ?? 0) < writesMin)
  if (table === null) {
    if (misses.size >= missesMax) misses.clear()
    misses.set(key, (misses.get(key) ?? 0) + 1)
    return null
  }
  if (tables.size >= tablesMax) tables.clear()
  tables.set(key, table)
  return table
}

function keyedTables(engine: Engine): KeyedTables {
  let known = tablesOf.get(engine)
  if (known === undefined) {
    known = new KeyedTables()
    tablesOf.set(engine, known)
  }
  return known
}

function newTable(engine: Engine, head: TableHead, column: string, needsIndex: boolean): KeyedTable | null {
  const reader = newestReader(engine, head)
  const encoder = reader && encoderOf(reader.schema)
  const rows = encoder && NewestRows.of(engine.source, reader!, column, needsIndex)
  if (rows === null || !isFollowing(engine, rows, head)) return null
  const { fields } = reader!.schema
  return { rows, fields, fieldIds: fields.map(field => field.id), encoder: encoder! }
}

/** Maximum number of versions before the newest one of which one may be the base. */
const backMax = 16

/**
 * Return the reader of the newest version whose manifest is in memory. The usual steps read the version before their own
 * commit, so the manifest of the newest version is often not in memory.
 */
function newestReader(engine: Engine, head: TableHead): TableReader | null {
  for (let version = head.mark; version > head.mark - backMax; version--) {
    const reader = knownVersion(engine, head, version)?.reader ?? null
    if (reader !== null) return reader
  }
  return null
}

/** Return the encoder of rows with a schema. Returns null for a schema whose rows must be written in the usual steps. */
function encoderOf(schema: TableSchema): InlineRowEncoder | null {
  // Maintained columns are computed from batches.
  return schema.fields.some(isMaintained) ? null : InlineRowEncoder.of(arrowSchema(schema))
}

/** Apply the changes up to the newest version. Returns false if a new base is needed. */
function isFollowing(engine: Engine, rows: NewestRows, { uuid, mark }: TableHead): boolean {
  if (rows.version === mark) return true
  const since = rows.version < mark ? engine.versions.recent.between(uuid, rows.version, mark) : null
  return since?.every(recent => rows.follow(recent)) === true
}

/**
 * Return the values of an update by column. Returns null if an assigned value is not a parameter.
 *
 * `updates`: pairs of a column and an SQL expression. `given`: the values of the parameters.
 */
function assigned(
  updates: readonly (readonly [string, string])[],
  given: Request<'updateTable'>['update_parameters'],
): Readonly<Record<string, unknown>> | null {
  const values = valuesOf(given)
  if (!Array.isArray(values)) return null
  const set: Record<string, unknown> = {}
  for (const [column, text] of updates) {
    const number = /^\$(\d{1,5})$/.exec(text)?.[1]
    const value: unknown = number === undefined ? undefined : values[Number(number) - 1]
    if (value === undefined) return null
    setOwn(set, column, value)
  }
  return set
}

/** Return the values of parameters. Returns undefined if there are none, and null if they are not valid. */
function valuesOf(given: Request<'updateTable'>['parameters']): unknown {
  try {
    return given && readParameters(given)
  } catch {
    // The usual steps report the error.
    return null
  }
}

/**
 * Return whether a column of this type that is set to a value gets the value that the encoder of rows writes. SQL
 * converts other values, for example numbers with a fraction to integers.
 */
function isSame(type: DataType, value: unknown): boolean {
  if (value === null) return true
  switch (type.kind) {
    case 'int':
      return typeof value === 'bigint' || (Number.isSafeInteger(value) && !Object.is(value, -0))
    case 'float':
      return isExact(value)
    case 'utf8':
      return typeof value === 'string'
    case 'bool':
      return typeof value === 'boolean'
    case 'fixed_size_list':
      return Array.isArray(value) && value.every(isExact)
    default:
      return false
  }
}

/** Return whether SQL reads a number as itself. It refuses integers beyond the safe ones, which may have lost digits. */
function isExact(value: unknown): boolean {
  return Number.isFinite(value) && (Number.isSafeInteger(value) || !Number.isInteger(value))
}
