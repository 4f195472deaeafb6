/** Reads deletion files of Lance: the offsets of the deleted rows of a fragment. */
import { decodeIpc } from '../arrow/decode-ipc.js'
import { corrupted, invalidInput } from '../errors.js'
import { NumberRuns } from '../primitives/number-runs.js'
import type { LanceDeletions } from './manifest.js'
import { decodeRoaring } from './roaring.js'

/** The store of a table, as the reader of deletion files sees it. */
interface DeletionStore {
  get(key: string): Promise<Uint8Array | null>
  peek?(key: string): { readonly size: number } | null
}

/** Return the maximum bytes of the deletion file of a fragment with `rows` rows. */
function maxBytesOf(rows: number): number {
  return Math.min(64 * 1024 + 8 * rows, 2 ** 30)
}

/**
 * Read the deletion file of a fragment with `rows` rows. `location`: the folder of the table.
 * @throws Internal if the file is missing. InvalidInput if it is damaged, or if it does not fit the manifest.
 */
export async function readDeletionFile(
  store: DeletionStore,
  location: string,
  deletions: Pick<LanceDeletions, 'kind' | 'path' | 'rows'>,
  rows: number,
): Promise<NumberRuns> {
  const path = `${location}/${deletions.path}`
  const size = store.peek?.(path)?.size ?? 0
  if (size > maxBytesOf(rows))
    throw invalidInput(`${path} has ${size} bytes, but its fragment has ${rows} rows`)
  const bytes = await store.get(path)
  if (bytes === null) throw corrupted(`${path} is missing`)
  return decodeDeletions(bytes, deletions, rows)
}

/**
 * Decode a deletion file: an Arrow file with one column of unsigned 32-bit numbers in any order, or a Roaring bitmap.
 * `fragmentRows`: the number of rows of the fragment.
 * @throws InvalidInput if the file is damaged, or if it does not fit the manifest.
 */
export function decodeDeletions(
  bytes: Uint8Array,
  { kind, path, rows }: Pick<LanceDeletions, 'kind' | 'path' | 'rows'>,
  fragmentRows: number,
): NumberRuns {
  const deleted = kind === 'arrow' ? decodeArrow(bytes, path, fragmentRows) : decodeRoaring(bytes, path)
  if (rows > 0 && deleted.count !== rows) {
    throw invalidInput(`${path} has ${deleted.count} deleted rows, but the manifest says ${rows}`)
  }
  if (deleted.rankOf(fragmentRows) < deleted.count)
    throw invalidInput(`${path} deletes rows beyond the ${fragmentRows} rows of its fragment`)
  return deleted
}

function decodeArrow(bytes: Uint8Array, path: string, fragmentRows: number): NumberRuns {
  // A row has 4 bytes and a bit of validity. Compressed bytes cannot make more rows than the fragment has.
  const { batches } = decodeIpc(bytes, { maxBytes: maxBytesOf(fragmentRows) })
  const offsets = batches.map(({ columns }) => {
    const [column] = columns
    const type = column?.type
    if (
      column === undefined ||
      columns.length !== 1 ||
      type?.kind !== 'int' ||
      type.bits !== 32 ||
      type.signed
    )
      throw invalidInput(`${path} is not a deletion file: it does not have one column of uint32`)
    if (column.nullCount > 0) throw invalidInput(`${path} is not a deletion file: it has nulls`)
    return (column.values as Uint32Array).subarray(0, column.length)
  })
  const all = new Uint32Array(offsets.reduce((sum, some) => sum + some.length, 0))
  let at = 0
  for (const some of offsets) {
    all.set(some, at)
    at += some.length
  }
  all.sort()
  for (let i = 1; i < all.length; i++)
    if (all[i] === all[i - 1]) throw invalidInput(`${path} deletes row ${all[i]} twice`)
  return NumberRuns.of(all)
}
