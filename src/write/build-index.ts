/**
 * Builds index segments over rows of a table. Scalar and vector segments include deleted rows, because queries check
 * which rows are live (STORAGE S12). Text segments have no terms of deleted rows, because these terms would affect the
 * scores. So versions in which these rows are live must not use the text segments.
 */
import type { Column } from '../arrow/column.js'
import { concatColumns } from '../arrow/concat.js'
import { IpcFileWriter } from '../arrow/file-writer.js'
import { columnBytes } from '../arrow/layout.js'
import { sliceColumn } from '../arrow/slice.js'
import { runPaced } from '../arrow/steps.js'
import { isScalarKind } from '../indexes/kind.js'
import { buildSegment } from '../indexes/scalar/build-segment.js'
import type { ScalarKind } from '../indexes/scalar/probe.js'
import { segmentSchema } from '../indexes/scalar/segment-schema.js'
import { isTextKind } from '../indexes/text/kind.js'
import { findFieldById } from '../manifest/field-node.js'
import { filePath } from '../manifest/file-names.js'
import type { CoverItem, IndexSegment, TableIndex } from '../manifest/table-index.js'
import type { Pacer } from '../primitives/pacer.js'
import type { TableReader } from '../table/table-reader.js'
import type { BuildProgress } from './build-progress.js'
import { buildTextSegments } from './build-text-index.js'
import { type BuildOptions, buildVectorSegments, type RowsToIndex } from './build-vector-index.js'
import { type ColumnPiece, columnPieces } from './column-pieces.js'
import { sortColumn } from './sort-column.js'
import { newFileName, type StageTarget } from './stage.js'
import type { Stretch } from './stretch.js'

/** Maximum rows of a segment. With more rows, some steps, which cannot pause, would block the event loop too long. */
export const segmentRows = 2 ** 21
/** Maximum bytes of the values of a segment. The build keeps all values and their sorted copy in memory. */
const segmentBytesMax = 128 * 1024 * 1024

/** Build segments over rows, in the order of the stretches. Returns an empty array if there are no rows. */
export async function buildSegments(
  reader: TableReader,
  index: Pick<TableIndex, 'kind' | 'field' | 'vector' | 'text'>,
  rows: RowsToIndex,
  target: StageTarget,
  options: BuildOptions,
): Promise<readonly IndexSegment[]> {
  const { stretches } = rows
  const { pacer, progress = () => {} } = options
  const { kind } = index
  if (isScalarKind(kind)) {
    return buildScalarSegments(reader, { ...index, kind }, stretches, target, pacer, progress)
  }
  if (isTextKind(kind)) {
    return buildTextSegments(reader, index, stretches, target, pacer, progress)
  }
  return buildVectorSegments(reader, index, rows, target, options)
}

async function buildScalarSegments(
  reader: TableReader,
  { kind, field }: { readonly kind: ScalarKind; readonly field: number },
  stretches: readonly Stretch[],
  target: StageTarget,
  pacer: Pacer,
  progress: BuildProgress,
): Promise<readonly IndexSegment[]> {
  const chain = findFieldById(reader.schema, field)!
  const segments: IndexSegment[] = []
  let gathered = new Gathered()
  let done = 0
  const flush = async () => {
    if (gathered.rows === 0) return
    progress(done, 'sorting')
    segments.push(await storeSegment(kind, gathered, target, pacer, () => progress(done, 'writing')))
    gathered = new Gathered()
  }
  for (const stretch of stretches) {
    for await (const piece of columnPieces(reader, chain, stretch, pacer)) {
      for (let from = 0; from < piece.values.length; ) {
        const rows = Math.min(piece.values.length - from, segmentRows - gathered.rows)
        gathered.add(sliced(piece, from, rows))
        from += rows
        done += rows
        if (gathered.rows === segmentRows || gathered.bytes >= segmentBytesMax) await flush()
      }
      progress(done, 'reading')
    }
  }
  await flush()
  return segments
}

function sliced(piece: ColumnPiece, from: number, rows: number): ColumnPiece {
  if (rows === piece.values.length) return piece
  return { ...piece, at: piece.at + from, values: sliceColumn(piece.values, from, rows) }
}

/** The values and the row mapping of the next segment. */
class Gathered {
  readonly values: Column[] = []
  readonly cover: CoverItem[] = []
  rows = 0
  bytes = 0

  add({ fragment: { id: fragment }, file, at, values }: ColumnPiece): void {
    const last = this.cover.at(-1)
    const goesOn = last !== undefined && last.fragment === fragment && last.at + last.count === at
    if (goesOn) this.cover[this.cover.length - 1] = { ...last, count: last.count + values.length }
    else this.cover.push({ first: this.rows, count: values.length, fragment, at, file })
    this.values.push(values)
    this.rows += values.length
    this.bytes += columnBytes(values)
  }
}

async function storeSegment(
  kind: ScalarKind,
  { values, cover, rows }: Gathered,
  target: StageTarget,
  pacer: Pacer,
  onSorted: () => void,
): Promise<IndexSegment> {
  const column = concatColumns(values)
  await pacer.turn()
  const { rows: order, values: sorted } = await sortColumn(
    kind === 'LABEL_LIST' ? column.children[0]! : column,
    pacer,
  )
  onSorted()
  const file = newFileName(target)
  const writer = new IpcFileWriter(segmentSchema(kind, column.type))
  let end: { bytes: number; footerCrc: number } | undefined
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for await (const batch of buildSegment(kind, column, order, pacer, sorted)) {
      yield* await runPaced(writer.writeJoined([batch]), pacer)
    }
    const { chunks: last, ...totals } = writer.finish()
    yield* last
    end = totals
  }
  await target.store.putStream(`${target.location}/${filePath('indexes', file)}`, chunks(), pacer.signal)
  return { file, bytes: end!.bytes, crc: end!.footerCrc, rows, cover }
}
