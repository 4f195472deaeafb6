/** What the text indexes of a table know, held against its rows. */
import { expect } from 'vitest'
import type { Table } from '../../src/index.js'
import type { Engine } from '../../src/root/engine.js'
import { openVersion } from '../../src/root/open-table.js'
import type { TableReader } from '../../src/table/table-reader.js'
import type { TextIndexReader } from '../../src/table/text-index.js'

/** Of a table, by default at its newest version. */
export async function readerOf(engine: Engine, name = 't', version?: number): Promise<TableReader> {
  const state = await engine.root.refresh()
  const head = [...state.tables].map(([, head]) => head).find(({ id }) => id.join() === name)!
  return (await openVersion(engine, head, version ?? head.mark)).reader
}

/** The ids of the living rows that are found by each of some terms. */
export async function foundBy(
  reader: TableReader,
  index: TextIndexReader,
  terms: Iterable<string>,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const found = new Map<string, number[]>()
  for (const term of terms) found.set(term, [])
  for (const segment of index.segments) {
    const opened = await segment.open()
    expect([opened.rows, opened.facts.identity]).toEqual([segment.rows, index.analyzer().identity])
    const live = await segment.liveOrdinals(reader)
    for (const [term, ids] of found) {
      const entry = opened.find(term)
      if (entry === null) continue
      const postings = await opened.postings(entry, false, undefined)
      const cursor = postings.cursor()
      for (let block = 0; block < postings.blocks; block++) {
        cursor.load(block)
        const own = cursor.docs.slice(0, cursor.count).filter(row => live?.bits.has(row) ?? true)
        for (const { fragment, offsets } of await segment.place(own)) {
          const rowIds = await reader.rowIds(fragment)
          for (const offset of offsets) ids.push(Number(rowIds.at(offset)))
        }
      }
    }
  }
  for (const ids of found.values()) ids.sort((a, b) => a - b)
  return found
}

/** Expects of each text index of the table, at its version, that it finds the rows it covers by all of their terms, and no others. Gives the number of those. */
export async function expectFound(
  engine: Engine,
  table: Pick<Table, 'query' | 'version'>,
  column: string,
  name = 't',
): Promise<number> {
  const reader = await readerOf(engine, name, await table.version())
  const ids = new Set<number>()
  for (const index of reader.textIndexes) {
    const covered = new Set<number>()
    for (const fragment of reader.layout.fragments) {
      const rowIds = await reader.rowIds(fragment)
      for (const offset of index.covered(fragment).toIndices()) covered.add(Number(rowIds.at(offset)))
    }
    const expected = new Map<string, number[]>([['zzz', []]])
    for (const row of await table.query().withRowId().toArray()) {
      const { _rowid, [column]: value } = row as unknown as Record<string, unknown> & { _rowid: bigint }
      const id = Number(_rowid)
      if (!covered.has(id)) continue
      ids.add(id)
      const texts = typeof value === 'string' ? [value] : ((value as string[] | null) ?? [])
      const terms = texts.flatMap(text => (text === null ? [] : index.analyzer().tokens(text)))
      for (const term of new Set(terms.map(({ term }) => term))) {
        expected.set(term, [...(expected.get(term) ?? []), id])
      }
    }
    for (const own of expected.values()) own.sort((a, b) => a - b)
    expect(await foundBy(reader, index, expected.keys())).toEqual(expected)
  }
  return ids.size
}
