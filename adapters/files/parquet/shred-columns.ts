/** Turns columns into the levels and values of leaves (record shredding of Dremel), one pass for each node. */
import { type Column, isValid } from '../../../src/arrow/column.js'
import { sliceColumn } from '../../../src/arrow/slice.js'
import { takeColumn } from '../../../src/arrow/take.js'
import { quote, schemaMismatch } from '../../../src/errors.js'
import type { LeafWritePlan, WritePlan } from './write-plan.js'

/** The rows of a leaf: the levels of each entry, and the values that are not null. */
export interface ShreddedLeaf {
  readonly plan: LeafWritePlan
  readonly entries: number
  readonly repetition: Uint8Array
  readonly definition: Uint8Array
  readonly values: Column
}

/** The entries at a node. */
interface Entries {
  /** The row of the column for each entry, or -1 if there is none. Null: entry `i` has row `i`. */
  readonly rows: Int32Array | null
  readonly repetition: Uint8Array
  readonly definition: Uint8Array
}

/**
 * Add the leaves of a column to `out`. The column must not have dictionaries. Throws SchemaValidation for a null in a
 * field that is not nullable.
 */
export function shredColumn(plan: WritePlan, column: Column, out: ShreddedLeaf[]): void {
  const { length } = column
  shred(
    plan,
    column,
    { rows: null, repetition: new Uint8Array(length), definition: new Uint8Array(length) },
    out,
  )
}

function shred(plan: WritePlan, column: Column, above: Entries, out: ShreddedLeaf[]): void {
  const entries = withNulls(plan, column, above)
  switch (plan.kind) {
    case 'struct':
      plan.children.forEach((child, i) => {
        shred(child, column.children[i]!, entries, out)
      })
      return
    case 'list':
      shred(plan.child, column.children[0]!, elementsOf(plan.repeated, column, entries), out)
      return
    case 'leaf': {
      const { repetition, definition, rows } = entries
      const values =
        rows === null ? sliceColumn(column, 0, definition.length) : takeColumn(column, present(rows))
      out.push({
        plan,
        entries: definition.length,
        repetition,
        definition,
        values: { ...values, validity: null, nullCount: 0 },
      })
    }
  }
}

/** Raise the level of the rows that are not null, and leave out the others. */
function withNulls(plan: WritePlan, column: Column, { rows, repetition, definition }: Entries): Entries {
  const count = definition.length
  const hasNulls = column.type.kind === 'null' || column.nullCount > 0
  if (rows === null && !hasNulls) {
    return plan.isOptional
      ? { rows, repetition, definition: raised(definition) }
      : { rows, repetition, definition }
  }
  const levels = plan.isOptional ? definition.slice() : definition
  const kept = new Int32Array(count)
  for (let i = 0; i < count; i++) {
    const row = rows === null ? i : rows[i]!
    if (row >= 0 && (!hasNulls || isValid(column, row))) {
      kept[i] = row
      if (plan.isOptional) levels[i]! += 1
      continue
    }
    kept[i] = -1
    if (row >= 0 && !plan.isOptional)
      throw schemaMismatch(`column ${quote(plan.path)} has a null, but its field is not nullable`)
  }
  return { rows: kept, repetition, definition: levels }
}

function raised(definition: Uint8Array): Uint8Array {
  const levels = new Uint8Array(definition.length)
  for (let i = 0; i < levels.length; i++) levels[i] = definition[i]! + 1
  return levels
}

/** Replace each list by its elements. A list without elements, and a missing list, keeps one entry. */
function elementsOf(repeated: number, column: Column, { rows, repetition, definition }: Entries): Entries {
  const { offsets, type } = column
  const size = type.kind === 'fixed_size_list' ? type.size : 0
  const startOf = (row: number) => (offsets === null ? row * size : offsets[row]!)
  const lists = definition.length
  let count = 0
  let hasGaps = false
  for (let i = 0; i < lists; i++) {
    const row = rows === null ? i : rows[i]!
    const length = row < 0 ? 0 : startOf(row + 1) - startOf(row)
    if (length === 0) hasGaps = true
    count += Math.max(1, length)
  }
  const isWhole = rows === null && !hasGaps && (lists === 0 || startOf(0) === 0)
  const next = {
    rows: isWhole ? null : new Int32Array(count),
    repetition: new Uint8Array(count),
    definition: new Uint8Array(count),
  }
  let at = 0
  for (let i = 0; i < lists; i++) {
    const row = rows === null ? i : rows[i]!
    const start = row < 0 ? 0 : startOf(row)
    const length = row < 0 ? 0 : startOf(row + 1) - start
    next.repetition[at] = repetition[i]!
    if (length === 0) {
      next.definition[at] = definition[i]!
      next.rows![at] = -1
      at++
      continue
    }
    next.repetition.fill(repeated, at + 1, at + length)
    next.definition.fill(definition[i]! + 1, at, at + length)
    if (next.rows !== null) for (let j = 0; j < length; j++) next.rows[at + j] = start + j
    at += length
  }
  return next
}

function present(rows: Int32Array): Int32Array {
  let count = 0
  for (let i = 0; i < rows.length; i++) if (rows[i]! >= 0) count++
  const kept = new Int32Array(count)
  for (let i = 0, next = 0; i < rows.length; i++) if (rows[i]! >= 0) kept[next++] = rows[i]!
  return kept
}
