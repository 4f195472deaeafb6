/** Finds the row groups and the pages in which rows can match a filter, by the statistics of the file. */
import type { BoundExpression } from '../../../src/sql/bound-expression.js'
import type { ColumnNode } from '../../../src/sql/column-node.js'
import type { Scalar } from '../../../src/sql/values/scalar.js'
import { type KnownColumn, possibleTruth } from '../../../src/sql/zones/prune.js'
import { hasZones } from '../../../src/sql/zones/zone.js'
import {
  type ColumnChunk,
  type FileMetadata,
  type PagePlace,
  type RowGroup,
  readColumnIndex,
  readOffsetIndex,
  type Statistics,
} from './metadata.js'
import type { RangeFile } from './random-access.js'
import type { LeafPlan, ReadPlan } from './read-plan.js'

/** Some rows of a row group: from the row `from` to the row before `to`. */
export interface RowRange {
  readonly from: number
  readonly to: number
}

const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Return the leaf that a column of an expression reads, or null if it is inside of a list or is none. */
function leafOf(plans: readonly ReadPlan[], { path }: ColumnNode): LeafPlan | null {
  let plan = plans.find(({ field }) => field.name === path[0])
  for (const name of path.slice(1)) {
    if (plan?.kind !== 'struct') return null
    plan = plan.children.find(({ field }) => field.name === name)
  }
  return plan?.kind === 'leaf' && plan.leaf.repeated === 0 ? plan : null
}

export class Pushdown {
  readonly #filter: BoundExpression
  readonly #plans: readonly ReadPlan[]
  readonly #metadata: FileMetadata

  constructor(filter: BoundExpression, plans: readonly ReadPlan[], metadata: FileMetadata) {
    this.#filter = filter
    this.#plans = plans
    this.#metadata = metadata
  }

  /** Return whether a row group can have rows that match. */
  mayMatch(group: RowGroup): boolean {
    return this.#canBeTrue(leaf => ({
      statistics: group.chunks[leaf.leaf.leaf]!.statistics,
      rows: group.rows,
    }))
  }

  #canBeTrue(known: (leaf: LeafPlan) => { statistics: Statistics | null; rows: number } | null): boolean {
    return possibleTruth(this.#filter.expr, column => {
      const leaf = leafOf(this.#plans, column)
      const found = leaf === null ? null : known(leaf)
      if (leaf === null || found === null || found.statistics === null) return null
      return knownColumn(leaf, found.statistics, found.rows, this.#metadata.isOrdered[leaf.leaf.leaf]!)
    }).isTrue
  }

  /** Return the rows of a row group that can match, by the statistics of its pages. */
  async ranges(group: RowGroup, file: RangeFile): Promise<RowRange[]> {
    const pages = new Map<number, { places: PagePlace[]; statistics: Statistics[] }>()
    for (const leaf of this.#leaves()) {
      const { chunk, index } = { chunk: group.chunks[leaf]!, index: group.chunks[leaf]!.columnIndex }
      const places = index === null ? null : await placesOf(chunk, group.rows, file)
      if (places === null || index === null) continue
      const statistics = readColumnIndex(
        await file.read(index.offset, index.length),
        index.offset,
        places.length,
      )
      if (statistics !== null) pages.set(leaf, { places, statistics })
    }
    if (pages.size === 0) return [{ from: 0, to: group.rows }]
    const starts = new Set<number>()
    for (const { places } of pages.values()) for (const { firstRow } of places) starts.add(firstRow)
    const cuts = [...starts].sort((a, b) => a - b)
    const next = new Map([...pages.keys()].map(leaf => [leaf, 0]))
    const ranges: { from: number; to: number }[] = []
    cuts.forEach((from, i) => {
      const to = cuts[i + 1] ?? group.rows
      const isPossible = this.#canBeTrue(({ leaf: { leaf } }) => {
        const found = pages.get(leaf)
        if (found === undefined) return { statistics: group.chunks[leaf]!.statistics, rows: group.rows }
        let page = next.get(leaf)!
        while (page + 1 < found.places.length && found.places[page + 1]!.firstRow <= from) page++
        next.set(leaf, page)
        const end = found.places[page + 1]?.firstRow ?? group.rows
        return { statistics: found.statistics[page]!, rows: end - found.places[page]!.firstRow }
      })
      if (!isPossible) return
      const last = ranges.at(-1)
      if (last?.to === from) last.to = to
      else ranges.push({ from, to })
    })
    return ranges
  }

  /** Return the leaves of the columns that the filter reads. */
  #leaves(): number[] {
    const leaves: number[] = []
    const visit = (plan: ReadPlan): void => {
      if (plan.kind === 'leaf') leaves.push(plan.leaf.leaf)
      else if (plan.kind === 'struct') plan.children.forEach(visit)
    }
    for (const plan of this.#plans) if (this.#filter.columns.includes(plan.field.name)) visit(plan)
    return leaves
  }
}

/** Read the places of the pages of a chunk. Null if the file does not have them. */
export async function placesOf(
  chunk: ColumnChunk,
  rows: number,
  file: RangeFile,
): Promise<PagePlace[] | null> {
  const { offsetIndex } = chunk
  if (offsetIndex === null) return null
  return readOffsetIndex(
    await file.read(offsetIndex.offset, offsetIndex.length),
    offsetIndex.offset,
    chunk,
    rows,
  )
}

function knownColumn(
  plan: LeafPlan,
  { least, greatest, nulls, nans }: Statistics,
  rows: number,
  isOrdered: boolean,
): KnownColumn | null {
  if (!hasZones(plan.field.type) || plan.divisor !== 1n) return null
  // If the number of nulls is unknown, there may be nulls and values.
  const isUnknown = nulls === null && plan.leaf.definition > 0
  const counts = isUnknown ? { nulls: 1, rows: 2 } : { nulls: nulls ?? 0, rows }
  if (nulls !== null && nulls >= rows) return { zone: { least: null, greatest: null, nulls: rows }, rows }
  if (!isOrdered || least === null) return null
  const low = readBound(plan, least)
  if (low === null || Number.isNaN(low)) return null
  // The bounds of floats leave out NaN, which is greater than all other values.
  const isBounded = greatest !== null && (plan.value.kind !== 'float' || nans === 0)
  const high = isBounded ? readBound(plan, greatest) : null
  return {
    zone: { least: low, greatest: Number.isNaN(high) ? null : high, nulls: counts.nulls },
    rows: counts.rows,
  }
}

/** Read a bound, or return null if it cannot be one. */
function readBound({ value, leaf }: LeafPlan, bytes: Uint8Array): Scalar {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  switch (value.kind) {
    case 'bool':
      return bytes.length === 1 ? bytes[0] === 1 : null
    case 'utf8':
      try {
        return text.decode(bytes)
      } catch {
        return null
      }
    case 'binary':
      return bytes
    case 'fixed_size_binary':
      return leaf.physical === 'fixed_len_byte_array' ? bytes : null
    case 'float':
      if (value.bits === 32 && bytes.length === 4) return view.getFloat32(0, true)
      return value.bits === 64 && bytes.length === 8 ? view.getFloat64(0, true) : null
    case 'decimal':
      if (leaf.physical === 'byte_array' || leaf.physical === 'fixed_len_byte_array')
        return leaf.annotation.kind === 'decimal' ? bigEndian(bytes) : null
      break
    case 'interval':
      return null
  }
  const isUnsigned = value.kind === 'int' && !value.signed
  if (leaf.physical === 'int32' && bytes.length === 4)
    return BigInt(isUnsigned ? view.getUint32(0, true) : view.getInt32(0, true))
  if (leaf.physical === 'int64' && bytes.length === 8)
    return isUnsigned ? view.getBigUint64(0, true) : view.getBigInt64(0, true)
  return null
}

function bigEndian(bytes: Uint8Array): bigint | null {
  if (bytes.length === 0 || bytes.length > 32) return null
  return BigInt.asIntN(8 * bytes.length, BigInt(`0x${Buffer.from(bytes).toString('hex')}`))
}
