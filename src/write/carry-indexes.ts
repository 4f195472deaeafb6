/**
 * Updates the row mappings of index segments after a compaction (STORAGE S12). A compaction keeps the order of rows. So
 * consecutive rows of an old fragment stay consecutive in the new fragment, except that deleted rows are missing. An
 * item of a row mapping covers consecutive rows, and becomes one item in each new fragment that contains some of these
 * rows.
 */
import { type CoveredSegment, coverAt, fragmentsById } from '../manifest/index-cover.js'
import type { Layout } from '../manifest/layout.js'
import type { CoverItem, IndexChange } from '../manifest/table-index.js'
import type { Bitset } from '../primitives/bitset.js'
import { NumberRuns } from '../primitives/number-runs.js'
import type { Pacer } from '../primitives/pacer.js'
import { readStoredRuns } from '../table/stored-runs.js'
import type { TableSource } from '../table/table-source.js'
import type { MovedDraft } from './build-change.js'
import type { Compacted } from './compact.js'
import type { StageTarget } from './stage.js'
import { storeRuns } from './stage-runs.js'

/** An item of the new row mapping: consecutive rows of a segment in a new fragment, which has no id yet. */
interface CarriedItem {
  readonly first: number
  readonly count: number
  readonly draft: MovedDraft
  readonly at: number
  readonly gone: CoverItem['gone'] | undefined
}

/** The change of one segment's row mapping: items in the fragments `from` are replaced by the items `to`. */
interface CarriedSegment {
  readonly index: string
  readonly segment: string
  readonly from: readonly number[]
  readonly to: readonly CarriedItem[]
}

/** The changes of all row mappings. The new fragments do not have ids yet. */
type CarriedIndexes = readonly CarriedSegment[]

/**
 * Compute the changes of a version's row mappings. `compacted`: the compactions that will be committed on the version.
 */
export async function carriedIndexes(
  source: TableSource,
  layout: Layout,
  compacted: readonly Compacted[],
  target: StageTarget,
  pacer: Pacer,
): Promise<CarriedIndexes> {
  const { indexes } = layout
  if (indexes.length === 0) return []
  const fragments = fragmentsById(layout)
  const carrier = new Carrier(source, compacted, target, pacer)
  const carried: CarriedSegment[] = []
  for (const index of indexes) {
    carried.push(...(await carrier.index(index.name, coverAt(index, layout, fragments))))
  }
  return carried
}

/** Convert changes of row mappings to changes of indexes for a commit. `idOf` returns the id of a new fragment. */
export function movedIndexes(
  carried: CarriedIndexes,
  idOf: (draft: MovedDraft) => number,
): readonly IndexChange[] {
  return carried.map(({ index, segment, from, to }) => ({
    moved: index,
    segment,
    from,
    to: to.map(({ draft, first, count, at, gone }): CoverItem => {
      const { content } = draft.draft
      const file = 'file' in content ? content.file : ''
      return { first, count, fragment: idOf(draft), at, file, ...(gone !== undefined && { gone }) }
    }),
  }))
}

/** An old fragment of a compaction, with the facts that determine the new positions of its rows. */
interface MovedFragment {
  /** Offsets of the live rows. */
  readonly survivors: Bitset
  /** The result of `survivors.ranks()`, which makes counting of live rows fast. */
  readonly ranks: Uint32Array
  /** Number of rows in the new fragments before the rows of this fragment. */
  readonly before: number
  readonly compacted: Compacted
}

class Carrier {
  readonly #source: TableSource
  readonly #target: StageTarget
  readonly #pacer: Pacer
  /** By id: the old fragments of the compactions. */
  readonly #moved = new Map<number, MovedFragment>()
  /** Cache of computed items. Several indexes often cover the same rows. */
  readonly #pieces = new Map<string, readonly CarriedItem[]>()

  constructor(source: TableSource, compacted: readonly Compacted[], target: StageTarget, pacer: Pacer) {
    this.#source = source
    this.#target = target
    this.#pacer = pacer
    for (const each of compacted) {
      let before = 0
      for (const [i, { id }] of each.from.entries()) {
        const survivors = each.survivors[i]!
        this.#moved.set(id, { survivors, ranks: survivors.ranks(), before, compacted: each })
        before += survivors.count()
      }
    }
  }

  async index(name: string, covered: readonly CoveredSegment[]): Promise<readonly CarriedSegment[]> {
    const carried: CarriedSegment[] = []
    for (const { segment, items } of covered) {
      const isMoving = ({ fragment }: CoverItem) => this.#moved.has(fragment)
      const moving = segment.cover.filter(isMoving)
      if (moving.length === 0) continue
      const to: CarriedItem[] = []
      // `items` are the valid items of the old row mapping. Rows of invalid items are not in the new row mapping.
      for (const item of items.filter(isMoving)) {
        for (const piece of await this.#carry(item)) append(to, piece)
        await this.#pacer.turn()
      }
      const from = [...new Set(moving.map(({ fragment }) => fragment))]
      carried.push({ index: name, segment: segment.file, from, to })
    }
    return carried
  }

  async #carry(item: CoverItem): Promise<readonly CarriedItem[]> {
    const { first, count, fragment, at, gone } = item
    const key = `${fragment}/${at}/${count}/${gone?.file ?? ''}`
    let pieces = this.#pieces.get(key)
    if (pieces === undefined) {
      pieces = await this.#piecesOf(item, this.#moved.get(fragment)!)
      this.#pieces.set(key, pieces)
    }
    return pieces.map(piece => ({ ...piece, first: first + piece.first }))
  }

  /** Compute the new items for an item. Their `first` is relative to the first row of the item. */
  async #piecesOf(item: CoverItem, moved: MovedFragment): Promise<readonly CarriedItem[]> {
    const gone = await this.#deletedRows(item, moved)
    const { at, count } = item
    const start = moved.before + moved.survivors.rank(at, moved.ranks)
    const pieces: CarriedItem[] = []
    // The first `row` rows of the item are already in `pieces`. `kept` of them are live.
    let row = 0
    let kept = 0
    let draftStart = 0
    for (const draft of moved.compacted.moved) {
      const draftEnd = draftStart + draft.draft.rows
      const space = draftEnd - (start + kept)
      if (space > 0 && row < count) {
        const end = rowAfter(gone, row, count, space)
        const lost = gone.filter(each => each >= row && each < end)
        const left = end - row - lost.length
        if (left > 0) {
          pieces.push({
            first: row,
            count: end - row,
            at: start + kept - draftStart,
            draft,
            gone: lost.length === 0 ? undefined : await this.#stored(lost.map(each => each - row)),
          })
        }
        kept += left
        row = end
      }
      draftStart = draftEnd
    }
    return pieces
  }

  /** Return the deleted rows of an item in ascending order. Row numbers are relative to the first row of the item. */
  async #deletedRows({ count, at, gone }: CoverItem, { survivors }: MovedFragment): Promise<Uint32Array> {
    const before =
      gone === undefined
        ? new Uint32Array(0)
        : numbersOf(await readStoredRuns(this.#source, this.#target.location, gone, NumberRuns.decode))
    const all = new Uint32Array(count)
    let length = 0
    let offset = at
    for (let row = 0, next = 0; row < count; row++) {
      if (next < before.length && before[next] === row) {
        next++
        all[length++] = row
      } else if (!survivors.has(offset++)) all[length++] = row
      if (row % rowsAtOnce === 0) await this.#pacer.turn()
    }
    return all.subarray(0, length)
  }

  async #stored(lost: Uint32Array): Promise<NonNullable<CoverItem['gone']>> {
    const stored = await storeRuns(NumberRuns.of(lost).encode(), this.#target, this.#pacer.signal)
    return { ...stored, count: lost.length }
  }
}

/** Number of rows that are processed before the pacer checks whether to pause. */
const rowsAtOnce = 64 * 1024

/**
 * Return the end of a range from `row` on with `most` rows that are not in `gone`. Returns `count` if there are fewer
 * such rows.
 */
function rowAfter(gone: Uint32Array, row: number, count: number, most: number): number {
  let left = most
  let next = gone.findIndex(each => each >= row)
  if (next === -1) next = gone.length
  let at = row
  while (at < count) {
    const until = next < gone.length ? gone[next]! : count
    if (until - at >= left) return at + left
    left -= until - at
    at = until + 1
    next++
  }
  return count
}

function numbersOf(runs: NumberRuns): Uint32Array {
  const numbers = new Uint32Array(runs.count)
  runs.copy(0, runs.count, numbers)
  return numbers
}

/** Append an item. If it continues the last item without a gap, extend the last item instead. */
function append(items: CarriedItem[], item: CarriedItem): void {
  const last = items.at(-1)
  const goesOn =
    last !== undefined &&
    last.gone === undefined &&
    item.gone === undefined &&
    last.draft === item.draft &&
    last.first + last.count === item.first &&
    last.at + last.count === item.at
  if (goesOn) items[items.length - 1] = { ...last, count: last.count + item.count }
  else items.push(item)
}
