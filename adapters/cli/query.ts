/** Runs the commands `sheaf query` and `sheaf head`. */
import { queryBatches } from '../../src/client/query-batches.js'
import type { ArrowBatch, Namespace, Search, Table } from '../../src/index.js'
import { plainPieces } from '../files/pieces.js'
import { writeArrow, writeCsv, writeJsonLines, writeParquet } from '../files/public.js'
import type { Call } from './arguments.js'
import { openRoot, openVersion } from './open-root.js'
import { standardOutput } from './output.js'
import { selectionOf } from './split-list.js'
import { untilStopped } from './stopping.js'
import { tableLines } from './text-table.js'

/** Default of `head --limit`. */
const headRows = 10

/** The options that determine the rows of a query. */
interface Asked {
  readonly where?: string
  readonly select?: readonly string[]
  readonly groupBy?: readonly string[]
  readonly having?: string
  readonly orderBy?: readonly string[]
  readonly limit?: number
  readonly offset?: number
}

/** Print the answer of a query. */
export async function queryTable(command: Call<'query'>): Promise<void> {
  const signal = untilStopped()
  await using root: Namespace = await openRoot(command, { signal })
  const table = await openVersion(root, command, signal)
  await print(queryBatches(queryOf(table, command), signal), command.format, signal)
}

/** Print the first rows of a table. */
export async function showHead(command: Call<'head'>): Promise<void> {
  const { limit = headRows, format } = command
  const signal = untilStopped()
  await using root: Namespace = await openRoot(command, { signal })
  const table = await openVersion(root, command, signal)
  await print(queryBatches(queryOf(table, { limit }), signal), format, signal)
}

/** Return the query of a table that the options describe. */
export function queryOf(
  table: Table,
  { where, select, groupBy, having, orderBy, limit, offset }: Asked,
): Search<object, object> {
  let query = table.query() as Search<object, object>
  if (where !== undefined) query = query.where(where)
  if (select !== undefined) query = selected(query, select)
  if (groupBy !== undefined) query = query.groupBy(...groupBy)
  if (having !== undefined) query = query.having(having)
  if (orderBy !== undefined) query = ordered(query, orderBy)
  if (limit !== undefined) query = query.limit(limit)
  if (offset !== undefined) query = query.offset(offset)
  return query
}

function selected(query: Search<object, object>, parts: readonly string[]): Search<object, object> {
  if (parts.length === 1 && parts[0] === '*') return query
  return query.select(selectionOf(parts) as Readonly<Record<string, string>>) as Search<object, object>
}

function ordered(query: Search<object, object>, keys: readonly string[]): Search<object, object> {
  return query.orderBy(...(keys as never[]))
}

async function print(
  batches: AsyncIterable<ArrowBatch>,
  given: Call<'query'>['format'],
  signal: AbortSignal,
): Promise<void> {
  const format = given ?? (process.stdout.isTTY ? 'table' : 'json')
  const target = standardOutput()
  if (format === 'json') await writeJsonLines(target, batches, { signal })
  else if (format === 'csv') await writeCsv(target, batches, { signal })
  else if (format === 'arrow') await writeArrow(target, batches, { signal })
  else if (format === 'parquet') await writeParquet(target, batches, { signal })
  else {
    const lines = tableLines(plainPieces(batches, signal), process.stdout.columns || undefined)
    for await (const line of lines) {
      if (!target.write(`${line}\n`)) await new Promise(resume => target.once('drain', resume))
    }
    await new Promise<void>(done => target.end(done))
  }
}
