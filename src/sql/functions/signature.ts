/** What a row of the function table says about a function, and the signatures many of them share. */
import type { DataType } from '../../arrow/types.js'
import type { Scalar } from '../values/scalar.js'
import { float64, int64, uint64, utf8 } from '../values/types.js'
import type { Callee } from './call.js'

/** The types a call's arguments are brought to, and that of its result. */
export interface Signature {
  readonly args: readonly DataType[]
  readonly result: DataType
}

/** The values of the arguments that are constants, undefined for the others. */
export type Constants = readonly (Scalar | undefined)[]

/**
 * From the value types of the arguments (`null` for a NULL constant); null when they do not fit. Throws code 13 for a
 * constant that can never be right.
 */
export type Sign = (args: readonly DataType[], constants: readonly (Scalar | undefined)[]) => Signature | null

export interface SqlFunction extends Callee {
  /** How it is written, for messages. */
  readonly usage: string
  readonly sign: Sign
  readonly aliases?: readonly string[]
  /** Arguments it takes at most, where that is less than any function does. */
  readonly most?: number
  /** The argument that must be a constant. */
  readonly constant?: number
}

export function isText(type: DataType): boolean {
  return type.kind === 'utf8' || type.kind === 'null'
}

export function isInteger(type: DataType): boolean {
  return type.kind === 'int' || type.kind === 'null'
}

/** Whether its values are bytes: text or binary. */
export function isBytes(type: DataType): boolean {
  return isText(type) || type.kind === 'binary' || type.kind === 'fixed_size_binary'
}

/** Whether its values can be calculated with as doubles. */
export function isNumber(type: DataType): boolean {
  return ['int', 'float', 'decimal', 'null'].includes(type.kind)
}

export function isNested(type: DataType): boolean {
  return ['list', 'fixed_size_list', 'struct', 'map'].includes(type.kind)
}

/** `count` texts. */
export function texts(count: number, result: DataType): Sign {
  return args => (args.length === count && args.every(isText) ? { args: args.map(() => utf8), result } : null)
}

/**
 * Arguments by letter, `t` a text, `i` an integer of any width, `b` text or binary; those after a `?` may be left out.
 * `t?t` is one text or two.
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

/** The type numbers are computed in. */
export function computedType(type: DataType): DataType | null {
  if (type.kind === 'null') return int64
  if (type.kind === 'float') return float64
  if (type.kind === 'int') return type.bits === 64 && !type.signed ? uint64 : int64
  return null
}

/** The type of a list constant. */
export function listOf(element: DataType): DataType {
  return { kind: 'list', large: false, child: { name: 'item', type: element, nullable: true } }
}
