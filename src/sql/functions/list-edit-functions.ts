/** Declarations of functions that return lists. */
import type { DataType } from '../../arrow/types.js'
import {
  commonType,
  elementType,
  int64,
  isOrdered,
  nullType,
  uint64,
  utf8,
  valueType,
} from '../values/types.js'
import type { Kernel } from './call.js'
import {
  arrayAppend,
  arrayConcat,
  arrayPop,
  arrayPrepend,
  arrayReverse,
  arraySlice,
  flatten,
} from './list-edit.js'
import {
  arrayDistinct,
  arrayPositions,
  arrayRemove,
  arrayReplace,
  arrayUnion,
  arrayWhere,
} from './list-members.js'
import { arrayExtreme, arraySort, listOrderOf } from './list-order.js'
import {
  type Constants,
  isInteger,
  isText,
  listOf,
  type Sign,
  type Signature,
  type SqlFunction,
} from './signature.js'

type ListType = DataType & { readonly kind: 'list' }

export const listEditFunctions: readonly SqlFunction[] = [
  {
    name: 'array_append',
    usage: 'array_append(list, element)',
    sign: args =>
      args.length === 2 ? joined([args[0]!], args[1]!, ([list], element) => [list!, element]) : null,
    kernel: arrayAppend,
    aliases: ['list_append', 'array_push_back', 'list_push_back'],
  },
  {
    name: 'array_prepend',
    usage: 'array_prepend(element, list)',
    sign: args =>
      args.length === 2 ? joined([args[1]!], args[0]!, ([list], element) => [element, list!]) : null,
    kernel: arrayPrepend,
    aliases: ['list_prepend', 'array_push_front', 'list_push_front'],
  },
  {
    name: 'array_concat',
    usage: 'array_concat(list, ...)',
    sign: args => (args.length > 0 ? joined(args, nullType, lists => lists) : null),
    kernel: arrayConcat,
    aliases: ['list_concat', 'array_cat', 'list_cat'],
  },
  ofOne('array_reverse', arrayReverse),
  ofOne('array_pop_front', arrayPop(1, 0)),
  ofOne('array_pop_back', arrayPop(0, 1)),
  ofOne('array_distinct', arrayDistinct, hasEquality),
  {
    name: 'array_slice',
    usage: 'array_slice(list, from, to) or array_slice(list, from, to, step)',
    sign: sliced,
    kernel: arraySlice,
    aliases: ['list_slice'],
    mayFail: true,
  },
  { name: 'flatten', usage: 'flatten(list of lists)', sign: flattened, kernel: flatten },
  {
    name: 'array_sort',
    usage: "array_sort(list), array_sort(list, 'DESC') or array_sort(list, 'DESC', 'NULLS LAST')",
    sign: sorted,
    kernel: arraySort,
    aliases: ['list_sort'],
  },
  extreme('array_max', 1),
  extreme('array_min', -1),
  {
    name: 'array_positions',
    usage: 'array_positions(list, element)',
    sign: args => (args.length === 2 ? members(args, 1, [], () => listOf(uint64)) : null),
    kernel: arrayPositions,
    aliases: ['list_positions'],
  },
  removing('array_remove', 1),
  removing('array_remove_all', Number.POSITIVE_INFINITY),
  removing('array_remove_n', null),
  replacing('array_replace', 1),
  replacing('array_replace_all', Number.POSITIVE_INFINITY),
  replacing('array_replace_n', null),
  ofTwo('array_union', arrayUnion),
  ofTwo('array_intersect', arrayWhere(true)),
  ofTwo('array_except', arrayWhere(false)),
]

function listAlias(name: string): string {
  return name.replace('array_', 'list_')
}

/**
 * Return the result type of a function that builds a list from elements of a list of `type`. For the null type, it is a
 * list of `element`. Return null for any other type that is not a list.
 */
function asList(type: DataType, element: DataType = nullType): ListType | null {
  if (type.kind === 'null') return listType(element, false)
  const child = elementType(type)
  return child === null ? null : listType(withoutDictionaries(child), type.kind === 'list' && type.large)
}

function listType(element: DataType, large: boolean): ListType {
  return { kind: 'list', large, child: { name: 'item', type: element, nullable: true } }
}

/** Replace dictionaries in a type by their value types, because results have decoded elements. */
function withoutDictionaries(declared: DataType): DataType {
  const type = valueType(declared)
  if (type.kind !== 'list' && type.kind !== 'fixed_size_list') return type
  return { ...type, child: { ...type.child, type: withoutDictionaries(type.child.type) } }
}

/**
 * Return a signature whose result is a list of the common type of `element` and of the elements of some lists. `args`:
 * the types of the lists. `argsOf`: returns the argument types of the signature in the order of the call.
 */
function joined(
  args: readonly DataType[],
  element: DataType,
  argsOf: (lists: readonly DataType[], element: DataType) => readonly DataType[],
): Signature | null {
  const lists = args.map(type => asList(type))
  let common: DataType | null = withoutDictionaries(element)
  for (const list of lists)
    common = list === null || common === null ? null : commonElement(list.child.type, common)
  if (common === null) return null
  const result = listType(
    common,
    lists.some(list => list!.large),
  )
  return {
    args: argsOf(
      lists.map(() => result),
      common,
    ),
    result,
  }
}

function commonElement(a: DataType, b: DataType): DataType | null {
  const common = commonType(a, b)
  // For strings, keep the type of the first side. It does not matter whether offsets have 32 or 64 bits.
  return common?.kind === 'utf8' && a.kind === 'utf8' ? a : common
}

/**
 * Declare a function of one list. `takes`: whether the function takes lists of this element type. Default: all types.
 */
function ofOne(
  name: string,
  kernel: Kernel,
  takes: (element: DataType) => boolean = () => true,
): SqlFunction {
  const sign: Sign = args => {
    const list = args.length === 1 ? asList(args[0]!) : null
    return list === null || !takes(list.child.type) ? null : { args: [list], result: list }
  }
  return { name, usage: `${name}(list)`, sign, kernel, aliases: [listAlias(name)] }
}

/** Declare a function that compares the elements of two lists. */
function ofTwo(name: string, kernel: Kernel): SqlFunction {
  const sign: Sign = args => {
    const signature = args.length === 2 ? joined(args, nullType, lists => lists) : null
    const element = signature === null ? null : (signature.result as ListType).child.type
    return element !== null && args.every(arg => isExactIn(arg, element)) && hasEquality(element)
      ? signature
      : null
  }
  return { name, usage: `${name}(list, list)`, sign, kernel, aliases: [listAlias(name)] }
}

function isExactIn(list: DataType, element: DataType): boolean {
  return list.kind === 'null' || isExact(elementType(list)!, element)
}

/** Return whether converting values of a type to `common` keeps different values different. */
function isExact(declared: DataType, common: DataType): boolean {
  const type = valueType(declared)
  const isWhole = type.kind === 'int' || type.kind === 'decimal'
  if (isWhole && common.kind === 'float') return false
  const [item, commonItem] = [elementType(type), elementType(common)]
  return item === null || commonItem === null || isExact(item, commonItem)
}

/** Return whether the functions of list-members.ts can compare values of the type for equality. */
function hasEquality(declared: DataType): boolean {
  const type = valueType(declared)
  const item = elementType(type)
  if (item !== null) return valueType(item).kind !== 'interval' && hasEquality(item)
  return type.kind !== 'struct' && type.kind !== 'map'
}

function sliced(args: readonly DataType[]): Signature | null {
  if (args.length !== 3 && args.length !== 4) return null
  const [first, ...positions] = args as [DataType, ...DataType[]]
  const list = asList(first)
  return list === null || !positions.every(isInteger)
    ? null
    : { args: [list, ...positions.map(() => int64)], result: list }
}

function flattened(args: readonly DataType[]): Signature | null {
  const list = args.length === 1 ? asList(args[0]!) : null
  if (list === null) return null
  const inner = elementType(list.child.type)
  if (inner === null) return { args: [list], result: list }
  return { args: [listType(listType(inner, false), list.large)], result: listType(inner, list.large) }
}

function sorted(args: readonly DataType[], constants: Constants): Signature | null {
  const list = args.length >= 1 && args.length <= 3 ? asList(args[0]!) : null
  const words = args.slice(1)
  if (list === null || !isOrdered(list.child.type) || !words.every(isText)) return null
  // A keyword may be NULL, which makes the result NULL. Check the default keyword instead.
  const [direction, nulls] = [constants[1] ?? 'ASC', constants[2] ?? 'NULLS FIRST']
  const areConstants = words.every((_, i) => constants[i + 1] !== undefined)
  if (!areConstants || listOrderOf(String(direction), String(nulls)) === null) return null
  return { args: [list, ...words.map(() => utf8)], result: list }
}

function extreme(name: string, sign: 1 | -1): SqlFunction {
  return {
    name,
    usage: `${name}(list)`,
    sign: args => {
      const list = args.length === 1 ? asList(args[0]!) : null
      return list === null || !isOrdered(list.child.type) ? null : { args: [list], result: list.child.type }
    },
    kernel: arrayExtreme(sign),
    aliases: [listAlias(name)],
  }
}

/**
 * Return the signature of a function of a list and of values that are compared with its elements or replace them.
 * `count`: the number of these values. `others`: types of the further arguments.
 */
function members(
  args: readonly DataType[],
  count: number,
  others: readonly DataType[],
  resultOf: (list: ListType) => DataType,
): Signature | null {
  const [first, ...values] = args.slice(0, 1 + count) as [DataType, ...DataType[]]
  let list = asList(first, withoutDictionaries(values[0]!))
  for (const value of values) {
    const common: DataType | null =
      list === null ? null : commonElement(list.child.type, withoutDictionaries(value))
    list = common === null ? null : listType(common, list!.large)
  }
  if (list === null || !hasEquality(list.child.type)) return null
  const element = list.child.type
  if (!isExactIn(first, element) || !isExact(values[0]!, element)) return null
  return { args: [list, ...values.map(() => element), ...others], result: resultOf(list) }
}

/**
 * Declare a function that removes or replaces elements that equal a value. `most`: the maximum number of changed
 * elements. Null: the last argument of a call is this maximum. `count`: as for `members`.
 */
function changing(
  name: string,
  most: number | null,
  usage: string,
  count: number,
  kernel: Kernel,
): SqlFunction {
  const given = most === null ? 1 : 0
  const sign: Sign = args => {
    const isWritten = args.length === 1 + count + given && args.slice(1 + count).every(isInteger)
    return isWritten ? members(args, count, given === 1 ? [int64] : [], list => list) : null
  }
  return {
    name,
    usage: `${name}(${usage}${given === 1 ? ', count' : ''})`,
    sign,
    kernel,
    aliases: [listAlias(name)],
  }
}

function removing(name: string, most: number | null): SqlFunction {
  return changing(name, most, 'list, element', 1, arrayRemove(most))
}

function replacing(name: string, most: number | null): SqlFunction {
  return changing(name, most, 'list, element, other', 2, arrayReplace(most))
}
