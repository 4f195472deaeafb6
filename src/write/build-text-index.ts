/** Builds segments of text indexes (STORAGE S12). */
import { assert } from '../errors.js'
import { buildTextSegment } from '../indexes/text/build.js'
import { findFieldById } from '../manifest/field-node.js'
import type { IndexSegment, TableIndex } from '../manifest/table-index.js'
import type { Pacer } from '../primitives/pacer.js'
import type { TableReader } from '../table/table-reader.js'
import type { BuildProgress } from './build-progress.js'
import type { StageTarget } from './stage.js'
import { storeSegment } from './stage-segment.js'
import { coverOf, cutStretches, type Stretch } from './stretch.js'
import { countLiveRows, textInput } from './text-input.js'

/**
 * Bytes of a page of a dictionary. In object storage, a reader that has not read the dictionary reads one page for each
 * term of a query. On a local disk, readers read the dictionary whole.
 */
const termPageBytes = 16 * 1024

/**
 * Build segments over rows, in the order of the stretches. Returns an empty array if there are no rows. The segments
 * have no terms of deleted rows. So versions in which these rows are live must not use the segments.
 */
export async function buildTextSegments(
  reader: TableReader,
  { field, text }: Pick<TableIndex, 'field' | 'text'>,
  stretches: readonly Stretch[],
  target: StageTarget,
  pacer: Pacer,
  progress: BuildProgress,
): Promise<readonly IndexSegment[]> {
  assert(text !== undefined, 'a text index without options')
  const analyzer = reader.analyzers.open(text)
  const chain = findFieldById(reader.schema, field)!
  const column = { reader, chain }
  const segments: IndexSegment[] = []
  let done = 0
  for (let left = stretches; left.length > 0; ) {
    const before = done
    const built = await buildTextSegment(
      textInput(column, left, pacer),
      analyzer,
      text.positions,
      pacer,
      (rows, phase) => progress(before + rows, phase),
      target.store.replace === undefined ? null : termPageBytes,
    )
    const stored = await storeSegment(built, target, pacer.signal)
    const { rows } = built
    const [own = [], ...others] = cutStretches(left, rows)
    left = others.flat()
    const live = await countLiveRows(column, own, pacer)
    const isFull = left.length > 0
    segments.push({
      ...stored,
      rows,
      text: { identity: analyzer.identity, living: live, ...(isFull && { full: true }) },
      cover: coverOf(own, chain[0]!.id, 0),
    })
    done += rows
  }
  return segments
}
