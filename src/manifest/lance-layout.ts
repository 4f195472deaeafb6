/**
 * Converts manifests of Lance to manifests of Sheaf (`Layout`), so that queries read tables of LanceDB.
 */
import type { DataType } from '../arrow/types.js'
import { childFields } from '../arrow/types.js'
import { assert, corrupted, unsupported } from '../errors.js'
import { readDeletionFile } from '../lance/deletion-file.js'
import {
  type LanceDataFile,
  type LanceFragment,
  type LanceManifest,
  type LanceRowIds,
  readManifest,
} from '../lance/manifest.js'
import { arrowField, type LanceField } from '../lance/schema.js'
import { inParallel } from '../primitives/in-parallel.js'
import type { BlobStore } from '../storage/blob-store.js'
import type { Fragment, KnownIds, LanceColumns, Layout, RowIds } from './layout.js'
import type { TableField, TableSchema } from './table-schema.js'

/** The folder of a Lance table, and its files. */
interface LanceTableFiles {
  readonly uuid: string
  readonly location: string
  readonly store: Pick<BlobStore, 'get' | 'getRange' | 'peek'>
}

/**
 * Read the manifest at `path`. It must have the version `version`.
 * @throws InvalidInput if the manifest is damaged. Unsupported if the version cannot be read.
 */
export async function readLanceLayout(
  table: LanceTableFiles,
  path: string,
  version: number,
  signal?: AbortSignal,
): Promise<Layout | null> {
  const bytes = await table.store.get(path, signal)
  if (bytes === null) return null
  const manifest = readManifest(bytes, path)
  if (manifest.version !== version)
    throw corrupted(`${path} has version ${manifest.version}, but its name says ${version}`)
  return layoutOfManifest(table, manifest, signal)
}

/** The time of the commit of each manifest that was converted. */
const timestamps = new WeakMap<Layout, number>()

/** Return the time when a Lance engine committed a version, in milliseconds since 1970. */
export function committedAt(layout: Layout): number {
  const timestamp = timestamps.get(layout)
  assert(timestamp !== undefined, 'the manifest is not one of Lance')
  return timestamp
}

/** Maximum number of files that are read at the same time. */
const readsAtOnce = 16

/** Return the manifest of a version. Reads files only if the manifest does not contain row ids or numbers of rows. */
async function layoutOfManifest(
  table: LanceTableFiles,
  { version, schema, fragments, timestamp, indexes }: LanceManifest,
  signal?: AbortSignal,
): Promise<Layout> {
  const fieldsById = new Map(schema.fields.map(field => [field.id, field]))
  const { metadata } = schema
  const fields = schema.fields.map(tableField)
  const tableSchema: TableSchema = {
    id: 0,
    fields,
    ...(Object.keys(metadata).length > 0 && { metadata }),
  }
  const converted = await inParallel(fragments, readsAtOnce, fragment =>
    convert(table, fragment, fieldsById, signal),
  )
  const layout: Layout = {
    table: table.uuid,
    version,
    schema: tableSchema,
    earlier: [],
    fragments: converted,
    indexes: [],
    lanceIndexes: indexes,
    next: { row: 0, frag: 0, field: 0 },
  }
  timestamps.set(layout, timestamp)
  return layout
}

async function convert(
  table: LanceTableFiles,
  fragment: LanceFragment,
  fieldsById: ReadonlyMap<number, LanceField>,
  signal: AbortSignal | undefined,
): Promise<Fragment> {
  const { id, rows, files, deletions } = fragment
  if (rows === 0 && files.length > 0) {
    throw unsupported(
      `fragment ${id} of the Lance table at ${table.location} has no recorded number of rows`,
      {
        hint: 'rewrite the table with a newer LanceDB, for example with optimize()',
      },
    )
  }
  const columns = files.map(file => columnsOf(table, file, fieldsById))
  const dead: Fragment['dead'] =
    deletions === null
      ? { parts: [], count: 0 }
      : {
          parts: [{ lance: deletions.path, deletions, rows }],
          count:
            deletions.rows > 0
              ? deletions.rows
              : (await readDeletionFile(table.store, table.location, deletions, rows)).count,
        }
  if (deletions !== null) checkBase(table, deletions.path, deletions.base)
  return { id, rows, ids: await idsOf(table, fragment, signal), files: columns, dead }
}

/** Maximum id of a fragment whose row ids are integers up to 2^53 - 1. */
const fragmentMax = 2 ** 21 - 1

async function idsOf(
  table: LanceTableFiles,
  { id, rows, rowIds }: LanceFragment,
  signal: AbortSignal | undefined,
): Promise<RowIds> {
  if (rowIds === null) {
    // As in LanceDB, the id of a row is its address: the fragment in the upper 32 bits, the offset in the lower bits.
    if (id <= fragmentMax) return { row0: id * 2 ** 32 }
    throw unsupported(
      `the Lance table at ${table.location} has a fragment with the id ${id}; the maximum is ${fragmentMax}`,
    )
  }
  const { decodeRowIds } = await import('../lance/row-id-sequence.js')
  const name = `fragment ${id} of ${table.location}`
  const sequence = decodeRowIds(await bytesOf(table, rowIds, signal), rows, name)
  if (sequence.count === 0) return { row0: 0 }
  if (sequence.starts.length === 1) return { row0: sequence.starts[0]! }
  const [least, greatest] = sequence.bounds()
  const ids: KnownIds = { sequence, least, greatest }
  return sequence.isAscending ? ids : { ...ids, ascending: false }
}

async function bytesOf(
  { store, location }: LanceTableFiles,
  rowIds: LanceRowIds,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  if ('bytes' in rowIds) return rowIds.bytes
  const { path, offset, size } = rowIds
  return store.getRange(`${location}/${path}`, offset, size, signal)
}

function columnsOf(
  table: LanceTableFiles,
  { path, fields, columns, version, bytes, base }: LanceDataFile,
  fieldsById: ReadonlyMap<number, LanceField>,
): LanceColumns {
  checkBase(table, path, base)
  const present = new Set(fields)
  const byField = new Map<number, number>()
  for (const [i, id] of fields.entries()) {
    const column = columns[i] ?? -1
    if (id >= 0 && column >= 0) byField.set(id, column)
  }
  const holds = (field: LanceField): boolean => present.has(field.id) || field.children.some(holds)
  const own = [...fieldsById.values()].filter(holds).map(({ id }) => id)
  return { lance: `data/${path}`, version, bytes, fields: own, fieldsById, columns: byField }
}

/** Check that a file is in the folder of its table. */
function checkBase({ location }: LanceTableFiles, path: string, base: number | null): void {
  if (base === null) return
  throw unsupported(
    `the Lance table at ${location} is a shallow clone or a branch: its file ${path} is in another folder`,
    { hint: 'copy the table with LanceDB (a deep clone) and read the copy' },
  )
}

/** Ids from here on belong to nested fields that have no ids in Lance: the elements of vectors. */
const ownIds = 2 ** 32

/** Return the column of a table for a column of Lance. Fields keep their ids. */
function tableField(field: LanceField): TableField {
  const nested: number[] = []
  addNested(field, arrowField(field).type, nested)
  const column = { ...arrowField(field), id: field.id }
  return nested.length === 0 ? column : { ...column, nested }
}

/** Add the ids of the descendants of a field in depth-first order. */
function addNested(field: LanceField, type: DataType, ids: number[]): void {
  if (field.children.length > 0) {
    for (const [i, child] of field.children.entries()) {
      ids.push(child.id)
      addNested(child, childFields(type)[i]!.type, ids)
    }
    return
  }
  for (let at = type, depth = 1; childFields(at).length > 0; depth++) {
    ids.push(ownIds * depth + field.id)
    at = childFields(at)[0]!.type
  }
}
