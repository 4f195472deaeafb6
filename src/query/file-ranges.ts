/**
 * Locates the rows of a slice in data files, so that a client with access to the files can read them directly.
 */
import { filePath } from '../manifest/file-names.js'
import { type DataFile, type Fragment, liveRows } from '../manifest/layout.js'
import type { TableField } from '../manifest/table-schema.js'
import type { Pacer } from '../primitives/pacer.js'
import { fileOf } from '../table/file-of.js'
import type { TableReader } from '../table/table-reader.js'
import type { Plan } from './plan.js'
import type { Slice } from './slices.js'

/** A range of rows in one or more files. The files have different columns of the same rows. */
interface FileRange {
  /** Position of the first row in each file. */
  readonly first: number
  /** Number of rows in each file, including the deleted rows. */
  readonly count: number
  /** First position and count of each run of deleted rows, ascending. */
  readonly deleted: readonly (readonly [first: number, count: number])[]
  readonly files: readonly {
    /** Path of the file, relative to the folder of the table. */
    readonly path: string
    /** Index of each column in the file, by column name. */
    readonly columns: Readonly<Record<string, number>>
  }[]
}

/** Consecutive rows of a slice. */
export interface SliceRange {
  /** Number of live rows of the version before the first row. */
  readonly from: number
  /** Number of live rows of the version before the end of the range. */
  readonly to: number
  /** The rows in files. Null: these rows can only be read from the server. */
  readonly range: FileRange | null
}

/** A column of the table, with its name in the answer. */
interface NamedField {
  readonly name: string
  readonly field: TableField
}

/**
 * Return the fields of the output of a plan, if all output columns are top-level columns of the table and the plan has
 * no filter. Otherwise return null.
 */
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

/** Maximum number of runs of deleted rows in a reply. Ranges that would exceed it must be read from the server. */
const deletedRunsMax = 100_000

/**
 * Return the ranges of each slice, in row order. If no file of a range has a column of `fields`, its rows are NULL in
 * this column.
 */
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

/** Append a range. Join it with the last range if both must be read from the server. */
function append(ranges: SliceRange[], next: SliceRange): void {
  const last = ranges.at(-1)
  if (last === undefined || last.range !== null || next.range !== null) ranges.push(next)
  else ranges[ranges.length - 1] = { from: last.from, to: next.to, range: null }
}

/** Return the files of a fragment that have the columns. Return null if the log stores some of these columns inline. */
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
    if (!('file' in file)) return null
    files.push({ path: filePath('data', file.file), columns: Object.fromEntries(named) })
  }
  return files
}

/**
 * Return the positions of a range of live rows of a fragment. `live`: positions of all live rows; null: all rows are
 * live. `from` and `to`: range of indexes in `live`. Returns null if the deleted rows in the range form more than
 * `most` runs.
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
