/**
 * Leases: heartbeats of running jobs. The process that runs a job writes a new blob every ten seconds, and deletes the
 * last blob:
 *
 *     _jobs/<job id>-<epoch>-<counter>
 *         {"done":3,"total":8,"phase":"...","perSecond":2,"secondsLeft":2.5,"by":<the process, if known>}
 *
 * - Only one process has the claim with an epoch, so no two processes write the same key (storage/heartbeat).
 * - Leases only determine how long other processes wait for the owner of a job. A lost lease or an unneeded lease may
 *   delay a job, but does not affect correctness.
 * - The folder also has records of other processes: for how long they observed that a lease did not change
 *   (storage/stillness).
 */
import type { Clock } from '../primitives/clock.js'
import type { BlobStore } from '../storage/blob-store.js'
import { deleteIfPossible } from '../storage/delete-if-possible.js'
import { keepHeartbeat, listHeartbeats, type OwnerHeartbeats } from '../storage/heartbeat.js'
import { type ProcessMark, parseMark } from '../storage/processes.js'
import type { Progress } from './job-kind.js'
import type { OpenJob } from './job-op.js'

/** Interval of heartbeats in milliseconds. */
export const leaseMs = 10_000

/** Time in milliseconds between the claim and the first heartbeat. A shorter job writes no lease. */
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

/** Write heartbeats for the claim of a job until `signal` aborts, then delete them. The promise never rejects. */
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

/**
 * List leases, and the keys of records (storage/stillness). `prefix`: start of the job id; default: leases of all jobs.
 */
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

/** Return the key of the heartbeats of a claim without their counter. It identifies a claim that has no lease. */
export function claimKey({ id, epoch }: Pick<OpenJob, 'id' | 'epoch'>): string {
  return `${directory}${id}-${epoch}`
}

/** Return, by job id, the lease with the highest epoch. */
export function newestLeases(leases: Iterable<Lease>): Map<string, Lease> {
  const newest = new Map<string, Lease>()
  for (const lease of leases) {
    const known = newest.get(lease.job)
    if (known === undefined || lease.epoch > known.epoch) newest.set(lease.job, lease)
  }
  return newest
}

/** Read the progress in the newest lease of a job. Returns null if there is no lease, or if it has no progress. */
export async function readProgress(
  store: BlobStore,
  job: string,
  signal?: AbortSignal,
): Promise<Progress | null> {
  // The next heartbeat may delete a listed blob before it is read. Then list again.
  for (let tries = 0; tries < 3; tries++) {
    const { leases } = await listLeases(store, signal, `${job}-`)
    const lease = newestLeases(leases).get(job)
    if (lease === undefined) return null
    const bytes = await store.get(lease.key, signal)
    if (bytes !== null) return decode(bytes)
  }
  return null
}

/** Read the process that wrote a lease. Returns null if the process is unknown. */
export async function readOwner(
  store: BlobStore,
  { key }: Lease,
  signal?: AbortSignal,
): Promise<ProcessMark | null> {
  return parseMark(parse(await store.get(key, signal))?.by)
}

/** Delete all blobs of a lease. The promise never rejects. */
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
