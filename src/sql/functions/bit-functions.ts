/** Declarations of the operators on bits. They are functions with symbols as names, so a call cannot name them. */
import type { DataType } from '../../arrow/types.js'
import { int64, uint64 } from '../values/types.js'
import { bitAnd, bitNot, bitOr, bitXor, shiftLeft, shiftRight } from './bits.js'
import { isInteger, type Sign, type SqlFunction } from './signature.js'

export const bitFunctions: readonly SqlFunction[] = [
  { name: '&', usage: 'integer & integer', sign: ofIntegers(2), kernel: bitAnd },
  { name: '|', usage: 'integer | integer', sign: ofIntegers(2), kernel: bitOr },
  { name: '^', usage: 'integer ^ integer', sign: ofIntegers(2), kernel: bitXor },
  { name: '~', usage: '~integer', sign: ofIntegers(1), kernel: bitNot },
  { name: '<<', usage: 'integer << bits', sign: shifted, kernel: shiftLeft, mayFail: true },
  { name: '>>', usage: 'integer >> bits', sign: shifted, kernel: shiftRight, mayFail: true },
]

/** Return the result type: uint64 if all arguments are uint64, otherwise int64. */
function resultType(args: readonly DataType[]): DataType {
  const isUnsigned = args.every(type => type.kind === 'int' && type.bits === 64 && !type.signed)
  return isUnsigned ? uint64 : int64
}

function ofIntegers(count: number): Sign {
  return args => {
    if (args.length !== count || !args.every(isInteger)) return null
    const result = resultType(args)
    return { args: args.map(() => result), result }
  }
}

function shifted(args: readonly DataType[]): ReturnType<Sign> {
  if (args.length !== 2 || !args.every(isInteger)) return null
  const result = resultType(args.slice(0, 1))
  return { args: [result, int64], result }
}
