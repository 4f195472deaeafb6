/** Declared types of the scripts' engines as Arrow types. */
import type { DataType } from '../../../src/arrow/types.js'
import { NoStatement } from './skip.js'
import type { DeclaredType } from './statement.js'

/** Which engine a folder of scripts was written for. */
export type Flavour = 'datafusion' | 'sqlite'

const int = (bits: 8 | 16 | 32 | 64, signed: boolean): DataType => ({ kind: 'int', bits, signed })
const float = (bits: 32 | 64): DataType => ({ kind: 'float', bits })
const utf8: DataType = { kind: 'utf8', large: false }

const datafusion: Readonly<Record<string, DataType>> = {
  boolean: { kind: 'bool' },
  tinyint: int(8, true),
  smallint: int(16, true),
  int: int(32, true),
  integer: int(32, true),
  bigint: int(64, true),
  'tinyint unsigned': int(8, false),
  'smallint unsigned': int(16, false),
  'int unsigned': int(32, false),
  'bigint unsigned': int(64, false),
  float: float(32),
  real: float(32),
  double: float(64),
  string: utf8,
  varchar: utf8,
  text: utf8,
  date: { kind: 'date', unit: 'day' },
  timestamp: { kind: 'timestamp', unit: 'ns', timezone: null },
}

/** SQLite has one integer and one floating type, both of 64 bits. */
const sqlite: Readonly<Record<string, DataType>> = {
  integer: int(64, true),
  float: float(64),
  real: float(64),
  text: utf8,
  varchar: utf8,
}

export function arrowType(type: DeclaredType, flavour: Flavour): DataType {
  const { name, args, fields } = type
  if (name === 'struct') {
    const children = fields.map(field => ({
      name: field.name,
      type: arrowType(field.type, flavour),
      nullable: true,
    }))
    return { kind: 'struct', children }
  }
  if (name === 'decimal' && args.length > 0) {
    const [precision = 0, scale = 0] = args
    return { kind: 'decimal', bits: precision > 38 ? 256 : 128, precision, scale }
  }
  const found = (flavour === 'sqlite' ? sqlite : datafusion)[name]
  if (found === undefined) throw new NoStatement(`there is no type ${name}`)
  return found
}

/** What a CAST to the type is written like; null where there is none. */
export function castName(type: DataType): string | null {
  switch (type.kind) {
    case 'bool':
      return 'boolean'
    case 'int':
      return (
        { 8: 'tinyint', 16: 'smallint', 32: 'int', 64: 'bigint' }[type.bits] +
        (type.signed ? '' : ' unsigned')
      )
    case 'float':
      return type.bits === 32 ? 'float' : 'double'
    case 'utf8':
      return 'string'
    case 'date':
      return 'date'
    case 'timestamp':
      return type.timezone === null ? `timestamp(${{ s: 0, ms: 3, us: 6, ns: 9 }[type.unit]})` : null
    case 'decimal':
      return `decimal(${type.precision}, ${type.scale})`
    default:
      return null
  }
}

/**
 * The type of a column of values written without one: NULL is of any type, an integer beside a float a float, structs go
 * field by field.
 */
export function unify(a: DataType, b: DataType): DataType {
  if (a.kind === 'null') return b
  if (b.kind === 'null') return a
  if (a.kind === 'struct' && b.kind === 'struct' && a.children.length === b.children.length) {
    const children = a.children.map((child, i) => ({
      ...child,
      type: unify(child.type, b.children[i]!.type),
    }))
    return { kind: 'struct', children }
  }
  if (a.kind === 'int' && b.kind === 'float') return float(64)
  return a
}
