/** Segments of scalar indexes as they lie on disk, read back out of memory. */
import type { Batch, Column } from '../../src/arrow/column.js'
import { assembleColumn, parseFileFooter } from '../../src/arrow/file-reader.js'
import { IpcFileWriter } from '../../src/arrow/file-writer.js'
import { sliceColumn } from '../../src/arrow/slice.js'
import type { Schema } from '../../src/arrow/types.js'
import { buildSegment } from '../../src/indexes/scalar/build-segment.js'
import { openSegment } from '../../src/indexes/scalar/open-segment.js'
import type { ScalarKind } from '../../src/indexes/scalar/probe.js'
import type { ColumnRows, ScalarSegment, SegmentFile } from '../../src/indexes/scalar/segment.js'
import { segmentSchema } from '../../src/indexes/scalar/segment-schema.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { sortedRows } from '../../src/write/sort-column.js'

/** The bytes of a file with these batches. */
export async function fileOf(
  schema: Schema,
  batches: AsyncIterable<Batch> | Iterable<Batch>,
): Promise<Uint8Array> {
  const writer = new IpcFileWriter(schema)
  const chunks: Uint8Array[] = []
  for await (const batch of batches) chunks.push(...writer.write(batch))
  return Buffer.concat([...chunks, ...writer.finish().chunks])
}

/** Columns are made of the bytes when they are first asked for. */
export function segmentFile(file: Uint8Array): SegmentFile {
  const layout = parseFileFooter(file, file.length)
  if ('need' in layout) throw new Error('the whole file is given')
  const kept = new Map<string, Promise<Column>>()
  const read = new Map<string, Column>()
  return {
    batchRows: layout.batches.map(batch => batch.length),
    peek: (batch, column) => read.get(`${batch}.${column}`),
    async rows(runs, column) {
      const found: ColumnRows[] = []
      for (const { batch, from, to } of runs) {
        found.push({ column: sliceColumn(await this.column(batch, column), from, to - from), from })
      }
      return found
    },
    column(batch, column) {
      const name = `${batch}.${column}`
      let found = kept.get(name)
      if (found === undefined) {
        const range = layout.batches[batch]!.columns[column]!
        const bytes = file.subarray(range.start, range.start + range.bytes)
        const made = assembleColumn(layout.schema.fields[column]!, range, bytes)
        read.set(name, made)
        found = Promise.resolve(made)
        kept.set(name, found)
      }
      return found
    },
  }
}

/** The file of a segment over all rows of a column. */
export async function segmentBytes(kind: ScalarKind, column: Column): Promise<Uint8Array> {
  const pacer = new Pacer()
  const order = await sortedRows(kind === 'LABEL_LIST' ? column.children[0]! : column, pacer)
  return fileOf(segmentSchema(kind, column.type), buildSegment(kind, column, order, pacer))
}

export async function segmentOf(kind: ScalarKind, column: Column): Promise<ScalarSegment> {
  return openSegment(kind, column.length, segmentFile(await segmentBytes(kind, column)))
}
