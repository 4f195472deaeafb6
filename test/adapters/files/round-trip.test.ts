/** Whatever a table may hold comes back from every format, or is refused. */
import { PassThrough } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type FileRows,
  readArrow,
  readCsv,
  readJsonLines,
  writeArrow,
  writeCsv,
  writeJsonLines,
} from '../../../adapters/files/public.js'
import type { Batch } from '../../../src/arrow/column.js'
import { fromForeignArrow } from '../../../src/arrow/foreign.js'
import { rowsToBatch } from '../../../src/arrow/rows.js'
import { toArrowTable } from '../../../src/arrow/to-arrow.js'
import type { DataType } from '../../../src/arrow/types.js'
import type { Row } from '../../../src/index.js'
import { type Batches, batches, contents } from '../../support/arrow-generators.js'

/** What apache-arrow itself loses (test/arrow/apache-arrow.test.ts), and columns that no table has. */
function isKept({ schema }: Batches): boolean {
  const text = JSON.stringify(schema)
  const lost = /"kind":"struct","children":\[\]/.test(text) || /"size":0/.test(text) || /"width":0/.test(text)
  return !lost && schema.fields.every(({ name }) => name !== '')
}

const runs = { numRuns: 300 }

/** The rows of a file that is written and read at once; null where its format has no word for one of them. */
async function through(
  write: (target: PassThrough, rows: FileRows) => Promise<unknown>,
  read: (source: PassThrough) => AsyncIterable<Row>,
  rows: FileRows,
): Promise<Row[] | null> {
  const pipe = new PassThrough()
  const writing = write(pipe, rows).then(
    () => null,
    error => error as Error,
  )
  const found: Row[] = []
  try {
    for await (const row of read(pipe)) found.push(row)
  } catch (error) {
    const cause = await writing
    if (cause !== null && /beyond the year range of ISO 8601|rows without columns/.test(cause.message))
      return null
    throw cause ?? error
  }
  expect(await writing).toBe(null)
  return found
}

function joined(list: readonly Batch[], columns: number): unknown[][] {
  return Array.from({ length: columns }, (_, i) => list.flatMap(batch => contents(batch)[i]!))
}

function holdsEmpty(type: DataType): boolean {
  const { kind } = type.kind === 'dictionary' ? type.value : type
  return kind === 'utf8' || kind === 'binary'
}

function emptyAsNull(value: unknown): unknown {
  return value === '' || (value instanceof Uint8Array && value.length === 0) ? null : value
}

describe('with its schema', () => {
  test('every table comes back from JSON lines', async () => {
    let kept = 0
    await fc.assert(
      fc.asyncProperty(batches.filter(isKept), async ({ schema, batches: list }) => {
        const rows = (await toArrowTable(schema, list)).batches
        const found = await through(writeJsonLines, source => readJsonLines(source, { schema }), rows)
        if (found === null) return
        kept++
        expect(contents(rowsToBatch(found, schema))).toEqual(joined(list, schema.fields.length))
      }),
      runs,
    )
    expect(kept).toBeGreaterThan(runs.numRuns / 2)
  })

  test('every table comes back from CSV, except that an empty text becomes null', async () => {
    let kept = 0
    await fc.assert(
      fc.asyncProperty(batches.filter(isKept), async ({ schema, batches: list }) => {
        const rows = (await toArrowTable(schema, list)).batches
        const fields = schema.fields.map(field => ({ ...field, nullable: true }))
        const found = await through(writeCsv, source => readCsv(source, { schema: { fields } }), rows)
        if (found === null) return
        kept++
        const expected = joined(list, fields.length).map((values, i) =>
          holdsEmpty(fields[i]!.type) ? values.map(emptyAsNull) : values,
        )
        expect(contents(rowsToBatch(found, { fields }))).toEqual(expected)
      }),
      runs,
    )
    expect(kept).toBeGreaterThan(runs.numRuns / 2)
  })

  test('every table comes back from Arrow, with its types', async () => {
    await fc.assert(
      fc.asyncProperty(batches.filter(isKept), async ({ schema, batches: list }) => {
        const pipe = new PassThrough()
        const writing = writeArrow(pipe, (await toArrowTable(schema, list)).batches)
        const found: Batch[] = []
        for await (const batch of readArrow(pipe)) {
          const read = fromForeignArrow(batch)!
          expect(read.schema).toEqual(schema)
          found.push(...read.batches)
        }
        await writing
        expect(joined(found, schema.fields.length)).toEqual(joined(list, schema.fields.length))
      }),
      runs,
    )
  })
})
