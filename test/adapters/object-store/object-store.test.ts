import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { collect, type FailureKind } from '../../../adapters/object-store/bucket.js'
import { mergeRanges } from '../../../adapters/object-store/merge-ranges.js'
import { ObjectStore, partBytes } from '../../../adapters/object-store/object-store.js'
import { BlobLog } from '../../../src/commit/blob-log.js'
import { systemClock } from '../../../src/primitives/clock.js'
import { Ambiguous } from '../../../src/storage/blob-store.js'
import { blobStoreSuite } from '../../suites/blob-store.js'
import { commitLogSuite } from '../../suites/commit-log.js'
import { type Fault, MemoryBucket } from './memory-bucket.js'

const settings = { prefix: 'a/b/', timeoutMs: 1000, retries: 2 }
/** Pauses end at once. */
const hasty = { ...systemClock, sleep: systemClock.yield }
const bytes = (text: string) => new TextEncoder().encode(text)

function open(some: Partial<typeof settings> = {}) {
  const bucket = new MemoryBucket()
  return { bucket, store: new ObjectStore(bucket, { ...settings, ...some }) }
}

/** Return a function that gives the faults one after the other to the requests of a method. */
function inTurn(method: string, ...faults: Fault[]) {
  return (called: string) => (called === method ? faults.shift() : undefined)
}

const fails = (kind: FailureKind): Fault => ({ before: { kind, reason: `it is ${kind}` } })

const sizes = { races: 50, writers: 20, listed: 1100, streamed: 2 * partBytes + 5 }
blobStoreSuite('an ObjectStore', async () => open().store, sizes)
commitLogSuite('a log in an ObjectStore', async () => new BlobLog(open().store))

describe('a conditional write', () => {
  test('has won if its answer is lost and the object has its id', async () => {
    const { bucket, store } = open()
    bucket.fault = inTurn('create', { lost: true })
    expect(await store.putIfAbsent('k', bytes('1'))).toBe('won')
    expect(await store.putIfAbsent('k', bytes('1'))).toBe('taken')
  })

  test('has won if all answers are lost and the object has its id', async () => {
    const { bucket, store } = open()
    bucket.fault = inTurn('create', { lost: true }, { lost: true }, { lost: true })
    expect(await store.putIfAbsent('k', bytes('1'))).toBe('won')
  })

  test('has not won if its request was lost and another writer wrote the same bytes', async () => {
    const { bucket, store } = open()
    bucket.fault = inTurn('create', { before: { kind: 'unknown', reason: 'no answer' } })
    const first = store.putIfAbsent('k', bytes('same'))
    const second = new ObjectStore(bucket, settings).putIfAbsent('k', bytes('same'))
    expect(await second).toBe('won')
    expect(await first).toBe('taken')
  })

  test('is ambiguous if no request was answered and the key is absent, because a request may arrive later', async () => {
    const { bucket, store } = open()
    bucket.fault = inTurn('create', fails('unknown'), fails('unknown'), fails('unknown'))
    await expect(store.putIfAbsent('k', bytes('1'))).rejects.toThrow(Ambiguous)
    await expect(store.putIfAbsent('k', bytes('1'))).resolves.toBe('won')
  })

  test('is ambiguous if it is refused after an attempt without an answer', async () => {
    const { bucket, store } = open()
    bucket.fault = inTurn('create', fails('unknown'), fails('denied'))
    await expect(store.putIfAbsent('k', bytes('1'))).rejects.toThrow(Ambiguous)
  })

  test('is ambiguous if the server keeps no metadata', async () => {
    const { bucket, store } = open()
    bucket.keepsMetadata = false
    bucket.fault = inTurn('create', { lost: true })
    await expect(store.putIfAbsent('k', bytes('1'))).rejects.toThrow(Ambiguous)
    expect(await store.putIfAbsent('k', bytes('1'))).toBe('taken')
  })

  test('is ambiguous if the outcome cannot be read', async () => {
    const { bucket, store } = open({ retries: 0 })
    bucket.fault = method => (method === 'create' ? { lost: true } : fails('denied'))
    await expect(store.putIfAbsent('k', bytes('1'))).rejects.toThrow(Ambiguous)
  })

  test('reads the outcome if the client may have repeated the request', async () => {
    const { bucket, store } = open()
    const repeated: Fault = { before: { kind: 'taken', reason: 'exists', isRepeated: true } }
    bucket.fault = inTurn('create', { lost: true }, repeated)
    expect(await store.putIfAbsent('k', bytes('1'))).toBe('won')
    await store.put('l', bytes('1'))
    bucket.fault = inTurn('create', repeated)
    expect(await store.putIfAbsent('l', bytes('1'))).toBe('taken')
  })

  test('is sent again after a conflict and when the server is busy, and nothing was written if this does not help', async () => {
    const { bucket, store } = open()
    bucket.fault = inTurn('create', fails('conflict'), fails('busy'))
    expect(await store.putIfAbsent('k', bytes('1'))).toBe('won')
    bucket.fault = inTurn('create', fails('conflict'), fails('busy'), fails('conflict'))
    const error = await store.putIfAbsent('l', bytes('1')).catch(reason => reason)
    expect(error).toMatchObject({ code: 17, message: expect.stringContaining('"a/b/l" in test://bucket') })
    expect(error).not.toBeInstanceOf(Ambiguous)
  })

  test.each([
    ['denied', 15, 'credentials'],
    ['no-bucket', 1, 'create the bucket'],
    ['unsupported', 0, undefined],
    ['invalid', 13, undefined],
  ] as const)('that is %s is an error with the bucket, the key and a hint', async (kind, code, hint) => {
    const { bucket, store } = open()
    bucket.fault = inTurn('create', fails(kind))
    await expect(store.putIfAbsent('k', bytes('1'))).rejects.toMatchObject({
      code,
      message: `cannot write "a/b/k" in test://bucket: it is ${kind}`,
      hint: hint === undefined ? undefined : expect.stringContaining(hint),
    })
    expect(bucket.requests).toEqual(['create a/b/k'])
  })

  test('of every history of lost requests and answers has the outcome that it reports', async () => {
    const fault = fc.constantFrom<Fault>(
      {},
      { lost: true },
      fails('unknown'),
      fails('busy'),
      fails('conflict'),
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(fault, { maxLength: 40 }),
        fc.array(fault, { maxLength: 8 }),
        async (writes, reads) => {
          const { bucket } = open()
          bucket.fault = method => (method === 'create' ? writes.shift() : reads.shift())
          const stores = Array.from({ length: 4 }, () => new ObjectStore(bucket, settings, hasty))
          // All writers write the same bytes, so that only their ids distinguish them.
          const outcomes = await Promise.all(
            stores.map(store => store.putIfAbsent('k', bytes('same')).catch((error: unknown) => error)),
          )
          const winners = outcomes.filter(outcome => outcome === 'won').length
          const isDoubtful = outcomes.some(outcome => outcome instanceof Ambiguous)
          expect(winners).toBeLessThanOrEqual(1)
          if (winners === 1 || outcomes.includes('taken')) expect(bucket.objects.has('a/b/k')).toBe(true)
          if (outcomes.includes('taken') && !isDoubtful) expect(winners).toBe(1)
          if (!bucket.objects.has('a/b/k'))
            expect(outcomes.every(outcome => outcome instanceof Error)).toBe(true)
        },
      ),
      { numRuns: 300 },
    )
  })
})

describe('a request', () => {
  test('without an answer ends after the time limit, and is repeated', async () => {
    const { bucket, store } = open({ timeoutMs: 30 })
    await store.put('k', bytes('1'))
    bucket.fault = inTurn('read', { hangs: true })
    expect(await store.get('k')).toEqual(bytes('1'))
    bucket.fault = () => ({ hangs: true })
    await expect(store.get('k')).rejects.toMatchObject({
      code: 17,
      message: expect.stringContaining('30 ms'),
    })
    expect(bucket.requests).toHaveLength(1 + 2 + 3)
  })

  test('of a read or a delete is repeated after a failure, up to the limit', async () => {
    const { bucket, store } = open()
    await store.put('k', bytes('1'))
    bucket.fault = inTurn('read', fails('busy'), fails('unknown'))
    expect(await store.get('k')).toEqual(bytes('1'))
    bucket.fault = inTurn('delete', { lost: true })
    await store.delete('k')
    bucket.fault = () => fails('busy')
    await expect(store.stat('k')).rejects.toMatchObject({ code: 17 })
  })

  test('stops when its signal aborts, also during a pause', async () => {
    const { bucket, store } = open({ retries: 100 })
    bucket.fault = () => fails('busy')
    const controller = new AbortController()
    setTimeout(() => controller.abort(new Error('enough')), 20)
    await expect(store.putIfAbsent('k', bytes('1'), controller.signal)).rejects.toThrow('enough')
  })

  test('whose reply is too short is repeated', async () => {
    const { bucket, store } = open()
    await store.put('k', bytes('0123456789'))
    const read = bucket.read.bind(bucket)
    let cut = 1
    bucket.read = async (key, range, attempt) => {
      const answer = await read(key, range, attempt)
      if (cut-- <= 0 || answer === null || answer === 'past end') return answer
      return { ...answer, bytes: answer.bytes.subarray(0, 2) }
    }
    expect(await store.get('k')).toEqual(bytes('0123456789'))
    cut = 1
    expect(await store.getRange('k', 3, 4)).toEqual(bytes('3456'))
  })
})

describe('abortUploads', () => {
  /** Begin an upload as a process does that is killed then. */
  async function abandon(bucket: MemoryBucket, key: string, begun: number): Promise<void> {
    bucket.now = begun
    const signal = new AbortController().signal
    await bucket.startUpload(key, 'writer', { signal, progress() {} })
  }
  const keysOf = (bucket: MemoryBucket) => [...bucket.uploads.values()].map(({ key }) => key)

  test('aborts all uploads below the prefix that began before the time', async () => {
    const { bucket, store } = open()
    for (let i = 0; i < 7; i++) await abandon(bucket, `a/b/tables/${i}`, i)
    await abandon(bucket, 'a/b/other', 0)
    await abandon(bucket, 'a/tables/1', 0)
    await store.abortUploads!('tables/', 5)
    expect(keysOf(bucket)).toEqual(['a/b/tables/5', 'a/b/tables/6', 'a/b/other', 'a/tables/1'])
  })

  test('keeps the uploads of its own store, however old they are', async () => {
    const { bucket, store } = open()
    async function* chunks() {
      yield new Uint8Array(partBytes + 1)
      await expect.poll(() => keysOf(bucket)).toEqual(['a/b/k'])
      await store.abortUploads!('', Number.POSITIVE_INFINITY)
    }
    await store.putStream('k', chunks())
    expect((await store.stat('k'))?.size).toBe(partBytes + 1)
  })

  test('is repeated if the server is busy, and rejects if this does not help', async () => {
    const { bucket, store } = open()
    await abandon(bucket, 'a/b/k', 0)
    bucket.fault = inTurn('listUploads', fails('busy'))
    await store.abortUploads!('', 1)
    expect(keysOf(bucket)).toEqual([])
    bucket.fault = method => (method === 'listUploads' ? fails('busy') : undefined)
    await expect(store.abortUploads!('', 1)).rejects.toMatchObject({ name: 'ServiceUnavailable' })
  })

  test.each(['denied', 'unsupported', 'invalid'] as const)('does nothing if it is %s', async kind => {
    for (const method of ['listUploads', 'abort']) {
      const { bucket, store } = open()
      await abandon(bucket, 'a/b/k', 0)
      bucket.fault = called => (called === method ? fails(kind) : undefined)
      await store.abortUploads!('', 1)
      expect(keysOf(bucket)).toEqual(['a/b/k'])
    }
  })
})

describe('a large stream', () => {
  async function* zeros(size: number) {
    for (let left = size; left > 0; left -= 1_000_003) yield new Uint8Array(Math.min(left, 1_000_003))
  }

  test('is sent in a bounded number of parts at once', async () => {
    const { bucket, store } = open()
    await store.putStream('k', zeros(6 * partBytes + 1))
    expect((await store.stat('k'))?.size).toBe(6 * partBytes + 1)
    expect(bucket.mostParts).toBe(bucket.partsAtOnce)
    expect(bucket.uploads.size).toBe(0)
  })

  test('is complete if parts fail for a while and the last answer is lost', async () => {
    const { bucket, store } = open()
    const faults: Fault[] = [fails('busy'), { lost: true }]
    bucket.fault = method => {
      if (method === 'complete') return { lost: true }
      return method === 'part' ? faults.shift() : undefined
    }
    await store.putStream('k', zeros(3 * partBytes))
    expect((await store.stat('k'))?.size).toBe(3 * partBytes)
  })

  test.each([
    ['a part is refused', 'part', 15],
    ['the end is refused', 'complete', 15],
  ])('leaves no open upload if %s', async (_, refused, code) => {
    const { bucket, store } = open()
    bucket.fault = method => (method === refused ? fails('denied') : undefined)
    await expect(store.putStream('k', zeros(3 * partBytes))).rejects.toMatchObject({ code })
    expect([bucket.uploads.size, bucket.objects.size]).toEqual([0, 0])
  })

  test('leaves no open upload if it is aborted', async () => {
    const { bucket, store } = open()
    const controller = new AbortController()
    bucket.fault = method => (method === 'part' ? { hangs: true } : undefined)
    setTimeout(() => controller.abort(new Error('enough')), 20)
    await expect(store.putStream('k', zeros(9 * partBytes), controller.signal)).rejects.toThrow('enough')
    expect([bucket.uploads.size, bucket.objects.size]).toEqual([0, 0])
  })
})

describe('a listing', () => {
  test('skips objects whose names are no keys, and those of other folders', async () => {
    const { bucket, store } = open()
    await store.put('k', bytes('1'))
    for (const key of ['a/b/', 'a/b/folder/', 'a/b/ä', 'a/b/_tmp/x', 'a/bc', 'a/c'])
      bucket.objects.set(key, { bytes: bytes(''), writer: undefined, modified: 0 })
    const found: string[] = []
    for await (const { key } of store.list('')) found.push(key)
    expect(found).toEqual(['k'])
  })

  test('of a prefix that some servers refuse has the keys with this prefix', async () => {
    const { bucket, store } = open()
    for (const key of ['d/.x', 'd/..x', 'd/x']) await store.put(key, bytes('1'))
    const found: string[] = []
    for await (const { key } of store.list('d/.')) found.push(key)
    expect(found).toEqual(['d/..x', 'd/.x'])
    expect(bucket.requests.at(-1)).toBe('list a/b/d/')
  })

  test('that is not in byte order is refused', async () => {
    const { bucket, store } = open()
    bucket.list = async () => ({
      objects: ['a/b/2', 'a/b/1'].map(key => ({ key, size: 1, modified: 0 })),
      next: undefined,
    })
    const listing = store.list('')[Symbol.asyncIterator]()
    await listing.next()
    await expect(listing.next()).rejects.toMatchObject({ code: 0 })
  })
})

test('ranges near each other are one request', async () => {
  const { bucket, store } = open()
  await store.put('k', new Uint8Array(1_000_000).fill(7))
  const ranges = Array.from({ length: 500 }, (_, i) => ({ offset: i * 500, target: new Uint8Array(64) }))
  const far = { offset: 900_000, target: new Uint8Array(10) }
  await store.readRanges('k', [far, ...ranges])
  expect(bucket.requests.slice(1)).toEqual(['read 249564 a/b/k', 'read 10 a/b/k'])
  expect([far, ...ranges].every(({ target }) => target.every(byte => byte === 7))).toBe(true)
})

test('merged ranges contain all ranges', () => {
  const range = fc.record({ offset: fc.nat(20_000_000), length: fc.nat(300_000) })
  fc.assert(
    fc.property(fc.array(range), given => {
      const ranges = given.map(({ offset, length }) => ({ offset, target: new Uint8Array(length) }))
      const merged = mergeRanges(ranges)
      expect(merged.flatMap(each => each.ranges)).toHaveLength(ranges.length)
      for (const { offset, length, ranges: contained } of merged) {
        expect(Math.min(...contained.map(each => each.offset))).toBe(offset)
        expect(Math.max(...contained.map(each => each.offset + each.target.length))).toBe(offset + length)
      }
    }),
  )
})

test.each([0, 1, 3])('a reply of %i chunks is read as a Uint8Array, not as a Buffer', async count => {
  async function* stream() {
    for (let i = 0; i < count; i++) yield Buffer.from(`chunk ${i};`)
  }
  let progress = 0
  const attempt = { signal: new AbortController().signal, progress: () => progress++ }
  const read = await collect(stream(), attempt)
  expect(read.constructor).toBe(Uint8Array)
  expect(new TextDecoder().decode(read)).toBe(['chunk 0;', 'chunk 1;', 'chunk 2;'].slice(0, count).join(''))
  expect(progress).toBe(count)
})
