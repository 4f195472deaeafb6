/**
 * Schemas as JSON (JsonArrowSchema of the Lance Namespace specification) in two dialects with different type names:
 * 'namespace' is that of the namespace reference implementation, 'lance' is what LanceDB's clients require. Reading
 * accepts both dialects from any client.
 *
 * The namespace dialect cannot express units, timezones, dictionaries and key order: it writes `timestamp`, `time64`,
 * and the value type of a dictionary. When read, `timestamp` and `duration` are in us, `time32` in ms, `time64` in us,
 * and `interval` is month_day_nano. Its decimals have precision * 1000 + scale as `length`.
 */
import { invalidInput, nearestName, quote, type SheafError, unsupported } from '../errors.js'
import { isDecimal } from './decimal.js'
import { childFields, type DataType, type Field, type IntType, maxTypeDepth, type Schema } from './types.js'

/** The two dialects; see the head of this file. */
type SchemaDialect = 'namespace' | 'lance'

/** A schema as JSON. */
export interface JsonArrowSchema {
  readonly fields: readonly JsonArrowField[]
  readonly metadata?: Readonly<Record<string, string>>
}

/** A field as JSON. */
export interface JsonArrowField {
  readonly name: string
  readonly nullable: boolean
  readonly type: JsonArrowDataType
  readonly metadata?: Readonly<Record<string, string>>
}

/** A type as JSON. */
export interface JsonArrowDataType {
  readonly type: string
  /** Children of nested types. */
  readonly fields?: readonly JsonArrowField[]
  /** Length of fixed-size types. */
  readonly length?: number
}

/** Convert a schema to JSON. */
export function schemaToJson(schema: Schema, dialect: SchemaDialect): JsonArrowSchema {
  const fields = schema.fields.map(field => fieldToJson(field, dialect))
  return schema.metadata === undefined ? { fields } : { fields, metadata: schema.metadata }
}

function fieldToJson({ name, type, nullable, metadata }: Field, dialect: SchemaDialect): JsonArrowField {
  const field = { name, nullable, type: typeToJson(type, dialect) }
  return metadata === undefined ? field : { ...field, metadata }
}

/** Convert a type to JSON. */
export function typeToJson(type: DataType, dialect: SchemaDialect): JsonArrowDataType {
  if (type.kind === 'dictionary' && (dialect === 'namespace' || !hasFlatName(type.value))) {
    return typeToJson(type.value, dialect)
  }
  const name = dialect === 'lance' ? lanceName(type) : namespaceName(type)
  const children = childFields(type)
  const fields = children.map(child => fieldToJson(child, dialect))
  const length = lengthOf(type, dialect)
  return {
    type: name,
    ...((children.length > 0 || type.kind === 'struct') && { fields }),
    ...(length !== undefined && { length }),
  }
}

/** Return whether the lance name alone describes a type completely, so that `dict:` can contain it. */
function hasFlatName(type: DataType): boolean {
  return childFields(type).length === 0 && type.kind !== 'struct' && type.kind !== 'fixed_size_binary'
}

function lengthOf(type: DataType, dialect: SchemaDialect): number | undefined {
  if (type.kind === 'fixed_size_binary') return type.width
  if (type.kind === 'fixed_size_list') return type.size
  if (type.kind === 'decimal' && dialect === 'namespace') return type.precision * 1000 + type.scale
  return undefined
}

/** The name in both dialects, where they agree. */
function commonName(type: DataType): string {
  switch (type.kind) {
    case 'int':
      return `${type.signed ? '' : 'u'}int${type.bits}`
    case 'binary':
    case 'list':
      return type.large ? `large_${type.kind}` : type.kind
    default:
      return type.kind
  }
}

function namespaceName(type: DataType): string {
  switch (type.kind) {
    case 'float':
      return `float${type.bits}`
    case 'utf8':
      return type.large ? 'large_utf8' : 'utf8'
    case 'decimal':
      return `decimal${type.bits}`
    case 'date':
      return type.unit === 'day' ? 'date32' : 'date64'
    case 'time':
      return timeName(type)
    default:
      return commonName(type)
  }
}

function timeName(type: DataType & { readonly kind: 'time' }): string {
  return type.unit === 's' || type.unit === 'ms' ? 'time32' : 'time64'
}

function lanceName(type: DataType): string {
  switch (type.kind) {
    case 'float':
      return { 16: 'halffloat', 32: 'float', 64: 'double' }[type.bits]
    case 'utf8':
      return type.large ? 'large_string' : 'string'
    case 'decimal':
      return `decimal:${type.bits}:${type.precision}:${type.scale}`
    case 'date':
      return type.unit === 'day' ? 'date32:day' : 'date64:ms'
    case 'time':
      return `${timeName(type)}:${type.unit}`
    case 'timestamp':
      return `timestamp:${type.unit}:${type.timezone ?? '-'}`
    case 'duration':
    case 'interval':
      return `${type.kind}:${type.unit}`
    case 'dictionary':
      return `dict:${lanceName(type.value)}:${commonName(type.index)}:${type.ordered}`
    default:
      return commonName(type)
  }
}

/** Parse a schema. @throws InvalidInput naming the invalid field or its unknown type. */
export function schemaFromJson(json: unknown): Schema {
  const { fields, metadata } = objectOf(json, 'a schema')
  const checked = metadataFromJson(metadata, 'the schema')
  return {
    fields: listOf(fields, 'the schema').map(field => fieldFromJson(field, 1)),
    ...(checked && { metadata: checked }),
  }
}

function fieldFromJson(json: unknown, depth: number): Field {
  const { name, nullable, type, metadata } = objectOf(json, 'a field')
  if (typeof name !== 'string') throw invalidInput(`a field's name must be a string, got ${quote(name)}`)
  if (nullable !== undefined && nullable !== null && typeof nullable !== 'boolean') {
    throw invalidInput(`nullable of field ${quote(name)} must be true or false, got ${quote(nullable)}`)
  }
  const checked = metadataFromJson(metadata, `field ${quote(name)}`)
  return {
    name,
    type: readType(type, depth),
    nullable: nullable !== false,
    ...(checked && { metadata: checked }),
  }
}

function objectOf(json: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw invalidInput(`${what} must be an object, got ${quote(json)}`)
  }
  return json as Readonly<Record<string, unknown>>
}

function listOf(json: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(json)) throw invalidInput(`fields of ${what} must be an array, got ${quote(json)}`)
  return json
}

function metadataFromJson(json: unknown, what: string): Field['metadata'] {
  if (json === undefined || json === null) return undefined
  const entries = Object.entries(objectOf(json, `metadata of ${what}`))
  for (const [key, value] of entries) {
    if (typeof value !== 'string')
      throw invalidInput(`metadata ${quote(key)} of ${what} must be a string, got ${quote(value)}`)
  }
  return entries.length === 0 ? undefined : Object.fromEntries(entries as [string, string][])
}

/**
 * Parse a type from `{type, fields?, length?}` or from its name alone, in either dialect, in upper or lower case.
 * @throws InvalidInput for a name unknown to both dialects, with the most similar name as hint; Unsupported for types
 * that Sheaf does not support.
 */
export function typeFromJson(json: unknown): DataType {
  return readType(json, 1)
}

function readType(json: unknown, depth: number): DataType {
  if (depth > maxTypeDepth) throw invalidInput(`types are nested deeper than ${maxTypeDepth}`)
  if (typeof json === 'string') return typeOf(json, undefined, undefined, depth)
  const { type, fields, length } = objectOf(json, 'a data type')
  if (typeof type !== 'string') throw invalidInput(`a data type's name must be a string, got ${quote(type)}`)
  if (length !== undefined && length !== null && !(Number.isInteger(length) && Number(length) >= 0)) {
    throw invalidInput(`length of data type ${quote(type)} must be a whole number, got ${quote(length)}`)
  }
  const children =
    fields === undefined || fields === null ? undefined : listOf(fields, `data type ${quote(type)}`)
  return typeOf(type, children, length === null ? undefined : (length as number | undefined), depth)
}

const int = (bits: IntType['bits'], signed: boolean): DataType => ({ kind: 'int', bits, signed })
const float = (bits: 16 | 32 | 64): DataType => ({ kind: 'float', bits })
const utf8 = (large: boolean): DataType => ({ kind: 'utf8', large })

/** Names without parameters. */
const plainNames: ReadonlyMap<string, DataType> = new Map<string, DataType>([
  ['null', { kind: 'null' }],
  ['bool', { kind: 'bool' }],
  ['boolean', { kind: 'bool' }],
  ['int8', int(8, true)],
  ['int16', int(16, true)],
  ['int32', int(32, true)],
  ['int64', int(64, true)],
  ['uint8', int(8, false)],
  ['uint16', int(16, false)],
  ['uint32', int(32, false)],
  ['uint64', int(64, false)],
  ['float16', float(16)],
  ['float32', float(32)],
  ['float64', float(64)],
  ['halffloat', float(16)],
  ['float', float(32)],
  ['double', float(64)],
  ['utf8', utf8(false)],
  ['string', utf8(false)],
  ['large_utf8', utf8(true)],
  ['large_string', utf8(true)],
  ['binary', { kind: 'binary', large: false }],
  ['large_binary', { kind: 'binary', large: true }],
  ['date32', { kind: 'date', unit: 'day' }],
  ['date32:day', { kind: 'date', unit: 'day' }],
  ['date64', { kind: 'date', unit: 'ms' }],
  ['date64:ms', { kind: 'date', unit: 'ms' }],
  ['time32', { kind: 'time', unit: 'ms' }],
  ['time32:s', { kind: 'time', unit: 's' }],
  ['time32:ms', { kind: 'time', unit: 'ms' }],
  ['time64', { kind: 'time', unit: 'us' }],
  ['time64:us', { kind: 'time', unit: 'us' }],
  ['time64:ns', { kind: 'time', unit: 'ns' }],
  ['timestamp', { kind: 'timestamp', unit: 'us', timezone: null }],
  ['duration', { kind: 'duration', unit: 'us' }],
  ['duration:s', { kind: 'duration', unit: 's' }],
  ['duration:ms', { kind: 'duration', unit: 'ms' }],
  ['duration:us', { kind: 'duration', unit: 'us' }],
  ['duration:ns', { kind: 'duration', unit: 'ns' }],
  ['interval', { kind: 'interval', unit: 'month_day_nano' }],
  ['interval:year_month', { kind: 'interval', unit: 'year_month' }],
  ['interval:day_time', { kind: 'interval', unit: 'day_time' }],
  ['interval:month_day_nano', { kind: 'interval', unit: 'month_day_nano' }],
])

/** Names with children, a length or parameters. */
const otherNames = [
  ...[
    'fixed_size_binary',
    'decimal128',
    'decimal256',
    'list',
    'large_list',
    'fixed_size_list',
    'struct',
    'map',
  ],
  ...['timestamp:<unit>:<zone>', 'decimal:<bits>:<precision>:<scale>', 'dict:<value>:<index>:<ordered>'],
]

/** Types of Arrow and Lance that Sheaf does not support. */
const unsupportedNames = [
  'union',
  'run_end_encoded',
  'list_view',
  'large_list_view',
  'decimal32',
  'decimal64',
]

function typeOf(
  given: string,
  fields: readonly unknown[] | undefined,
  length: number | undefined,
  depth: number,
): DataType {
  const name = given.toLowerCase()
  const plain = plainNames.get(name)
  if (plain !== undefined) return plain
  const only = (): Field => {
    if (fields?.length !== 1) throw invalidInput(`data type ${quote(given)} needs one child in fields`)
    return fieldFromJson(fields[0], depth + 1)
  }
  const size = (): number => {
    if (length === undefined || length > 0x7fffffff)
      throw invalidInput(`data type ${quote(given)} needs a length`)
    return length
  }
  switch (name) {
    case 'fixed_size_binary':
      return { kind: 'fixed_size_binary', width: size() }
    case 'decimal128':
    case 'decimal256': {
      // A negative scale makes the sum smaller than precision * 1000, so round up.
      const precision = Math.floor((size() + 128) / 1000)
      return decimal(given, name === 'decimal128' ? 128 : 256, precision, size() - precision * 1000)
    }
    case 'list':
    case 'large_list':
      return { kind: 'list', large: name === 'large_list', child: only() }
    case 'fixed_size_list':
      return { kind: 'fixed_size_list', size: size(), child: only() }
    case 'struct':
      return { kind: 'struct', children: (fields ?? []).map(field => fieldFromJson(field, depth + 1)) }
    case 'map': {
      const child = only()
      if (child.type.kind !== 'struct' || child.type.children.length !== 2) {
        throw invalidInput('data type "map" needs a struct of key and value in fields')
      }
      return { kind: 'map', keysSorted: false, child }
    }
    default:
      return parameterised(given, name, depth)
  }
}

/**
 * Parse `timestamp:us:UTC`, `decimal:128:10:2`, `dict:string:int32:false`, `fixed_size_list:float:128`,
 * `fixed_size_binary:16`.
 */
function parameterised(given: string, name: string, depth: number): DataType {
  const [head, ...rest] = name.split(':')
  switch (head) {
    case 'timestamp': {
      const unit = rest[0]
      // The timezone keeps its case and may contain colons: +05:30.
      const zone = given.split(':').slice(2).join(':')
      if (unit !== 's' && unit !== 'ms' && unit !== 'us' && unit !== 'ns') break
      return { kind: 'timestamp', unit, timezone: zone === '' || zone === '-' ? null : zone }
    }
    case 'decimal': {
      const [bits, precision, scale] = rest.map(Number)
      if (rest.length !== 3 || (bits !== 128 && bits !== 256)) break
      return decimal(given, bits, precision!, scale!)
    }
    case 'dict': {
      const ordered = rest.at(-1)
      const index = plainNames.get(rest.at(-2) ?? '')
      if (index?.kind !== 'int' || (ordered !== 'true' && ordered !== 'false')) break
      const value = readType(given.split(':').slice(1, -2).join(':'), depth + 1)
      if (value.kind === 'dictionary') break
      return { kind: 'dictionary', index, value, ordered: ordered === 'true' }
    }
    case 'fixed_size_list': {
      const size = Number(rest.at(-1))
      if (rest.length < 2 || !Number.isInteger(size) || size < 0) break
      const type = readType(given.split(':').slice(1, -1).join(':'), depth + 1)
      return { kind: 'fixed_size_list', size, child: { name: 'item', type, nullable: true } }
    }
    case 'fixed_size_binary': {
      const width = Number(rest[0])
      if (rest.length !== 1 || !Number.isInteger(width) || width < 0) break
      return { kind: 'fixed_size_binary', width }
    }
  }
  throw unknownName(given, name)
}

function decimal(given: string, bits: 128 | 256, precision: number, scale: number): DataType {
  if (!isDecimal(bits, precision, scale)) {
    throw invalidInput(`data type ${quote(given)} has precision ${precision} and scale ${scale}`)
  }
  return { kind: 'decimal', bits, precision, scale }
}

function unknownName(given: string, name: string): SheafError {
  if (unsupportedNames.includes(name))
    return unsupported(`data type ${quote(given)} is not supported by Sheaf`)
  const near = nearestName(name, [...plainNames.keys(), ...otherNames])
  return invalidInput(`unknown data type ${quote(given)}`, {
    hint:
      near === undefined
        ? `known: ${[...plainNames.keys(), ...otherNames].join(', ')}`
        : `did you mean ${quote(near)}?`,
  })
}
