/** Calls of functions, their arguments bound: which function, whether it takes them, and in which types. */
import { typeName } from '../../arrow/type-name.js'
import {
  invalidInput,
  nearestName,
  quote,
  type SourceSpan,
  schemaMismatch,
  unsupported,
} from '../../errors.js'
import type { Bound } from '../bound.js'
import { functionNamed, functionNames, type SqlFunction } from '../functions/functions.js'
import { valueType } from '../values/types.js'
import { besideEachOther, coerced, fold } from './build.js'
import { isLiteral } from './logic.js'
import { rewriteNames } from './rewrites.js'

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
  const args = besideEachOther(written)
  const signature = callee.sign(
    args.map(arg => valueType(arg.type)),
    args.map(arg => (isLiteral(arg) ? arg.value : undefined)),
  )
  const types = args.map(arg => typeName(arg.type)).join(', ')
  const mismatch = () =>
    schemaMismatch(`${callee.name} does not take (${types})`, { hint: `write ${callee.usage}`, at })
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
  return fold({ kind: 'call', name: callee.name, type: signature.result, args: fitted })
}
