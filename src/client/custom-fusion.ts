/** Hybrid search with a fusion function of the caller. */
import { invalidInput, quote } from '../errors.js'
import type { CallOptions, Operations, Request } from '../protocol/calls.js'
import { candidatesFor } from '../query/plan-fusion.js'
import { importReplies } from './import-replies.js'
import type { RowObject, RowsOptions } from './rows-options.js'
import { isOfGroups, selects } from './selection.js'

/** A row that a search found: the selected columns, `_rowid`, and `_distance` or `_score`. */
export type FoundRow = Readonly<RowObject> & { readonly _rowid: number | bigint | string }

/** A row of the fused list, with its relevance. Rows that the function does not return are left out. */
export interface FusedRow {
  readonly _rowid: FoundRow['_rowid']
  readonly _relevance_score: number
}

/**
 * Fuses the rows of both searches, each sorted best first. Returns the relevance of rows. The answer is sorted by
 * descending relevance; rows of equal relevance keep the function's order.
 */
export type FuseRows = (
  vectorRows: readonly FoundRow[],
  textRows: readonly FoundRow[],
) => readonly FusedRow[] | Promise<readonly FusedRow[]>

type QueryRequest = Request<'queryTable'>

const rowId = '_rowid'

/**
 * Return the rows that `fuse` chooses, all of one version, with the scores of both searches: null for a search that
 * did not find the row. `fuse` receives as many rows of each search as a hybrid search has candidates, whichever page
 * is asked for.
 */
export async function fusedRows(
  operations: Operations,
  request: QueryRequest,
  fuse: FuseRows,
  options: RowsOptions,
  call: CallOptions,
): Promise<RowObject[]> {
  const { vector, full_text_query, k, offset = 0, highlight, fusion, ...rest } = request
  if (vector == null || full_text_query === undefined) {
    throw invalidInput('fuse: a fusion function needs a hybrid search: a vector and a text')
  }
  const isOfAll = rest.distinct === true || isOfGroups(rest)
  if (isOfAll instanceof Promise ? await isOfAll : isOfAll) {
    throw invalidInput('fuse: a fusion function does not support aggregates, groups or distinct rows', {
      hint: 'leave the function out, and give fuse({ candidates: 1000 })',
    })
  }
  if (rest.order_by !== undefined) {
    throw invalidInput('orderBy: an order is given, but the fusion function decides the order of the rows')
  }
  const candidates = candidatesFor(fusion?.candidates, k, offset)
  const commonRequest = { ...rest, k: Math.min(Number.MAX_SAFE_INTEGER, candidates), with_row_id: true }
  const vectorReply = await operations.queryTable({ ...commonRequest, vector }, call)
  const text = { full_text_query, ...(highlight !== undefined && { highlight }) }
  const {
    vector_column: _,
    distance_type: __,
    lower_bound: ___,
    upper_bound: ____,
    ...textRequest
  } = commonRequest
  const textReply = await operations.queryTable(
    { ...textRequest, ...text, version: vectorReply.version },
    call,
  )
  const { readReply, rowObjects } = await importReplies()
  const vectorRows = await rowObjects(readReply(vectorReply).batches, options)
  const textRows = await rowObjects(readReply(textReply).batches, options)
  const rows = new Map<unknown, RowObject>()
  for (const row of vectorRows) rows.set(row[rowId], { ...row, _score: null })
  for (const row of textRows) {
    const known = rows.get(row[rowId])
    rows.set(row[rowId], known === undefined ? { ...row, _distance: null } : { ...known, ...row })
  }
  const isSelected = request.with_row_id === true || selects(request, rowId)
  const fused = checked(await fuse(vectorRows as FoundRow[], textRows as FoundRow[]))
  fused.sort((a, b) => b._relevance_score - a._relevance_score)
  return fused.slice(offset, offset + k).map(({ _rowid, _relevance_score }) => {
    const row = rows.get(_rowid)
    if (row === undefined) {
      throw invalidInput(`fuse: the function returned row ${quote(_rowid)}, which neither search found`)
    }
    const { _rowid: id, ...others } = row
    return { ...others, ...(isSelected && { _rowid: id }), _relevance_score }
  })
}

/**
 * Check the result of a fusion function. Throws `InvalidInput` unless it is an array of distinct row ids with numbers
 * as relevance.
 */
function checked(fused: unknown): FusedRow[] {
  if (!Array.isArray(fused)) {
    throw invalidInput(`fuse: the function must return an array of rows, got ${quote(fused)}`)
  }
  const seen = new Set<unknown>()
  return fused.map((row: FusedRow | null) => {
    const { _rowid, _relevance_score } = row ?? {}
    if (typeof _relevance_score !== 'number' || Number.isNaN(_relevance_score)) {
      throw invalidInput(
        `fuse: the function must return rows with a number as _relevance_score, got ${quote(_relevance_score)}`,
      )
    }
    if (seen.has(_rowid)) throw invalidInput(`fuse: the function returned row ${quote(_rowid)} twice`)
    seen.add(_rowid)
    return row!
  })
}
