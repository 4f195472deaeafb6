/** Translates Arrow schemas to those of Lance: a list of fields with ids, in which each field follows its parent. */
import type { Column } from '../../../src/arrow/column.js'
import { typeName } from '../../../src/arrow/type-name.js'
import type { DataType, Field, Schema } from '../../../src/arrow/types.js'
import { invalidInput, quote, unsupported } from '../../../src/errors.js'
import { MessageWriter } from './message-writer.js'

/** The version of the file format. Maps need 2.2. */
export type LanceVersion = '2.1' | '2.2'

/** A leaf of a column of the schema. Each leaf is one column of a file. */
export interface LanceLeaf {
  /** The id of the field. */
  readonly id: number
  /** The column of the schema. */
  readonly column: number
  /** Which child of each nested type leads to the leaf. */
  readonly path: readonly number[]
}

export interface LanceSchema {
  readonly version: LanceVersion
  /** The messages `lance.file.Field`. */
  readonly fields: readonly MessageWriter[]
  readonly metadata: Readonly<Record<string, string>>
  readonly leaves: readonly LanceLeaf[]
}

/**
 * Translate a schema. `version`: undefined chooses 2.1, or 2.2 if there are maps.
 * @throws Unsupported for a type or a name that Lance does not have.
 */
export function lanceSchema(schema: Schema, version: LanceVersion | undefined): LanceSchema {
  const needed = schema.fields.find(({ type }) => hasMap(type))
  if (version === '2.1' && needed !== undefined) {
    throw unsupported(
      `column ${quote(needed.name)} has a map, but version 2.1 of the Lance file format has no maps`,
      { hint: "write it with version: '2.2', or leave out the option version" },
    )
  }
  const fields: MessageWriter[] = []
  const leaves: LanceLeaf[] = []
  const add = (field: Field, parent: number, column: number, path: readonly number[], name: string): void => {
    const id = fields.length
    const children = childrenOf(field.type, name)
    fields.push(fieldMessage(field, id, parent, logicalType(field.type, name, field)))
    if (children.length === 0) leaves.push({ id, column, path })
    for (const [i, child] of children.entries()) {
      add(child, id, column, [...path, i], `${name}.${child.name}`)
    }
  }
  for (const [i, field] of schema.fields.entries()) {
    checkName(field.name)
    add(field, -1, i, [], field.name)
  }
  return {
    version: version ?? (needed === undefined ? '2.1' : '2.2'),
    fields,
    metadata: schema.metadata ?? {},
    leaves,
  }
}

/** The names of columns that Lance computes. */
const reserved: ReadonlySet<string> = new Set([
  '_rowid',
  '_rowaddr',
  '_rowoffset',
  '_row_created_at_version',
  '_row_last_updated_at_version',
])

/** Throw Unsupported for a name of a column with which LanceDB cannot open or query the table. */
function checkName(name: string): void {
  const what = reserved.has(name)
    ? 'has a name that Lance reserves'
    : name === ''
      ? 'has an empty name, with which LanceDB answers no query'
      : name.includes('.')
        ? 'has a dot in its name, which Lance does not allow'
        : name.includes('`')
          ? 'has a backtick in its name, with which LanceDB answers no query'
          : null
  if (what === null) return
  throw unsupported(`column ${quote(name)} ${what}`, { hint: 'select the column under another name' })
}

function hasMap(type: DataType): boolean {
  switch (type.kind) {
    case 'map':
      return true
    case 'list':
    case 'fixed_size_list':
      return hasMap(type.child.type)
    case 'struct':
      return type.children.some(child => hasMap(child.type))
    case 'dictionary':
      return hasMap(type.value)
    default:
      return false
  }
}

/** Return the children that are fields of their own. A dictionary is written as its values. */
function childrenOf(type: DataType, name: string): readonly Field[] {
  switch (type.kind) {
    case 'list':
      return [type.child]
    case 'map':
      return [withoutNullKeys(type.child)]
    case 'struct':
      if (type.children.length > 0) return type.children
      throw unsupported(
        `column ${quote(name)} is a struct without fields, which Lance files cannot contain`,
        {
          hint: 'leave out the column',
        },
      )
    case 'dictionary':
      return childrenOf(type.value, name)
    default:
      return []
  }
}

/** LanceDB opens maps only if their keys cannot be null. `checkMapKeys` checks the keys of rows. */
function withoutNullKeys(entries: Field): Field {
  if (entries.type.kind !== 'struct') return entries
  const [key, ...values] = entries.type.children
  return {
    ...entries,
    nullable: false,
    type: { ...entries.type, children: [{ ...key!, nullable: false }, ...values] },
  }
}

/** Throw InvalidInput if a map of a column has a null key. `name`: the column, for the error. */
export function checkMapKeys(column: Column, name: string): void {
  if (column.type.kind === 'map' && column.children[0]!.children[0]!.nullCount > 0) {
    throw invalidInput(`column ${quote(name)} has a map with a null key, which Lance does not allow`, {
      hint: 'leave out the rows with null keys',
    })
  }
  for (const child of column.children) checkMapKeys(child, name)
}

/** Metadata of fields that tells readers of Lance how pages are encoded. This writer does not obey it. */
const encodingKey = /^(lance-encoding:|packed$)/

function fieldMessage(field: Field, id: number, parent: number, logical: string): MessageWriter {
  const metadata = Object.entries(field.metadata ?? {}).filter(([key]) => !encodingKey.test(key))
  return new MessageWriter()
    .text(2, field.name)
    .number(3, id)
    .number(4, parent)
    .text(5, logical)
    .bool(6, field.nullable)
    .number(7, logical === 'struct' ? 0 : /^(large_)?(string|binary)$/.test(logical) ? 2 : 1)
    .entries(10, Object.fromEntries(metadata))
}

function logicalType(type: DataType, name: string, field: Field): string {
  switch (type.kind) {
    case 'null':
    case 'bool':
    case 'struct':
    case 'map':
      return type.kind
    case 'int':
      return `${type.signed ? '' : 'u'}int${type.bits}`
    case 'float':
      return type.bits === 16 ? 'halffloat' : type.bits === 32 ? 'float' : 'double'
    case 'utf8':
      return type.large ? 'large_string' : 'string'
    case 'binary':
      return type.large ? 'large_binary' : 'binary'
    case 'fixed_size_binary':
      if (type.width === 0) throw noType(type, name)
      return `fixed_size_binary:${type.width}`
    case 'decimal':
      return `decimal:${type.bits}:${type.precision}:${type.scale}`
    case 'date':
      return type.unit === 'day' ? 'date32:day' : 'date64:ms'
    case 'time':
      return `time${type.unit === 's' || type.unit === 'ms' ? 32 : 64}:${type.unit}`
    case 'timestamp':
      if (type.timezone?.includes(':')) {
        throw unsupported(
          `column ${quote(name)} has the time zone ${quote(type.timezone)}, but LanceDB cannot read time zones with a colon`,
          { hint: 'convert the column to UTC in the query' },
        )
      }
      return `timestamp:${type.unit}:${type.timezone ?? '-'}`
    case 'duration':
      return `duration:${type.unit}`
    case 'list': {
      const value = type.child.type.kind === 'dictionary' ? type.child.type.value : type.child.type
      return `${type.large ? 'large_' : ''}list${value.kind === 'struct' ? '.struct' : ''}`
    }
    case 'fixed_size_list':
      return `fixed_size_list:${elementType(type, name)}:${type.size}`
    case 'dictionary':
      return logicalType(type.value, name, field)
    case 'interval':
      throw noType(type, name)
  }
}

const extensionName = 'ARROW:extension:name'

/** Lance keeps the type of the elements of a fixed-size list in the type of the list, so they can have no children. */
function elementType(type: DataType & { readonly kind: 'fixed_size_list' }, name: string): string {
  const { child, size } = type
  const isFlat = ['bool', 'int', 'float', 'decimal', 'date', 'time', 'timestamp', 'duration'].includes(
    child.type.kind,
  )
  const isBytes = child.type.kind === 'fixed_size_binary' && child.type.width > 0
  if (size === 0 || !(isFlat || isBytes || child.type.kind === 'fixed_size_list')) throw noType(type, name)
  if (child.metadata?.[extensionName] === 'lance.bfloat16') return 'lance.bfloat16'
  return logicalType(child.type, name, child)
}

function noType(type: DataType, name: string): Error {
  return unsupported(
    `column ${quote(name)} has the type ${typeName(type)}, which Lance files cannot contain`,
    {
      hint: 'leave out the column, or convert it to another type in the query',
    },
  )
}
