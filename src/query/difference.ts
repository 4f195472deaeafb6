/**
 * The rows of one version that another version of the table does not have at the same position: in the same fragment, at the same
 * offset, with the columns of both versions in the same files. A row at the same position has the same values. A row at another
 * position may only have moved.
 *
 * Files that both versions share are not opened. So the cost is proportional to the difference, plus one check per fragment.
 */
import { type DataFile, type Fragment, fileKey, type RunsPlace, runsKey } from '../manifest/layout.js'
import type { Bitset } from '../primitives/bitset.js'
import type { Part, TableReader } from '../table/table-reader.js'

/** Rows of a fragment that the other version does not have: all, or those in these deletion vectors. */
type Elsewhere = 'all' | readonly RunsPlace[]

/** Which rows of one version differ from another version. */
export class Difference {
  /** Cache of differences: a reader belongs to one version, so weak keys are enough. */
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

  /** Return the rows of a part that differ, by offset, including deleted rows; null for all. */
  async rowsIn(part: Part, signal: AbortSignal | undefined): Promise<Bitset | null> {
    const elsewhere = this.#elsewhere.get(part.fragment) ?? []
    return elsewhere === 'all' ? null : this.#reader.marked(part, elsewhere, signal)
  }
}

function elsewhereIn(fragment: Fragment, before: Fragment, shared: readonly number[]): Elsewhere {
  if (!sameFiles(fragment.files, before.files, shared)) return 'all'
  // A row that is live only in this version is in a deletion vector of the other version.
  const dead = new Set(fragment.dead.parts.map(runsKey))
  return before.dead.parts.filter(part => !dead.has(runsKey(part)))
}

/** Whether both versions have the fields in the same files. */
function sameFiles(a: readonly DataFile[], b: readonly DataFile[], fields: readonly number[]): boolean {
  if (a === b) return true
  const [ours, theirs] = [newestFiles(a), newestFiles(b)]
  return fields.every(id => ours.get(id) === theirs.get(id))
}

/** The newest file of every field. */
function newestFiles(files: readonly DataFile[]): ReadonlyMap<number, string> {
  const newest = new Map<number, string>()
  for (const file of files) for (const id of file.fields) newest.set(id, fileKey(file))
  return newest
}
