/** Carries out a plan: finds the rows, then fetches the columns asked for, for these rows only. */
import type { Batch, Column } from '../arrow/column.js'
import { concatColumns } from '../arrow/concat.js'
import { emptyColumn } from '../arrow/fill.js'
import { takeColumn } from '../arrow/take.js'
import type { Field, Schema } from '../arrow/types.js'
import { unreachable } from '../errors.js'
import { Pacer } from '../primitives/pacer.js'
import type { BoundExpression } from '../sql/bound.js'
import { selectRows } from '../sql/evaluate.js'
import type { Part, TableReader } from '../table/table-reader.js'
import { passingRows } from './filter.js'
import type { RowHits } from './hits.js'
import type { OutputColumn, Plan } from './plan.js'
import { searchExact } from './search-exact.js'
import { distanceColumn, distanceField, rowIdColumn, rowIdField } from './system-columns.js'

export interface QueryResult {
  readonly schema: Schema
  /** In the order of the answer; none when no row matched. */
  readonly batches: readonly Batch[]
}

export async function executePlan(
  plan: Plan,
  reader: TableReader,
  signal?: AbortSignal,
): Promise<QueryResult> {
  const pacer = new Pacer(signal)
  const parts = await reader.parts(signal)
  const schema: Schema = { fields: plan.output.map(outputField) }
  const groups =
    plan.search === null
      ? scan(plan, reader, parts, pacer, signal)
      : search(plan, reader, parts, pacer, signal)
  const batches: Batch[] = []
  for await (const hits of groups) {
    if (hits.parts.length === 0) continue
    const columns: Column[] = []
    for (const output of plan.output) {
      columns.push(await outputColumn(output, hits, reader, parts, signal))
      await pacer.turn()
    }
    batches.push({ schema, length: hits.parts.length, columns })
  }
  return { schema, batches }
}

/** Rows of a group of a scan, so that fetching one column of one group is short. */
const groupRows = 16 * 1024

/** Matching rows in row order, in groups of one part each; stops as soon as there are enough. */
async function* scan(
  plan: Plan,
  reader: TableReader,
  parts: readonly Part[],
  pacer: Pacer,
  signal?: AbortSignal,
): AsyncGenerator<RowHits> {
  let skip = plan.offset
  let want = plan.limit
  for (const [index, part] of parts.entries()) {
    if (want <= 0) return
    const passing = await passingRows(reader, part, plan.filter, signal)
    const matched = passing === null ? allRows(part.rows) : passing.toIndices()
    const offsets = matched.subarray(Math.min(skip, matched.length), Math.min(matched.length, skip + want))
    skip = Math.max(0, skip - matched.length)
    want -= offsets.length
    for (let from = 0; from < offsets.length; from += groupRows) {
      const group = offsets.subarray(from, from + groupRows)
      yield { parts: new Uint32Array(group.length).fill(index), offsets: group, distances: null }
      await pacer.turn()
    }
  }
}

/** The nearest rows, as one group. */
async function* search(
  plan: Plan,
  reader: TableReader,
  parts: readonly Part[],
  pacer: Pacer,
  signal?: AbortSignal,
): AsyncGenerator<RowHits> {
  const before = plan.filterFirst ? plan.filter : null
  const after = plan.filterFirst ? null : plan.filter
  const found = await searchExact(
    plan.search!,
    before,
    plan.offset + plan.limit,
    reader,
    parts,
    pacer,
    signal,
  )
  const kept = after === null ? found : await filterHits(found, after, reader, parts, signal)
  yield sliceHits(kept, plan.offset)
}

/** The hits for which `filter` is true, in the same order. */
async function filterHits(
  hits: RowHits,
  filter: BoundExpression,
  reader: TableReader,
  parts: readonly Part[],
  signal?: AbortSignal,
): Promise<RowHits> {
  const outputs = filter.columns.map((name): OutputColumn => {
    if (name === rowIdField.name) return { kind: 'rowid' }
    return { kind: 'field', field: reader.schema.fields.find(known => known.name === name)! }
  })
  const columns: Column[] = []
  for (const output of outputs) columns.push(await outputColumn(output, hits, reader, parts, signal))
  const batch = { schema: { fields: outputs.map(outputField) }, length: hits.parts.length, columns }
  return pickHits(hits, selectRows(filter, batch).toIndices())
}

function outputField(output: OutputColumn): Field {
  switch (output.kind) {
    case 'field': {
      const { name, type, nullable, metadata } = output.field
      return metadata === undefined ? { name, type, nullable } : { name, type, nullable, metadata }
    }
    case 'distance':
      return distanceField
    case 'rowid':
      return rowIdField
    default:
      return unreachable(output)
  }
}

async function outputColumn(
  output: OutputColumn,
  hits: RowHits,
  reader: TableReader,
  parts: readonly Part[],
  signal?: AbortSignal,
): Promise<Column> {
  switch (output.kind) {
    case 'field':
      return gather(output.field, hits, reader, parts, signal)
    case 'distance':
      return distanceColumn(hits.distances!)
    case 'rowid':
      return rowIdColumn(hits.parts.length, row => {
        return reader.firstRowId(parts[hits.parts[row]!]!) + hits.offsets[row]!
      })
    default:
      return unreachable(output)
  }
}

/** One column of the rows found: taken part by part, then put into the order of the answer. */
async function gather(
  field: Extract<OutputColumn, { kind: 'field' }>['field'],
  hits: RowHits,
  reader: TableReader,
  parts: readonly Part[],
  signal?: AbortSignal,
): Promise<Column> {
  const rowsOf = new Map<number, number[]>()
  if (hits.parts.length === 0) return emptyColumn(field.type)
  if (hits.parts.every(part => part === hits.parts[0])) {
    return takeColumn((await reader.column(parts[hits.parts[0]!]!, field, signal)).column, hits.offsets)
  }
  for (const [row, part] of hits.parts.entries()) {
    const rows = rowsOf.get(part)
    if (rows === undefined) rowsOf.set(part, [row])
    else rows.push(row)
  }
  const pieces: Column[] = []
  const position = new Uint32Array(hits.parts.length)
  let next = 0
  for (const [part, rows] of rowsOf) {
    const { column } = await reader.column(parts[part]!, field, signal)
    pieces.push(
      takeColumn(
        column,
        Uint32Array.from(rows, row => hits.offsets[row]!),
      ),
    )
    for (const row of rows) position[row] = next++
  }
  return takeColumn(concatColumns(pieces), position)
}

function allRows(count: number): Uint32Array {
  const rows = new Uint32Array(count)
  for (let row = 0; row < count; row++) rows[row] = row
  return rows
}

function sliceHits(hits: RowHits, from: number): RowHits {
  return {
    parts: hits.parts.subarray(from),
    offsets: hits.offsets.subarray(from),
    distances: hits.distances?.subarray(from) ?? null,
  }
}

function pickHits(hits: RowHits, rows: Uint32Array): RowHits {
  const { distances } = hits
  return {
    parts: rows.map(row => hits.parts[row]!),
    offsets: rows.map(row => hits.offsets[row]!),
    distances: distances === null ? null : Float32Array.from(rows, row => distances[row]!),
  }
}
