/** Checks whether a blob store keeps its guarantees, and measures how long its calls take. */
import { invalidInput, quote } from '../../src/errors.js'
import { type Clock, systemClock } from '../../src/primitives/clock.js'
import { inParallel } from '../../src/primitives/in-parallel.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import { signalShape } from '../../src/protocol/calls.js'
import { parse } from '../../src/protocol/parse.js'
import { integer, options as shape } from '../../src/protocol/shape.js'
import type { BlobStore } from '../../src/storage/blob-store.js'
import { isKey } from '../../src/storage/key.js'
import { type CheckSizes, storeChecks } from './store-checks.js'

/** Options of `checkStore`. */
export interface CheckStoreOptions extends Partial<CheckSizes> {
  /** Signal that stops the checks. `checkStore` then rejects with `signal.reason`, and may leave blobs behind. */
  readonly signal?: AbortSignal | undefined
}

/** The result of one check. */
export interface StoreCheckResult {
  /** The guarantee, as a sentence. */
  readonly name: string
  readonly passed: boolean
  /** The reason why the check failed. Undefined if it passed. */
  readonly error: unknown
  /** Duration of the check in milliseconds. */
  readonly ms: number
}

/** Durations of the calls of one method, in milliseconds. Calls that failed are included. */
export interface CallLatency {
  readonly calls: number
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly max: number
}

/** The result of `checkStore`. */
export interface StoreReport {
  /** Whether all checks passed. */
  readonly passed: boolean
  readonly checks: readonly StoreCheckResult[]
  /** Latency by the name of the method, for example `putIfAbsent`. Races make many concurrent calls. */
  readonly latencies: Readonly<Record<string, CallLatency>>
}

const defaults: CheckSizes = { races: 50, writers: 20, listed: 1100, streamed: 20_000_003 }
const deletesAtOnce = 16

const checkStoreShape = shape<CheckStoreOptions>()({
  races: integer(1),
  writers: integer(1),
  listed: integer(1),
  streamed: integer(1),
  signal: signalShape,
})

/** The methods whose calls are measured. */
const measured = [
  'get',
  'getRange',
  'readInto',
  'readRanges',
  'put',
  'putStream',
  'putIfAbsent',
  'stat',
  'delete',
]

/**
 * Check whether a store keeps the guarantees of `BlobStore`, for example before an application uses a bucket of a new
 * provider. The checks write a few thousand small blobs and two large ones under a new prefix, and delete them
 * afterwards.
 *
 * A check that fails does not stop the others. Throws only if the options are invalid, or when the signal aborts.
 *
 * ```js
 * const { passed, checks, latencies } = await checkStore(store)
 * for (const { name, error } of checks.filter(check => !check.passed)) console.error(name, error)
 * ```
 */
export async function checkStore(
  store: BlobStore,
  options: CheckStoreOptions = {},
  ...more: readonly unknown[]
): Promise<StoreReport> {
  refuseMore('checkStore', 2, more)
  if (typeof store?.putIfAbsent !== 'function')
    throw invalidInput(`store must have the methods of BlobStore, got ${quote(store)}`)
  const { signal, ...sizes } = parse(checkStoreShape, options, 'checkStore')
  const clock = systemClock
  const root = `_check-${clock.uuid()}/`
  const calls: Calls = { samples: new Map(), written: new Set() }
  const observed = observedStore(store, clock, calls)
  const checks: StoreCheckResult[] = []
  const check = async (name: string, run: () => Promise<unknown>) => {
    signal?.throwIfAborted()
    const started = clock.elapsed()
    const failure = await run().then(
      () => null,
      (error: unknown) => ({ error }),
    )
    checks.push({ name, passed: failure === null, error: failure?.error, ms: clock.elapsed() - started })
  }
  for (const [i, { name, run }] of storeChecks.entries()) {
    await check(name, () => run({ ...defaults, ...sizes, store: observed, prefix: `${root}${i}/` }))
  }
  // Do not list the keys, because the listings of the store may be wrong.
  await check('the blobs that the checks wrote can be deleted', () =>
    inParallel([...calls.written], deletesAtOnce, key => store.delete(key, signal)),
  )
  signal?.throwIfAborted()
  const latencies = Object.fromEntries([...calls.samples].map(([name, each]) => [name, latencyOf(each)]))
  return { passed: checks.every(each => each.passed), checks, latencies }
}

/** The calls of a store that the checks made. */
interface Calls {
  /** By the name of a method: the durations of its calls in milliseconds. */
  readonly samples: Map<string, number[]>
  /** Valid keys that the checks may have written. */
  readonly written: Set<string>
}

/** Return a store that records the calls of the measured methods. */
function observedStore(store: BlobStore, clock: Clock, { samples, written }: Calls): BlobStore {
  return new Proxy(store, {
    get(target, property) {
      const name = String(property)
      const member: unknown = Reflect.get(target, property)
      if (typeof member !== 'function') return member
      if (!measured.includes(name)) return member.bind(target)
      return async (key: string, ...args: unknown[]) => {
        if (name.startsWith('put') && isKey(key)) written.add(key)
        const started = clock.elapsed()
        try {
          return await member.call(target, key, ...args)
        } finally {
          const known = samples.get(name) ?? []
          known.push(clock.elapsed() - started)
          samples.set(name, known)
        }
      }
    },
  })
}

function latencyOf(samples: readonly number[]): CallLatency {
  const sorted = samples.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1]!
  return { calls: sorted.length, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) }
}
