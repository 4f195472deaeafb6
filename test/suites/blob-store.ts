/**
 * Tests of the guarantees of every `BlobStore`: the checks that `sheaf/storage` exports, and tests that need a test
 * framework or that no bucket of a user should see. `open` returns an empty store, and is called once per test.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type CheckSizes, storeChecks } from '../../adapters/storage/store-checks.js'
import { type BlobInfo, type BlobStore, isSameBlob } from '../../src/storage/blob-store.js'
import { keysOf } from '../../src/storage/keys-of.js'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const text = (blob: Uint8Array | null): string | null => blob && new TextDecoder().decode(blob)

async function keys(listing: AsyncIterable<BlobInfo>): Promise<string[]> {
  const found: string[] = []
  for await (const { key } of listing) found.push(key)
  return found
}

/** Names next to '/' in byte order, so that nesting and order get in each other's way. */
const someKeys = fc.uniqueArray(
  fc
    .array(fc.stringMatching(/^[a-c!.0_~-]{0,3}[a-c0_~-]$/), { minLength: 1, maxLength: 4 })
    .map(p => p.join('/')),
  { minLength: 1, maxLength: 30 },
)

/** Keys that can stand in one tree: none is the directory of another. */
function compatible(candidates: readonly string[]): string[] {
  return candidates.filter(key => !candidates.some(other => other.startsWith(`${key}/`)))
}

/** Sizes for stores on this machine, which have no pages and no parts. */
const small: CheckSizes = { races: 50, writers: 20, listed: 20, streamed: 3_000_001 }

/** `longestName`: the length of the longest name in a key, in characters, if a test server has a limit of its own. */
export function blobStoreSuite(
  name: string,
  open: () => Promise<BlobStore>,
  sizes = small,
  longestName = 255,
): void {
  describe(`${name} keeps the guarantees of a blob store`, () => {
    for (const check of storeChecks) {
      test(check.name, async () => check.run({ ...sizes, store: await open(), prefix: '' }))
    }

    test('a large blob is read back unchanged', async () => {
      const store = await open()
      const large = new Uint8Array(9 * 1024 * 1024 + 5)
      for (let i = 0; i < large.length; i += 997) large[i] = i
      await store.put('large', large)
      expect(Buffer.compare((await store.get('large'))!, large)).toBe(0)
      const target = new Uint8Array(large.length - 7)
      await store.readInto('large', 7, target)
      expect(Buffer.compare(target, large.subarray(7))).toBe(0)
    })

    test('a blob keeps its content when the bytes given or got are changed', async () => {
      const store = await open()
      const given = Buffer.from('hello')
      await store.put('k', given)
      given.fill(0)
      const got = await store.get('k')
      got!.fill(0)
      expect(text(await store.get('k'))).toBe('hello')
    })

    test('a listing is in byte order, from a prefix, after a key', async () => {
      await fc.assert(
        fc.asyncProperty(someKeys, fc.nat(), fc.nat(6), async (candidates, pick, cut) => {
          const store = await open()
          const written = compatible(candidates)
          for (const key of written) await store.put(key, bytes(key))
          const sorted = [...written].sort()
          expect(await keys(store.list(''))).toEqual(sorted)
          const chosen = written[pick % written.length]!
          const prefix = chosen.slice(0, cut)
          expect(await keys(store.list(prefix))).toEqual(sorted.filter(key => key.startsWith(prefix)))
          for (const after of [chosen, chosen.slice(0, -1), `${chosen}/`, `${chosen.slice(0, 1)}0`]) {
            const expected = sorted.filter(key => key.startsWith(prefix) && key > after)
            expect(await keys(store.list(prefix, after))).toEqual(expected)
            expect(await keysOf(store, prefix, after)).toEqual(expected)
          }
        }),
        { numRuns: 40 },
      )
    })

    test('a stream that hangs can be aborted', async () => {
      const store = await open()
      const controller = new AbortController()
      async function* chunks() {
        yield bytes('half')
        setImmediate(() => controller.abort(new Error('enough')))
        await new Promise(() => {})
      }
      await expect(store.putStream('k', chunks(), controller.signal)).rejects.toThrow('enough')
      expect(await keys(store.list(''))).toEqual([])
    })

    test('a call aborted in the middle rejects with the reason', async () => {
      const store = await open()
      const large = new Uint8Array(9 * 1024 * 1024)
      await store.put('large', large)
      const controller = new AbortController()
      const reading = store.get('large', controller.signal)
      const writing = store.put('other', large, controller.signal)
      controller.abort(new Error('enough'))
      for (const { status, ...rest } of await Promise.allSettled([reading, writing])) {
        if (status === 'rejected') expect(rest).toMatchObject({ reason: { message: 'enough' } })
      }
      const other = await store.get('other')
      expect(other === null || other.length === large.length).toBe(true)
    })

    test('a key that could name another file is refused', async () => {
      const store = await open()
      const bad = [
        '',
        '/',
        '/a',
        'a/',
        'a//b',
        '.',
        '..',
        '../a',
        'a/../b',
        'a/./b',
        'a\\b',
        'c:a',
        'a\0',
        'ä',
      ]
      bad.push(
        'a/b. ',
        'a.',
        ' ',
        'a*',
        `${'a'.repeat(256)}`,
        `${'a/'.repeat(600)}a`,
        '_tmp',
        '_tmp/x',
        'a\nb',
      )
      for (const key of bad) {
        const refused = { code: 13, message: expect.stringContaining('is not a valid key') }
        await expect(store.get(key), key).rejects.toMatchObject(refused)
        await expect(store.put(key, bytes('x')), key).rejects.toMatchObject(refused)
        await expect(store.putIfAbsent(key, bytes('x')), key).rejects.toMatchObject(refused)
        await expect(store.putStream(key, [bytes('x')]), key).rejects.toMatchObject(refused)
        await expect(store.readInto(key, 0, new Uint8Array(1)), key).rejects.toMatchObject(refused)
        await expect(store.stat(key), key).rejects.toMatchObject(refused)
        await expect(store.delete(key), key).rejects.toMatchObject(refused)
        if (store.peek !== undefined) expect(() => store.peek!(key), key).toThrow('is not a valid key')
      }
      for (const prefix of ['../', '/', 'a/../b', 'a\\', '_tmp/']) {
        await expect(keys(store.list(prefix)), prefix).rejects.toMatchObject({ code: 13 })
      }
      expect(await keys(store.list(''))).toEqual([])
      for (const key of ['..a', '.a', 'a b', '$a@b=c,d', '_tmp2/x', 'a'.repeat(longestName)]) {
        expect(await store.putIfAbsent(key, bytes('x')), key).toBe('won')
      }
    })

    test('a peek, if the store has it, tells what a read would find', async () => {
      const store = await open()
      if (store.peek === undefined) return
      expect(store.peek('d/k')).toBeNull()
      await store.put('d/k', bytes('1'))
      expect(store.peek('d/k')).not.toBeNull()
      expect(store.peek('d')).toBeNull()
      await store.delete('d/k')
      expect(store.peek('d/k')).toBeNull()
    })

    test('a peek, if the store has it, distinguishes a blob from its replacement', async () => {
      const store = await open()
      if (store.peek === undefined) return
      await store.put('d/k', bytes('1'))
      const mark = store.peek('d/k')!
      expect(isSameBlob(store.peek('d/k')!, mark)).toBe(true)
      await store.delete('d/k')
      await store.put('d/k', bytes('12'))
      expect(isSameBlob(store.peek('d/k')!, mark)).toBe(false)
    })
  })
}
