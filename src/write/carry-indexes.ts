/**
 * Updates the row mappings of index segments after a compaction. A compaction keeps the order of rows. So each stretch of a
 * segment's rows in an old fragment becomes a stretch in the new fragment, without the deleted rows (STORAGE S12).
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

/** A stretch of a segment's rows, in a draft of a fragment. */
interface CarriedItem {
  readonly first: number
  readonly count: number
  readonly draft: MovedDraft
  readonly at: number
  readonly gone: CoverItem['gone'] | undefined
}

/** The effect of a compaction on one segment. */
interface CarriedSegment {
  readonly index: string
  readonly segment: string
  readonly from: readonly number[]
  readonly to: readonly CarriedItem[]
}

/** The effects on all segments, before the new fragments have numbers. */
type CarriedIndexes = readonly CarriedSegment[]

/** Compute the new row mappings of a version. `compacted`: the compactions that will be committed on the version. */
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

/** Convert to changes of indexes. `idOf`: the fragment id of a draft. */
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

/** New positions of the rows of a fragment. */
interface MovedFragment {
  readonly survivors: Bitset
  readonly ranks: Uint32Array
  /** Number of rows in the new fragments before the rows of this fragment. */
  readonly before: number
  readonly compacted: Compacted
}

class Carrier {
  readonly #source: TableSource
  readonly #target: StageTarget
  readonly #pacer: Pacer
  /** By fragment id. */
  readonly #moved = new Map<number, MovedFragment>()
  /** Cache of stretches that several indexes share. */
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
      // Only valid items: rows that were invalid in the old mapping stay out.
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

  /** Positions relative to the item's first row. */
  async #piecesOf(item: CoverItem, moved: MovedFragment): Promise<readonly CarriedItem[]> {
    const gone = await this.#deletedRows(item, moved)
    const { at, count } = item
    const start = moved.before + moved.survivors.rank(at, moved.ranks)
    const pieces: CarriedItem[] = []
    /** The item's rows before `row` have positions; `kept` of these rows are live. */
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

  /** The deleted rows of an item, ascending, relative to its first row. */
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

/** Rows processed between two checks of the clock. */
const rowsAtOnce = 64 * 1024

/** The row after the `most`-th row from `row` on that is not in `gone`; `count` if there are fewer. */
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

/** Append a stretch; join it with the last one if it continues that. */
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
