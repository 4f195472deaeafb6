import { describe, expect, test } from 'vitest'
import { checkStore } from '../../../adapters/storage/public.js'
import type { BlobInfo } from '../../../src/storage/blob-store.js'
import { MemoryStore } from '../../../src/storage/memory-store.js'

const quick = { races: 3, writers: 4, listed: 5, streamed: 100, calls: 7 }

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

/** Writes some time after the call, also if the caller does not wait. */
class SlowStore extends MemoryStore {
  override async putIfAbsent(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<'won' | 'taken'> {
    await new Promise(resolve => setTimeout(resolve, 2))
    return super.putIfAbsent(key, bytes, signal)
  }

  override async put(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<void> {
    await new Promise(resolve => setTimeout(resolve, 2))
    return super.put(key, bytes, signal)
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
    expect(Object.keys(latencies)).toEqual(['put', 'get', 'getRange', 'list'])
    for (const { calls, p50, p95, p99, max } of Object.values(latencies)) {
      expect(calls).toBe(7)
      expect([p50, p95, p99, max]).toEqual([p50, p95, p99, max].sort((a, b) => a - b))
    }
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

  test('tells which guarantee a store breaks, and what can happen then', async () => {
    const { checks } = await checkStore(new RacyStore(), quick)
    expect(checks.find(check => !check.passed)!.risk).toMatch(/one of the commits is lost/)
    for (const { risk } of checks) expect(risk).toMatch(/^[a-z].*[a-z]$/)
  })

  test('calls back at the start and at the end of each check', async () => {
    const started: string[] = []
    const ended: string[] = []
    const { checks } = await checkStore(new MemoryStore(), {
      ...quick,
      onStart: name => started.push(name),
      onResult: ({ name }) => ended.push(name),
    })
    expect(started).toEqual(ended)
    expect(ended).toEqual(checks.map(({ name }) => name))
  })

  test('a signal stops the checks, and no blob is left', async () => {
    const names = (await checkStore(new MemoryStore(), quick)).checks.map(({ name }) => name)
    const deletion = names.pop()
    for (const stopped of names) {
      const store = new SlowStore()
      const reason = new Error('enough')
      const controller = new AbortController()
      const ended: string[] = []
      const checking = checkStore(store, {
        ...quick,
        streamed: 10 * 1024 * 1024,
        signal: controller.signal,
        onStart: name => {
          if (name === stopped) setImmediate(() => controller.abort(reason))
        },
        onResult: ({ name, passed }) => {
          expect(passed, name).toBe(true)
          ended.push(name)
        },
      })
      await expect(checking).rejects.toBe(reason)
      for await (const { key } of store.list('')) expect.unreachable(`${key} is left`)
      expect(ended.at(-1)).toBe(deletion)
      const later = names.slice(names.indexOf(stopped) + 1)
      expect(ended.filter(name => later.includes(name))).toEqual([])
    }
  })

  test('an aborted signal starts no check', async () => {
    const reason = new Error('enough')
    const signal = AbortSignal.abort(reason)
    const started: string[] = []
    await expect(checkStore(new MemoryStore(), { signal, onStart: name => started.push(name) })).rejects.toBe(
      reason,
    )
    expect(started).toEqual(['the blobs that the checks wrote can be deleted'])
  })
})
