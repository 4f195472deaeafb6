/** Declarations of the functions that use regular expressions. */
import type { DataType } from '../../arrow/types.js'
import { boolType, int64, utf8 } from '../values/types.js'
import { compileRegexp } from './regexp.js'
import { regexpCount, regexpLike, regexpMatch, regexpPosition, regexpReplace } from './regexp-kernels.js'
import { checkFlags } from './regexp-syntax.js'
import { listOf, type Sign, type SqlFunction, shape } from './signature.js'

export const regexpFunctions: readonly SqlFunction[] = [
  {
    name: 'regexp_like',
    usage: 'regexp_like(text, pattern) or regexp_like(text, pattern, flags)',
    sign: withPattern('tt?t', boolType, 2),
    kernel: regexpLike,
    mayFail: true,
  },
  {
    name: 'regexp_match',
    usage: 'regexp_match(text, pattern) or regexp_match(text, pattern, flags)',
    sign: withPattern('tt?t', listOf(utf8), 2),
    kernel: regexpMatch,
    mayFail: true,
  },
  {
    name: 'regexp_replace',
    usage: 'regexp_replace(text, pattern, by) or regexp_replace(text, pattern, by, flags)',
    sign: withPattern('ttt?t', utf8, 3, 'g'),
    kernel: regexpReplace,
    mayFail: true,
  },
  {
    name: 'regexp_count',
    usage: 'regexp_count(text, pattern[, start[, flags]])',
    sign: withPattern('tt?it', int64, 3),
    kernel: regexpCount,
    mayFail: true,
  },
  {
    name: 'regexp_instr',
    usage: 'regexp_instr(text, pattern[, start[, n[, flags[, group]]]])',
    sign: withPattern('tt?iiti', int64, 4),
    kernel: regexpPosition,
    mayFail: true,
  },
]

/**
 * Return the signature of a function of a text and a pattern. If the pattern and the flags are constants, they are
 * checked here, so that binding the call reports errors. `letters`: the argument types, as for `shape`. `flags`: index
 * of the argument with the flags. `others`: flags that the function takes in addition to those of patterns.
 */
function withPattern(letters: string, result: DataType, flags: number, others = ''): Sign {
  return (args, constants) => {
    const signature = shape(letters, result)(args, constants)
    const pattern = constants[1]
    const given = args.length > flags ? constants[flags] : ''
    if (signature !== null && typeof given === 'string') {
      checkFlags(given, others)
      if (typeof pattern === 'string') compileRegexp(pattern, given.replaceAll('g', ''))
    }
    return signature
  }
}
