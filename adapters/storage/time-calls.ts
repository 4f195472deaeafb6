/** Measures how long the calls of a store take. */
import { corrupted } from '../../src/errors.js'
import type { Clock } from '../../src/primitives/clock.js'
import type { BlobStore } from '../../src/storage/blob-store.js'

/** Durations of the calls of one method, in milliseconds. */
export interface CallLatency {
  readonly calls: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly max: number
}

const blobBytes = 1024

/**
 * Time calls that are made one after the other. `calls`: the number of calls of each method. `prefix`: begins the keys,
 * and no blob has it.
 */
export async function timeCalls(
  store: BlobStore,
  prefix: string,
  calls: number,
  clock: Pick<Clock, 'elapsed'>,
): Promise<Readonly<Record<string, CallLatency>>> {
  const bytes = new Uint8Array(blobBytes).fill(1)
  const keys = Array.from({ length: calls }, (_, i) => `${prefix}${String(i).padStart(8, '0')}`)
  const methods: Readonly<Record<string, (i: number) => Promise<unknown>>> = {
    put: i => store.putIfAbsent(keys[i]!, bytes),
    get: i => store.get(keys[i]!),
    getRange: i => store.getRange(keys[i]!, blobBytes / 4, blobBytes / 2),
    list: async i => {
      for await (const { key } of store.list(keys[i]!)) if (key === keys[i]) return
      throw corrupted(`list: expected ${keys[i]}, got nothing`)
    },
  }
  const latencies: Record<string, CallLatency> = {}
  for (const [name, call] of Object.entries(methods)) {
    const samples: number[] = []
    for (let i = 0; i < calls; i++) {
      const started = clock.elapsed()
      await call(i)
      samples.push(clock.elapsed() - started)
    }
    latencies[name] = latencyOf(samples)
  }
  return latencies
}

function latencyOf(samples: readonly number[]): CallLatency {
  const sorted = samples.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1]!
  return { calls: sorted.length, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) }
}
