/**
 * Reads schemas from JSON in either dialect (`schema-json.ts`). The namespace dialect has no units. So a `timestamp`,
 * `duration` or `time64` without a unit is read in us, a `time32` in ms, and an `interval` as month_day_nano.
 */
import { invalidInput, nearestName, quote, type SheafError, unsupported } from '../errors.js'
import { isDecimal } from './decimal.js'
import { type DataType, type Field, type IntType, maxTypeDepth, type Schema } from './types.js'

/**
 * Parse a schema. @throws InvalidInput for an invalid field or an unknown type. The message names the field or type.
 */
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
 * Parse a type: an object `{type, fields?, length?}`, or only the name of a type. The name is in either dialect, in
 * upper or lower case.
 * @throws InvalidInput for a name that neither dialect has; the hint is the most similar name. Unsupported for a type
 * of Arrow that Sheaf does not support.
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

/** Types without parameters, by name. */
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

/** Names of types that need children, a length or parameters. */
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

/** Names of types of Arrow and Lance that Sheaf does not support. */
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
    if (fields?.length !== 1)
      throw invalidInput(`data type ${quote(given)} needs exactly one child in fields`)
    return fieldFromJson(fields[0], depth + 1)
  }
  const size = (): number => {
    if (length === undefined || length > 0x7fffffff)
      throw invalidInput(`data type ${quote(given)} needs a length from 0 to 2147483647`)
    return length
  }
  switch (name) {
    case 'fixed_size_binary':
      return { kind: 'fixed_size_binary', width: size() }
    case 'decimal128':
    case 'decimal256': {
      // The length is precision * 1000 + scale. The scale is from -128 to 127, so add 128 before the division.
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
 * Parse the name of a type with parameters, for example `timestamp:us:UTC`, `decimal:128:10:2`,
 * `dict:string:int32:false`, `fixed_size_list:float:128` or `fixed_size_binary:16`. `name` is `given` in lower case.
 */
function parameterised(given: string, name: string, depth: number): DataType {
  const [head, ...rest] = name.split(':')
  switch (head) {
    case 'timestamp': {
      const unit = rest[0]
      // The timezone keeps its case, and it may contain a colon, as in +05:30.
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
    throw invalidInput(`data type ${quote(given)} has the invalid precision ${precision} or scale ${scale}`)
  }
  return { kind: 'decimal', bits, precision, scale }
}

function unknownName(given: string, name: string): SheafError {
  if (unsupportedNames.includes(name))
    return unsupported(`Sheaf does not support the data type ${quote(given)}`)
  const near = nearestName(name, [...plainNames.keys(), ...otherNames])
  return invalidInput(`unknown data type ${quote(given)}`, {
    hint:
      near === undefined
        ? `known types: ${[...plainNames.keys(), ...otherNames].join(', ')}`
        : `did you mean ${quote(near)}?`,
  })
}
