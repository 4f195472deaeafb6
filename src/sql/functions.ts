/** Every function the dialect knows: one row each. A new function is a row here and a kernel. */
import type { DataType } from '../arrow/types.js'
import type { Call, Kernel, LazyKernel } from './call.js'
import { compareOperands } from './compare.js'
import { choose, spread } from './gather.js'
import { arrayHas, arrayHasAll, arrayHasAny, arrayLength } from './lists.js'
import { abs, ceil, floor, round } from './numbers.js'
import {
  characterLength,
  concatenate,
  containsText,
  endsWithText,
  lower,
  startsWithText,
  upper,
} from './strings.js'
import { allRows } from './truth.js'
import {
  boolType,
  commonType,
  elementType,
  float64,
  int32,
  int64,
  isNumeric,
  uint64,
  utf8,
  valueType,
} from './types.js'
import { bitAt, columnOf, type Operand, type RowMask, validWords } from './vector.js'

/** The types a call's arguments are brought to, and that of its result. */
export interface Signature {
  readonly args: readonly DataType[]
  readonly result: DataType
}

export interface SqlFunction {
  readonly name: string
  /** How it is written, for messages. */
  readonly usage: string
  /** From the value types of the arguments (`null` for a NULL constant); null when they do not fit. */
  readonly sign: (args: readonly DataType[]) => Signature | null
  readonly kernel: Kernel | { readonly lazy: LazyKernel }
  readonly aliases?: readonly string[]
  /** The argument that must be a constant. */
  readonly constant?: number
  /** Whether some values of the declared types are an error. */
  readonly mayFail?: boolean
}

const table: readonly SqlFunction[] = [
  { name: 'lower', usage: 'lower(text)', sign: texts(1, utf8), kernel: lower },
  { name: 'upper', usage: 'upper(text)', sign: texts(1, utf8), kernel: upper },
  {
    name: 'length',
    usage: 'length(text)',
    sign: texts(1, int32),
    kernel: characterLength,
    aliases: ['char_length', 'character_length'],
  },
  { name: '||', usage: 'text || text', sign: texts(2, utf8), kernel: concatenate },
  {
    name: 'starts_with',
    usage: 'starts_with(text, start)',
    sign: texts(2, boolType),
    kernel: startsWithText,
  },
  { name: 'ends_with', usage: 'ends_with(text, end)', sign: texts(2, boolType), kernel: endsWithText },
  { name: 'contains', usage: 'contains(text, part)', sign: texts(2, boolType), kernel: containsText },
  { name: 'abs', usage: 'abs(number)', sign: number, kernel: abs, mayFail: true },
  { name: 'floor', usage: 'floor(number)', sign: number, kernel: floor },
  { name: 'ceil', usage: 'ceil(number)', sign: number, kernel: ceil },
  { name: 'round', usage: 'round(number) or round(number, places)', sign: numberAndPlaces, kernel: round },
  {
    name: 'coalesce',
    usage: 'coalesce(value, ...) of one type',
    sign: commonScalar,
    kernel: { lazy: coalesce },
    aliases: ['ifnull', 'nvl'],
  },
  { name: 'nullif', usage: 'nullif(value, value) of comparable types', sign: comparablePair, kernel: nullif },
  {
    name: 'array_has',
    usage: 'array_has(list, element)',
    sign: listAndElement,
    kernel: arrayHas,
    aliases: ['array_contains', 'list_has', 'list_contains'],
  },
  {
    name: 'array_has_any',
    usage: 'array_has_any(list, [constant, ...])',
    sign: listAndList,
    kernel: arrayHasAny,
    constant: 1,
  },
  {
    name: 'array_has_all',
    usage: 'array_has_all(list, [constant, ...])',
    sign: listAndList,
    kernel: arrayHasAll,
    constant: 1,
  },
  { name: 'array_length', usage: 'array_length(list)', sign: list, kernel: arrayLength },
]

const byName = new Map(
  table.flatMap(row => [row.name, ...(row.aliases ?? [])].map(name => [name, row] as const)),
)

/** The function of that name, in any case, or undefined. */
export function functionNamed(name: string): SqlFunction | undefined {
  return byName.get(name.toLowerCase())
}

/** Names a call may use. */
export const functionNames: readonly string[] = [...byName.keys()].filter(name => name !== '||')

function isText(type: DataType): boolean {
  return type.kind === 'utf8' || type.kind === 'null'
}

function texts(count: number, result: DataType): SqlFunction['sign'] {
  return args => (args.length === count && args.every(isText) ? { args: args.map(() => utf8), result } : null)
}

/** The type numbers are computed in. */
export function computedType(type: DataType): DataType | null {
  if (type.kind === 'null') return int64
  if (type.kind === 'float') return float64
  if (type.kind === 'int') return type.bits === 64 && !type.signed ? uint64 : int64
  return null
}

function number(args: readonly DataType[]): Signature | null {
  const type = args.length === 1 ? computedType(args[0]!) : null
  return type === null ? null : { args: [type], result: type }
}

function numberAndPlaces(args: readonly DataType[]): Signature | null {
  if (args.length === 1) return number(args)
  const [value, places] = args
  if (args.length !== 2 || !isNumeric(value!) || places!.kind !== 'int') return null
  return { args: [float64, int64], result: float64 }
}

function commonScalar(args: readonly DataType[]): Signature | null {
  if (args.length === 0) return null
  const common = args.reduce<DataType | null>((a, b) => (a === null ? null : commonType(a, b)), args[0]!)
  if (common === null || common.kind === 'list' || common.kind === 'struct' || common.kind === 'map')
    return null
  return common.kind === 'fixed_size_list' ? null : { args: args.map(() => common), result: common }
}

function comparablePair(args: readonly DataType[]): Signature | null {
  if (args.length !== 2 || commonType(args[0]!, args[1]!) === null) return null
  return { args, result: args[0]! }
}

function list(args: readonly DataType[]): Signature | null {
  return args.length === 1 && elementType(args[0]!) !== null ? { args, result: int64 } : null
}

function listAndElement(args: readonly DataType[]): Signature | null {
  const element = args.length === 2 ? elementType(args[0]!) : null
  return element === null ? null : { args: [args[0]!, valueType(element)], result: boolType }
}

function listAndList(args: readonly DataType[]): Signature | null {
  const element = args.length === 2 ? elementType(args[0]!) : null
  if (element === null || (args[1]!.kind !== 'null' && elementType(args[1]!) === null)) return null
  return { args: [args[0]!, listOf(valueType(element))], result: boolType }
}

/** The type of a list constant. */
export function listOf(element: DataType): DataType {
  return { kind: 'list', large: false, child: { name: 'item', type: element, nullable: true } }
}

/** The first argument that is not null; one is evaluated only for rows that the ones before left null. */
function coalesce(args: readonly ((rows: RowMask) => Operand)[], { type, length, rows }: Omit<Call, 'args'>) {
  const choice = new Uint8Array(length).fill(255)
  const open = rows === null ? allRows(length) : rows.slice()
  const operands: Operand[] = []
  for (const [a, evaluate] of args.entries()) {
    const operand = evaluate(open)
    operands.push(operand)
    const valid = validWords(operand.column)
    for (let i = 0; i < length; i++) {
      if (!bitAt(open, i) || !(valid === null || bitAt(valid, operand.constant ? 0 : i))) continue
      choice[i] = a
      open[i >>> 5]! &= ~(1 << (i & 31))
    }
  }
  return choose(operands, choice, type)
}

/** The first argument, null where the second equals it. */
function nullif({ args, length, rows }: Call) {
  const [value, other] = args as [Operand, Operand]
  const column = spread(value, length)
  const { isTrue } = compareOperands('=', { column, constant: false }, other, length, rows)
  const valid = validWords(column) ?? allRows(length)
  for (let w = 0; w < valid.length; w++) valid[w]! &= ~isTrue[w]!
  const { values, offsets, children } = column
  const buffers = { children, ...(values !== null && { values }), ...(offsets !== null && { offsets }) }
  return columnOf(column.type, length, buffers, valid)
}
