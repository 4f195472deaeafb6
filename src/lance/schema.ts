/**
 * Reads the schema of Lance files and manifests (`lance.file.Schema` and `lance.file.Field` of file.proto), and
 * translates logical types of Lance to Arrow types.
 */
import type { DataType, Field, Schema, TimeUnit } from '../arrow/types.js'
import { maxTypeDepth } from '../arrow/types.js'
import { invalidInput, quote, unsupported } from '../errors.js'
import type { MessageReader } from './protobuf.js'

/** A column of a Lance schema, or a child of a nested column. */
export interface LanceField {
  readonly id: number
  /** The id of the parent; -1 for a column. */
  readonly parentId: number
  readonly name: string
  /** The type as text, for example `int32`, `list.struct` or `fixed_size_list:float:128`. */
  readonly logicalType: string
  readonly nullable: boolean
  readonly metadata: Readonly<Record<string, string>>
  readonly children: readonly LanceField[]
}

/** The columns of a Lance file or version. */
export interface LanceSchema {
  readonly fields: readonly LanceField[]
  readonly metadata: Readonly<Record<string, string>>
}

/** The key of metadata that marks a column whose values are stored outside of its pages. */
export const blobMetadataKey = 'lance-encoding:blob'

/** The key of metadata that marks a struct whose children are stored row by row in one column. */
export const packedMetadataKeys: readonly string[] = ['packed', 'lance-encoding:packed']

/** Read the message `lance.file.Schema`. */
export function readLanceSchema(message: MessageReader): LanceSchema {
  const fields: LanceField[] = []
  const metadata: [string, string][] = []
  while (message.next()) {
    if (message.field === 1) pushField(fields, readLanceField(message.message()))
    else if (message.field === 5) metadata.push(readEntry(message.message()))
    else message.skip()
  }
  return { fields: nestLanceFields(fields), metadata: Object.fromEntries(metadata) }
}

/** Maximum number of fields of a schema. */
const maxFields = 2 ** 16

/** Add a field to the fields of a schema. Throws Unsupported if there are too many. */
export function pushField(fields: LanceField[], field: LanceField): void {
  if (fields.length === maxFields) throw unsupported(`a Lance schema has more than ${maxFields} fields`)
  fields.push(field)
}

/** Read one message `lance.file.Field`. It has no children: `nestLanceFields` adds them. */
export function readLanceField(message: MessageReader): LanceField {
  let id = 0
  let parentId = 0
  let name = ''
  let logicalType = ''
  let nullable = false
  let extension = ''
  const metadata: [string, string][] = []
  while (message.next()) {
    if (message.field === 2) name = message.text()
    else if (message.field === 3) id = message.int32()
    else if (message.field === 4) parentId = message.int32()
    else if (message.field === 5) logicalType = message.text()
    else if (message.field === 6) nullable = message.bool()
    else if (message.field === 9) extension = message.text()
    else if (message.field === 10) metadata.push(readEntry(message.message()))
    else message.skip()
  }
  if (extension !== '') metadata.push(['ARROW:extension:name', extension])
  return { id, parentId, name, logicalType, nullable, metadata: Object.fromEntries(metadata), children: [] }
}

/** Read an entry of `map<string, bytes>` or `map<string, string>` whose value is text. */
function readEntry(message: MessageReader): [string, string] {
  let key = ''
  let value = ''
  while (message.next()) {
    if (message.field === 1) key = message.text()
    else if (message.field === 2) value = message.text()
    else message.skip()
  }
  return [key, value]
}

/** The children of a field, their names, and the number of the level of the field. */
interface Nested {
  readonly children: LanceField[]
  readonly names: Set<string>
  readonly depth: number
}

/**
 * Return the columns of a list of fields in which each field follows its parent. The columns have all other fields as
 * descendants.
 * @throws InvalidInput if two fields have the same id, if two fields of one parent have the same name, or if the parent of
 * a field does not precede it.
 */
export function nestLanceFields(fields: readonly LanceField[]): LanceField[] {
  const columns: LanceField[] = []
  const columnNames = new Set<string>()
  const known = new Map<number, Nested>()
  for (const field of fields) {
    if (field.id < 0)
      throw invalidInput(`field ${quote(field.name)} of a Lance schema has the id ${field.id}`)
    if (known.has(field.id)) throw invalidInput(`a Lance schema has two fields with the id ${field.id}`)
    const parent = known.get(field.parentId)
    if (parent === undefined && field.parentId !== -1) {
      throw invalidInput(
        `field ${quote(field.name)} of a Lance schema has the parent ${field.parentId}, which does not precede it`,
      )
    }
    const depth = parent === undefined ? 1 : parent.depth + 1
    if (depth > maxTypeDepth) throw tooDeep(field.name)
    const children: LanceField[] = []
    known.set(field.id, { children, names: new Set(), depth })
    const names = parent?.names ?? columnNames
    if (names.has(field.name))
      throw invalidInput(`a Lance schema has two fields with the name ${quote(field.name)}`)
    names.add(field.name)
    ;(parent?.children ?? columns).push({ ...field, children })
  }
  return columns
}

function tooDeep(name: string): Error {
  return unsupported(`field ${quote(name)} of a Lance schema has more than ${maxTypeDepth} levels`, {
    hint: 'rewrite the table with LanceDB with fewer levels of nested types',
  })
}

/** Return the Arrow schema of a Lance schema. Throws Unsupported for a type that Sheaf does not have. */
export function arrowSchema(schema: LanceSchema): Schema {
  const fields = schema.fields.map(arrowField)
  return Object.keys(schema.metadata).length === 0 ? { fields } : { fields, metadata: schema.metadata }
}

/** Return the Arrow field of a Lance field. Throws Unsupported for a type that Sheaf does not have. */
export function arrowField(field: LanceField): Field {
  const { name, nullable, metadata } = field
  const type = arrowType(field)
  return Object.keys(metadata).length === 0 ? { name, type, nullable } : { name, type, nullable, metadata }
}

function arrowType(field: LanceField): DataType {
  switch (field.logicalType) {
    case 'struct':
    case 'blob':
      return { kind: 'struct', children: field.children.map(arrowField) }
    case 'list':
    case 'list.struct':
      return { kind: 'list', large: false, child: onlyChild(field) }
    case 'large_list':
    case 'large_list.struct':
      return { kind: 'list', large: true, child: onlyChild(field) }
    case 'map':
      return mapType(field)
    default:
      break
  }
  const struct = /^fixed_size_list:struct:(\d{1,10})$/.exec(field.logicalType)
  if (struct !== null) {
    return { kind: 'fixed_size_list', size: positive(struct[1]!, field), child: onlyChild(field) }
  }
  if (field.children.length > 0) {
    throw invalidInput(
      `field ${quote(field.name)} of a Lance schema has the type ${quote(field.logicalType)}, but ${field.children.length} children`,
    )
  }
  return leafType(field.logicalType, field, 1)
}

function onlyChild(field: LanceField): Field {
  const [child] = field.children
  if (child === undefined || field.children.length > 1) {
    throw invalidInput(
      `field ${quote(field.name)} of a Lance schema has the type ${quote(field.logicalType)} and ${field.children.length} children, expected 1`,
    )
  }
  return arrowField(child)
}

function mapType(field: LanceField): DataType {
  const child = onlyChild(field)
  if (child.type.kind !== 'struct' || child.type.children.length !== 2) {
    throw invalidInput(`the map ${quote(field.name)} of a Lance schema has entries without a key and a value`)
  }
  return { kind: 'map', keysSorted: false, child }
}

const simpleTypes: ReadonlyMap<string, DataType> = new Map<string, DataType>([
  ['null', { kind: 'null' }],
  ['bool', { kind: 'bool' }],
  ['int8', { kind: 'int', bits: 8, signed: true }],
  ['uint8', { kind: 'int', bits: 8, signed: false }],
  ['int16', { kind: 'int', bits: 16, signed: true }],
  ['uint16', { kind: 'int', bits: 16, signed: false }],
  ['int32', { kind: 'int', bits: 32, signed: true }],
  ['uint32', { kind: 'int', bits: 32, signed: false }],
  ['int64', { kind: 'int', bits: 64, signed: true }],
  ['uint64', { kind: 'int', bits: 64, signed: false }],
  ['halffloat', { kind: 'float', bits: 16 }],
  ['float', { kind: 'float', bits: 32 }],
  ['double', { kind: 'float', bits: 64 }],
  ['string', { kind: 'utf8', large: false }],
  ['large_string', { kind: 'utf8', large: true }],
  ['binary', { kind: 'binary', large: false }],
  ['large_binary', { kind: 'binary', large: true }],
  ['json', { kind: 'binary', large: true }],
  ['date32:day', { kind: 'date', unit: 'day' }],
  ['date64:ms', { kind: 'date', unit: 'ms' }],
  ['time32:s', { kind: 'time', unit: 's' }],
  ['time32:ms', { kind: 'time', unit: 'ms' }],
  ['time64:us', { kind: 'time', unit: 'us' }],
  ['time64:ns', { kind: 'time', unit: 'ns' }],
  ['duration:s', { kind: 'duration', unit: 's' }],
  ['duration:ms', { kind: 'duration', unit: 'ms' }],
  ['duration:us', { kind: 'duration', unit: 'us' }],
  ['duration:ns', { kind: 'duration', unit: 'ns' }],
])

/** Return the type of a field without children. `depth`: the level of `logicalType` in the type of the field. */
function leafType(logicalType: string, field: LanceField, depth: number): DataType {
  if (depth > maxTypeDepth) throw tooDeep(field.name)
  const simple = simpleTypes.get(logicalType)
  if (simple !== undefined) return simple
  const parts = logicalType.split(':')
  const last = parts.at(-1)!
  if (parts[0] === 'fixed_size_list' && parts.length >= 3) {
    return vectorType(parts.slice(1, -1).join(':'), positive(last, field), field, depth)
  }
  if (parts[0] === 'fixed_size_binary' && parts.length === 2) {
    return { kind: 'fixed_size_binary', width: positive(last, field) }
  }
  if (parts[0] === 'timestamp' && parts.length >= 3 && /^(s|ms|us|ns)$/.test(parts[1]!)) {
    const timezone = parts.slice(2).join(':')
    return { kind: 'timestamp', unit: parts[1] as TimeUnit, timezone: timezone === '-' ? null : timezone }
  }
  if (parts[0] === 'decimal' && parts.length === 4) {
    const bits = parts[1] === '128' ? 128 : parts[1] === '256' ? 256 : 0
    const precision = positive(parts[2]!, field)
    const scale = Number(parts[3])
    if (bits !== 0 && precision <= (bits === 128 ? 38 : 76) && /^-?\d{1,3}$/.test(parts[3]!)) {
      return { kind: 'decimal', bits, precision, scale }
    }
  }
  if (parts[0] === 'dict' && parts.length >= 4) {
    const index = leafType(parts.at(-2)!, field, depth + 1)
    if (index.kind === 'int') {
      const value = leafType(parts.slice(1, -2).join(':'), field, depth + 1)
      return { kind: 'dictionary', index, value, ordered: last === 'true' }
    }
  }
  throw unsupported(
    `field ${quote(field.name)} has the Lance type ${quote(logicalType)}, which Sheaf does not have`,
    {
      hint: 'select the other columns, or convert the column with LanceDB',
    },
  )
}

function vectorType(element: string, size: number, field: LanceField, depth: number): DataType {
  if (element === 'lance.bfloat16') {
    const metadata = { 'ARROW:extension:name': 'lance.bfloat16', 'ARROW:extension:metadata': '' }
    const type: DataType = { kind: 'fixed_size_binary', width: 2 }
    return { kind: 'fixed_size_list', size, child: { name: 'item', type, nullable: true, metadata } }
  }
  const type = leafType(element, field, depth + 1)
  return { kind: 'fixed_size_list', size, child: { name: 'item', type, nullable: true } }
}

function positive(text: string, field: LanceField): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : 0
  if (value < 1 || value > 0x7fffffff) {
    throw invalidInput(
      `field ${quote(field.name)} has the Lance type ${quote(field.logicalType)}, but ${quote(text)} is not an integer from 1 to 2147483647`,
    )
  }
  return value
}
