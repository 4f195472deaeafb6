/**
 * Assembles columns from the levels and values of leaves (the reverse of Dremel's record shredding). Each node of the
 * plan takes one pass over the levels of its first leaf.
 */
import { bitmapBytes } from '../../../src/arrow/bits.js'
import type { Column } from '../../../src/arrow/column.js'
import { concatColumns } from '../../../src/arrow/concat.js'
import { nullColumn } from '../../../src/arrow/fill.js'
import { takeColumn } from '../../../src/arrow/take.js'
import { quote } from '../../../src/errors.js'
import { encodeDictionary } from './encode-dictionary.js'
import { brokenParquet } from './fault.js'
import type { LeafRows } from './leaf-reader.js'
import type { LeafPlan, ListPlan, ReadPlan } from './read-plan.js'

/** By number of the leaf: its rows. */
type Leaves = ReadonlyMap<number, LeafRows>

/** Assemble the column of a plan. Throws InvalidInput if the levels of its leaves contradict each other. */
export function assembleColumn(plan: ReadPlan, leaves: Leaves): Column {
  switch (plan.kind) {
    case 'leaf':
      return leafColumn(plan, leaves)
    case 'struct': {
      const { length, validity, nullCount } = rowsOf(plan, leaves)
      const children = plan.children.map(child => checkLength(assembleColumn(child, leaves), length, plan))
      const { type } = plan.field
      return { type, length, nullCount, validity, values: null, offsets: null, children, dictionary: null }
    }
    case 'list':
      return listColumn(plan, leaves)
  }
}

function checkLength(column: Column, length: number, { field }: ReadPlan): Column {
  if (column.length === length) return column
  throw brokenParquet(`the leaves of column ${quote(field.name)} have different numbers of rows`)
}

interface Rows {
  readonly length: number
  readonly validity: Uint8Array | null
  readonly nullCount: number
}

/** Find the rows of a node, and which of them are null. */
function rowsOf(plan: ReadPlan, leaves: Leaves): Rows {
  const { entries, repetition, definition } = leaves.get(plan.leaf.leaf)!
  const { parentLevel, level, repeated } = plan
  if (definition === null && (repetition === null || plan.leaf.repeated === repeated))
    return { length: entries, validity: null, nullCount: 0 }
  const validity = new Uint8Array(bitmapBytes(entries))
  let length = 0
  let nullCount = 0
  for (let i = 0; i < entries; i++) {
    // A later element of a list below the node belongs to the same row.
    if (repetition !== null && repetition[i]! > repeated) continue
    const defined = definition === null ? plan.leaf.definition : definition[i]!
    if (defined < parentLevel) continue
    if (defined >= level) validity[length >>> 3]! |= 1 << (length & 7)
    else nullCount++
    length++
  }
  if (nullCount === 0) return { length, validity: null, nullCount }
  return { length, validity: validity.subarray(0, bitmapBytes(length)), nullCount }
}

function leafColumn(plan: LeafPlan, leaves: Leaves): Column {
  const { values } = leaves.get(plan.leaf.leaf)!
  const { length, validity, nullCount } = rowsOf(plan, leaves)
  const { field } = plan
  if (plan.value.kind === 'null') return nullColumn(field.type, length)
  if (values.length !== length - nullCount)
    throw brokenParquet(`the levels of column ${quote(field.name)} do not fit its values`)
  const column = nullCount === 0 ? values : spread(values, length, validity!, nullCount)
  return field.type.kind === 'dictionary' ? encodeDictionary(field.type, column, field.name) : column
}

/** Insert the nulls between the values. */
function spread(values: Column, length: number, validity: Uint8Array, nullCount: number): Column {
  if (values.length === 0) return nullColumn(values.type, length)
  const numbers = new Int32Array(length)
  for (let i = 0, next = 0; i < length; i++) numbers[i] = (validity[i >>> 3]! >>> (i & 7)) & 1 ? next++ : -1
  return { ...takeColumn(values, numbers), validity, nullCount }
}

function listColumn(plan: ListPlan, leaves: Leaves): Column {
  const { entries, repetition, definition } = leaves.get(plan.leaf.leaf)!
  if (definition === null && repetition !== null && plan.leaf.repeated === plan.repeated + 1)
    return filledLists(plan, repetition, leaves)
  const rows = rowsOf(plan, leaves)
  const offsets = new Int32Array(rows.length + 1)
  const elementLevel = plan.child.parentLevel
  const elementRepeated = plan.repeated + 1
  let row = -1
  let elements = 0
  for (let i = 0; i < entries; i++) {
    const repeats = repetition === null ? plan.leaf.repeated : repetition[i]!
    const defined = definition === null ? plan.leaf.definition : definition[i]!
    if (repeats <= plan.repeated) {
      if (defined < plan.parentLevel) continue
      row++
      offsets[row] = elements
    }
    if (repeats <= elementRepeated && defined >= elementLevel) elements++
  }
  offsets[rows.length] = elements
  return listOf(plan, rows, offsets, leaves)
}

/** Return the first entry from `from` on at which a list begins, or the number of entries. */
function listStart(plan: ListPlan, repetition: Uint8Array, from: number): number {
  let at = from
  if (plan.repeated === 0) {
    at = repetition.indexOf(0, from)
    return at === -1 ? repetition.length : at
  }
  while (at < repetition.length && repetition[at]! > plan.repeated) at++
  return at
}

/** Assemble innermost lists without nulls. No list is empty, so each entry is an element. */
function filledLists(plan: ListPlan, repetition: Uint8Array, leaves: Leaves): Column {
  const entries = repetition.length
  let starts = new Int32Array(1024)
  let length = 0
  for (let at = listStart(plan, repetition, 0); at < entries; at = listStart(plan, repetition, at + 1)) {
    if (length + 1 === starts.length) {
      const longer = new Int32Array(2 * length + 2)
      longer.set(starts)
      starts = longer
    }
    starts[length++] = at
  }
  starts[length] = entries
  const offsets = starts.slice(0, length + 1)
  return listOf(plan, { length, validity: null, nullCount: 0 }, offsets, leaves)
}

function listOf(plan: ListPlan, rows: Rows, offsets: Int32Array, leaves: Leaves): Column {
  const { length, validity, nullCount } = rows
  const child = checkLength(assembleColumn(plan.child, leaves), offsets[length]!, plan)
  const { type } = plan.field
  const list = { type, length, nullCount, validity, values: null, dictionary: null }
  if (type.kind !== 'fixed_size_list') return { ...list, offsets, children: [child] }
  return { ...list, offsets: null, children: [evenChild(plan, type.size, rows, { offsets, child })] }
}

/** Check that all lists have one size, and give null lists elements of any value. */
function evenChild(
  { field }: ListPlan,
  size: number,
  { length, validity, nullCount }: Rows,
  { offsets, child }: { readonly offsets: Int32Array; readonly child: Column },
): Column {
  const isValid = (row: number) => validity === null || ((validity[row >>> 3]! >>> (row & 7)) & 1) === 1
  for (let row = 0; row < length; row++) {
    const elements = offsets[row + 1]! - offsets[row]!
    if (elements !== size && isValid(row)) {
      throw brokenParquet(
        `column ${quote(field.name)} has lists of ${size} elements, but a list has ${elements} elements`,
      )
    }
  }
  if (nullCount === 0 || size === 0) return child
  if (child.length === 0) return concatColumns([child, nullColumn(child.type, size * length)])
  const numbers = new Uint32Array(size * length)
  for (let row = 0; row < length; row++) {
    if (!isValid(row)) continue
    for (let i = 0; i < size; i++) numbers[row * size + i] = offsets[row]! + i
  }
  return takeColumn(child, numbers)
}
