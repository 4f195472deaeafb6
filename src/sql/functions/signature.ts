/** Declarations of functions, and signatures that many functions share. */
import type { DataType } from '../../arrow/types.js'
import type { Scalar } from '../values/scalar.js'
import { float64, int64, uint64, utf8 } from '../values/types.js'
import type { Callee } from './call.js'

/** The types to which the arguments of a call are converted, and the type of the result. */
export interface Signature {
  readonly args: readonly DataType[]
  readonly result: DataType
}

/** The values of constant arguments; undefined for other arguments. */
export type Constants = readonly (Scalar | undefined)[]

/**
 * Returns the signature for the value types of the arguments (the null type for a NULL constant), or null if they do
 * not fit. Throws `InvalidInput` or `Unsupported` for a constant that is never valid.
 */
export type Sign = (args: readonly DataType[], constants: readonly (Scalar | undefined)[]) => Signature | null

/** A function of the dialect: its name, its signature and its kernel. */
export interface SqlFunction extends Callee {
  /** How a call is written, for messages. */
  readonly usage: string
  readonly sign: Sign
  readonly aliases?: readonly string[]
  /** Maximum number of arguments, if less than the general limit. */
  readonly most?: number
  /** Position of the argument that must be a constant. */
  readonly constant?: number
}

/** Return whether the type is text, or the type of an untyped NULL. */
export function isText(type: DataType): boolean {
  return type.kind === 'utf8' || type.kind === 'null'
}

/** Return whether the type is an integer, or the type of an untyped NULL. */
export function isInteger(type: DataType): boolean {
  return type.kind === 'int' || type.kind === 'null'
}

/** Return whether the values are bytes: text or binary. */
function isBytes(type: DataType): boolean {
  return isText(type) || type.kind === 'binary' || type.kind === 'fixed_size_binary'
}

/** Return whether the values can be converted to doubles for computations. */
export function isNumber(type: DataType): boolean {
  return ['int', 'float', 'decimal', 'null'].includes(type.kind)
}

export function isNested(type: DataType): boolean {
  return ['list', 'fixed_size_list', 'struct', 'map'].includes(type.kind)
}

/** Return a signature of `count` texts. */
export function texts(count: number, result: DataType): Sign {
  return args => (args.length === count && args.every(isText) ? { args: args.map(() => utf8), result } : null)
}

/**
 * Return a signature by letters: `t` is a text, `i` an integer of any width, `b` text or binary. Arguments after a `?`
 * are optional: `t?t` takes one or two texts.
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

/** Return the type in which numbers are computed. */
export function computedType(type: DataType): DataType | null {
  if (type.kind === 'null') return int64
  if (type.kind === 'float') return float64
  if (type.kind === 'int') return type.bits === 64 && !type.signed ? uint64 : int64
  return null
}

/** Return the type of a list constant. */
export function listOf(element: DataType): DataType {
  return { kind: 'list', large: false, child: { name: 'item', type: element, nullable: true } }
}
