/**
 * Loads indexes and columns of a table into the cache, before a query needs them. An index or column that
 * takes more than half of the memory budget is not loaded, because it would not stay in the cache.
 */
import { findTable, versionOf } from '../catalog/lookup.js'
import type { VectorIndexSegment } from '../indexes/vector/segment.js'
import { fieldOf, findField, findFieldById, typeOf } from '../manifest/field-node.js'
import type { Memory } from '../primitives/memory.js'
import { Pacer } from '../primitives/pacer.js'
import { streamTask } from '../primitives/task.js'
import type { Handler } from '../protocol/calls.js'
import type { Engine } from '../root/engine.js'
import { type OpenTable, openVersion, withLanceIndexes } from '../root/open-table.js'
import type { TextIndexReader } from '../table/text-index.js'
import { vectorType } from '../table/vector-column.js'
import type { VectorIndexReader } from '../table/vector-index.js'
import { findIndex, shownAt } from './index-records.js'
import { openReadable, readable } from './lance-versions.js'

export const prewarmTableIndex: Handler<Engine, 'prewarmTableIndex'> = async (engine, request, options) => {
  const { signal } = options
  const state = await engine.root.refresh(signal)
  const head = await readable(engine, findTable(state, request.id, options.table), signal)
  const opened = await openVersion(engine, head, versionOf(head), signal)
  const { name } = findIndex(head, await shownAt(engine, opened, state, signal), request.index_name).spec
  const open = await withLanceIndexes(engine, opened, signal)
  const { memory } = engine.source
  const pacer = new Pacer(signal)
  const { reader } = open
  // An index whose first build has not ended is in none of the lists.
  await reader.indexes.find(index => index.name === name)?.load?.(pacer)
  const vectors = reader.vectorIndexes.find(index => index.name === name)
  if (vectors !== undefined) await loadVectorIndex(open, vectors, memory, pacer)
  const texts = reader.textIndexes.find(index => index.name === name)
  if (texts !== undefined) await loadTextIndex(texts, memory, pacer)
}

export const prewarmTable: Handler<Engine, 'prewarmTable'> = async (engine, request, options) => {
  const { layout, reader } = await openReadable(engine, request.id, undefined, options)
  const { fields } = layout.schema
  const columns = request.columns?.map(path => fieldOf(findField(layout.schema, path)[0]!).id)
  const chosen = columns === undefined ? fields : fields.filter(({ id }) => columns.includes(id))
  const { memory } = engine.source
  const parts = await reader.parts(options.signal)
  for (const field of chosen) {
    const bytes = parts.reduce((sum, part) => sum + reader.storedBytes(part, [field]), 0)
    if (!memory.canHold(bytes)) continue
    for (const part of parts) await reader.column(part, field, options.signal)
  }
}

/** Open all segments, and read their lists. */
async function loadVectorIndex(
  { layout }: OpenTable,
  { field, segments }: VectorIndexReader,
  memory: Memory,
  pacer: Pacer,
): Promise<void> {
  const dim = vectorType(typeOf(findFieldById(layout.schema, field)!.at(-1)!))?.size ?? 0
  for (const each of segments) {
    const segment = await each.open(pacer.signal)
    if (memory.canHold(each.fileBytes)) await readLists(segment.vectors ?? segment, dim, pacer)
  }
}

/** Search all partitions of a segment, which loads their lists. */
async function readLists(segment: VectorIndexSegment, dim: number, pacer: Pacer): Promise<void> {
  const { vectors, partitions } = segment.facts
  if (vectors === 0) return
  // No metric excludes this vector: its length is not 0.
  const query = new Float32Array(dim).fill(1)
  const effort = { leastPartitions: partitions, mostPartitions: partitions }
  await segment.candidates({ query, k: 1, count: 1, allowed: null, passing: vectors, effort }, pacer)
}

/** Open all segments, and read all their postings. */
async function loadTextIndex({ segments }: TextIndexReader, memory: Memory, pacer: Pacer): Promise<void> {
  for (const each of segments) {
    const segment = await each.open(pacer.signal)
    if (!memory.canHold(each.fileBytes)) continue
    for await (const _ of streamTask(segment.begun('', pacer)));
  }
}
