/**
 * Defines the node of a bound expression that reads a column. Queries without expressions need no other node, so the
 * nodes of operations are in `bound.ts`.
 */
import type { DataType } from '../arrow/types.js'
import { type Cost, costOfColumn } from './cost.js'

/** A column, or a field inside a struct. `path` has one name for a column. `type` may be a dictionary type. */
export class ColumnNode {
  readonly kind = 'column'
  readonly path: readonly string[]
  readonly type: DataType

  constructor(path: readonly string[], type: DataType) {
    this.path = path
    this.type = type
  }

  get operands(): readonly never[] {
    return []
  }

  get cost(): Cost {
    return costOfColumn
  }

  withOperands(): ColumnNode {
    return this
  }
}
