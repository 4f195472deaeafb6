/** Build structs from values. */
import type { Column } from '../../arrow/column.js'
import { nullColumn } from '../../arrow/fill.js'
import { spread } from '../kernels/gather.js'
import { columnOf } from '../values/vector.js'
import type { Call } from './call.js'

/** Compute `struct(a, ...)`. The struct is never NULL, but its fields may be. */
export function struct({ args, type, length }: Call): Column {
  return structOf(args, type, length)
}

/** Compute `named_struct('name', value, ...)`. */
export function namedStruct({ args, type, length }: Call): Column {
  const values = args.filter((_, i) => i % 2 === 1)
  return structOf(values, type, length)
}

function structOf(values: Call['args'], type: Column['type'], length: number): Column {
  const fields = type.kind === 'struct' ? type.children : []
  const children = values.map((value, i) => {
    const column = spread(value, length)
    return column.type.kind === 'null' ? nullColumn(fields[i]!.type, length) : column
  })
  return columnOf(type, length, { children }, null)
}
