/** Pages of postings: read once, checked, kept under the budget, gone with their file. */
import { expect, test } from 'vitest'
import type { SlotReader } from '../../src/commit/slots.js'
import { crc32 } from '../../src/primitives/checksum.js'
import { Memory } from '../../src/primitives/memory.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { segmentPages } from '../../src/table/segment-pages.js'
import { createTableSource } from '../../src/table/table-source.js'
import { failure } from '../support/failure.js'
import { CountingStore } from '../support/stores.js'

const bytes = Uint8Array.from({ length: 4096 }, (_, i) => i % 251)
const rangeOf = (start: number, length: number) => {
  return { start, bytes: length, crc: crc32(bytes.subarray(start, start + length)) }
}

async function opened(budget: number) {
  const inner = new MemoryStore('memory://')
  await inner.put('a', bytes)
  await inner.put('b', bytes)
  const store = new CountingStore(inner)
  const memory = new Memory(budget)
  const source = createTableSource(store, {} as SlotReader, memory)
  return { source, memory, store, pages: segmentPages(source, 'a') }
}

test('a page is read once, and concurrent readers share the read', async () => {
  const { source, store, pages } = await opened(1 << 20)
  const range = rangeOf(100, 1000)
  const both = await Promise.all([pages.page(3, range, undefined), pages.page(3, range, undefined)])
  expect(both[0]).toEqual(bytes.subarray(100, 1100))
  expect(both[1]).toBe(both[0])
  expect(pages.page(3, range, undefined)).toBe(both[0])
  expect(store.bytesRead).toBe(1000)
  expect(await segmentPages(source, 'b').page(3, rangeOf(0, 8), undefined)).toEqual(bytes.subarray(0, 8))
})

test('a damaged page is refused, and read again next time', async () => {
  const { pages } = await opened(1 << 20)
  const wrong = { ...rangeOf(0, 64), crc: 1 }
  for (let i = 0; i < 2; i++) {
    const error = await failure(Promise.resolve(pages.page(0, wrong, undefined)))
    expect(error).toMatchObject({ code: 18, message: expect.stringContaining('of a ') })
  }
  expect(await pages.page(0, rangeOf(0, 64), undefined)).toEqual(bytes.subarray(0, 64))
})

test('pages stay within the budget, and are evicted with their file', async () => {
  const { memory, store, pages } = await opened(4000)
  for (let i = 0; i < 20; i++) {
    await pages.page(i, rangeOf(i * 100, 1000), undefined)
    expect(memory.stats().bytes).toBeLessThanOrEqual(4000)
  }
  expect(store.bytesRead).toBe(20_000)
  memory.gone('a')
  expect(memory.stats().partitions['text-pages']).toMatchObject({ entries: 0, bytes: 0 })
})

test('an aborted reader does not fail the others', async () => {
  const { pages } = await opened(1 << 20)
  const giving = new AbortController()
  const range = rangeOf(0, 64)
  const [mine, theirs] = [pages.page(0, range, giving.signal), pages.page(0, range, undefined)]
  giving.abort(new Error('enough'))
  await expect(mine).rejects.toThrow('enough')
  expect(await theirs).toHaveLength(64)
  expect(() => pages.page(0, range, giving.signal)).toThrow('enough')
})
