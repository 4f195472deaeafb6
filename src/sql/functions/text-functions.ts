/** Declarations of functions of texts. */
import type { DataType } from '../../arrow/types.js'
import { castable } from '../kernels/cast.js'
import { boolType, int32, utf8 } from '../values/types.js'
import { isText, type Sign, type SqlFunction, shape, texts } from './signature.js'
import {
  bitLength,
  byteLength,
  characterLength,
  characterOf,
  concatenate,
  concatenateAll,
  containsText,
  endsWithText,
  firstCodePoint,
  joinWith,
  leftPart,
  lower,
  position,
  reversed,
  rightPart,
  startsWithText,
  substring,
  trimBoth,
  trimEnd,
  trimStart,
  upper,
  uuids,
} from './strings.js'
import {
  capitalized,
  containsTokens,
  padEnd,
  padStart,
  repeated,
  replaceAll,
  splitPart,
  toHex,
  translated,
} from './text-edit.js'

export const textFunctions: readonly SqlFunction[] = [
  { name: 'lower', usage: 'lower(text)', sign: texts(1, utf8), kernel: lower, mayFail: true },
  { name: 'upper', usage: 'upper(text)', sign: texts(1, utf8), kernel: upper, mayFail: true },
  { name: 'initcap', usage: 'initcap(text)', sign: texts(1, utf8), kernel: capitalized, mayFail: true },
  {
    name: 'length',
    usage: 'length(text)',
    sign: texts(1, int32),
    kernel: characterLength,
    aliases: ['char_length', 'character_length'],
  },
  { name: 'octet_length', usage: 'octet_length(text)', sign: shape('b', int32), kernel: byteLength },
  { name: 'bit_length', usage: 'bit_length(text)', sign: shape('b', int32), kernel: bitLength },
  { name: 'ascii', usage: 'ascii(text)', sign: texts(1, int32), kernel: firstCodePoint },
  { name: 'chr', usage: 'chr(code point)', sign: shape('i', utf8), kernel: characterOf, mayFail: true },
  {
    name: '||',
    usage: 'text || text, or list || list',
    sign: textAndOther,
    kernel: concatenate,
    mayFail: true,
  },
  { name: 'concat', usage: 'concat(value, ...)', sign: anyTexts, kernel: concatenateAll, mayFail: true },
  {
    name: 'concat_ws',
    usage: 'concat_ws(separator, value, ...)',
    sign: args => (args.length > 1 && isText(args[0]!) ? anyTexts([utf8, ...args.slice(1)]) : null),
    kernel: joinWith,
    mayFail: true,
  },
  {
    name: 'starts_with',
    usage: 'starts_with(text, start)',
    sign: texts(2, boolType),
    kernel: startsWithText,
  },
  { name: 'ends_with', usage: 'ends_with(text, end)', sign: texts(2, boolType), kernel: endsWithText },
  { name: 'contains', usage: 'contains(text, part)', sign: texts(2, boolType), kernel: containsText },
  {
    name: 'contains_tokens',
    usage: 'contains_tokens(text, tokens)',
    sign: texts(2, boolType),
    kernel: containsTokens,
    mayFail: true,
  },
  {
    name: 'strpos',
    usage: 'strpos(text, part)',
    sign: texts(2, int32),
    kernel: position,
    aliases: ['instr', 'position'],
  },
  { name: 'left', usage: 'left(text, count)', sign: shape('ti', utf8), kernel: leftPart },
  { name: 'right', usage: 'right(text, count)', sign: shape('ti', utf8), kernel: rightPart },
  {
    name: 'substr',
    usage: 'substr(text, from) or substr(text, from, count)',
    sign: shape('ti?i', utf8),
    kernel: substring,
    aliases: ['substring'],
    mayFail: true,
  },
  {
    name: 'ltrim',
    usage: 'ltrim(text) or ltrim(text, characters)',
    sign: shape('t?t', utf8),
    kernel: trimStart,
  },
  {
    name: 'rtrim',
    usage: 'rtrim(text) or rtrim(text, characters)',
    sign: shape('t?t', utf8),
    kernel: trimEnd,
  },
  {
    name: 'btrim',
    usage: 'btrim(text) or btrim(text, characters)',
    sign: shape('t?t', utf8),
    kernel: trimBoth,
    aliases: ['trim'],
  },
  {
    name: 'lpad',
    usage: 'lpad(text, length) or lpad(text, length, fill)',
    sign: shape('ti?t', utf8),
    kernel: padStart,
    mayFail: true,
  },
  {
    name: 'rpad',
    usage: 'rpad(text, length) or rpad(text, length, fill)',
    sign: shape('ti?t', utf8),
    kernel: padEnd,
    mayFail: true,
  },
  { name: 'repeat', usage: 'repeat(text, times)', sign: shape('ti', utf8), kernel: repeated, mayFail: true },
  {
    name: 'replace',
    usage: 'replace(text, part, by)',
    sign: texts(3, utf8),
    kernel: replaceAll,
    mayFail: true,
  },
  { name: 'reverse', usage: 'reverse(text)', sign: texts(1, utf8), kernel: reversed },
  {
    name: 'split_part',
    usage: 'split_part(text, separator, number)',
    sign: shape('tti', utf8),
    kernel: splitPart,
    mayFail: true,
  },
  {
    name: 'translate',
    usage: 'translate(text, from, to)',
    sign: texts(3, utf8),
    kernel: translated,
    mayFail: true,
  },
  { name: 'uuid', usage: 'uuid()', sign: shape('', utf8), kernel: uuids, volatile: true },
  {
    name: 'to_hex',
    usage: 'to_hex(integer)',
    sign: args =>
      args.length === 1 && args[0]!.kind === 'int' ? { args, result: utf8 } : shape('i', utf8)(args, []),
    kernel: toHex,
  },
]

/** Return the signature of a function of one or more values that can be cast to text. */
function anyTexts(args: readonly DataType[]): ReturnType<Sign> {
  return args.length > 0 && args.every(arg => castable(arg, utf8)) ? { args, result: utf8 } : null
}

function textAndOther(args: readonly DataType[]): ReturnType<Sign> {
  return args.length === 2 && (args.some(arg => arg.kind === 'utf8') || args.every(isText))
    ? anyTexts(args)
    : null
}
