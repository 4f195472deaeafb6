/**
 * Converts batches to tables and record batches of apache-arrow. Only this file imports the package, when a function is
 * first called.
 */
import type {
  Data as ArrowData,
  Schema as ArrowSchema,
  Table as ArrowTable,
  DataType as ArrowType,
} from 'apache-arrow'
import type { Batch } from './column.js'
import { concatBytes } from './concat-bytes.js'
import { concatChunks, encodeIpcStream } from './encode-ipc.js'
import { type FlatColumns, flattenColumn } from './flatten.js'
import type { DataType, Schema } from './types.js'

export type { ArrowTable }

/** A record batch of apache-arrow. */
export type ArrowBatch = ArrowTable['batches'][number]

/** Return a Table of the apache-arrow package on which Sheaf depends. The first call loads the package (55-230 ms). */
export async function toArrowTable(schema: Schema, batches: readonly Batch[]): Promise<ArrowTable> {
  const { tableFromIPC } = await import('apache-arrow')
  return tableFromIPC(concatChunks(encodeIpcStream(schema, batches)))
}

/**
 * Return a record batch of apache-arrow. `isOwned`: whether no other code uses the memory of the batch. Then large buffers
 * that have their own memory become buffers of the record batch. All other buffers are copied.
 */
export async function toArrowBatch(schema: Schema, batch: Batch, isOwned: boolean): Promise<ArrowBatch> {
  const canShare = isOwned && batch.metadata === undefined && schema.fields.every(({ type }) => isPlain(type))
  if (!canShare) return (await toArrowTable(schema, [batch])).batches[0]!
  const { makeData, RecordBatch, Struct } = await import('apache-arrow')
  const known = await arrowSchema(schema)
  const flat: FlatColumns = { nodes: [], buffers: [] }
  for (const column of batch.columns) flattenColumn(column, flat)
  const nodes = flat.nodes.values()
  const buffers = ownBuffers(flat)
  // The types of the package have one overload for each type of data.
  const make = makeData as (props: object) => ArrowData
  // The order of nodes and buffers is that of a message of IPC.
  const dataOf = (type: DataType, as: ArrowType): ArrowData => {
    const length = nodes.next().value!
    const nullCount = nodes.next().value!
    const nullBitmap = buffers.next().value!
    const rows = { type: as, length, nullCount, nullBitmap }
    const childOf = (child: DataType, i: number) => dataOf(child, as.children[i]!.type)
    switch (type.kind) {
      case 'struct':
        return make({ ...rows, children: type.children.map((child, i) => childOf(child.type, i)) })
      case 'fixed_size_list':
        return make({ ...rows, child: childOf(type.child.type, 0) })
      case 'list': {
        const valueOffsets = buffers.next().value!
        return make({ ...rows, valueOffsets, child: childOf(type.child.type, 0) })
      }
      case 'utf8':
      case 'binary': {
        const valueOffsets = buffers.next().value!
        return make({ ...rows, valueOffsets, data: buffers.next().value! })
      }
      default:
        return make({ ...rows, data: buffers.next().value! })
    }
  }
  const children = schema.fields.map(({ type }, i) => dataOf(type, known.fields[i]!.type))
  const { length } = batch
  return new RecordBatch(known, makeData({ type: new Struct(known.fields), length, nullCount: 0, children }))
}

/** Return whether `toArrowBatch` converts a type without a message of IPC. */
function isPlain(type: DataType): boolean {
  switch (type.kind) {
    case 'bool':
    case 'int':
    case 'float':
    case 'fixed_size_binary':
    case 'decimal':
    case 'date':
    case 'time':
    case 'timestamp':
    case 'duration':
      return true
    case 'utf8':
    case 'binary':
      return !type.large
    case 'list':
      return !type.large && isPlain(type.child.type)
    case 'fixed_size_list':
      return isPlain(type.child.type)
    case 'struct':
      return type.children.every(child => isPlain(child.type))
    default:
      return false
  }
}

let last: { readonly schema: Schema; readonly converted: ArrowSchema } | undefined

/** Convert a schema. The pages of a scan have equal schemas, so that the last one is kept. */
async function arrowSchema(schema: Schema): Promise<ArrowSchema> {
  if (last === undefined || !hasSameFields(last.schema, schema))
    last = { schema, converted: (await toArrowTable(schema, [])).schema }
  return last.converted
}

function hasSameFields(a: Schema, b: Schema): boolean {
  if (a.metadata !== b.metadata || a.fields.length !== b.fields.length) return false
  return a.fields.every((field, i) => field === b.fields[i])
}

/** Smaller buffers are copied. */
const sharedBytes = 16 * 1024

/** Yield the buffers. Each has memory of its own, which nothing else uses. */
function* ownBuffers({ buffers }: FlatColumns): Generator<Uint8Array> {
  const seen = new Set<ArrayBufferLike>()
  for (const parts of buffers) {
    const [part] = parts
    const isAlone = part !== undefined && parts.length === 1 && part.length === part.buffer.byteLength
    if (isAlone && part.length >= sharedBytes && !seen.has(part.buffer)) {
      seen.add(part.buffer)
      yield part
    } else yield concatBytes(parts)
  }
}
