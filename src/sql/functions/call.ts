/** Types of the inputs and results of functions during evaluation. */
import type { Column } from '../../arrow/column.js'
import type { DataType } from '../../arrow/types.js'
import { assert } from '../../errors.js'
import type { Clock } from '../../primitives/clock.js'
import type { Truth } from '../kernels/truth.js'
import type { Operand, RowMask } from '../values/vector.js'

/** The source of random numbers and UUIDs for volatile functions. */
export type Chance = Pick<Clock, 'random' | 'uuid'>

const refuse = () => assert(false, 'the expression is not volatile') as never

/** The source of randomness for expressions that are not volatile. Using it is an internal error. */
export const noChance: Chance = { random: refuse, uuid: refuse }

/** A call of a function for one batch. */
export interface Call {
  /** The arguments, converted to the types of the signature. Dictionaries are decoded. */
  readonly args: readonly Operand[]
  /** The type of the result. */
  readonly type: DataType
  /** Number of rows of the batch. */
  readonly length: number
  readonly rows: RowMask
  /** Returns the text of the call for error messages. */
  readonly describe: () => string
  readonly chance: Chance
}

/** Computes a call for all rows of a batch. The kernel of a predicate returns a `Truth`. */
export type Kernel = (call: Call) => Column | Truth

/** The parts of a function that the evaluation of a call needs. */
export interface Callee {
  readonly name: string
  readonly kernel: Kernel | { readonly lazy: LazyKernel }
  /** Whether the function throws for some values of the declared types. Default false. */
  readonly mayFail?: boolean
  /** Set if the result can differ between rows with the same arguments, as for `random()`. */
  readonly volatile?: true
}

/**
 * Computes a call as `Kernel` does, but evaluates the arguments itself, each only for the rows that need the argument.
 */
type LazyKernel = (args: readonly ((rows: RowMask) => Operand)[], call: Omit<Call, 'args'>) => Column
