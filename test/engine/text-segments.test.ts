/** Text indexes of more texts than a segment has place for. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { sliceColumn } from '../../src/arrow/slice.js'
import type * as build from '../../src/indexes/text/build.js'
import type { TextInput, TextPiece } from '../../src/indexes/text/input.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { openWithBuilder } from '../support/index-builds.js'
import { keysIn } from '../support/stores.js'
import { expectFound } from '../support/text-index.js'

/** Rows that a segment has place for. */
const place = 700

vi.mock('../../src/indexes/text/build.js', async original => {
  const { buildTextSegment, ...others } = await original<typeof build>()
  const few: typeof buildTextSegment = (input, ...more) => buildTextSegment(firstOf(input), ...more)
  return { ...others, buildTextSegment: few }
})

function firstOf(input: TextInput): TextInput {
  const rows = Math.min(place, input.rows)
  async function* pieces(): AsyncGenerator<TextPiece> {
    for await (const { first, column } of input.pieces()) {
      const own = Math.min(column.length, rows - first)
      yield { first, column: sliceColumn(column, 0, own) }
      if (first + own === rows) return
    }
  }
  return { rows, pieces }
}

let root: Awaited<ReturnType<typeof openWithBuilder>>
const store = new MemoryStore('memory://')
beforeEach(async () => {
  root = await openWithBuilder(store)
})
afterEach(() => root.ns.close())

const rowsFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, i) => ({ id: first + i, text: `all m${(first + i) % 7} w${first + i}` }))

test('rows are spread over enough segments, and full segments are left alone', async () => {
  const table = await root.ns.createTable('t', rowsFrom(0, 1000))
  await table.add(rowsFrom(1000, 2500))
  await table.createIndex('text', { type: 'FTS', waitTimeoutMs: 60_000 })
  const shown = async () => {
    const { status, indexedRows, segments } = await table.indexStats('text_idx')
    return [status, indexedRows, segments]
  }
  const files = async () => (await keysIn(store, 'tables/')).filter(key => key.includes('/indexes/'))
  expect(await shown()).toEqual(['ready', 3500, 5])
  expect(await expectFound(root.engine, table, 'text')).toBe(3500)
  const before = await files()
  await table.add(rowsFrom(3500, 20))
  await root.ns.optimize()
  expect(await shown()).toEqual(['ready', 3520, 6])
  expect(await expectFound(root.engine, table, 'text')).toBe(3520)
  const after = await files()
  expect(before.filter(key => !after.includes(key))).toEqual([])
  await root.ns.optimize()
  expect(await files()).toEqual(after)
})
