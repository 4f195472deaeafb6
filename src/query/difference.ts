/**
 * Finds the rows of one version that another version of the table does not have at the same position. Two rows have the
 * same position if they have the same fragment and offset, and their common columns are in the same files. Then their
 * values are equal. A row at another position may have the same values too, because compaction moves rows.
 *
 * Files that both versions share are not opened. So the cost is proportional to the difference, plus one check per
 * fragment.
 */
import { type DataFile, type Fragment, fileKey, type RunsPlace, runsKey } from '../manifest/layout.js'
import type { Bitset } from '../primitives/bitset.js'
import type { Part, TableReader } from '../table/table-reader.js'

/**
 * Rows of a fragment that the other version does not have: all rows, or the rows in these parts of deletion vectors.
 */
type Elsewhere = 'all' | readonly RunsPlace[]

/** The rows of one version that another version does not have at the same position. */
export class Difference {
  /**
   * Computed differences by reader and other reader. The result never changes, because a reader belongs to one version.
   */
  static readonly #known = new WeakMap<TableReader, WeakMap<TableReader, Difference>>()

  /** Return the rows of the version of `reader` that are not in the version of `other`. Reads nothing. */
  static between(reader: TableReader, other: TableReader): Difference {
    const known = Difference.#known.get(reader) ?? new WeakMap<TableReader, Difference>()
    Difference.#known.set(reader, known)
    const difference = known.get(other) ?? new Difference(reader, other)
    known.set(other, difference)
    return difference
  }

  readonly #reader: TableReader
  readonly #elsewhere = new Map<Fragment, Elsewhere>()

  private constructor(reader: TableReader, other: TableReader) {
    this.#reader = reader
    const theirs = new Map(other.layout.fragments.map(fragment => [fragment.id, fragment]))
    const theirFields = new Set(other.schema.fields.map(field => field.id))
    const shared = reader.schema.fields.map(field => field.id).filter(id => theirFields.has(id))
    for (const fragment of reader.layout.fragments) {
      const before = theirs.get(fragment.id)
      if (before === fragment) continue
      const elsewhere = before === undefined ? 'all' : elsewhereIn(fragment, before, shared)
      if (elsewhere.length > 0) this.#elsewhere.set(fragment, elsewhere)
    }
  }

  mayHold(fragment: Fragment): boolean {
    return this.#elsewhere.has(fragment)
  }

  /**
   * Return the offsets of the rows of a part that the other version does not have. Null: it has none of them. Deleted
   * rows may be included.
   */
  async rowsIn(part: Part, signal: AbortSignal | undefined): Promise<Bitset | null> {
    const elsewhere = this.#elsewhere.get(part.fragment) ?? []
    return elsewhere === 'all' ? null : this.#reader.marked(part, elsewhere, signal)
  }
}

function elsewhereIn(fragment: Fragment, before: Fragment, shared: readonly number[]): Elsewhere {
  if (!sameFiles(fragment.files, before.files, shared)) return 'all'
  // Both versions have the same files here, so the other version lacks only rows that it has deleted. These are in the
  // parts of its deletion vector that this version does not have.
  const dead = new Set(fragment.dead.parts.map(runsKey))
  return before.dead.parts.filter(part => !dead.has(runsKey(part)))
}

/** Return whether both versions of a fragment have the given fields in the same files. */
function sameFiles(a: readonly DataFile[], b: readonly DataFile[], fields: readonly number[]): boolean {
  if (a === b) return true
  const [ours, theirs] = [newestFiles(a), newestFiles(b)]
  return fields.every(id => ours.get(id) === theirs.get(id))
}

/** Return the key of the newest file of each field, by field id. */
function newestFiles(files: readonly DataFile[]): ReadonlyMap<number, string> {
  const newest = new Map<number, string>()
  for (const file of files) for (const id of file.fields) newest.set(id, fileKey(file))
  return newest
}
