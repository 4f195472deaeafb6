/**
 * Combines the rows that index lookups return. The result is complete for rows that all queried indexes cover. The
 * filter is evaluated on all other rows as if there were no index.
 */
import type { Fragment } from '../manifest/layout.js'
import type { Pacer } from '../primitives/pacer.js'
import { RowSet } from '../primitives/row-set.js'
import { runTask, type Task, wait } from '../primitives/task.js'
import type { InlineRows } from '../table/inline-keys.js'
import type { IndexReader } from '../table/table-index.js'
import type { TableReader } from '../table/table-reader.js'
import type { Meter } from './meter.js'
import { indexesOf, membersOf, type Probes, printProbes } from './probes.js'

/** Rows by fragment id. Fragments without rows are missing. */
type RowsByFragment = ReadonlyMap<number, RowSet>

/** The result of the index lookups of one filter. */
export class ProbedRows {
  readonly #found: RowsByFragment
  readonly #partial: PartialCover

  private constructor(found: RowsByFragment, partial: PartialCover) {
    this.#found = found
    this.#partial = partial
  }

  /** Do the index lookups `all`, and keep the rows that every lookup returns. */
  static *find(
    all: readonly Probes[],
    reader: TableReader,
    pacer: Pacer,
    meter: Meter | null,
  ): Task<ProbedRows> {
    let found: RowsByFragment | null = null
    let partial: PartialCover = new Map()
    const indexes = new Set<IndexReader>()
    for (const probes of all) {
      // Inline rows that no index covers are found by value. Lookups of other kinds leave these rows to the filter.
      const values = membersOf(probes)
      const [index] = indexesOf(probes)
      const inline = values === null ? null : yield* reader.inlineRows(index!, pacer)
      const find = () => runTask(rowsOf(probes, inline, pacer))
      const finding = meter === null ? find() : meter.within(printProbes(probes), find, countIn)
      const rows = yield* wait(finding)
      found = found === null ? rows : intersection(found, rows)
      if (inline === null) for (const each of indexesOf(probes)) indexes.add(each)
      else partial = coveredByBoth(partial, inline.others)
    }
    for (const index of indexes) partial = coveredByBoth(partial, yield* partialCover(index, reader, pacer))
    return new ProbedRows(found!, partial)
  }

  /** Return whether a fragment may have matching rows. */
  mayHold(fragment: Fragment): boolean {
    return this.#found.has(fragment.id) || this.#partial.has(fragment)
  }

  /** Return the positions in the manifest of all fragments that may have matching rows, ascending. */
  positionsIn(reader: TableReader): readonly number[] {
    const positions = new Set<number>()
    for (const id of this.#found.keys()) positions.add(reader.positionOf(id)!)
    for (const { id } of this.#partial.keys()) positions.add(reader.positionOf(id)!)
    return positions.size < 2 ? [...positions] : [...positions].sort((a, b) => a - b)
  }

  /** Return whether all queried indexes cover all rows of a fragment. */
  isCovered(fragment: Fragment): boolean {
    return !this.#partial.has(fragment)
  }

  /**
   * Return the rows of a fragment that may match: the rows that the lookups returned, and the unindexed rows. Null: all
   * rows.
   */
  rowsIn(fragment: Fragment): RowSet | null {
    const found = this.#found.get(fragment.id) ?? RowSet.none(fragment.rows)
    const covered = this.#partial.get(fragment)
    if (covered === undefined) return found
    if (covered.count === 0) return null
    return found.or(RowSet.all(fragment.rows).andNot(covered))
  }
}

// ---- lookups

/** Return the rows that lookups find. `inline`: inline rows to look up too; null: none. */
function* rowsOf(probes: Probes, inline: InlineRows | null, pacer: Pacer): Task<RowsByFragment> {
  if (probes.kind === 'probe') {
    const rows = yield* wait(probes.index.find(probes.probe, pacer))
    return inline === null ? rows : union(rows, inline.find(membersOf(probes)!))
  }
  if (probes.kind === 'less') {
    return without(yield* rowsOf(probes.from, null, pacer), yield* rowsOf(probes.less, null, pacer))
  }
  let all: RowsByFragment | null = null
  for (const operand of probes.operands) {
    const rows: RowsByFragment = yield* rowsOf(operand, null, pacer)
    all = all === null ? rows : probes.kind === 'and' ? intersection(all, rows) : union(all, rows)
    if (pacer.due()) yield pacer.pause()
  }
  return all ?? new Map()
}

function countIn(rows: RowsByFragment): number {
  let count = 0
  for (const { count: own } of rows.values()) count += own
  return count
}

function intersection(a: RowsByFragment, b: RowsByFragment): RowsByFragment {
  const [few, many] = a.size < b.size ? [a, b] : [b, a]
  return combined(few, (id, rows) => {
    const others = many.get(id)
    return others === undefined ? null : rows.and(others)
  })
}

function union(a: RowsByFragment, b: RowsByFragment): RowsByFragment {
  if (a.size === 0 || b.size === 0) return a.size === 0 ? b : a
  const all = new Map(a)
  for (const [id, rows] of b) all.set(id, a.get(id)?.or(rows) ?? rows)
  return all
}

function without(from: RowsByFragment, less: RowsByFragment): RowsByFragment {
  return combined(from, (id, rows) => {
    const others = less.get(id)
    return others === undefined ? rows : rows.andNot(others)
  })
}

function combined(all: RowsByFragment, combine: (id: number, rows: RowSet) => RowSet | null): RowsByFragment {
  const left = new Map<number, RowSet>()
  for (const [id, rows] of all) {
    const rest = combine(id, rows)
    if (rest !== null && !rest.isNone) left.set(id, rest)
  }
  return left
}

// ---- coverage

/** The covered rows of each fragment. Fragments that are covered completely are missing. */
type PartialCover = ReadonlyMap<Fragment, RowSet>

/** Computed coverage of indexes. It does not change, because an index reader belongs to one version. */
const covers = new WeakMap<Covering, PartialCover>()

type Covering = Pick<IndexReader, 'covered'>

/** Return the coverage of an index if it was computed before. */
export function knownCover(index: Covering): PartialCover | undefined {
  return covers.get(index)
}

/** Return the coverage of an index. */
export function* partialCover(index: Covering, { layout }: TableReader, pacer: Pacer): Task<PartialCover> {
  const known = knownCover(index)
  if (known !== undefined) return known
  const partial = new Map<Fragment, RowSet>()
  for (const fragment of layout.fragments) {
    const covered = index.covered(fragment)
    if (!covered.isAll) partial.set(fragment, covered)
    if (pacer.due()) yield pacer.pause()
  }
  covers.set(index, partial)
  return partial
}

/** Return the rows that both indexes cover. */
function coveredByBoth(a: PartialCover, b: PartialCover): PartialCover {
  if (a.size === 0 || b.size === 0) return a.size === 0 ? b : a
  const less = new Map(a)
  for (const [fragment, rows] of b) less.set(fragment, a.get(fragment)?.and(rows) ?? rows)
  return less
}
