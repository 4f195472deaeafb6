/** Runs the command `sheaf export`. */

import { queryBatches } from '../../src/client/query-batches.js'
import type { ArrowBatch, Namespace } from '../../src/index.js'
import { writeArrow, writeCsv, writeJsonLines, writeLance, writeParquet } from '../files/public.js'
import type { Call } from './arguments.js'
import { Misuse } from './misuse.js'
import { openRoot, openVersion } from './open-root.js'
import { progressLine } from './progress.js'
import { showCounted, showSize } from './quantities.js'
import { queryOf } from './query.js'
import { untilStopped } from './stopping.js'

type FileFormat = NonNullable<Call<'export'>['format']>

const formatOfEnding: Readonly<Record<string, FileFormat>> = {
  csv: 'csv',
  tsv: 'csv',
  jsonl: 'jsonl',
  ndjson: 'jsonl',
  arrow: 'arrow',
  feather: 'arrow',
  ipc: 'arrow',
  parquet: 'parquet',
  lance: 'lance',
}

const writers = {
  csv: writeCsv,
  jsonl: writeJsonLines,
  arrow: writeArrow,
  parquet: writeParquet,
  lance: writeLance,
}

/** Write rows of a table to a file. The file is complete, or unchanged. */
export async function exportTable(command: Call<'export'>): Promise<void> {
  const { file } = command
  if (file === '-')
    throw new Misuse('export writes a file; to write to standard output, use sheaf query with --format')
  const ending = /\.([^./\\]+?)(?:\.gz)?$/i.exec(file)?.[1]?.toLowerCase() ?? ''
  const format =
    command.format ?? (Object.hasOwn(formatOfEnding, ending) ? formatOfEnding[ending]! : undefined)
  if (format === undefined) {
    throw new Misuse(
      `the name of ${file} does not say which format it has: name it .csv, .tsv, .jsonl, .arrow, .parquet or .lance, or pass --format`,
    )
  }
  if ((format === 'parquet' || format === 'lance') && /\.gz$/i.test(file))
    throw new Misuse(`the format ${format} compresses its own values: leave out .gz in ${file}`)
  const { delimiter = ending === 'tsv' ? '\t' : ',' } = command
  if (command.delimiter !== undefined && format !== 'csv')
    throw new Misuse('--delimiter needs the format csv')
  const signal = untilStopped()
  const line = progressLine()
  await using root: Namespace = await openRoot(command, { signal })
  const table = await openVersion(root, command, signal)
  let read = 0
  async function* counted(): AsyncGenerator<ArrowBatch> {
    for await (const batch of queryBatches(queryOf(table, command), signal)) {
      yield batch
      read += batch.numRows
      line.show(showCounted(read, 'row'))
    }
  }
  const write = writers[format]
  const options = { signal, ...(format === 'csv' && { delimiter }) }
  const { rows, bytes } = await write(file, counted(), options).finally(() => line.clear())
  console.log(`${showCounted(rows, 'row')} written to ${file}, ${showSize(bytes)}`)
}
