/** Checks whether a blob store keeps its guarantees, and measures how long its calls take. */
import { invalidInput, quote } from '../../src/errors.js'
import { systemClock } from '../../src/primitives/clock.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import { signalShape } from '../../src/protocol/calls.js'
import { parse } from '../../src/protocol/parse.js'
import { callback, integer, options as shape } from '../../src/protocol/shape.js'
import type { BlobStore } from '../../src/storage/blob-store.js'
import { recordWrites } from './recording-store.js'
import { type CheckSizes, storeChecks } from './store-checks.js'
import { type CallLatency, timeCalls } from './time-calls.js'

/** Options of `checkStore`. */
export interface CheckStoreOptions extends Partial<CheckSizes> {
  /** Number of calls of each method that are timed. */
  readonly calls?: number | undefined
  /** Called at the start of each check, with its name. Must not throw. */
  readonly onStart?: ((name: string) => void) | undefined
  /** Called at the end of each check. Must not throw. */
  readonly onResult?: ((result: StoreCheckResult) => void) | undefined
  /**
   * Signal that stops the checks. `checkStore` then waits for the calls that have begun, deletes the blobs that it wrote,
   * and rejects with `signal.reason`.
   */
  readonly signal?: AbortSignal | undefined
}

/** The result of one check. */
export interface StoreCheckResult {
  /** The guarantee, as a sentence. */
  readonly name: string
  /** The damage to a root on a store that breaks the guarantee. */
  readonly risk: string
  readonly passed: boolean
  /** The reason why the check failed. Undefined if it passed. */
  readonly error: unknown
  /** Duration of the check in milliseconds. */
  readonly ms: number
}

/** The result of `checkStore`. */
export interface StoreReport {
  /** Whether all checks passed. */
  readonly passed: boolean
  readonly checks: readonly StoreCheckResult[]
  /**
   * Latency of calls that are made one after the other, with blobs of 1 KiB: `put` (a conditional put), `get`, `getRange`
   * (512 bytes) and `list` (one key). Empty if one of the calls failed.
   */
  readonly latencies: Readonly<Record<string, CallLatency>>
}

const defaults: CheckSizes = { races: 50, writers: 20, listed: 1100, streamed: 20_000_003 }
const callsDefault = 100

type Guarantee = Pick<StoreCheckResult, 'name' | 'risk'>

const timing: Guarantee = {
  name: 'calls that are made one after the other succeed',
  risk: 'calls may fail now and then',
}
const deletion: Guarantee = {
  name: 'the blobs that the checks wrote can be deleted',
  risk: 'garbage collection fails, so the root only grows',
}

const checkStoreShape = shape<CheckStoreOptions>()({
  races: integer(1),
  writers: integer(1),
  listed: integer(1),
  streamed: integer(1),
  calls: integer(1),
  onStart: callback<(name: string) => void>(),
  onResult: callback<(result: StoreCheckResult) => void>(),
  signal: signalShape,
})

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
  const {
    signal,
    calls = callsDefault,
    onStart,
    onResult,
    ...sizes
  } = parse(checkStoreShape, options, 'checkStore')
  const clock = systemClock
  const root = `_check-${clock.uuid()}/`
  const { store: recorded, deleteAll } = recordWrites(store, signal)
  const checks: StoreCheckResult[] = []
  const isStopped = () => signal?.aborted === true
  const check = async (guarantee: Guarantee, run: () => Promise<void>) => {
    if (isStopped() && guarantee !== deletion) return
    const { name, risk } = guarantee
    onStart?.(name)
    const started = clock.elapsed()
    const failure = await run().then(
      () => null,
      (error: unknown) => ({ error }),
    )
    // A check that was stopped has no result.
    if (isStopped() && guarantee !== deletion) return
    const ms = clock.elapsed() - started
    const result = { name, risk, passed: failure === null, error: failure?.error, ms }
    checks.push(result)
    onResult?.(result)
  }
  for (const [i, each] of storeChecks.entries()) {
    const scope = { ...defaults, ...sizes, store: recorded, prefix: `${root}${i}/` }
    await check(each, () => each.run(scope))
  }
  let latencies: StoreReport['latencies'] = {}
  await check(timing, async () => {
    latencies = await timeCalls(recorded, `${root}timed/`, calls, clock)
  })
  // Also after the signal has aborted.
  await check(deletion, deleteAll)
  signal?.throwIfAborted()
  return { passed: checks.every(each => each.passed), checks, latencies }
}
