/** Declarations of functions that choose one of their arguments. */
import type { DataType } from '../../arrow/types.js'
import { commonType } from '../values/types.js'
import { coalesce, extreme, maxChoices, nullif } from './conditional.js'
import { isNested, type Signature, type SqlFunction } from './signature.js'

export const conditionalFunctions: readonly SqlFunction[] = [
  {
    name: 'coalesce',
    usage: 'coalesce(value, ...) of one type',
    sign: ofOneType,
    most: maxChoices,
    kernel: { lazy: coalesce },
    aliases: ['ifnull', 'nvl'],
  },
  { name: 'nullif', usage: 'nullif(value, value) of comparable types', sign: comparablePair, kernel: nullif },
  {
    name: 'greatest',
    usage: 'greatest(value, ...) of comparable types',
    sign: comparable,
    most: maxChoices,
    kernel: extreme('>'),
  },
  {
    name: 'least',
    usage: 'least(value, ...) of comparable types',
    sign: comparable,
    most: maxChoices,
    kernel: extreme('<'),
  },
]

function ofOneType(args: readonly DataType[]): Signature | null {
  if (args.length === 0) return null
  const common = args.reduce<DataType | null>((a, b) => (a === null ? null : commonType(a, b)), args[0]!)
  return common === null ? null : { args: args.map(() => common), result: common }
}

function comparable(args: readonly DataType[]): Signature | null {
  const signature = ofOneType(args)
  return signature === null || isNested(signature.result) || signature.result.kind === 'interval'
    ? null
    : signature
}

function comparablePair(args: readonly DataType[]): Signature | null {
  if (args.length !== 2 || args.some(isNested) || commonType(args[0]!, args[1]!) === null) return null
  return { args, result: args[0]! }
}
