/** What an evaluated function is given and gives. */
import type { Column } from '../../arrow/column.js'
import type { DataType } from '../../arrow/types.js'
import { assert } from '../../errors.js'
import type { Clock } from '../../primitives/clock.js'
import type { Truth } from '../kernels/truth.js'
import type { Operand, RowMask } from '../values/vector.js'

/** What volatile functions are made of. */
export type Chance = Pick<Clock, 'random' | 'uuid'>

const refuse = () => assert(false, 'the expression is not volatile') as never

/** For expressions that are not volatile. */
export const noChance: Chance = { random: refuse, uuid: refuse }

export interface Call {
  /** In the types the function declares; dictionaries decoded. */
  readonly args: readonly Operand[]
  /** The type of the result. */
  readonly type: DataType
  readonly length: number
  readonly rows: RowMask
  /** The call as text, for messages. */
  readonly describe: () => string
  readonly chance: Chance
}

/** Computes rows `0 .. length-1`; a predicate gives a `Truth`. */
export type Kernel = (call: Call) => Column | Truth

/** A function as a call of it was bound: all that evaluating it takes. */
export interface Callee {
  readonly name: string
  readonly kernel: Kernel | { readonly lazy: LazyKernel }
  /** Whether some values of the declared types are an error. */
  readonly mayFail?: boolean
  /** Whether every row has a value of its own, whatever the arguments are. */
  readonly volatile?: true
}

/** As `Kernel`, but evaluates its arguments itself, each for the rows that need it. */
export type LazyKernel = (args: readonly ((rows: RowMask) => Operand)[], call: Omit<Call, 'args'>) => Column
