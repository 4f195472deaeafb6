/**
 * Leases: heartbeats of running jobs. A process that runs a job writes a blob every ten seconds and deletes the one before:
 *
 *     _jobs/<job id>-<epoch>-<counter>      {"done":3,"total":8,"phase":"...","perSecond":2,"secondsLeft":2.5,"by":<the process, if known>}
 *
 * - An epoch belongs to one process, so no name is written twice (storage/heartbeat).
 * - Leases only decide how long others wait. Losing a lease, or keeping one too many, costs time but never correctness.
 * - The folder also has records of how long other processes saw a lease unchanged (storage/stillness).
 */
import type { Clock } from '../primitives/clock.js'
import type { BlobStore } from '../storage/blob-store.js'
import { deleteIfPossible } from '../storage/delete-if-possible.js'
import { keepHeartbeat, listHeartbeats, type OwnerHeartbeats } from '../storage/heartbeat.js'
import { type ProcessMark, parseMark } from '../storage/processes.js'
import type { Progress } from './job-kind.js'
import type { OpenJob } from './job-op.js'

/** Interval of heartbeats, milliseconds. */
export const leaseMs = 10_000

/** Time before the first lease, milliseconds. Shorter jobs leave no lease. */
const firstMs = 1000

const directory = '_jobs/'
const claimPattern = /^_jobs\/(.+)-(\d{1,15})$/
const leaseBytesMax = 4096
const phaseMax = 200

/** The lease of a claim, parsed from the keys of its heartbeats. */
export interface Lease extends OwnerHeartbeats {
  readonly job: string
  readonly epoch: number
}

/** Write leases for the claim of a job until `signal` fires, then delete them. Never rejects. */
export function keepLease(
  store: BlobStore,
  clock: Clock,
  claim: OpenJob,
  progress: () => Progress | null,
  signal: AbortSignal,
): Promise<void> {
  const content = () => encode(progress(), store.processes?.own ?? null)
  const options = { owner: claimKey(claim), from: 0, firstMs, everyMs: leaseMs, content }
  return keepHeartbeat(store, clock, options, signal)
}

/** List all leases, and the keys of the records of other processes. */
export async function listLeases(
  store: BlobStore,
  signal?: AbortSignal,
  prefix = '',
): Promise<{ readonly leases: readonly Lease[]; readonly records: readonly string[] }> {
  const { heartbeats, records } = await listHeartbeats(store, `${directory}${prefix}`, leaseBytesMax, {
    signal,
  })
  const leases = heartbeats.flatMap(each => {
    const [, job, epoch] = claimPattern.exec(each.owner) ?? []
    return job === undefined ? [] : [{ ...each, job, epoch: Number(epoch) }]
  })
  return { leases, records }
}

/** Return the key that stands for a claim until it has a lease. */
export function claimKey({ id, epoch }: Pick<OpenJob, 'id' | 'epoch'>): string {
  return `${directory}${id}-${epoch}`
}

/** Return the newest lease of each job. */
export function newestLeases(leases: Iterable<Lease>): Map<string, Lease> {
  const newest = new Map<string, Lease>()
  for (const lease of leases) {
    const known = newest.get(lease.job)
    if (known === undefined || lease.epoch > known.epoch) newest.set(lease.job, lease)
  }
  return newest
}

/** Read the progress that the process of `job` reported last; null if it reported none yet. */
export async function readProgress(
  store: BlobStore,
  job: string,
  signal?: AbortSignal,
): Promise<Progress | null> {
  // A listed lease may be replaced by the next one before it is read.
  for (let tries = 0; tries < 3; tries++) {
    const { leases } = await listLeases(store, signal, `${job}-`)
    const lease = newestLeases(leases).get(job)
    if (lease === undefined) return null
    const bytes = await store.get(lease.key, signal)
    if (bytes !== null) return decode(bytes)
  }
  return null
}

/** Read which process wrote a lease; null if unknown. */
export async function readOwner(
  store: BlobStore,
  { key }: Lease,
  signal?: AbortSignal,
): Promise<ProcessMark | null> {
  return parseMark(parse(await store.get(key, signal))?.by)
}

/** Delete a lease. Never rejects. */
export async function deleteLease(store: BlobStore, { keys }: Lease): Promise<void> {
  for (const key of keys) await deleteIfPossible(store, key)
}

function encode(progress: Progress | null, by: ProcessMark | null): Uint8Array {
  const kept = { ...progress, ...(progress !== null && { phase: progress.phase.slice(0, phaseMax) }) }
  return new TextEncoder().encode(JSON.stringify({ ...kept, ...(by !== null && { by }) }))
}

function decode(bytes: Uint8Array): Progress | null {
  const { done, total, phase, perSecond, secondsLeft } = parse(bytes) ?? {}
  if (!isNumber(done) || !isNumber(total) || typeof phase !== 'string') return null
  const isRated = isNumber(perSecond) && isNumber(secondsLeft)
  return { done, total, phase, ...(isRated && { perSecond, secondsLeft }) }
}

function isNumber(value: unknown): value is number {
  return Number.isFinite(value)
}

function parse(bytes: Uint8Array | null): Partial<Record<string, unknown>> | null {
  try {
    return JSON.parse(new TextDecoder().decode(bytes ?? undefined))
  } catch {
    return null
  }
}
