/** Readers of tables that are put together by hand, a fragment at a time. */
import type { Column } from '../../src/arrow/column.js'
import type { DataType } from '../../src/arrow/types.js'
import type { Slots } from '../../src/commit/slots.js'
import type { AddedFile } from '../../src/manifest/change.js'
import type { Fragment, Layout, StoredFile } from '../../src/manifest/layout.js'
import { systemClock } from '../../src/primitives/clock.js'
import { Memory } from '../../src/primitives/memory.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { TableReader } from '../../src/table/table-reader.js'
import { createTableSource } from '../../src/table/table-source.js'
import { type Draft, stageRows } from '../../src/write/stage.js'
import { CountingStore } from './stores.js'

const int32: DataType = { kind: 'int', bits: 32, signed: true }
export const id = { id: 1, name: 'id', type: int32, nullable: true }
export const later = { id: 2, name: 'later', type: int32, nullable: true }
export const batchRows = 128 * 1024

async function stage(store: MemoryStore, rows: number): Promise<Draft> {
  const values = Int32Array.from({ length: rows }, (_, i) => i)
  const column: Column = {
    type: int32,
    length: rows,
    nullCount: 0,
    validity: null,
    values,
    offsets: null,
    children: [],
    dictionary: null,
  }
  const schema = { fields: [{ name: 'id', type: int32, nullable: true }] }
  const target = { store, clock: systemClock, location: 'tables/t', birth: 1 }
  const staged = await stageRows([{ schema, length: rows, columns: [column] }], schema, target)
  return staged.drafts[0]!
}

/** A table of fragments with that many rows, of which each has more than ride in a slot; `dead`: offsets of rows by the commit that killed them, per fragment. */
export async function openFragments(
  sizes: readonly number[],
  dead: readonly (readonly (readonly number[])[])[] = [],
  cacheBytes = 1 << 26,
) {
  const memory = new MemoryStore()
  const blobs = new Map<string, Uint8Array>()
  const fragments: Fragment[] = []
  for (const [f, rows] of sizes.entries()) {
    const draft = await stage(memory, rows)
    const file = {
      ...(draft.content as Exclude<Draft['content'], { blob: unknown }>),
      fields: [1],
    } satisfies AddedFile & StoredFile
    const killed = dead[f] ?? []
    const parts = killed.map((offsets, i) => {
      blobs.set(`${f}/${i}`, new Uint8Array(Uint32Array.from(offsets).buffer))
      return { slot: f, blob: i }
    })
    const count = killed.reduce((sum, offsets) => sum + offsets.length, 0)
    const zones = { 1: draft.zones.get(0)! }
    fragments.push({ id: f, rows, ids: { row0: 0 }, files: [file], dead: { parts, count }, zones })
  }
  const slots = { get: async (slot: number) => ({ blob: (i: number) => blobs.get(`${slot}/${i}`)! }) }
  const store = new CountingStore(memory)
  const source = createTableSource(store, slots as unknown as Slots, new Memory(cacheBytes))
  const layout: Layout = {
    table: 't',
    version: 1,
    schema: { id: 1, fields: [id, later] },
    earlier: [],
    indexes: [],
    fragments,
    next: { row: 0, frag: 9, field: 3 },
  }
  return { reader: new TableReader(source, 'tables/t', layout), fragments, store, source, layout }
}
