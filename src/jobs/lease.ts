/**
 * Signs of life. While a process runs a job it leaves a blob every ten seconds and deletes the one before:
 *
 *     _jobs/<job id>-<epoch>-<counter>      {"done":3,"total":8,"phase":"..."} or null
 *
 * - A name is written once: an epoch belongs to one process, whose counter only grows.
 * - Leases decide nothing but how long others wait: losing one, or keeping one too many, costs time, never truth.
 */
import type { Clock } from '../primitives/clock.js'
import type { BlobStore } from '../storage/blob-store.js'
import type { Progress } from './job-kind.js'
import type { OpenJob } from './job-op.js'

/** Between two signs of life, milliseconds. */
export const leaseMs = 10_000

/** Before the first: jobs that are over by then leave none. */
const firstMs = 1000

const directory = '_jobs/'
const pattern = /^_jobs\/(.+)-(\d{1,15})-(\d{1,15})$/
const leaseBytesMax = 4096
const phaseMax = 200

export interface Lease {
  readonly key: string
  readonly job: string
  readonly epoch: number
  readonly counter: number
}

/** Leaves leases for the claim of a job until `signal` fires, then removes them. Never rejects. */
export async function keepLease(
  store: BlobStore,
  clock: Clock,
  { id, epoch }: OpenJob,
  progress: () => Progress | null,
  signal: AbortSignal,
): Promise<void> {
  const written: string[] = []
  for (let counter = 0; ; counter++) {
    await clock.sleep(counter === 0 ? firstMs : leaseMs, signal).catch(() => {})
    if (signal.aborted) break
    const key = `${directory}${id}-${epoch}-${counter}`
    written.push(key)
    try {
      await store.put(key, encode(progress()), signal)
      while (written.length > 1) {
        await store.delete(written[0]!, signal)
        written.shift()
      }
    } catch {
      // The next one may fare better.
    }
  }
  for (const key of written) await deleteLease(store, key)
}

/** All leases there are. */
export async function listLeases(store: BlobStore, signal?: AbortSignal, prefix = ''): Promise<Lease[]> {
  const leases: Lease[] = []
  for await (const { key, size } of store.list(`${directory}${prefix}`, undefined, signal)) {
    const match = pattern.exec(key)
    if (match === null || size > leaseBytesMax) continue
    leases.push({ key, job: match[1]!, epoch: Number(match[2]), counter: Number(match[3]) })
  }
  return leases
}

/** The newest lease of each job. */
export function newestLeases(leases: Iterable<Lease>): Map<string, Lease> {
  const newest = new Map<string, Lease>()
  for (const lease of leases) {
    const known = newest.get(lease.job)
    if (known === undefined || isNewer(lease, known)) newest.set(lease.job, lease)
  }
  return newest
}

function isNewer(a: Lease, b: Lease): boolean {
  return a.epoch > b.epoch || (a.epoch === b.epoch && a.counter > b.counter)
}

/** How far the process that runs `job` said it is; null when it said nothing yet. */
export async function readProgress(
  store: BlobStore,
  job: string,
  signal?: AbortSignal,
): Promise<Progress | null> {
  // A lease that was listed may have been followed by the next one before it is read.
  for (let tries = 0; tries < 3; tries++) {
    const lease = newestLeases(await listLeases(store, signal, `${job}-`)).get(job)
    if (lease === undefined) return null
    const bytes = await store.get(lease.key, signal)
    if (bytes !== null) return decode(bytes)
  }
  return null
}

/** Never rejects. */
export async function deleteLease(store: BlobStore, key: string): Promise<void> {
  await store.delete(key).catch(() => {})
}

function encode(progress: Progress | null): Uint8Array {
  const kept = progress === null ? null : { ...progress, phase: progress.phase.slice(0, phaseMax) }
  return new TextEncoder().encode(JSON.stringify(kept))
}

function decode(bytes: Uint8Array): Progress | null {
  try {
    const { done, total, phase } = JSON.parse(new TextDecoder().decode(bytes))
    const isProgress = Number.isFinite(done) && Number.isFinite(total) && typeof phase === 'string'
    return isProgress ? { done, total, phase } : null
  } catch {
    return null
  }
}
