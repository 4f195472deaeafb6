/** Declarations of functions that read lists. */
import type { DataType } from '../../arrow/types.js'
import { castable } from '../kernels/cast.js'
import { boolType, elementType, int64, uint64, utf8, valueType } from '../values/types.js'
import { arrayToString } from './list-text.js'
import {
  arrayHas,
  arrayHasAll,
  arrayHasAny,
  arrayLength,
  arrayPosition,
  cardinality,
  elementOf,
  isEmptyList,
} from './lists.js'
import {
  isInteger,
  isNested,
  isText,
  listOf,
  type Sign,
  type Signature,
  type SqlFunction,
} from './signature.js'

export const listFunctions: readonly SqlFunction[] = [
  {
    name: 'array_has',
    usage: 'array_has(list, element)',
    sign: args => (args.length === 2 ? listAndElement(args, boolType) : null),
    kernel: arrayHas,
    aliases: ['array_contains', 'list_has', 'list_contains'],
  },
  {
    name: 'array_has_any',
    usage: 'array_has_any(list, list)',
    sign: listAndList,
    kernel: arrayHasAny,
    aliases: ['list_has_any', 'arrays_overlap'],
  },
  {
    name: 'array_has_all',
    usage: 'array_has_all(list, list)',
    sign: listAndList,
    kernel: arrayHasAll,
    aliases: ['list_has_all'],
  },
  {
    name: 'array_length',
    usage: 'array_length(list)',
    sign: list(int64),
    kernel: arrayLength,
    aliases: ['list_length'],
  },
  { name: 'cardinality', usage: 'cardinality(list)', sign: list(uint64), kernel: cardinality },
  {
    name: 'empty',
    usage: 'empty(list)',
    sign: list(boolType),
    kernel: isEmptyList,
    aliases: ['array_empty', 'list_empty'],
  },
  {
    name: 'array_position',
    usage: 'array_position(list, element) or array_position(list, element, from)',
    sign: args => {
      if (args.length === 2) return listAndElement(args, uint64)
      const signature = args.length === 3 && isInteger(args[2]!) ? listAndElement(args, uint64) : null
      return signature === null ? null : { ...signature, args: [...signature.args, int64] }
    },
    kernel: arrayPosition,
    aliases: ['list_position', 'array_indexof', 'list_indexof'],
    mayFail: true,
  },
  {
    name: 'array_to_string',
    usage: 'array_to_string(list, separator) or array_to_string(list, separator, null_text)',
    sign: listAndTexts,
    kernel: arrayToString,
    mayFail: true,
    aliases: ['list_to_string', 'array_join', 'list_join'],
  },
  {
    name: 'array_element',
    usage: 'array_element(list, index)',
    sign: listAndIndex,
    kernel: elementOf,
    aliases: ['list_element', 'array_extract', 'list_extract'],
  },
]

/** Return a list type unchanged, and a list of `element` for the null type. Return null for any other type. */
function asList(type: DataType | undefined, element: DataType): DataType | null {
  if (type?.kind === 'null') return listOf(element)
  return type === undefined || elementType(type) === null ? null : type
}

function list(result: DataType): Sign {
  return args => {
    const type = asList(args[0], int64)
    return args.length === 1 && type !== null ? { args: [type], result } : null
  }
}

/** Return the element type of a list, or null if the type is not a list or its elements are nested. */
function plainElement(list: DataType | null): DataType | null {
  const element = list === null ? null : elementType(list)
  return element === null || isNested(valueType(element)) ? null : valueType(element)
}

function listAndElement(args: readonly DataType[], result: DataType): Signature | null {
  const type = asList(args[0], args[1]!)
  const element = plainElement(type)
  return element === null ? null : { args: [type!, element], result }
}

function listAndList(args: readonly DataType[]): Signature | null {
  const [first, second] = args
  const type = args.length === 2 ? asList(first, plainElement(second!) ?? int64) : null
  const element = plainElement(type)
  if (element === null || asList(second, element) === null) return null
  return { args: [type!, listOf(element)], result: boolType }
}

function listAndTexts(args: readonly DataType[]): Signature | null {
  const [first, ...others] = args
  const type = asList(first, utf8)
  if (type === null || !castable(valueType(elementType(type)!), utf8)) return null
  const fits = (others.length === 1 || others.length === 2) && others.every(isText)
  return fits ? { args: [type, ...others.map(() => utf8)], result: utf8 } : null
}

function listAndIndex(args: readonly DataType[]): Signature | null {
  const type = args.length === 2 && isInteger(args[1]!) ? asList(args[0], int64) : null
  return type === null ? null : { args: [type, int64], result: elementType(type)! }
}
