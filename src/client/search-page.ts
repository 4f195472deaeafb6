/** Reads a page of a query together with the total and the facets of all matching rows, all of one version. */
import { ErrorCode, invalidInput, quote, SheafError } from '../errors.js'
import { inBackticks } from '../primitives/in-backticks.js'
import { callFields, type Operations, type Request } from '../protocol/calls.js'
import { array, boolean, options as declare, integer, string } from '../protocol/shape.js'
import { checkCountable, countMatches, matchingFields } from './count-matches.js'
import { importReplies } from './import-replies.js'
import { callOptions, type RowObject, type RowsOptions, rowsFields } from './rows-options.js'
import { isOfGroups } from './selection.js'

type QueryRequest = Request<'queryTable'>

/** Options of `Search.page`. */
export interface PageOptions<F extends string = string> extends RowsOptions {
  /** Whether to count all matching rows. Default false. */
  readonly total?: boolean | undefined
  /** Columns, or fields of struct columns (`meta.lang`), for each of which to count the matching rows by value. */
  readonly facets?: readonly F[] | undefined
  /** Maximum number of values per facet, the most frequent first. Default 100. */
  readonly facetValues?: number | undefined
}

export const pageShape = declare<PageOptions>()({
  total: boolean,
  facets: array(string('nonEmpty'), { min: 1, distinct: name => name }),
  facetValues: integer(1),
  ...rowsFields,
  ...callFields,
})

/** A value of a facet, and the number of matching rows that have it. NULL is a value. */
export interface FacetValue<V = unknown> {
  readonly value: V
  readonly count: number
}

const defaultFacetValues = 100

/** The rows, total and facets of a page. */
interface SearchPage {
  readonly rows: readonly RowObject[]
  readonly total?: number
  readonly facets?: Readonly<Record<string, readonly FacetValue[]>>
}

/**
 * Run a query and return its rows, with the total and the facets that `options` ask for. The requests for total and
 * facets read the version of the rows. Throws `InvalidInput` if the matching rows cannot be counted.
 */
export async function searchPage(
  operations: Operations,
  request: QueryRequest,
  options: PageOptions,
): Promise<SearchPage> {
  const { total: isTotal = false, facets: names, facetValues = defaultFacetValues, ...rowsOptions } = options
  const call = callOptions(rowsOptions)
  if (isTotal || names !== undefined) checkCountable('page', request)
  if (names !== undefined && (request.distinct === true || (await isOfGroups(request)))) {
    throw invalidInput('page: facets count rows, but the query returns groups or distinct rows', {
      hint: 'leave out facets, groupBy, distinct and aggregates, or run two queries',
    })
  }
  const reply = await operations.queryTable(request, call)
  const { readReply, rowObjects } = await importReplies()
  const rows = await rowObjects(readReply(reply).batches, rowsOptions)
  const sameVersion = Object.assign({}, request, { version: reply.version })
  // Before the counts begin, because an await between them and `Promise.all` would leave their errors unhandled.
  const matching = await matchingFields(sameVersion)
  const everything = Object.assign({}, sameVersion, { offset: 0, k: Number.MAX_SAFE_INTEGER })
  const counted = isTotal ? countMatches(operations, everything, undefined, call) : undefined
  const facets = names?.map(async name => {
    const facetRequest = Object.assign({}, matching, facetFields(name), { k: facetValues })
    const answer = await operations.queryTable(facetRequest, call).catch(cause => {
      throw withFacetHint(cause, name)
    })
    const values = await rowObjects(readReply(answer).batches, rowsOptions)
    return [name, values.map(({ value, count }) => ({ value, count: Number(count) }))] as const
  })
  const [total, ...entries] = await Promise.all([counted, ...(facets ?? [])])
  return {
    rows,
    ...(total !== undefined && { total }),
    ...(facets !== undefined && { facets: Object.fromEntries(entries) }),
  }
}

/** Return the error of the request for a facet. If the facet is an expression, it gets a hint. */
function withFacetHint(cause: unknown, name: string): unknown {
  const isUnknown = cause instanceof SheafError && cause.code === ErrorCode.ColumnNotFound
  if (!isUnknown || /^[\w.`]+$/.test(name)) return cause
  return new SheafError(ErrorCode.ColumnNotFound, `page: no column named ${quote(name)} for a facet`, {
    hint: 'a facet is a column: add the expression as a column (addColumns), or use groupBy',
    cause,
  })
}

/** The fields of a request that counts the rows by the values of a column. */
function facetFields(name: string): Pick<QueryRequest, 'columns' | 'group_by' | 'order_by'> {
  const column = name.includes('`') ? name : name.split('.').map(inBackticks).join('.')
  return {
    columns: { column_aliases: { value: column, count: 'count(*)' } },
    group_by: [column],
    order_by: [{ column_name: 'count', ascending: false }, { column_name: 'value' }],
  }
}
