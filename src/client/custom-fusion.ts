/** Hybrid search whose results are joined by a function of the caller (`Search.fuse`). */
import { invalidInput, quote } from '../errors.js'
import type { CallOptions, Operations, Request } from '../protocol/calls.js'
import { candidatesFor } from '../query/plan-fusion.js'
import { importReplies } from './import-replies.js'
import type { RowObject, RowsOptions } from './rows-options.js'
import { isOfGroups, selects } from './selection.js'

/** A row that a search found: the selected columns, `_rowid`, and `_distance` or `_score`. */
export type FoundRow = Readonly<RowObject> & { readonly _rowid: number | bigint | string }

/** The relevance of a row. A fusion function returns one item for each row of the answer. */
export interface FusedRow {
  readonly _rowid: FoundRow['_rowid']
  readonly _relevance_score: number
}

/**
 * A fusion function. It receives the rows of both searches, each sorted from best to worst, and returns the relevance
 * of the rows of the answer. The answer is sorted by descending relevance. Rows with equal relevance stay in the order
 * in which the function returned them.
 */
export type FuseRows = (
  vectorRows: readonly FoundRow[],
  textRows: readonly FoundRow[],
) => readonly FusedRow[] | Promise<readonly FusedRow[]>

type QueryRequest = Request<'queryTable'>

const rowId = '_rowid'

/**
 * Run a vector search and a text search on one version. Return at most `k` rows after `offset` of the rows that `fuse`
 * returned. The score of a search that did not find the row is null. The rows that `fuse` receives (the candidates) do
 * not depend on the page.
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
    throw invalidInput('fuse: a fusion function needs a hybrid search, with a vector and a text', {
      hint: "write search(vector).fullText('words').fuse(...)",
    })
  }
  const isOfAll = rest.distinct === true || isOfGroups(rest)
  if (isOfAll instanceof Promise ? await isOfAll : isOfAll) {
    throw invalidInput('fuse: a fusion function does not support aggregates, groups or distinct rows', {
      hint: 'use fuse({ candidates: 1000 }) instead of a function',
    })
  }
  if (rest.order_by !== undefined) {
    throw invalidInput(
      'orderBy is not allowed with a fusion function, because its relevance decides the order',
      {
        hint: 'leave orderBy out, or sort the rows of toArray()',
      },
    )
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
 * Check the result of a fusion function: an array of objects with distinct `_rowid` and with a number as
 * `_relevance_score`. Throws `InvalidInput` for another result.
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
