/** Calls of functions, their arguments bound: which function, whether it takes them, and in which types. */
import { typeName } from '../../arrow/type-name.js'
import {
  cut,
  invalidInput,
  nearestName,
  quote,
  type SourceSpan,
  schemaMismatch,
  shortList,
  unsupported,
} from '../../errors.js'
import type { Bound } from '../bound.js'
import { functionNamed, functionNames, type SqlFunction } from '../functions/functions.js'
import { valueType } from '../values/types.js'
import { besideEachOther, coerced, fold } from './build.js'
import { isLiteral } from './logic.js'
import { rewriteNames } from './rewrites.js'

/** Arguments any call may have. */
const maxArguments = 1000

/** Throws code 13 for a call of more arguments than functions take. */
export function checkCount(name: string, count: number, most: number | undefined, at: SourceSpan): void {
  const limit = most ?? maxArguments
  if (count <= limit) return
  throw invalidInput(`${cut(name)} takes at most ${limit} values, not ${count}`, {
    hint: 'put some of them in a call of their own',
    at,
  })
}

/** The function of that name. Throws code 13 when there is none. */
export function knownFunction(name: string, at: SourceSpan): SqlFunction {
  const callee = functionNamed(name)
  if (callee !== undefined) return callee
  const near = nearestName(name, [...functionNames, ...rewriteNames])
  throw invalidInput(`no function named ${quote(name)}`, {
    hint: near === undefined ? undefined : `did you mean ${near}?`,
    at,
  })
}

export function called(callee: SqlFunction, written: readonly Bound[], at: SourceSpan): Bound {
  checkCount(callee.name, written.length, callee.most, at)
  const args = besideEachOther(written)
  const signature = callee.sign(
    args.map(arg => valueType(arg.type)),
    args.map(arg => (isLiteral(arg) ? arg.value : undefined)),
  )
  const mismatch = () => {
    const types = shortList(args.map(arg => typeName(arg.type)))
    return schemaMismatch(`${callee.name} does not take (${types})`, { hint: `write ${callee.usage}`, at })
  }
  if (signature === null) throw mismatch()
  if (callee.constant !== undefined && !isLiteral(args[callee.constant]!)) {
    throw unsupported(`argument ${callee.constant + 1} of ${callee.name} is a constant`, {
      hint: `write ${callee.usage}`,
      at,
    })
  }
  const fitted = args.map((arg, i) => {
    const bound = coerced(arg, signature.args[i]!)
    if (bound === null) throw mismatch()
    return bound
  })
  return fold({ kind: 'call', callee, type: signature.result, args: fitted })
}
