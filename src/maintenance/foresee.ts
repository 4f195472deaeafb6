/**
 * Finds out what a process reads first when it opens a root and queries a table: manifests, the footers of files, and the
 * heads of index segments. In object storage, they come with the newest checkpoint (commit/newest-checkpoint.ts).
 *
 * The function opens the tables that changed last as a new process does, with an empty cache, and records the reads.
 */
import { type CatalogState, latestOf, type TableHead } from '../catalog/state.js'
import type { Foresight, HintedManifest } from '../commit/newest-checkpoint.js'
import { SheafError } from '../errors.js'
import type { LayoutStore } from '../manifest/layout-store.js'
import { Memory } from '../primitives/memory.js'
import { Pacer } from '../primitives/pacer.js'
import { newReader } from '../root/open-table.js'
import { type FilePiece, Recorder } from '../storage/file-pieces.js'
import type { Part } from '../table/table-reader.js'
import { createTableSource, type TableSource } from '../table/table-source.js'

/** Maximum number of tables that are opened. */
const tablesMax = 16
/** A table with more fragments than this is left out, because each has a file with a footer. */
const fragmentsMax = 64
/** Maximum bytes of the checksums of a column of one record batch, and of all such checksums of a table. */
const checksumsMax = 16 * 1024
const allChecksumsMax = 256 * 1024

interface Opening {
  readonly layouts: LayoutStore
  readonly source: Pick<TableSource, 'store' | 'slots' | 'analyzers'>
}

/** Return what processes read first of the tables that changed last in `state`, up to `bytesMax` bytes. */
export async function foresee(
  state: CatalogState,
  opening: Opening,
  bytesMax: number,
  signal: AbortSignal,
): Promise<Foresight> {
  const pieces: FilePiece[] = []
  const manifests: HintedManifest[] = []
  let left = bytesMax
  for (const head of await changedLast(state, new Pacer(signal))) {
    const own = await readsOf(head, opening, left, signal)
    if (own === null) continue
    for (const { bytes } of [...own.pieces, own.manifest]) left -= bytes.length
    pieces.push(...own.pieces)
    manifests.push(own.manifest)
  }
  return { pieces, manifests }
}

/** Return the tables that changed last, the newest change first. */
async function changedLast({ tables }: CatalogState, pacer: Pacer): Promise<readonly TableHead[]> {
  const found: TableHead[] = []
  for (const [, head] of tables) {
    if (pacer.due()) await pacer.pause()
    if (head.kind !== 'sheaf' || head.external || latestOf(head) !== head.mark) continue
    const at = found.findIndex(other => slotOf(other) < slotOf(head))
    if (at < 0 && found.length === tablesMax) continue
    found.splice(at < 0 ? found.length : at, 0, head)
    found.length = Math.min(found.length, tablesMax)
  }
  return found
}

/** Return the slot of the last change that the state names; 0 if it names none. */
function slotOf({ changes }: TableHead): number {
  return changes.at(-1) ?? 0
}

/** Open a table and return what is read, at most `bytesMax` bytes. Null: the manifest alone is longer, or is gone. */
async function readsOf(
  head: TableHead,
  { layouts, source }: Opening,
  bytesMax: number,
  signal: AbortSignal,
): Promise<{ readonly pieces: readonly FilePiece[]; readonly manifest: HintedManifest } | null> {
  if (head.fragments > fragmentsMax) return null
  const { store, slots, analyzers } = source
  const pacer = new Pacer(signal)
  try {
    const layout = await layouts.at(head, head.mark, signal)
    const bytes = await layouts.encoded(head, head.mark, signal)
    if (bytes.length > bytesMax) return null
    const recorder = new Recorder(store, bytesMax - bytes.length)
    const empty = createTableSource(recorder.store, slots, new Memory(bytesMax), analyzers)
    const reader = newReader(empty, head.location, layout)
    let parts: readonly Part[] = []
    await recorder.record(async () => {
      parts = await reader.parts(signal)
    })
    for (const { segments } of reader.vectorIndexes)
      for (const segment of segments) await recorder.record(() => segment.open(signal))
    for (const index of reader.indexes) {
      // An index of elements of lists opens with its first search.
      if (index.kind === 'LABEL_LIST') continue
      // A search for a value reads the least and the greatest value of each page.
      await recorder.record(async () => {
        const value = (await index.valueAt?.(0, false, pacer)) ?? null
        await index.estimate(value === null ? { kind: 'null' } : { kind: 'members', values: [value] }, pacer)
      })
    }
    // The rows of an answer are read in blocks.
    const before = recorder.bytes
    for (const part of parts) {
      if (recorder.bytes - before > allChecksumsMax) break
      await recorder.record(() => reader.readChecksums(part, checksumsMax))
    }
    // The heads of text indexes can be long, so they come last.
    for (const { segments } of reader.textIndexes) {
      for (const segment of segments) {
        let hasPages = false
        await recorder.record(async () => {
          hasPages = await segment.hasPages(signal)
        })
        if (!hasPages) await recorder.record(() => segment.open(signal))
      }
    }
    return { pieces: recorder.pieces, manifest: { table: head.uuid, version: head.mark, bytes } }
  } catch (error) {
    signal.throwIfAborted()
    // A version may expire meanwhile. Queries report damage.
    if (!(error instanceof SheafError)) throw error
    return null
  }
}
