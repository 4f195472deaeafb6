/**
 * Reads the definitions of the indexes of a table of LanceDB. The manifest has their names, columns and types. The
 * metadata of their files have their parameters, as JSON. Sheaf builds new indexes from these definitions.
 */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { SheafError, unsupported } from '../../src/errors.js'
import { type VectorKind, vectorKinds } from '../../src/indexes/vector/kind.js'
import { openLanceFile } from '../../src/lance/file.js'
import type { LanceIndex, LanceManifest } from '../../src/lance/manifest.js'
import type { LanceField } from '../../src/lance/schema.js'
import { inBackticks } from '../../src/primitives/in-backticks.js'
import type { Request } from '../../src/protocol/calls.js'
import { LocalFile } from '../../src/storage/local-file.js'
import { jsonObject, type ReadMetadata, textParameters } from '../../src/table/lance-text-index.js'

type Definition = Omit<Request<'createTableIndex'>, 'id'>
type Parameters = Omit<Definition, 'column' | 'name'>

/** An index of LanceDB. `definition`: a request for an index of Sheaf, or the error that says why there is none. */
interface FoundIndex {
  readonly name: string
  readonly definition: Definition | SheafError
}

const scalarTypes: Readonly<Record<string, Parameters['index_type']>> = {
  BTreeIndexDetails: 'BTREE',
  BitmapIndexDetails: 'BITMAP',
  LabelListIndexDetails: 'LABEL_LIST',
}

/** Indexes in which Lance keeps its own state. */
const internalTypes: ReadonlySet<string> = new Set(['FragmentReuseIndexDetails', 'MemWalIndexDetails'])

/**
 * Return the indexes of a version. Numbers of partitions are left out: LanceDB chooses them by the number of rows that a
 * table had when the index was built, and Sheaf chooses them by the rows of each segment.
 */
export async function lanceIndexes(
  folder: string,
  { indexes, schema }: LanceManifest,
): Promise<readonly FoundIndex[]> {
  const found = new Map<string, FoundIndex>()
  for (const index of indexes) {
    const type = index.type.slice(index.type.lastIndexOf('.') + 1)
    // Later entries with the same name are further segments of the index.
    if (internalTypes.has(type) || found.has(index.name)) continue
    const read: ReadMetadata = file => metadataOf(join(folder, '_indices', index.uuid, file))
    const definition = await definitionOf(index, schema.fields, type, read).catch(error => {
      if (error instanceof SheafError) return error
      throw error
    })
    found.set(index.name, { name: index.name, definition })
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
}

async function definitionOf(
  { name, fields }: LanceIndex,
  columns: readonly LanceField[],
  type: string,
  read: ReadMetadata,
): Promise<Definition> {
  const path = fields.length === 1 ? pathTo(columns, fields[0]!) : null
  if (path === null) throw unsupported('it is not an index of one column')
  const column = path.map(part => (/[.`]/.test(part) ? inBackticks(part) : part)).join('.')
  const scalar = scalarTypes[type]
  if (scalar !== undefined) return { column, name, index_type: scalar }
  if (type === 'VectorIndexDetails') return { column, name, ...(await vectorParameters(read)) }
  if (type === 'InvertedIndexDetails') {
    const parameters = await textParameters(read)
    if (parameters === null) throw unsupported('its files have no parameters')
    return { ...parameters, column, name, index_type: 'FTS' }
  }
  const what =
    type === ''
      ? 'the manifest does not say of which type it is'
      : `Sheaf has no ${type.replace(/IndexDetails$/, '')} indexes`
  throw unsupported(what)
}

function pathTo(fields: readonly LanceField[], id: number): readonly string[] | null {
  for (const field of fields) {
    if (field.id === id) return [field.name]
    const below = pathTo(field.children, id)
    if (below !== null) return [field.name, ...below]
  }
  return null
}

/** Return the metadata of a file of an index. Null: the file does not exist. */
async function metadataOf(path: string): Promise<Readonly<Record<string, string>> | null> {
  if ((await stat(path).catch(() => null)) === null) return null
  const file = await LocalFile.open(path)
  try {
    const read = (start: number, end: number) => file.read(start, end - start)
    const readInto = async (start: number, target: Uint8Array) => {
      target.set(await file.read(start, target.length))
    }
    const { schema } = await openLanceFile({ bytes: file.size, read, readInto }, path)
    return schema.metadata
  } finally {
    await file.close()
  }
}

async function vectorParameters(read: ReadMetadata): Promise<Parameters> {
  const index = (await read('index.idx')) ?? {}
  const { 'lance:index': described, 'lance:hnsw': graphs } = index
  if (described === undefined) throw unsupported('its file index.idx does not describe it')
  const { type, distance_type } = jsonObject(described, 'lance:index')
  const kind = vectorKinds.find(each => each === type)
  if (kind === undefined) throw unsupported(`Sheaf has no ${type} indexes`)
  if (distance_type === undefined) throw unsupported('its file index.idx has no distance type')
  const { storage_metadata } = (await read('auxiliary.idx')) ?? {}
  const parameters = {
    index_type: kind,
    distance_type,
    ...(graphs !== undefined && graphParameters(firstIn(graphs, 'lance:hnsw'))),
    ...(storage_metadata !== undefined &&
      codeParameters(kind, firstIn(storage_metadata, 'storage_metadata'))),
  }
  return parameters as Parameters
}

/** Return the first object of a list of JSON texts. */
function firstIn(text: string, key: string): Readonly<Record<string, unknown>> {
  const [first] = Object.values(jsonObject(text, key))
  return typeof first === 'string' && first !== '' ? jsonObject(first, key) : {}
}

function graphParameters({ params }: Readonly<Record<string, unknown>>): object {
  const { m, ef_construction } = (params ?? {}) as Readonly<Record<string, unknown>>
  return { ...(m !== undefined && { m }), ...(ef_construction !== undefined && { ef_construction }) }
}

function codeParameters(
  kind: VectorKind,
  { nbits, num_bits = nbits, num_sub_vectors }: Readonly<Record<string, unknown>>,
): object {
  return {
    ...(!kind.endsWith('FLAT') && num_bits !== undefined && { num_bits }),
    ...(kind.endsWith('PQ') && num_sub_vectors !== undefined && { num_sub_vectors }),
  }
}
