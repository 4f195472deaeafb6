/** What every BlobStore promises. `open` gives an empty store, and is called once per test. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type BlobInfo, type BlobStore, isSameBlob } from '../../src/storage/blob-store.js'

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

export function blobStoreSuite(name: string, open: () => Promise<BlobStore>): void {
  describe(`${name} keeps the guarantees of a blob store`, () => {
    test('a value is read back as it was put, and no other key exists', async () => {
      const store = await open()
      await store.put('a/b/c', bytes('hello'))
      await store.put('empty', new Uint8Array(0))
      expect(text(await store.get('a/b/c'))).toBe('hello')
      expect(text(await store.get('empty'))).toBe('')
      for (const absent of ['a', 'a/b', 'a/b/c/d', 'a/b/d', 'x/y']) expect(await store.get(absent)).toBeNull()
    })

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

    test('a name can be put once', async () => {
      const store = await open()
      await store.put('k', bytes('first'))
      await expect(store.put('k', bytes('second'))).rejects.toThrow('already exists')
      await expect(store.putStream('k', [bytes('third')])).rejects.toThrow('already exists')
      expect(text(await store.get('k'))).toBe('first')
    })

    test('a second conditional put is refused', async () => {
      const store = await open()
      expect(await store.putIfAbsent('s/1', bytes('first'))).toBe('won')
      expect(await store.putIfAbsent('s/1', bytes('second'))).toBe('taken')
      expect(text(await store.get('s/1'))).toBe('first')
    })

    test('of 20 writers racing for one name exactly one wins, and its bytes are there', async () => {
      const store = await open()
      for (let round = 0; round < 50; round++) {
        const key = `race/${round}`
        const writers = Array.from({ length: 20 }, (_, i) => `writer ${i}`)
        const outcomes = await Promise.all(writers.map(writer => store.putIfAbsent(key, bytes(writer))))
        const winners = writers.filter((_, i) => outcomes[i] === 'won')
        expect(winners).toHaveLength(1)
        expect(text(await store.get(key))).toBe(winners[0])
      }
    })

    test('ranges are exact, and a range past the end is an error', async () => {
      const store = await open()
      await store.put('k', bytes('0123456789'))
      expect(text(await store.getRange('k', 0, 10))).toBe('0123456789')
      expect(text(await store.getRange('k', 3, 4))).toBe('3456')
      expect(text(await store.getRange('k', 10, 0))).toBe('')
      const target = new Uint8Array(6).fill(0x2e)
      await store.readInto('k', 7, target.subarray(2, 5))
      expect(text(target)).toBe('..789.')
      const past = { code: 18, message: expect.stringContaining('k is cut off: it ends at byte 10') }
      await expect(store.getRange('k', 8, 3)).rejects.toMatchObject(past)
      await expect(store.getRange('k', 11, 0)).rejects.toMatchObject(past)
      await expect(store.readInto('k', 1, new Uint8Array(10))).rejects.toMatchObject(past)
      const gone = { code: 18, message: expect.stringContaining('is missing') }
      await expect(store.getRange('none', 0, 1)).rejects.toMatchObject(gone)
      await expect(store.readInto('no/ne', 0, new Uint8Array(0))).rejects.toMatchObject(gone)
    })

    test('several ranges are read at once, small and large, in any order', async () => {
      const store = await open()
      const large = Uint8Array.from({ length: 300_000 }, (_, i) => i % 251)
      await store.put('k', large)
      const places = [
        [5, 3],
        [299_990, 10],
        [1000, 200_000],
        [7, 0],
        ...Array.from({ length: 500 }, (_, i) => [i * 500, 64] as const),
      ] as const
      const ranges = places.map(([offset, length]) => ({ offset, target: new Uint8Array(length) }))
      await store.readRanges('k', ranges)
      for (const { offset, target } of ranges) {
        expect(Buffer.compare(target, large.subarray(offset, offset + target.length))).toBe(0)
      }
      const readRanges = async (key: string, offset: number, signal?: AbortSignal) =>
        store.readRanges(key, [ranges[0]!, { offset, target: new Uint8Array(10) }], signal)
      const past = { code: 18, message: expect.stringContaining('k is cut off: it ends at byte 300000') }
      await expect(readRanges('k', 299_991)).rejects.toMatchObject(past)
      await expect(readRanges('none', 0)).rejects.toMatchObject({ code: 18 })
      await expect(readRanges('k', 0, AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone')
    })

    test('stat tells the size and a time, or null', async () => {
      const store = await open()
      await store.put('d/k', bytes('12345'))
      const info = await store.stat('d/k')
      expect(info).toMatchObject({ key: 'd/k', size: 5 })
      expect(Number.isInteger(info!.modified)).toBe(true)
      expect(await store.stat('d')).toBeNull()
      expect(await store.stat('none')).toBeNull()
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
          }
        }),
        { numRuns: 40 },
      )
    })

    test('a listing has sizes, and is empty if there is no blob', async () => {
      const store = await open()
      expect(await keys(store.list(''))).toEqual([])
      expect(await keys(store.list('no/where/'))).toEqual([])
      await store.put('d/one', bytes('1'))
      await store.put('d/three', bytes('123'))
      const sizes: number[] = []
      for await (const { size } of store.list('d/')) sizes.push(size)
      expect(sizes).toEqual([1, 3])
    })

    test('a deleted blob is gone, and may be deleted again', async () => {
      const store = await open()
      await store.put('d/k', bytes('1'))
      await store.delete('d/k')
      await store.delete('d/k')
      await store.delete('d')
      await store.delete('never/was')
      expect(await store.get('d/k')).toBeNull()
      expect(await keys(store.list(''))).toEqual([])
      expect(await store.putIfAbsent('d/k', bytes('2'))).toBe('won')
    })

    test('a stream becomes one blob', async () => {
      const store = await open()
      async function* chunks() {
        for (let i = 0; i < 5; i++) yield bytes(`chunk ${i};`)
      }
      await store.putStream('d/streamed', chunks())
      expect(text(await store.get('d/streamed'))).toBe('chunk 0;chunk 1;chunk 2;chunk 3;chunk 4;')
      await store.putStream('d/nothing', [])
      expect(text(await store.get('d/nothing'))).toBe('')
    })

    test('a stream that fails leaves nothing, and its error is returned', async () => {
      const store = await open()
      const broken = Object.assign(new Error('the source broke'), { code: 'ENOENT' })
      let closed = false
      async function* chunks() {
        try {
          yield bytes('half')
          throw broken
        } finally {
          closed = true
        }
      }
      await expect(store.putStream('k', chunks())).rejects.toBe(broken)
      expect(closed).toBe(true)
      expect(await store.get('k')).toBeNull()
      expect(await keys(store.list(''))).toEqual([])
      await store.put('k', bytes('whole'))
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

    test('an aborted call rejects with the reason, of any type', async () => {
      const store = await open()
      await store.put('k', bytes('1'))
      const reason = Object.assign(new Error('enough'), { code: 'EEXIST' })
      const signal = AbortSignal.abort(reason)
      const calls: (() => Promise<unknown>)[] = [
        () => store.get('k', signal),
        () => store.getRange('k', 0, 1, signal),
        () => store.readInto('k', 0, new Uint8Array(1), signal),
        () => store.put('n', bytes('1'), signal),
        () => store.putIfAbsent('n', bytes('1'), signal),
        () => store.putStream('n', [bytes('1')], signal),
        () => store.stat('k', signal),
        () => keys(store.list('', undefined, signal)),
        () => store.delete('k', signal),
      ]
      for (const call of calls) await expect(call()).rejects.toBe(reason)
      expect(await keys(store.list(''))).toEqual(['k'])
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
      for (const key of ['..a', '.a', 'a b', '$a@b=c,d', '_tmp2/x', 'a'.repeat(255)]) {
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
