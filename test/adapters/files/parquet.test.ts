import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type ParquetCompression,
  type ParquetSource,
  type ReadParquetOptions,
  readParquet,
  type WriteParquetOptions,
  writeParquet,
} from '../../../adapters/files/public.js'
import type { Batch } from '../../../src/arrow/column.js'
import { fromForeignArrow } from '../../../src/arrow/foreign.js'
import { rowsToBatch } from '../../../src/arrow/rows.js'
import { toArrowTable } from '../../../src/arrow/to-arrow.js'
import type { DataType, Field, Schema } from '../../../src/arrow/types.js'
import { columnValues } from '../../../src/arrow/values.js'
import { writesZstd } from '../../../src/arrow/zstd.js'
import { SheafError } from '../../../src/errors.js'
import { sql } from '../../../src/index.js'
import { batches, contents } from '../../support/arrow-generators.js'
import { failure } from '../../support/failure.js'
import { temporaryRoots } from '../../support/roots.js'

const newRoot = temporaryRoots()
const folder = newRoot()
mkdirSync(folder)
const path = `${folder}/a.parquet`

async function readAll(source: ParquetSource, options?: ReadParquetOptions): Promise<Batch[]> {
  const found: Batch[] = []
  for await (const batch of readParquet(source, options)) found.push(...fromForeignArrow(batch)!.batches)
  return found
}

/** The values of all batches together, by column. */
function joined(list: readonly Batch[]): unknown[][] {
  const columns = list.map(contents)
  return (columns[0] ?? []).map((_, i) => columns.flatMap(column => column[i]!))
}

async function bytesOf(rows: Parameters<typeof writeParquet>[1], options?: WriteParquetOptions) {
  const target = new PassThrough({ highWaterMark: 1 << 30 })
  await writeParquet(target, rows, options)
  return new Uint8Array(target.read() ?? Buffer.alloc(0))
}

/** A nested value has no dictionary in the answer. */
function asRead(type: DataType): DataType {
  switch (type.kind) {
    case 'dictionary': {
      const value = asRead(type.value)
      return ['list', 'fixed_size_list', 'struct', 'map'].includes(value.kind) ? value : { ...type, value }
    }
    case 'struct':
      return { ...type, children: type.children.map(fieldAsRead) }
    case 'list':
    case 'fixed_size_list':
    case 'map':
      return { ...type, child: fieldAsRead(type.child) }
    default:
      return type
  }
}

function fieldAsRead(field: Field): Field {
  return { ...field, type: asRead(field.type) }
}

/** What apache-arrow or Parquet cannot hold. */
function isKept({ schema }: { schema: Schema }): boolean {
  const text = JSON.stringify(schema)
  return !/"kind":"struct","children":\[\]|"size":0|"width":0/.test(text)
}

async function foreign(given: { schema: Schema; batches: readonly Batch[] }) {
  return (await toArrowTable(given.schema, given.batches)).batches
}

describe('writeParquet and readParquet', () => {
  test('keep the schema and all values of any type', async () => {
    await fc.assert(
      fc.asyncProperty(
        batches.filter(isKept),
        fc.constantFrom<ParquetCompression[]>(
          'none',
          'snappy',
          'gzip',
          'brotli',
          ...(writesZstd ? ['zstd' as const] : []),
        ),
        fc.integer({ min: 1, max: 20 }),
        async (given, compression, rowGroupRows) => {
          let written: Uint8Array
          try {
            written = await bytesOf(await foreign(given), {
              compression,
              rowGroupRows,
              ...(given.batches.length === 0 && { schema: given.schema }),
            })
          } catch (error) {
            // A timestamp in seconds may be too large for milliseconds.
            if (error instanceof SheafError && /too large for Parquet/.test(error.message)) return
            throw error
          }
          const found = await readAll(written)
          const { metadata, fields } = given.schema
          expect(found[0]!.schema).toEqual({ ...(metadata && { metadata }), fields: fields.map(fieldAsRead) })
          const full = given.batches.filter(({ length }) => length > 0)
          if (full.length > 0) expect(joined(found)).toEqual(joined(full))
          expect(found.reduce((sum, { length }) => sum + length, 0)).toBe(
            full.reduce((sum, { length }) => sum + length, 0),
          )
        },
      ),
      { numRuns: 300 },
    )
  })
})
