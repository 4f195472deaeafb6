/** Copies of blobs on a local disk: only bytes that are right are read from them, whatever happens to the files. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { seededRandom } from '../../bench/random.js'
import { systemClock } from '../../src/primitives/clock.js'
import { CacheDirectory } from '../../src/storage/cache-directory.js'
import { withDiskCache } from '../../src/storage/cached-store.js'
import { DiskCache } from '../../src/storage/disk-cache.js'
import { BucketStore } from '../support/bucket-store.js'

const root = '11111111-2222-4333-8444-555555555555'
let path: string
let warnings: string[]

beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'sheaf-cache-'))
  warnings = []
})

afterEach(() => {
  chmodSync(path, 0o700)
  rmSync(path, { recursive: true, force: true })
})

function opened(bytesMax = 2 ** 30, at = path) {
  const directory = new CacheDirectory(at, bytesMax, systemClock, message => warnings.push(message))
  const cache = new DiskCache(directory, root)
  return { directory, cache }
}

function bytesOf(length: number, seed = 1): Uint8Array {
  const random = seededRandom(seed)
  return Uint8Array.from({ length }, () => Math.floor(random() * 256))
}

async function storeWith(blobs: Readonly<Record<string, Uint8Array>>): Promise<BucketStore> {
  const store = new BucketStore()
  for (const [key, bytes] of Object.entries(blobs)) await store.put(key, bytes)
  store.reset()
  return store
}

test.runIf(process.platform === 'linux')(
  'a folder that the system cannot create is reported once',
  async () => {
    const { directory, cache } = opened(2 ** 30, '/proc/no such folder')
    cache.keep('tables/t/data/x', [{ offset: 0, target: bytesOf(4096) }])
    cache.keep('tables/t/data/y', [{ offset: 0, target: bytesOf(4096) }])
    await directory.finish()
    expect(warnings).toHaveLength(1)
  },
)

/** The files of the root in the cache. */
function files(): string[] {
  return readdirSync(join(path, root)).map(name => join(path, root, name))
}

function diskBytes(): number {
  return readdirSync(path, { recursive: true, encoding: 'utf8' }).reduce((sum, name) => {
    const info = statSync(join(path, name), { throwIfNoEntry: false })
    return info?.isFile() === true ? sum + info.blocks * 512 : sum
  }, 0)
}

test('reads through the cache return the bytes of the store, and the same reads need no call again', async () => {
  const size = 2 * 1024 * 1024 + 12_345
  const blob = bytesOf(size)
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.array(fc.tuple(fc.nat(size - 1), fc.integer({ min: 1, max: 9000 })), {
          minLength: 1,
          maxLength: 5,
        }),
        { minLength: 1, maxLength: 6 },
      ),
      async calls => {
        rmSync(path, { recursive: true, force: true })
        const store = await storeWith({ a: blob })
        const { directory, cache } = opened()
        const cached = withDiskCache(store, () => cache)
        const read = async () => {
          for (const call of calls) {
            const ranges = call.map(([offset, length]) => {
              return { offset, target: new Uint8Array(Math.min(length, size - offset)) }
            })
            await cached.readRanges('a', ranges)
            for (const { offset, target } of ranges)
              expect(Buffer.compare(target, blob.subarray(offset, offset + target.length))).toBe(0)
          }
        }
        await read()
        await directory.finish()
        store.reset()
        await read()
        expect(store.calls).toEqual(new Map())
      },
    ),
    { numRuns: 30 },
  )
})

test('a whole blob is kept, and an absent one is not', async () => {
  const blob = bytesOf(5000)
  const store = await storeWith({ a: blob })
  const { directory, cache } = opened()
  const cached = withDiskCache(store, () => cache)
  expect(await cached.get('a')).toEqual(blob)
  expect(await cached.get('b')).toBeNull()
  await directory.finish()
  store.reset()
  expect(await cached.get('a')).toEqual(blob)
  expect(store.calls).toEqual(new Map())
  await store.put('b', bytesOf(10, 2))
  expect(await cached.get('b')).toEqual(bytesOf(10, 2))
})

test('a caller that changes the bytes of an answer does not change the copy', async () => {
  const blob = bytesOf(5000)
  const store = await storeWith({ a: blob })
  const { directory, cache } = opened()
  const cached = withDiskCache(store, () => cache)
  for (let i = 0; i < 2; i++) {
    ;(await cached.get('a'))!.fill(0)
    const target = new Uint8Array(100)
    await cached.readInto('a', 50, target)
    expect(target).toEqual(blob.subarray(50, 150))
    target.fill(0)
    await directory.finish()
  }
  expect(await cached.get('a')).toEqual(blob)
})

test('each flipped byte and each truncation of a file is a miss or harmless, and damage is removed', async () => {
  const blob = bytesOf(700)
  const { directory, cache } = opened()
  cache.keep('a', [{ offset: 0, target: blob }], blob.length)
  await directory.finish()
  const [file] = files()
  const good = readFileSync(file!)
  const check = async (what: string) => {
    const whole = await cache.whole('a')
    if (whole !== null) expect(Buffer.compare(whole, blob), what).toBe(0)
    const target = new Uint8Array(500)
    const left = await cache.read('a', [{ offset: 200, target }])
    if (left.length === 0) expect(Buffer.compare(target, blob.subarray(200, 700)), what).toBe(0)
    return left.length
  }
  let missed = 0
  // Of the header, only the size and the entry of the first block have a meaning.
  const isUsed = (at: number) => at < 20 || (at >= 1024 && at < 1032) || at >= 4096
  for (let at = 0; at < good.length; at++) {
    if (!isUsed(at) && at % 16 !== 0) continue
    const bad = Buffer.from(good)
    bad[at]! ^= 1 << (at % 8)
    writeFileSync(file!, bad)
    missed += await check(`byte ${at}`)
  }
  // At least every byte of the block.
  expect(missed).toBeGreaterThan(699)
  expect(cache.counts.damaged).toBeGreaterThan(699)
  for (let length = 0; length < good.length; length += 97) {
    writeFileSync(file!, good)
    truncateSync(file!, length)
    await check(`length ${length}`)
  }
  writeFileSync(file!, good)
  expect(await check('good')).toBe(0)
  expect(warnings).toEqual([])
}, 60_000)

test('the bytes of another blob, of another region or of another root are not taken', async () => {
  const first = opened()
  first.cache.keep('a', [{ offset: 0, target: bytesOf(4096) }])
  await first.directory.finish()
  const good = readFileSync(files()[0]!)
  const read = (cache: DiskCache, key: string, offset: number) =>
    cache.read(key, [{ offset, target: new Uint8Array(4096) }])
  const other = '11111111-2222-4333-8444-666666666666'
  mkdirSync(join(path, other))
  writeFileSync(join(path, root, 'b@0.part'), good)
  writeFileSync(join(path, root, 'a@1.part'), good)
  writeFileSync(join(path, other, 'a@0.part'), good)
  expect(await read(first.cache, 'a', 0)).toHaveLength(0)
  expect(await read(first.cache, 'b', 0)).toHaveLength(1)
  expect(await read(first.cache, 'a', 1024 * 1024)).toHaveLength(1)
  expect(await read(new DiskCache(first.directory, other), 'a', 0)).toHaveLength(1)
})

test('two processes with one small limit read right bytes, and stay near the limit', async () => {
  const limit = 256 * 1024
  const blobs = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`k${i}`, bytesOf(20_000, i)]))
  const store = await storeWith(blobs)
  const processes = [opened(limit), opened(limit)]
  const random = seededRandom(3)
  for (let round = 0; round < 30; round++) {
    await Promise.all(
      processes.map(async ({ cache }) => {
        const cached = withDiskCache(store, () => cache)
        for (let i = 0; i < 10; i++) {
          const key = `k${Math.floor(random() * 40)}`
          const offset = Math.floor(random() * 15_000)
          expect(await cached.getRange(key, offset, 5000)).toEqual(blobs[key]!.slice(offset, offset + 5000))
        }
      }),
    )
  }
  for (const { directory } of processes) await directory.finish()
  expect(diskBytes()).toBeLessThan(limit * 1.5)
  expect(processes[0]!.cache.counts.hits + processes[1]!.cache.counts.hits).toBeGreaterThan(0)
  expect(warnings).toEqual([])
})

test('the files that were used last are kept', async () => {
  let now = Date.now()
  const clock = { ...systemClock, now: () => now, elapsed: () => now }
  const directory = new CacheDirectory(path, 400_000, clock, message => warnings.push(message))
  const cache = new DiskCache(directory, root)
  const has = async (key: string) =>
    (await cache.read(key, [{ offset: 0, target: new Uint8Array(100) }])).length === 0
  cache.keep('hot', [{ offset: 0, target: bytesOf(20_000) }])
  await directory.finish()
  for (let i = 0; i < 60; i++) {
    now += 100_000
    expect(await has('hot'), `round ${i}`).toBe(true)
    cache.keep(`cold${i}`, [{ offset: 0, target: bytesOf(20_000) }])
    await directory.finish()
    // The system sets the times of writes by its own clock.
    const path = directory.pathOf(root, `cold${i}@0.part`)
    if (existsSync(path)) utimesSync(path, now / 1000 - 50, now / 1000 - 50)
  }
  expect(await has('cold0')).toBe(false)
  expect(files().length).toBeLessThan(20)
})

test('a file that is deleted while it is read is read to its end', async () => {
  const blob = bytesOf(1024 * 1024)
  const { directory, cache } = opened()
  cache.keep('a', [{ offset: 0, target: blob }])
  await directory.finish()
  const target = new Uint8Array(1024 * 1024)
  const reading = cache.read('a', [{ offset: 0, target }])
  expect(reading).toBeInstanceOf(Promise)
  cache.clear()
  expect(await reading).toHaveLength(0)
  expect(Buffer.compare(target, blob)).toBe(0)
  expect(await cache.read('a', [{ offset: 0, target }])).toHaveLength(1)
})

test('foreign files are left alone, and a directory in the place of a file is a miss with one warning', async () => {
  mkdirSync(join(path, root))
  mkdirSync(join(path, 'mine'))
  const foreign = [join(path, 'notes.txt'), join(path, root, 'notes.txt'), join(path, 'mine', 'x.part')]
  for (const file of foreign) writeFileSync(file, bytesOf(50_000))
  mkdirSync(join(path, root, 'a@0.part'))
  const { directory, cache } = opened(4096)
  const store = await storeWith({ a: bytesOf(9000), b: bytesOf(9000, 2) })
  const cached = withDiskCache(store, () => cache)
  for (let i = 0; i < 3; i++) {
    expect(await cached.get('a')).toEqual(bytesOf(9000))
    expect(await cached.get('b')).toEqual(bytesOf(9000, 2))
    await directory.finish()
  }
  for (const file of foreign) expect(readFileSync(file)).toHaveLength(50_000)
  expect(warnings).toHaveLength(1)
})

test('a directory that cannot be written makes no call fail, and is reported once', async () => {
  const file = join(path, 'file')
  writeFileSync(file, '')
  const { directory, cache } = opened(2 ** 30, join(file, 'below'))
  const store = await storeWith({ a: bytesOf(9000) })
  const cached = withDiskCache(store, () => cache)
  for (let i = 0; i < 5; i++) {
    expect(await cached.get('a')).toEqual(bytesOf(9000))
    await directory.finish()
  }
  expect(warnings).toHaveLength(1)
})
