/**
 * Converts schemas to JSON (JsonArrowSchema of the Lance Namespace specification). There are two dialects with
 * different names of types. The namespace reference implementation uses the dialect 'namespace', and LanceDB's clients
 * require the dialect 'lance'. The reader (`schema-from-json.ts`) accepts both dialects.
 *
 * The namespace dialect cannot express units, timezones, dictionaries and the key order of maps. It omits them, and
 * writes the value type instead of a dictionary. The `length` of its decimals is precision * 1000 + scale.
 */
import { childFields, type DataType, type Field, type Schema } from './types.js'

/** A dialect of JSON schemas. The head of this file describes them. */
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
  /** Child fields of a nested type. Absent for other types. */
  readonly fields?: readonly JsonArrowField[]
  /**
   * Size of a fixed-size type. In the namespace dialect also precision * 1000 + scale of a decimal. Absent for other
   * types.
   */
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

/**
 * Return whether the name of a type in the lance dialect has all its parameters. Only such a name can follow `dict:`.
 */
function hasFlatName(type: DataType): boolean {
  return childFields(type).length === 0 && type.kind !== 'struct' && type.kind !== 'fixed_size_binary'
}

function lengthOf(type: DataType, dialect: SchemaDialect): number | undefined {
  if (type.kind === 'fixed_size_binary') return type.width
  if (type.kind === 'fixed_size_list') return type.size
  if (type.kind === 'decimal' && dialect === 'namespace') return type.precision * 1000 + type.scale
  return undefined
}

/** Return the name of a type for which both dialects use the same name. */
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
