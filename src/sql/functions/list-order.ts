/** Sort list elements. NaN is greater than all other floats. Strings are ordered by code points. */
import type { Column } from '../../arrow/column.js'
import { takeColumn } from '../../arrow/take.js'
import type { Scalar } from '../values/scalar.js'
import { orderOfScalars } from '../values/scalar-order.js'
import { bitAt, type Operand, scalarAt } from '../values/vector.js'
import type { Call, Kernel } from './call.js'
import { Lists } from './list-builder.js'
import { eachList } from './list-edit.js'
import { strictRows, textOf } from './operands.js'

/** A sort order of list elements. */
interface ListOrder {
  readonly isDescending: boolean
  readonly areNullsFirst: boolean
}

/** Parse the string arguments of `array_sort`, ignoring case. Return null if they are invalid. */
export function listOrderOf(direction: string, nulls: string): ListOrder | null {
  const [first, last] = [direction, nulls].map(text => text.trim().toUpperCase())
  if (first !== 'ASC' && first !== 'DESC') return null
  if (last !== 'NULLS FIRST' && last !== 'NULLS LAST') return null
  return { isDescending: first === 'DESC', areNullsFirst: last === 'NULLS FIRST' }
}

/**
 * Compute `array_sort(list)`, `array_sort(list, 'DESC')` or `array_sort(list, 'DESC', 'NULLS LAST')`. The sort is
 * stable.
 */
export function arraySort(call: Call): Column {
  const [list, direction, nulls] = call.args as [Operand, Operand?, Operand?]
  const lists = new Lists(list, call.length)
  const values = valuesOf(lists.elements)
  return eachList(call, [lists.elements], (builder, row) => {
    const { isDescending, areNullsFirst } = listOrderOf(
      direction === undefined ? 'ASC' : textOf(direction, row),
      nulls === undefined ? 'NULLS FIRST' : textOf(nulls, row),
    )!
    const [missing, present]: [number[], number[]] = [[], []]
    for (let k = lists.start(row); k < lists.end(row); k++) (values[k] === null ? missing : present).push(k)
    const sign = isDescending ? -1 : 1
    present.sort((a, b) => sign * orderOfScalars(values[a]!, values[b]!))
    for (const k of areNullsFirst ? [...missing, ...present] : [...present, ...missing]) builder.add(0, k)
  })
}

function valuesOf(elements: Column): readonly Scalar[] {
  return Array.from({ length: elements.length }, (_, k) => scalarAt(elements, k))
}

/**
 * Return the kernel of `array_max(list)` (`sign` is 1) or `array_min(list)` (-1). NULL elements are ignored. The result
 * is NULL if all elements are NULL.
 */
export function arrayExtreme(sign: 1 | -1): Kernel {
  return call => {
    const { args, length } = call
    const lists = new Lists(args[0]!, length)
    const values = valuesOf(lists.elements)
    const { needed } = strictRows(call)
    const rows = new Int32Array(length).fill(-1)
    for (let i = 0; i < length; i++) {
      if (!bitAt(needed, i)) continue
      for (let k = lists.start(i); k < lists.end(i); k++) {
        const best = rows[i]!
        if (values[k] === null) continue
        if (best === -1 || sign * orderOfScalars(values[k]!, values[best]!) > 0) rows[i] = k
      }
    }
    return takeColumn(lists.elements, rows)
  }
}
