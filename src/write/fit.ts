/** Columns of nearly the right type, made right without computing a value. */
import { type Column, isValid } from '../arrow/column.js'
import { nullColumn } from '../arrow/fill.js'
import { viewCells } from '../arrow/layout.js'
import { equalTypes } from '../arrow/same-type.js'
import { takeColumn } from '../arrow/take.js'
import type { DataType, Field } from '../arrow/types.js'
import { Grouper } from '../query/group.js'
import { isOrdered } from '../sql/values/types.js'

/**
 * `column` as a column of `type`: nulls of the null type take any, dictionaries give their values and take those of
 * others, children that hold no null are children that may not. Null when the values are of another type.
 */
export function fitColumn(column: Column, type: DataType): Column | null {
  const { type: own } = column
  if (equalTypes(own, type)) return column
  if (own.kind === 'null') return nullColumn(type, column.length)
  if (own.kind === 'dictionary' && type.kind !== 'dictionary')
    return fitColumn(dictionaryValues(column), type)
  if (own.kind !== 'dictionary' && type.kind === 'dictionary') return withDictionary(column, type)
  if (own.kind === 'list' && type.kind === 'list' && own.large === type.large) {
    return fitChildren(column, type, [type.child])
  }
  if (own.kind === 'fixed_size_list' && type.kind === 'fixed_size_list' && own.size === type.size) {
    return fitChildren(column, type, [type.child])
  }
  if (own.kind === 'struct' && type.kind === 'struct' && own.children.length === type.children.length) {
    const named = own.children.every((child, i) => child.name === type.children[i]!.name)
    return named ? fitChildren(column, type, type.children) : null
  }
  return null
}

function fitChildren(column: Column, type: DataType, fields: readonly Field[]): Column | null {
  const children: Column[] = []
  for (const [i, field] of fields.entries()) {
    const child = fitColumn(column.children[i]!, field.type)
    if (child === null || (!field.nullable && child.nullCount > 0)) return null
    children.push(child)
  }
  return { ...column, type, children }
}

function dictionaryValues(column: Column): Column {
  const rows = new Int32Array(column.length)
  for (let row = 0; row < rows.length; row++)
    rows[row] = isValid(column, row) ? Number(column.values![row]) : -1
  return takeColumn(column.dictionary!, rows)
}

/** Each value once, and which of them a row has. Null where the indices cannot count that far. */
function withDictionary(column: Column, type: DataType & { kind: 'dictionary' }): Column | null {
  const values = fitColumn(column, type.value)
  if (values === null || !isOrdered(type.value)) return null
  const present: number[] = []
  for (let row = 0; row < values.length; row++) if (isValid(values, row)) present.push(row)
  const grouper = new Grouper([type.value], 0)
  const groups = grouper.add([takeColumn(values, Uint32Array.from(present))])
  const { bits, signed } = type.index
  if (grouper.count > 2 ** Math.min(bits - (signed ? 1 : 0), 31)) return null
  const indices = viewCells(type, new Uint8Array(column.length * (bits / 8)), column.length)
  for (const [i, row] of present.entries())
    indices[row] = (bits === 64 ? BigInt(groups[i]!) : groups[i]!) as never
  const [dictionary] = grouper.keys()
  return { ...values, type, values: indices, offsets: null, children: [], dictionary: dictionary! }
}
