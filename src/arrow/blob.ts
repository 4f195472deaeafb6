/**
 * Blob columns of Lance: structs with the extension type `lance.blob.v2`. Either the field `data` contains the bytes,
 * or the field `uri` contains their location.
 *
 * In query results, LanceDB's clients expect a descriptor instead of a blob: its kind, size and location. They fetch
 * the bytes of the rows that they need in further requests.
 */
import { bitmapBytes } from './bits.js'
import { type Batch, type Column, isValid } from './column.js'
import { concatBytes } from './concat-bytes.js'
import type { DataType, Field, Schema } from './types.js'

const extensionName = 'ARROW:extension:name'
const extensionData = 'ARROW:extension:metadata'

/** Return whether a field contains blobs of version 2. */
export function isBlob({ type, metadata }: Pick<Field, 'type' | 'metadata'>): boolean {
  return (
    metadata?.[extensionName] === 'lance.blob.v2' &&
    type.kind === 'struct' &&
    type.children.some(({ name, type }) => name === 'data' && type.kind === 'binary')
  )
}

/** Return whether a field contains blobs of version 1: binary values with the metadata `lance-encoding:blob`. */
export function isLegacyBlob({ type, metadata }: Pick<Field, 'type' | 'metadata'>): boolean {
  return type.kind === 'binary' && metadata?.['lance-encoding:blob'] === 'true'
}

/** Values of `kind` in a descriptor: bytes stored with the row (`inline`), or bytes at a URI (`external`). */
const inline = 0
const external = 3

const uint = (bits: 8 | 32 | 64) => ({ kind: 'int', bits, signed: false }) as const
const descriptorFields: readonly Field[] = [
  { name: 'kind', type: uint(8), nullable: false },
  { name: 'position', type: uint(64), nullable: false },
  { name: 'size', type: uint(64), nullable: false },
  { name: 'blob_id', type: uint(32), nullable: false },
  { name: 'blob_uri', type: { kind: 'utf8', large: false }, nullable: false },
]
const descriptor: DataType = { kind: 'struct', children: descriptorFields }

/**
 * Return the schema with a descriptor field instead of each blob field. Returns the same object if there are no blobs.
 */
export function describedSchema(schema: Schema): Schema {
  const fields = schema.fields.map(describedField)
  return fields.every((field, i) => field === schema.fields[i]) ? schema : { ...schema, fields }
}

function describedField(field: Field): Field {
  if (isBlob(field)) {
    const { [extensionName]: _, [extensionData]: __, ...metadata } = field.metadata!
    return { ...field, type: descriptor, metadata: { ...metadata, 'lance-encoding:blob': 'true' } }
  }
  const type = describedType(field.type)
  return type === field.type ? field : { ...field, type }
}

function describedType(type: DataType): DataType {
  switch (type.kind) {
    case 'list':
    case 'fixed_size_list': {
      const child = describedField(type.child)
      return child === type.child ? type : { ...type, child }
    }
    case 'struct': {
      const children = type.children.map(describedField)
      return children.every((child, i) => child === type.children[i]) ? type : { ...type, children }
    }
    default:
      return type
  }
}

/**
 * Return the batch with a descriptor instead of each blob. `schema` must be `describedSchema(batch.schema)`.
 */
export function describedBatch(batch: Batch, schema: Schema): Batch {
  const { fields } = batch.schema
  return {
    ...batch,
    schema,
    columns: batch.columns.map((column, i) => describedColumn(column, fields[i]!, schema.fields[i]!)),
  }
}

function describedColumn(column: Column, before: Field, after: Field): Column {
  if (before === after) return column
  if (isBlob(before)) return descriptorsOf(column)
  const [from, to] = [childrenOf(before.type), childrenOf(after.type)]
  const children = column.children.map((child, i) => describedColumn(child, from[i]!, to[i]!))
  return { ...column, type: after.type, children }
}

function childrenOf(type: DataType): readonly Field[] {
  if (type.kind === 'struct') return type.children
  return type.kind === 'list' || type.kind === 'fixed_size_list' ? [type.child] : []
}

function descriptorsOf(column: Column): Column {
  const { length, type } = column
  const fields = (type as DataType & { readonly kind: 'struct' }).children
  const child = (name: string) => column.children[fields.findIndex(field => field.name === name)]
  const [data, uri, position, size] = [child('data')!, child('uri'), child('position'), child('size')]
  const kinds = new Uint8Array(length)
  const positions = new BigUint64Array(length)
  const sizes = new BigUint64Array(length)
  const uriOffsets = new Int32Array(length + 1)
  const uris: Uint8Array[] = []
  const validity = new Uint8Array(bitmapBytes(length))
  let nullCount = 0
  for (let row = 0; row < length; row++) {
    uriOffsets[row + 1] = uriOffsets[row]!
    const isPresent = isValid(column, row)
    const isExternal = isPresent && uri !== undefined && isValid(uri, row) && !isValid(data, row)
    if (isExternal) {
      const [start, end] = [uri.offsets![row]!, uri.offsets![row + 1]!]
      uris.push((uri.values as Uint8Array).subarray(start, end))
      uriOffsets[row + 1]! += end - start
      kinds[row] = external
      positions[row] = wholeNumber(position, row)
      sizes[row] = wholeNumber(size, row)
    } else if (isPresent && isValid(data, row)) {
      kinds[row] = inline
      sizes[row] = BigInt(data.offsets![row + 1]! - data.offsets![row]!)
    } else {
      nullCount++
      continue
    }
    validity[row >>> 3]! |= 1 << (row & 7)
  }
  const flat = (field: Field, values: Column['values']): Column => {
    return {
      type: field.type,
      length,
      nullCount: 0,
      validity: null,
      values,
      offsets: null,
      children: [],
      dictionary: null,
    }
  }
  const [kind, place, bytes, id, address] = descriptorFields as [Field, Field, Field, Field, Field]
  return {
    ...flat({ ...kind, type: descriptor }, null),
    nullCount,
    validity: nullCount === 0 ? null : validity,
    children: [
      flat(kind, kinds),
      flat(place, positions),
      flat(bytes, sizes),
      flat(id, new Uint32Array(length)),
      { ...flat(address, concatBytes(uris)), offsets: uriOffsets },
    ],
  }
}

function wholeNumber(column: Column | undefined, row: number): bigint {
  const values = column?.values
  return values instanceof BigUint64Array && isValid(column!, row) ? values[row]! : 0n
}
