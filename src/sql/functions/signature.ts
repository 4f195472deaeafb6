/** The type of the declaration of a function, and signatures that many functions share. */
import type { DataType } from '../../arrow/types.js'
import type { Scalar } from '../values/scalar.js'
import { float64, int64, uint64, utf8 } from '../values/types.js'
import type { Callee } from './call.js'

/** The types to which the arguments of a call are converted, and the type of the result. */
export interface Signature {
  readonly args: readonly DataType[]
  readonly result: DataType
}

/** By argument: its value if it is a constant, otherwise undefined. */
export type Constants = readonly (Scalar | undefined)[]

/**
 * Returns the signature of a call, or null if the function does not take the arguments. `args`: the types of the
 * arguments, without dictionaries. A NULL constant has the null type. Throws `InvalidInput` or `Unsupported` for a
 * constant that is invalid for all values of the other arguments.
 */
export type Sign = (args: readonly DataType[], constants: readonly (Scalar | undefined)[]) => Signature | null

/** A function of the dialect: its name, its signature and its kernel. */
export interface SqlFunction extends Callee {
  /** An example call for error messages. */
  readonly usage: string
  readonly sign: Sign
  readonly aliases?: readonly string[]
  /** Maximum number of arguments. Default: the maximum for all functions (binding/calls.ts). */
  readonly most?: number
  /** Index of the argument that must be a constant. Default: no argument must be a constant. */
  readonly constant?: number
}

/** Return whether a function of text takes the type: utf8 or the null type. */
export function isText(type: DataType): boolean {
  return type.kind === 'utf8' || type.kind === 'null'
}

/** Return whether a function of integers takes the type: an integer type or the null type. */
export function isInteger(type: DataType): boolean {
  return type.kind === 'int' || type.kind === 'null'
}

/** Return whether a function of bytes takes the type: utf8, a binary type, or the null type. */
function isBytes(type: DataType): boolean {
  return isText(type) || type.kind === 'binary' || type.kind === 'fixed_size_binary'
}

/** Return whether a function of numbers takes the type: a number type or the null type. */
export function isNumber(type: DataType): boolean {
  return ['int', 'float', 'decimal', 'null'].includes(type.kind)
}

export function isNested(type: DataType): boolean {
  return ['list', 'fixed_size_list', 'struct', 'map'].includes(type.kind)
}

/** Return the signature of a function of `count` texts. */
export function texts(count: number, result: DataType): Sign {
  return args => (args.length === count && args.every(isText) ? { args: args.map(() => utf8), result } : null)
}

/**
 * Return the signature of a function whose argument types are given as letters: `t` for text, `i` for an integer of any
 * width, and `b` for text or binary. Arguments after a `?` are optional. For example, `t?t` takes one or two texts.
 */
export function shape(letters: string, result: DataType): Sign {
  const [required, optional = ''] = letters.split('?') as [string, string?]
  const all = required + optional
  return args => {
    if (args.length < required.length || args.length > all.length) return null
    const fitted: DataType[] = []
    for (const [i, arg] of args.entries()) {
      const letter = all[i]!
      if (!(letter === 't' ? isText : letter === 'i' ? isInteger : isBytes)(arg)) return null
      fitted.push(letter === 'i' ? int64 : letter === 't' || arg.kind === 'null' ? utf8 : arg)
    }
    return { args: fitted, result }
  }
}

/**
 * Return the type in which computations use integers and floats: int64, uint64 or double. Return int64 for the null
 * type, and null for any other type.
 */
export function computedType(type: DataType): DataType | null {
  if (type.kind === 'null') return int64
  if (type.kind === 'float') return float64
  if (type.kind === 'int') return type.bits === 64 && !type.signed ? uint64 : int64
  return null
}

/** Return the type of a list with 32-bit offsets and nullable elements. */
export function listOf(element: DataType): DataType {
  return { kind: 'list', large: false, child: { name: 'item', type: element, nullable: true } }
}
