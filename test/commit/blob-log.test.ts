import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { BlobLog } from '../../src/commit/blob-log.js'
import { FileStore } from '../../src/storage/file-store.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { commitLogSuite } from '../suites/commit-log.js'
import { SeededClock } from '../support/clock.js'
import { FaultyStore } from '../support/stores.js'

const base = mkdtempSync(join(tmpdir(), 'sheaf-blob-log-'))
afterAll(() => rmSync(base, { recursive: true, force: true }))

commitLogSuite('BlobLog in memory', async () => new BlobLog(new MemoryStore()))
commitLogSuite('BlobLog in a store that cannot peek', async () => {
  return new BlobLog(new FaultyStore(new MemoryStore(), new SeededClock(1), { delay: 0.2 }))
})
commitLogSuite('BlobLog in files', async () => {
  return new BlobLog(
    await FileStore.open(mkdtempSync(join(base, 'log-')), { create: false, readOnly: false }),
  )
})

describe('BlobLog', () => {
  test('a slot is a blob named by its number in 20 digits', async () => {
    const store = new MemoryStore()
    await new BlobLog(store).append(4711, Uint8Array.of(1))
    expect(await store.get('_log/00000000000000004711')).toEqual(Uint8Array.of(1))
  })

  test.each([
    '_log/00000000000000000001 (conflict)',
    '_log/1',
    '_log/00000000000000000001/x',
    '_log/99999999999999999999',
  ])('%s among the slots is reported', async key => {
    const store = new MemoryStore()
    const log = new BlobLog(store)
    await log.append(0, Uint8Array.of(1))
    await store.put(key, Uint8Array.of(2))
    await expect(log.last()).rejects.toMatchObject({ code: 18, message: expect.stringContaining(key) })
  })

  test("a file manager's dot file among the slots is skipped", async () => {
    const store = new MemoryStore()
    const log = new BlobLog(store)
    await log.append(0, Uint8Array.of(1))
    await store.put('_log/.DS_Store', Uint8Array.of(2))
    expect(await log.last()).toBe(0)
  })
})
