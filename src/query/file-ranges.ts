/** Locates the rows of a slice in files, for readers with access to the files: paths, row positions, and deleted rows. */
import { filePath } from '../manifest/file-names.js'
import { type DataFile, type Fragment, liveRows } from '../manifest/layout.js'
import type { TableField } from '../manifest/table-schema.js'
import type { Pacer } from '../primitives/pacer.js'
import { fileOf, type TableReader } from '../table/table-reader.js'
import type { Plan } from './plan.js'
import type { Slice } from './slices.js'

/** The rows `first .. first + count` of each of some files, without the deleted rows. */
interface FileRange {
  readonly first: number
  readonly count: number
  /** First position and count of each run of deleted rows, ascending. */
  readonly deleted: readonly (readonly [first: number, count: number])[]
  readonly files: readonly {
    /** Relative to the folder of the table. */
    readonly path: string
    /** Index of each column in the file, by column name. */
    readonly columns: Readonly<Record<string, number>>
  }[]
}

/** Consecutive rows of a slice; `from .. to` count live rows of the version. */
export interface SliceRange {
  readonly from: number
  readonly to: number
  /** Null: these rows can only be read from the server. */
  readonly range: FileRange | null
}

/** A column of the table, with its name in the answer. */
interface NamedField {
  readonly name: string
  readonly field: TableField
}

/** Return the fields that a plan reads, if it returns all live rows with plain columns of the table; else null. */
export function storedFieldsOf(
  { filter, output }: Plan,
  { schema }: TableReader,
): readonly NamedField[] | null {
  if (filter !== null) return null
  const named: NamedField[] = []
  for (const { field: shown, value } of output) {
    const { expr } = value
    const [path, ...rest] = expr.kind === 'column' ? expr.path : []
    const field = rest.length === 0 ? schema.fields.find(({ name }) => name === path) : undefined
    if (field === undefined) return null
    named.push({ name: shown.name, field })
  }
  return named
}

/** Maximum total number of listed runs of deleted rows; further ranges must be read from the server. */
const deletedRunsMax = 100_000

/** Return the ranges of each slice, in row order. A column of `fields` that is in no file of a range is null in its rows. */
export async function fileRangesOf(
  reader: TableReader,
  slices: readonly Slice[],
  fields: readonly NamedField[],
  pacer: Pacer,
): Promise<readonly (readonly SliceRange[])[]> {
  const all: SliceRange[][] = slices.map(() => [])
  let runs = 0
  let next = 0
  for (const fragment of reader.layout.fragments) {
    const start = reader.liveBeforeFragment(fragment)
    const end = start + liveRows(fragment)
    while (next < slices.length && slices[next]!.to <= start) next++
    const isRead = next < slices.length && slices[next]!.from < end
    if (!isRead) continue
    const files = filesOf(fragment, fields)
    const isWhole = files === null || fragment.dead.count === 0
    const live = isWhole ? null : (await reader.liveIn(fragment, pacer)).toIndices()
    for (let i = next; i < slices.length && slices[i]!.from < end; i++) {
      const from = Math.max(slices[i]!.from, start)
      const to = Math.min(slices[i]!.to, end)
      const found = files === null ? null : positionsOf(live, from - start, to - start, deletedRunsMax - runs)
      const range = files === null || found === null ? null : { ...found, files }
      runs += range === null ? 0 : range.deleted.length
      append(all[i]!, { from, to, range })
      await pacer.turn()
    }
  }
  return all
}

/** Append a range; join it with the last one if both are read from the server. */
function append(ranges: SliceRange[], next: SliceRange): void {
  const last = ranges.at(-1)
  if (last === undefined || last.range !== null || next.range !== null) ranges.push(next)
  else ranges[ranges.length - 1] = { from: last.from, to: next.to, range: null }
}

/** The files of a fragment that have the columns; null if one of them is stored inline in the log. */
function filesOf(fragment: Fragment, fields: readonly NamedField[]): FileRange['files'] | null {
  const columns = new Map<DataFile, [string, number][]>()
  for (const { name, field } of fields) {
    const file = fileOf(fragment, field)
    if (file === undefined) continue
    const known = columns.get(file) ?? []
    columns.set(file, known)
    known.push([name, file.fields.indexOf(field.id)])
  }
  const files: FileRange['files'][number][] = []
  for (const [file, named] of columns) {
    if ('slot' in file) return null
    files.push({ path: filePath('data', file.file), columns: Object.fromEntries(named) })
  }
  return files
}

/**
 * Position of the live rows `from .. to` of a fragment. `live`: positions of the live rows; null: all rows are live. Null if the
 * deleted rows between them form more than `most` runs.
 */
function positionsOf(
  live: Uint32Array | null,
  from: number,
  to: number,
  most: number,
): Omit<FileRange, 'files'> | null {
  if (live === null) return { first: from, count: to - from, deleted: [] }
  const deleted: [number, number][] = []
  for (let i = from + 1; i < to; i++) {
    const before = live[i - 1]!
    const gap = live[i]! - before - 1
    if (gap > 0 && deleted.push([before + 1, gap]) > most) return null
  }
  const first = live[from]!
  return { first, count: live[to - 1]! + 1 - first, deleted }
}
