/** Encodes values of leaves as the bytes of pages, and bounds of values as statistics. */
import { exactBits } from '../../../src/arrow/bits.js'
import type { Column } from '../../../src/arrow/column.js'
import { concatBytes } from '../../../src/arrow/concat-bytes.js'
import { writeDecimal } from '../../../src/arrow/decimal.js'
import { asBytes, cellBytes } from '../../../src/arrow/layout.js'
import { assert, invalidInput, quote } from '../../../src/errors.js'
import type { Scalar } from '../../../src/sql/values/scalar.js'
import { hasZones, type Zone, zoneOf } from '../../../src/sql/zones/zone.js'
import type { ShreddedLeaf } from './shred-columns.js'
import type { LeafWritePlan } from './write-plan.js'

/**
 * Encode values in the encoding PLAIN. Throws InvalidInput for a time in seconds that is too large for a finer unit.
 */
export function encodePlain({ plan, values }: ShreddedLeaf): Uint8Array {
  const { type, storage } = plan
  const { length } = values
  switch (type.kind) {
    case 'null':
      return new Uint8Array(0)
    case 'bool':
      return exactBits(values.values as Uint8Array, length)
    case 'utf8':
    case 'binary':
      return withLengths(values)
    case 'fixed_size_binary':
      if (type.width === 0) return new Uint8Array(4 * length)
      break
    case 'decimal':
      return reversed(values.values as Uint8Array, length, type.bits / 8)
    case 'int':
      if (type.bits < 32) return asBytes(Int32Array.from((values.values as Int8Array).subarray(0, length)))
      break
  }
  if (storage.factor !== undefined) return multiplied(values, storage.factor, plan)
  return asBytes(values.values!).subarray(0, cellBytes(type) * length)
}

function withLengths({ length, offsets, values }: Column): Uint8Array {
  const bytes = values as Uint8Array
  const total = offsets![length]! - offsets![0]!
  const out = new Uint8Array(4 * length + total)
  const view = new DataView(out.buffer)
  let at = 0
  for (let i = 0; i < length; i++) {
    const start = offsets![i]!
    const size = offsets![i + 1]! - start
    view.setUint32(at, size, true)
    at += 4
    if (size > 16) out.set(bytes.subarray(start, start + size), at)
    else for (let j = 0; j < size; j++) out[at + j] = bytes[start + j]!
    at += size
  }
  return out
}

/** Change the order of the bytes of each value. */
function reversed(bytes: Uint8Array, length: number, width: number): Uint8Array {
  const out = new Uint8Array(width * length)
  for (let i = 0; i < length; i++) {
    for (let j = 0; j < width; j++) out[i * width + j] = bytes[i * width + width - 1 - j]!
  }
  return out
}

function multiplied({ values, length }: Column, factor: bigint, plan: LeafWritePlan): Uint8Array {
  const out = new BigInt64Array(length)
  for (let i = 0; i < length; i++) out[i] = product(BigInt(values![i] as number | bigint), factor, plan)
  return asBytes(out)
}

function product(value: bigint, factor: bigint, plan: LeafWritePlan): bigint {
  const stored = value * factor
  if (BigInt.asIntN(64, stored) !== stored)
    throw invalidInput(
      `column ${quote(plan.path)} has the value ${value} s, which is too large for Parquet`,
      {
        hint: 'Parquet has no unit of seconds, so that Sheaf writes milliseconds',
      },
    )
  return stored
}

/** The statistics of the values of a page or a chunk. */
export interface ValueStatistics {
  /** Null if the type has no bounds. */
  readonly zone: Zone | null
  readonly nulls: number
  /** Number of NaN. Null if the type has none. */
  readonly nans: number | null
}

/** Compute the statistics of a leaf. Entries that are not a value count as nulls. */
export function statisticsOf({ plan, entries, values }: ShreddedLeaf): ValueStatistics {
  const { type, storage } = plan
  const isBytes = type.kind === 'decimal' && storage.decimal === undefined
  const isHalf = type.kind === 'float' && type.bits === 16
  const hasBounds = hasZones(type) && !isBytes && !isHalf
  return {
    zone: hasBounds ? zoneOf(values) : null,
    nulls: entries - values.length,
    nans: type.kind === 'float' && !isHalf ? countNans(values) : null,
  }
}

function countNans({ values, length }: Column): number {
  const floats = values as Float32Array | Float64Array
  let nans = 0
  for (let i = 0; i < length; i++) if (Number.isNaN(floats[i])) nans++
  return nans
}

export interface EncodedBounds {
  readonly least: Uint8Array
  readonly greatest: Uint8Array
  /** Whether both bounds are values of the column. */
  readonly isExact: boolean
}

/** A longer bound of text or bytes may have been cut. */
const mostExactBytes = 28

/** Encode the bounds of values. Null if a bound is missing, or if a value is NaN. */
export function encodeBounds({ zone, nans }: ValueStatistics, plan: LeafWritePlan): EncodedBounds | null {
  if (zone === null || zone.least === null || zone.greatest === null || (nans ?? 0) > 0) return null
  const least = encodeBound(zone.least, plan, -0)
  const greatest = encodeBound(zone.greatest, plan, 0)
  const isText = ['utf8', 'binary', 'fixed_size_binary'].includes(plan.type.kind)
  return { least, greatest, isExact: !isText || Math.max(least.length, greatest.length) <= mostExactBytes }
}

/** `zero`: the zero that a bound of floats has, because both zeros are equal. */
function encodeBound(value: NonNullable<Scalar>, plan: LeafWritePlan, zero: number): Uint8Array {
  const { type, storage } = plan
  if (typeof value === 'boolean') return Uint8Array.of(value ? 1 : 0)
  if (typeof value === 'string') return new Uint8Array(Buffer.from(value))
  if (value instanceof Uint8Array) return value
  if (typeof value === 'number') {
    const float = value === 0 ? zero : value
    return asBytes(
      type.kind === 'float' && type.bits === 32 ? Float32Array.of(float) : Float64Array.of(float),
    )
  }
  assert(typeof value === 'bigint', 'a bound of a leaf')
  if (type.kind === 'decimal') {
    const bytes = new Uint8Array(type.bits / 8)
    writeDecimal(bytes, 0, type.bits, value)
    return bytes.reverse()
  }
  const stored = storage.factor === undefined ? value : product(value, storage.factor, plan)
  return storage.physical === 'int32'
    ? asBytes(Int32Array.of(Number(BigInt.asIntN(32, stored))))
    : asBytes(BigInt64Array.of(BigInt.asIntN(64, stored)))
}

/** Encode a page of the older form, which all readers know: the levels, each after its length, and the values. */
export function pageBody(levels: readonly Uint8Array[], values: Uint8Array): Uint8Array {
  const parts = levels.flatMap(level => [asBytes(Uint32Array.of(level.length)), level])
  return concatBytes([...parts, values])
}
