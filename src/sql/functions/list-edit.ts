/** Functions that add, remove or reorder list elements by position. */
import type { Column } from '../../arrow/column.js'
import { invalidInput } from '../../errors.js'
import { checkSpread, spread } from '../kernels/gather.js'
import { elementType } from '../values/types.js'
import { bitAt, type Operand } from '../values/vector.js'
import type { Call, Kernel } from './call.js'
import { ListBuilder, Lists } from './list-builder.js'
import { numberOf, strictRows } from './operands.js'

/** Compute `array_append(list, element)`. A NULL list counts as empty. */
export function arrayAppend(call: Call): Column {
  const [list, element] = call.args as [Operand, Operand]
  return withElement(call, list, element, false)
}

/** Compute `array_prepend(element, list)`. A NULL list counts as empty. */
export function arrayPrepend(call: Call): Column {
  const [element, list] = call.args as [Operand, Operand]
  return withElement(call, list, element, true)
}

function withElement(call: Call, list: Operand, element: Operand, isFirst: boolean): Column {
  const { length, rows } = call
  checkSpread(element, length)
  const lists = new Lists(list, length)
  const builder = new ListBuilder(call, [lists.elements, element.column])
  for (let i = 0; i < length; i++) {
    if (rows === null || bitAt(rows, i)) {
      const row = element.constant ? 0 : i
      if (isFirst) builder.add(1, row)
      if (lists.has(i)) builder.addAll(0, lists.start(i), lists.end(i))
      if (!isFirst) builder.add(1, row)
    }
    builder.endRow()
  }
  return builder.finish()
}

/** Compute `array_concat(list, ...)`. The result is NULL only if all lists are NULL. */
export function arrayConcat(call: Call): Column {
  const { args, length, rows } = call
  const parts = args.map(arg => new Lists(arg, length))
  const builder = new ListBuilder(
    call,
    parts.map(({ elements }) => elements),
  )
  for (let i = 0; i < length; i++) {
    let hasList = false
    if (rows === null || bitAt(rows, i)) {
      for (const [p, lists] of parts.entries()) {
        if (!lists.has(i)) continue
        hasList = true
        builder.addAll(p, lists.start(i), lists.end(i))
      }
    }
    if (hasList) builder.endRow()
    else builder.skipRow()
  }
  return builder.finish()
}

/**
 * Build a column with a list for each requested row. A row is NULL if one of its arguments is NULL. `write`: adds the
 * elements of a row to the builder.
 */
export function eachList(
  call: Call,
  sources: readonly Column[],
  write: (builder: ListBuilder, row: number) => void,
): Column {
  const { needed } = strictRows(call)
  const builder = new ListBuilder(call, sources)
  for (let i = 0; i < call.length; i++) {
    if (bitAt(needed, i)) {
      write(builder, i)
      builder.endRow()
    } else builder.skipRow()
  }
  return builder.finish()
}

/** Compute `array_reverse(list)`. */
export function arrayReverse(call: Call): Column {
  const lists = new Lists(call.args[0]!, call.length)
  return eachList(call, [lists.elements], (builder, row) => {
    for (let k = lists.end(row) - 1; k >= lists.start(row); k--) builder.add(0, k)
  })
}

/** Return a kernel that removes the first `first` and the last `last` elements of a list. */
export function arrayPop(first: 0 | 1, last: 0 | 1): Kernel {
  return call => {
    const lists = new Lists(call.args[0]!, call.length)
    return eachList(call, [lists.elements], (builder, row) => {
      builder.addAll(0, lists.start(row) + first, lists.end(row) - last)
    })
  }
}

/**
 * Compute `array_slice(list, from, to)` or `array_slice(list, from, to, step)`. The slice includes both ends.
 *
 * Positions count from 1, and negative positions count from the end. A `from` before the first element means the first
 * element. A `to` after the last element means the last element. With any other position outside of the list, the slice
 * is empty.
 */
export function arraySlice(call: Call): Column {
  const [list, from, to, by] = call.args as [Operand, Operand, Operand, Operand?]
  const lists = new Lists(list, call.length)
  return eachList(call, [lists.elements], (builder, row) => {
    const step = by === undefined ? 1 : numberOf(by, row)
    if (step === 0) {
      throw invalidInput(`the step of a slice must not be 0, in ${call.describe()}`, {
        hint: 'leave the step out to take every element',
      })
    }
    const start = lists.start(row)
    const count = lists.end(row) - start
    const first = Math.max(indexOf(numberOf(from, row), count), 0)
    const last = Math.min(indexOf(numberOf(to, row), count), count - 1)
    if (first >= count || last < 0) return
    for (let k = first; step > 0 ? k <= last : k >= last; k += step) builder.add(0, start + k)
  })
}

/**
 * Convert a position in a call to an index from 0 in a list of `count` elements. The index may be outside of the list.
 */
function indexOf(written: number, count: number): number {
  return written < 0 ? written + count : written - 1
}

/**
 * Compute `flatten(list)`: a list with the elements of all inner lists. Inner lists that are NULL are skipped. A list
 * whose elements are not lists is returned unchanged.
 */
export function flatten(call: Call): Column {
  const { args, length } = call
  const [list] = args as [Operand]
  if (elementType(elementType(list.column.type)!) === null) return spread(list, length)
  const outer = new Lists(list, length)
  const inner = new Lists({ column: outer.elements, constant: false }, outer.elements.length)
  return eachList(call, [inner.elements], (builder, row) => {
    for (let k = outer.start(row); k < outer.end(row); k++) {
      if (inner.has(k)) builder.addAll(0, inner.start(k), inner.end(k))
    }
  })
}
