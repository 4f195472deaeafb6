import { describe, expect, test } from 'vitest'
import { checkStore } from '../../../adapters/storage/public.js'
import type { BlobInfo } from '../../../src/storage/blob-store.js'
import { MemoryStore } from '../../../src/storage/memory-store.js'

const quick = { races: 3, writers: 4, listed: 5, streamed: 100 }

/** Accepts the second conditional put silently, as some servers do. */
class CarelessStore extends MemoryStore {
  override async putIfAbsent(key: string, bytes: Uint8Array): Promise<'won' | 'taken'> {
    await this.delete(key)
    return super.putIfAbsent(key, bytes)
  }
}

/** Looks first, and writes later. */
class RacyStore extends MemoryStore {
  override async putIfAbsent(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<'won' | 'taken'> {
    if ((await this.stat(key, signal)) !== null) return 'taken'
    await new Promise(resolve => setImmediate(resolve))
    await this.delete(key)
    return super.putIfAbsent(key, bytes, signal)
  }
}

/** Lists in the order of writes. */
class UnsortedStore extends MemoryStore {
  override async *list(prefix: string, startAfter = '', signal?: AbortSignal): AsyncIterable<BlobInfo> {
    for (const key of this.blobs.keys()) {
      if (key.startsWith(prefix) && key > startAfter) yield (await this.stat(key, signal))!
    }
  }
}

/** Returns what a range has, if it ends too early. */
class ShortStore extends MemoryStore {
  override async getRange(key: string, offset: number, length: number, signal?: AbortSignal) {
    return ((await this.get(key, signal)) ?? new Uint8Array(0)).slice(offset, offset + length)
  }
}

async function failedChecks(store: MemoryStore): Promise<string[]> {
  const { passed, checks } = await checkStore(store, quick)
  const failed = checks.filter(check => !check.passed)
  expect(passed).toBe(failed.length === 0)
  for (const { error } of failed) expect(error).toBeInstanceOf(Error)
  for await (const { key } of store.list('')) expect.unreachable(`${key} is left`)
  return failed.map(({ name }) => name)
}

describe('checkStore', () => {
  test('passes a store with all guarantees, leaves nothing, and measures the calls', async () => {
    const store = new MemoryStore()
    const { passed, checks, latencies } = await checkStore(store, quick)
    expect(checks.filter(check => !check.passed)).toEqual([])
    expect(passed).toBe(true)
    expect(checks.length).toBeGreaterThan(10)
    for await (const { key } of store.list('')) expect.unreachable(key)
    const { calls, p50, p90, p99, max } = latencies.putIfAbsent!
    expect(calls).toBeGreaterThanOrEqual(quick.races * quick.writers)
    expect([p50, p90, p99, max]).toEqual([p50, p90, p99, max].sort((a, b) => a - b))
    expect(Object.keys(latencies)).toEqual(
      expect.arrayContaining(['get', 'put', 'putStream', 'stat', 'delete']),
    )
  })

  test('reports a store that accepts a second conditional put', async () => {
    expect(await failedChecks(new CarelessStore())).toContain('a second conditional put is refused')
  })

  test('reports a store in which several writers may win', async () => {
    expect(await failedChecks(new RacyStore())).toEqual([
      'of several writers that race for a name one wins, and its bytes are there',
    ])
  })

  test('reports a store whose listings have no order', async () => {
    expect(await failedChecks(new UnsortedStore())).toEqual([
      'a listing is in byte order, from a prefix, after a key',
    ])
  })

  test('reports a store that returns less than a range', async () => {
    expect(await failedChecks(new ShortStore())).toEqual([
      'ranges are exact, and a range past the end is an error',
    ])
  })

  test('stops when its signal aborts', async () => {
    const reason = new Error('enough')
    const signal = AbortSignal.abort(reason)
    await expect(checkStore(new MemoryStore(), { signal })).rejects.toBe(reason)
  })
})
