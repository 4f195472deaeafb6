/** Inputs and results of the evaluation of a function. */
import type { Column } from '../../arrow/column.js'
import type { DataType } from '../../arrow/types.js'
import { assert } from '../../errors.js'
import type { Clock } from '../../primitives/clock.js'
import type { Truth } from '../kernels/truth.js'
import type { Operand, RowMask } from '../values/vector.js'

/** The source of randomness of volatile functions. */
export type Chance = Pick<Clock, 'random' | 'uuid'>

const refuse = () => assert(false, 'the expression is not volatile') as never

/** For expressions that are not volatile. Every call fails. */
export const noChance: Chance = { random: refuse, uuid: refuse }

/** A call of a function for one batch. */
export interface Call {
  /** Arguments in the types that the function declares. Dictionaries are decoded. */
  readonly args: readonly Operand[]
  /** The type of the result. */
  readonly type: DataType
  readonly length: number
  readonly rows: RowMask
  /** Print the call, for messages. */
  readonly describe: () => string
  readonly chance: Chance
}

/** Computes rows `0 .. length-1`. A predicate returns a `Truth`. */
export type Kernel = (call: Call) => Column | Truth

/** A function as it was bound for one call, with everything that evaluation needs. */
export interface Callee {
  readonly name: string
  readonly kernel: Kernel | { readonly lazy: LazyKernel }
  /** Whether some values of the declared types cause an error. */
  readonly mayFail?: boolean
  /** Whether every row has its own value, independent of the arguments. */
  readonly volatile?: true
}

/** As `Kernel`, but evaluates its own arguments, each only for the rows that need it. */
type LazyKernel = (args: readonly ((rows: RowMask) => Operand)[], call: Omit<Call, 'args'>) => Column
