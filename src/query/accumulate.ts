/**
 * Computes the aggregates of groups. Most aggregates skip NULLs. If a group has only NULLs, its count is 0 and most
 * other aggregates are NULL.
 *
 * Sums of integers are exact. A sum that does not fit its type is an error. Floats are added in row order. So the
 * result does not depend on the division of the rows into batches.
 */
import type { Column } from '../arrow/column.js'
import { formatDecimal, readDecimal } from '../arrow/decimal.js'
import { takeColumn } from '../arrow/take.js'
import type { DataType } from '../arrow/types.js'
import { invalidInput, unreachable } from '../errors.js'
import type { Pacer } from '../primitives/pacer.js'
import type { Scalar } from '../sql/values/scalar.js'
import { orderOfScalars } from '../sql/values/scalar-order.js'
import { uint32, valueType } from '../sql/values/types.js'
import { columnOfScalars, doublesOf, isWide, scalarAt, widePairsOf } from '../sql/values/vector.js'
import { type Accumulator, columnOfGroups, grown, present, results } from './accumulator.js'
import { JoinedTexts, ListOfValues } from './collected-values.js'
import { EndRow } from './end-row.js'
import { Grouper } from './group.js'
import { compareRows, keyBatch } from './key-store.js'
import { Mode } from './mode.js'
import { Percentile } from './percentile.js'
import type { Aggregate } from './plan.js'
import { Variance } from './variance.js'

/** Return an accumulator for an aggregate. `seed`: seed of the hash tables, see `Grouper`. */
export function accumulator(aggregate: Aggregate, seed: number): Accumulator {
  const plain = plainAccumulator(aggregate, seed)
  return aggregate.distinct && aggregate.arg !== null
    ? new DistinctValues(plain, aggregate.arg.type, seed)
    : plain
}

function plainAccumulator({ fn, arg, option, field }: Aggregate, seed: number): Accumulator {
  const type = arg === null ? null : valueType(arg.type)
  switch (fn) {
    case 'count':
      return new Count(field.type)
    case 'sum':
    case 'avg':
      if (type!.kind === 'float') return new FloatSum(field.type, fn === 'avg')
      if (type!.kind === 'decimal') return new DecimalSum(type as DecimalType, field.type, fn === 'avg')
      return new IntegerSum(field.type, fn === 'avg')
    case 'min':
    case 'max':
      return new Extreme(field.type, fn === 'max')
    case 'median':
      return new Percentile(fn, 0.5)
    case 'percentile':
      return new Percentile(fn, option as number)
    case 'stddev':
    case 'stddev_pop':
      return new Variance({ isSample: fn === 'stddev', isRoot: true })
    case 'variance':
    case 'var_pop':
      return new Variance({ isSample: fn === 'variance', isRoot: false })
    case 'mode':
      return new Mode(field.type, seed)
    case 'array_agg':
      return new ListOfValues(field.type)
    case 'string_agg':
      return new JoinedTexts(field.type, option as string)
    case 'first':
    case 'last':
      return new EndRow(field.type, fn === 'last')
    default:
      return unreachable(fn)
  }
}

class Count implements Accumulator {
  readonly #type: DataType
  #counts = new Float64Array(1)

  constructor(type: DataType) {
    this.#type = type
  }

  add(groups: Uint32Array, arg: Column | null, count: number): void {
    this.#counts = grown(this.#counts, count)
    const counts = this.#counts
    const counted = arg === null ? groups : present(groups, arg)[0]
    for (let i = 0; i < counted.length; i++) counts[counted[i]!]! += 1
  }

  finish(from: number, to: number): Column {
    const counts = grown(this.#counts, to)
    return columnOfScalars(
      this.#type,
      results(from, to, group => BigInt(counts[group]!)),
    )
  }
}

/** Implements DISTINCT: passes each distinct value of a group once to another accumulator. */
class DistinctValues implements Accumulator {
  readonly #of: Accumulator
  readonly #seen: Grouper

  constructor(of: Accumulator, type: DataType, seed: number) {
    this.#of = of
    this.#seen = new Grouper([uint32, type], seed)
  }

  add(groups: Uint32Array, arg: Column | null, count: number): void {
    const known = this.#seen.count
    const pairs = this.#seen.add([columnOfGroups(groups), arg!])
    const fresh: number[] = []
    let next = known
    for (let row = 0; row < pairs.length; row++) {
      if (pairs[row] !== next) continue
      fresh.push(row)
      next++
    }
    const rows = Uint32Array.from(fresh)
    this.#of.add(
      rows.map(row => groups[row]!),
      takeColumn(arg!, rows),
      count,
    )
  }

  async prepare(count: number, pacer: Pacer): Promise<void> {
    await this.#of.prepare?.(count, pacer)
  }

  finish(from: number, to: number): Column {
    return this.#of.finish(from, to)
  }
}

class FloatSum implements Accumulator {
  readonly #type: DataType
  readonly #isMean: boolean
  #sums = new Float64Array(1)
  #counts = new Float64Array(1)

  constructor(type: DataType, isMean: boolean) {
    this.#type = type
    this.#isMean = isMean
  }

  add(groups: Uint32Array, arg: Column | null, count: number): void {
    this.#sums = grown(this.#sums, count)
    this.#counts = grown(this.#counts, count)
    const [sums, counts] = [this.#sums, this.#counts]
    const [owners, column] = present(groups, arg!)
    const values = doublesOf(column)
    for (let i = 0; i < owners.length; i++) {
      sums[owners[i]!]! += values[i]!
      counts[owners[i]!]! += 1
    }
  }

  finish(from: number, to: number): Column {
    const [sums, counts] = [grown(this.#sums, to), grown(this.#counts, to)]
    const scalars = results(from, to, group => {
      if (counts[group] === 0) return null
      return this.#isMean ? sums[group]! / counts[group]! : sums[group]!
    })
    return columnOfScalars(this.#type, scalars)
  }
}

/** Sums of words are carried when they reach this value. Doubles represent all integers below 2^53 exactly. */
const wordLimit = 2 ** 50

/**
 * Adds integers in two doubles per group: one sums the low 32 bits of the values, the other sums the high 32 bits. Both
 * sums stay small enough to be exact. After every batch, the low sum is carried into the high sum, and a large high sum
 * is moved to a bigint.
 */
class IntegerSum implements Accumulator {
  readonly #type: DataType
  readonly #isMean: boolean
  #low = new Float64Array(1)
  #high = new Float64Array(1)
  /** By group: the part of the high sum that was moved here because it exceeded `wordLimit`, in units of 2^32. */
  readonly #carried = new Map<number, bigint>()
  #counts = new Float64Array(1)

  constructor(type: DataType, isMean: boolean) {
    this.#type = type
    this.#isMean = isMean
  }

  add(groups: Uint32Array, arg: Column | null, count: number): void {
    this.#low = grown(this.#low, count)
    this.#high = grown(this.#high, count)
    this.#counts = grown(this.#counts, count)
    const [low, high, counts] = [this.#low, this.#high, this.#counts]
    const [owners, column] = present(groups, arg!)
    const pairs = widePairsOf(column)
    const { type } = column
    const lift = type.kind === 'int' && !type.signed && isWide(type) ? 2 ** 32 : 0
    for (let i = 0; i < owners.length; i++) {
      const group = owners[i]!
      const top = pairs[2 * i + 1]!
      low[group]! += pairs[2 * i]! >>> 0
      high[group]! += top < 0 ? top + lift : top
      counts[group]! += 1
      if (low[group]! >= wordLimit) carry(low, high, group)
    }
    for (let i = 0; i < owners.length; i++) {
      const group = owners[i]!
      carry(low, high, group)
      if (Math.abs(high[group]!) < wordLimit) continue
      this.#carried.set(group, (this.#carried.get(group) ?? 0n) + BigInt(high[group]!))
      high[group] = 0
    }
  }

  finish(from: number, to: number): Column {
    const low = grown(this.#low, to)
    const high = grown(this.#high, to)
    const counts = grown(this.#counts, to)
    const scalars = results(from, to, group => {
      if (counts[group] === 0) return null
      const upper = BigInt(high[group]!) + (this.#carried.get(group) ?? 0n)
      const sum = upper * 0x1_0000_0000n + BigInt(low[group]!)
      if (this.#isMean) return Number(sum) / counts[group]!
      const isSigned = this.#type.kind === 'int' && this.#type.signed
      if ((isSigned ? BigInt.asIntN(64, sum) : BigInt.asUintN(64, sum)) !== sum) {
        throw this.#overflow(String(sum))
      }
      return sum
    })
    return columnOfScalars(this.#type, scalars)
  }

  #overflow(sum: string) {
    return invalidInput(`a sum of integers does not fit 64 bits: ${sum}`, {
      hint: 'sum doubles or decimals: sum(CAST(x AS double))',
    })
  }
}

function carry(low: Float64Array, high: Float64Array, group: number): void {
  const over = Math.floor(low[group]! / 2 ** 32)
  low[group]! -= over * 2 ** 32
  high[group]! += over
}

type DecimalType = DataType & { kind: 'decimal' }

class DecimalSum implements Accumulator {
  readonly #from: DecimalType
  readonly #type: DataType
  readonly #isMean: boolean
  readonly #sums: bigint[] = []
  readonly #counts: number[] = []

  constructor(from: DecimalType, type: DataType, isMean: boolean) {
    this.#from = from
    this.#type = type
    this.#isMean = isMean
  }

  add(groups: Uint32Array, arg: Column | null, _count: number): void {
    const [owners, column] = present(groups, arg!)
    for (let i = 0; i < owners.length; i++) {
      const group = owners[i]!
      const value = readDecimal(column.values as Uint8Array, i, this.#from.bits)
      this.#sums[group] = (this.#sums[group] ?? 0n) + value
      this.#counts[group] = (this.#counts[group] ?? 0) + 1
    }
  }

  finish(from: number, to: number): Column {
    const { scale, precision } = this.#type as DecimalType
    const finer = 10n ** BigInt(scale - this.#from.scale)
    const limit = 10n ** BigInt(precision)
    const scalars = results(from, to, group => {
      const sum = this.#sums[group]
      if (sum === undefined) return null
      const result = this.#isMean ? dividedHalfUp(sum * finer, BigInt(this.#counts[group]!)) : sum
      if (result < limit && result > -limit) return result
      throw invalidInput(
        `${this.#isMean ? 'an average' : 'a sum'} of decimals has more than ${precision} digits: ${formatDecimal(result, scale)}`,
        {
          hint: 'sum doubles: sum(CAST(x AS double))',
        },
      )
    })
    return columnOfScalars(this.#type, scalars)
  }
}

/** Divide, and round to the nearest integer. Halves are rounded away from zero. */
function dividedHalfUp(value: bigint, divisor: bigint): bigint {
  const half = value < 0n ? -divisor / 2n : divisor / 2n
  return (value + half) / divisor
}

/** Computes `min` or `max`, in sort order. */
class Extreme implements Accumulator {
  readonly #type: DataType
  readonly #isGreatest: boolean
  readonly #best: Scalar[] = []
  /**
   * By group, during a call of `add`: the row with the minimum or maximum, or -1. Between two calls, every element is
   * -1.
   */
  #first = new Int32Array(0)

  constructor(type: DataType, isGreatest: boolean) {
    this.#type = type
    this.#isGreatest = isGreatest
  }

  add(groups: Uint32Array, arg: Column | null, count: number): void {
    const [owners, column] = present(groups, arg!)
    if (this.#first.length < count) this.#first = new Int32Array(2 * count).fill(-1)
    const first = this.#first
    const keys = keyBatch([column], [{ ascending: !this.#isGreatest, nullsFirst: false }])
    for (let row = 0; row < owners.length; row++) {
      const known = first[owners[row]!]!
      if (known === -1 || compareRows(keys, row, known, !this.#isGreatest) < 0) first[owners[row]!] = row
    }
    for (const group of owners) {
      const row = first[group]!
      if (row === -1) continue
      first[group] = -1
      const value = scalarAt(column, row)
      const known = this.#best[group] ?? null
      const order = known === null ? -1 : orderOfScalars(value, known)
      if (known === null || (this.#isGreatest ? order > 0 : order < 0)) this.#best[group] = value
    }
  }

  finish(from: number, to: number): Column {
    return columnOfScalars(
      this.#type,
      results(from, to, group => this.#best[group] ?? null),
    )
  }
}
