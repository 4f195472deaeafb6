/** Checks whether a blob store keeps its guarantees, and measures how long its calls take. */
import { invalidInput, quote } from '../../src/errors.js'
import { type Clock, systemClock } from '../../src/primitives/clock.js'
import { inParallel } from '../../src/primitives/in-parallel.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import { signalShape } from '../../src/protocol/calls.js'
import { parse } from '../../src/protocol/parse.js'
import { integer, options as shape } from '../../src/protocol/shape.js'
import type { BlobStore } from '../../src/storage/blob-store.js'
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
 * A check that fails does not stop the others. Throws only if the options are invalid, if the blobs cannot be deleted,
 * or when the signal aborts.
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
  const samples = new Map<string, number[]>()
  const timed = timedStore(store, clock, samples)
  const checks: StoreCheckResult[] = []
  try {
    for (const [i, { name, run }] of storeChecks.entries()) {
      signal?.throwIfAborted()
      const started = clock.elapsed()
      const failure = await run({ ...defaults, ...sizes, store: timed, prefix: `${root}${i}/` }).then(
        () => null,
        (error: unknown) => ({ error }),
      )
      checks.push({ name, passed: failure === null, error: failure?.error, ms: clock.elapsed() - started })
    }
  } finally {
    await deleteAll(store, root, signal)
  }
  const latencies = Object.fromEntries([...samples].map(([name, each]) => [name, latencyOf(each)]))
  return { passed: checks.every(check => check.passed), checks, latencies }
}

/** Return the store with a clock around the calls of the measured methods. */
function timedStore(store: BlobStore, clock: Clock, samples: Map<string, number[]>): BlobStore {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      if (!measured.includes(String(name))) return member.bind(target)
      return async (...args: unknown[]) => {
        const started = clock.elapsed()
        try {
          return await member.apply(target, args)
        } finally {
          const known = samples.get(String(name)) ?? []
          known.push(clock.elapsed() - started)
          samples.set(String(name), known)
        }
      }
    },
  })
}

async function deleteAll(store: BlobStore, prefix: string, signal: AbortSignal | undefined): Promise<void> {
  const keys: string[] = []
  for await (const { key } of store.list(prefix, undefined, signal)) keys.push(key)
  await inParallel(keys, deletesAtOnce, key => store.delete(key, signal))
}

function latencyOf(samples: readonly number[]): CallLatency {
  const sorted = samples.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1]!
  return { calls: sorted.length, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) }
}
