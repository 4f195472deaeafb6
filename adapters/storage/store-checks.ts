/**
 * Checks of the guarantees of a blob store (blob-store.ts). Each check is a function that throws if the store breaks a
 * guarantee. The checks need no test framework, so that users can run them on their own bucket (check-store.ts).
 */
import { corrupted, ErrorCode, quote, SheafError } from '../../src/errors.js'
import { inParallel } from '../../src/primitives/in-parallel.js'
import type { BlobStore } from '../../src/storage/blob-store.js'

/** How much a check does. */
export interface CheckSizes {
  /** Number of races between writers. */
  readonly races: number
  /** Number of writers in each race. */
  readonly writers: number
  /** Number of blobs in the long listing. More than 1,000, the usual size of a page, tests that pages are joined. */
  readonly listed: number
  /** Size of the streamed blob, in bytes. Several parts of a multipart upload test that parts are joined. */
  readonly streamed: number
}

/** The store and the keys that a check uses. */
interface CheckScope extends CheckSizes {
  readonly store: BlobStore
  /** The prefix of all keys that the check uses. No blob has this prefix before the check. */
  readonly prefix: string
}

/** A check of one guarantee. */
interface StoreCheck {
  /** The guarantee, as a sentence. */
  readonly name: string
  /** The damage to a root if the store breaks the guarantee, as a clause. */
  readonly risk: string
  /** Throw if the store breaks the guarantee. */
  readonly run: (scope: CheckScope) => Promise<void>
}

/** Maximum number of calls that a check makes concurrently, except in races. */
const callsAtOnce = 16
/** Size of the chunks of the streamed blob, in bytes: not a divisor of the sizes of parts. */
const chunkBytes = 1_000_003

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
const decode = (blob: Uint8Array | null): string | null => blob && new TextDecoder().decode(blob)

/** Throw unless the two values are equal. The values are strings, numbers, null, and arrays of these. */
function expectEqual(actual: unknown, expected: unknown, what: string): void {
  if (JSON.stringify(actual) === JSON.stringify(expected)) return
  throw corrupted(`${what}: expected ${quote(expected)}, got ${quote(actual)}`)
}

/** Throw unless the call fails with a SheafError that has the code and whose message contains the text. */
async function expectError(call: () => unknown, code: ErrorCode, text: string, what: string): Promise<void> {
  const error = await errorOf(call, what)
  if (error instanceof SheafError && error.code === code && error.message.includes(text)) return
  throw corrupted(`${what}: expected an error with the text ${quote(text)}`, { cause: error })
}

async function errorOf(call: () => unknown, what: string): Promise<unknown> {
  try {
    await call()
  } catch (error) {
    return error
  }
  throw corrupted(`${what}: expected an error, but the call succeeded`)
}

async function keysOf({ store, prefix }: CheckScope, below = '', after?: string): Promise<string[]> {
  const found: string[] = []
  const startAfter = after === undefined ? undefined : `${prefix}${after}`
  for await (const { key } of store.list(`${prefix}${below}`, startAfter))
    found.push(key.slice(prefix.length))
  return found
}

const checks = {
  async 'a blob is read back as soon as it is written, and no other key exists'({ store, prefix }) {
    for (const text of ['hello', '', 'a blob that is longer']) {
      const key = `${prefix}a/b/c${text.length}`
      await store.put(key, encode(text))
      expectEqual(decode(await store.get(key)), text, 'get')
    }
    for (const absent of ['a', 'a/b', 'a/b/c5/d', 'a/b/d', 'x/y']) {
      expectEqual(await store.get(`${prefix}${absent}`), null, `get of ${absent}, which was not written`)
    }
  },

  async 'a second conditional put is refused'({ store, prefix }) {
    const key = `${prefix}s/1`
    expectEqual(await store.putIfAbsent(key, encode('first')), 'won', 'first putIfAbsent')
    expectEqual(await store.putIfAbsent(key, encode('second')), 'taken', 'second putIfAbsent')
    expectEqual(decode(await store.get(key)), 'first', 'get after a refused putIfAbsent')
  },

  async 'of several writers that race for a name one wins, and its bytes are there'(scope) {
    const { store, prefix } = scope
    for (let race = 0; race < scope.races; race++) {
      const key = `${prefix}race/${race}`
      const writers = Array.from({ length: scope.writers }, (_, i) => `writer ${i}`)
      const outcomes = await Promise.all(writers.map(writer => store.putIfAbsent(key, encode(writer))))
      const winners = writers.filter((_, i) => outcomes[i] === 'won')
      expectEqual(winners.length, 1, `winners of race ${race}`)
      expectEqual(decode(await store.get(key)), winners[0], `get after race ${race}`)
    }
  },

  async 'a name can be put once'({ store, prefix }) {
    const key = `${prefix}k`
    await store.put(key, encode('first'))
    const again = 'already exists'
    await expectError(() => store.put(key, encode('second')), ErrorCode.Internal, again, 'second put')
    await expectError(() => store.putStream(key, [encode('third')]), ErrorCode.Internal, again, 'putStream')
    expectEqual(decode(await store.get(key)), 'first', 'get after refused puts')
  },

  async 'ranges are exact, and a range past the end is an error'({ store, prefix }) {
    const key = `${prefix}k`
    await store.put(key, encode('0123456789'))
    for (const [offset, length, text] of [
      [0, 10, '0123456789'],
      [3, 4, '3456'],
      [10, 0, ''],
    ] as const) {
      expectEqual(decode(await store.getRange(key, offset, length)), text, `getRange ${offset}, ${length}`)
    }
    const target = encode('..........')
    await store.readInto(key, 7, target.subarray(2, 5))
    expectEqual(decode(target), '..789.....', 'readInto')
    const cut = 'k is cut off: it ends at byte 10'
    const { Internal } = ErrorCode
    await expectError(() => store.getRange(key, 8, 3), Internal, cut, 'getRange past the end')
    await expectError(() => store.getRange(key, 11, 0), Internal, cut, 'getRange after the end')
    await expectError(() => store.readInto(key, 1, target), Internal, cut, 'readInto past the end')
    await expectError(
      () => store.getRange(`${prefix}none`, 0, 1),
      Internal,
      'is missing',
      'getRange of no blob',
    )
    const nothing = new Uint8Array(0)
    await expectError(
      () => store.readInto(`${prefix}no/ne`, 0, nothing),
      Internal,
      'is missing',
      'readInto of no blob',
    )
  },

  async 'several ranges are read at once, small and large, in any order'({ store, prefix }) {
    const key = `${prefix}k`
    const large = Uint8Array.from({ length: 300_000 }, (_, i) => i % 251)
    await store.put(key, large)
    const places = [
      [5, 3],
      [299_990, 10],
      [1000, 200_000],
      [7, 0],
      ...Array.from({ length: 500 }, (_, i) => [i * 500, 64] as const),
    ] as const
    const ranges = places.map(([offset, length]) => ({ offset, target: new Uint8Array(length) }))
    await store.readRanges(key, ranges)
    for (const { offset, target } of ranges) {
      const isEqual = Buffer.compare(target, large.subarray(offset, offset + target.length)) === 0
      expectEqual(isEqual, true, `the ${target.length} bytes of readRanges from ${offset} on are right`)
    }
    const read = async (from: string, offset: number) =>
      store.readRanges(from, [ranges[0]!, { offset, target: new Uint8Array(10) }])
    const cut = 'k is cut off: it ends at byte 300000'
    await expectError(() => read(key, 299_991), ErrorCode.Internal, cut, 'readRanges past the end')
    await expectError(
      () => read(`${prefix}none`, 0),
      ErrorCode.Internal,
      'is missing',
      'readRanges of no blob',
    )
  },

  async 'stat tells the size and the time, or null'({ store, prefix }) {
    const key = `${prefix}d/k`
    await store.put(key, encode('12345'))
    const info = await store.stat(key)
    expectEqual([info?.key, info?.size], [key, 5], 'stat')
    expectEqual(Number.isInteger(info?.modified), true, 'the time of stat is a whole number of milliseconds')
    for (const absent of ['d', 'none'])
      expectEqual(await store.stat(`${prefix}${absent}`), null, `stat of ${absent}, which was not written`)
  },

  async 'a listing is in byte order, from a prefix, after a key'(scope) {
    // Characters before and after '/' in byte order, so that the order of folders and the order of keys differ.
    const keys = [
      'a!/x',
      'a-/x',
      'a.b',
      'a/b',
      'a/b-c',
      'a/c/d',
      'a0',
      'aB',
      'a_/x',
      'aa',
      'a~/x',
      'b',
      '0',
    ].sort()
    for (const key of keys.toReversed()) await scope.store.put(`${scope.prefix}${key}`, encode(key))
    expectEqual(await keysOf(scope), keys, 'list')
    for (const below of ['a', 'a/', 'a/b', 'a0', 'c']) {
      const expected = keys.filter(key => key.startsWith(below))
      expectEqual(await keysOf(scope, below), expected, `list of ${below}`)
      for (const after of [...keys, 'a/', 'a/bb']) {
        const rest = expected.filter(key => key > after)
        expectEqual(await keysOf(scope, below, after), rest, `list of ${below} after ${after}`)
      }
    }
  },

  async 'a long listing has every key once, and the sizes'(scope) {
    const names = Array.from({ length: scope.listed }, (_, i) => String(i).padStart(8, '0'))
    expectEqual(await keysOf(scope, 'no/where/'), [], 'list of no blobs')
    await inParallel(names, callsAtOnce, name =>
      scope.store.put(`${scope.prefix}d/${name}`, encode('x'.repeat(Number(name) % 7))),
    )
    const found: [string, number][] = []
    for await (const { key, size } of scope.store.list(`${scope.prefix}d/`)) found.push([key.slice(-8), size])
    const isEqual = JSON.stringify(found) === JSON.stringify(names.map(name => [name, Number(name) % 7]))
    expectEqual([found.length, isEqual], [names.length, true], 'number of keys, and whether all are right')
    expectEqual((await keysOf(scope, 'd/', `d/${names.at(-3)}`)).length, 2, 'keys after the third last')
  },

  async 'a deleted blob is gone, and may be deleted again'(scope) {
    const { store, prefix } = scope
    const key = `${prefix}d/k`
    await store.put(key, encode('1'))
    for (const each of ['d/k', 'd/k', 'd', 'never/was']) await store.delete(`${prefix}${each}`)
    expectEqual(await store.get(key), null, 'get after delete')
    expectEqual(await keysOf(scope), [], 'list after delete')
    expectEqual(await store.putIfAbsent(key, encode('2')), 'won', 'putIfAbsent after delete')
  },

  async 'a stream becomes one blob'({ store, prefix, streamed }) {
    async function* chunks() {
      for (let i = 0; i < 5; i++) yield encode(`chunk ${i};`)
    }
    await store.putStream(`${prefix}d/streamed`, chunks())
    const text = 'chunk 0;chunk 1;chunk 2;chunk 3;chunk 4;'
    expectEqual(decode(await store.get(`${prefix}d/streamed`)), text, 'get of a stream')
    await store.putStream(`${prefix}d/nothing`, [])
    expectEqual(decode(await store.get(`${prefix}d/nothing`)), '', 'get of an empty stream')

    const large = Uint8Array.from({ length: streamed }, (_, i) => (i * 31 + (i >> 13)) & 255)
    const key = `${prefix}d/large`
    async function* pieces() {
      for (let at = 0; at < large.length; at += chunkBytes) yield large.subarray(at, at + chunkBytes)
    }
    await store.putStream(key, pieces())
    expectEqual((await store.stat(key))?.size, streamed, 'size of a large stream')
    const isEqual = Buffer.compare((await store.get(key))!, large) === 0
    expectEqual(isEqual, true, 'get returns the bytes of a large stream')
    await expectError(
      () => store.putStream(key, pieces()),
      ErrorCode.Internal,
      'already exists',
      'second stream',
    )
  },

  async 'a stream that fails leaves nothing, and its error is returned'(scope) {
    const broken = Object.assign(new Error('the source broke'), { code: 'ENOENT' })
    for (const size of [4, scope.streamed]) {
      let isClosed = false
      async function* chunks() {
        try {
          for (let left = size; left > 0; left -= chunkBytes) yield new Uint8Array(Math.min(left, chunkBytes))
          throw broken
        } finally {
          isClosed = true
        }
      }
      const key = `${scope.prefix}k`
      const error = await errorOf(
        () => scope.store.putStream(key, chunks()),
        'putStream of a stream that fails',
      )
      expectEqual(
        [error === broken, isClosed],
        [true, true],
        'the error is returned, and the stream is closed',
      )
      expectEqual(await scope.store.get(key), null, 'get after a stream that failed')
      expectEqual(await keysOf(scope), [], 'list after a stream that failed')
    }
  },

  async 'an aborted call rejects with the reason'(scope) {
    const { store, prefix } = scope
    const key = `${prefix}k`
    await store.put(key, encode('1'))
    const reason = Object.assign(new Error('enough'), { code: 'EEXIST' })
    const signal = AbortSignal.abort(reason)
    const target = new Uint8Array(1)
    const calls: Readonly<Record<string, () => unknown>> = {
      get: () => store.get(key, signal),
      getRange: () => store.getRange(key, 0, 1, signal),
      readInto: () => store.readInto(key, 0, target, signal),
      readRanges: () => store.readRanges(key, [{ offset: 0, target }], signal),
      put: () => store.put(`${prefix}n`, encode('1'), signal),
      putIfAbsent: () => store.putIfAbsent(`${prefix}n`, encode('1'), signal),
      putStream: () => store.putStream(`${prefix}n`, [encode('1')], signal),
      stat: () => store.stat(key, signal),
      list: () => store.list(prefix, undefined, signal)[Symbol.asyncIterator]().next(),
      delete: () => store.delete(key, signal),
    }
    for (const [name, call] of Object.entries(calls)) {
      expectEqual(
        (await errorOf(call, `aborted ${name}`)) === reason,
        true,
        `${name} rejects with the reason`,
      )
    }
    expectEqual(await keysOf(scope), ['k'], 'list after aborted calls')
  },

  async 'a key that is not valid is refused'({ store, prefix }) {
    const { InvalidInput } = ErrorCode
    for (const key of [`${prefix}a//b`, `${prefix}../a`, `${prefix}a*`, '_tmp/x']) {
      for (const call of [() => store.get(key), () => store.putIfAbsent(key, encode('x'))])
        await expectError(call, InvalidInput, 'is not a valid key', `a call with the key ${quote(key)}`)
    }
  },
} satisfies Readonly<Record<string, (scope: CheckScope) => Promise<void>>>

const wrongRows = 'queries may return wrong rows'
const lostCommit = 'two processes may write the same commit, and one of the commits is lost'

const risks: Readonly<Record<keyof typeof checks, string>> = {
  'a blob is read back as soon as it is written, and no other key exists':
    'a process may not see commits that have succeeded',
  'a second conditional put is refused': lostCommit,
  'of several writers that race for a name one wins, and its bytes are there': lostCommit,
  'a name can be put once': 'a file of a table may be replaced',
  'ranges are exact, and a range past the end is an error': wrongRows,
  'several ranges are read at once, small and large, in any order': wrongRows,
  'stat tells the size and the time, or null': 'garbage collection may delete files too early',
  'a listing is in byte order, from a prefix, after a key':
    'a process may not find the newest commit when it opens the root',
  'a long listing has every key once, and the sizes':
    'a process may not find the newest commit when it opens the root',
  'a deleted blob is gone, and may be deleted again': 'garbage collection fails, so the root only grows',
  'a stream becomes one blob': 'large files may be damaged',
  'a stream that fails leaves nothing, and its error is returned':
    'a write that was interrupted may leave an incomplete file',
  'an aborted call rejects with the reason': 'calls cannot be stopped',
  'a key that is not valid is refused': 'files outside of the root may be replaced',
}

/** The checks, in the order in which `checkStore` runs them: first those whose failure is the worst. */
export const storeChecks: readonly StoreCheck[] = Object.entries(checks).map(([name, run]) => {
  return { name, risk: risks[name as keyof typeof checks], run }
})
