/**
 * Works on a root without callers: builds indexes, fills columns, refreshes views, and does the maintenance after the
 * commits of all processes. Any number of workers may work on a root. Their claims are in the log, so no two of them do the
 * same work.
 */
import { viewTransaction } from '../catalog/transactions.js'
import { type ConnectOptions, connectFields } from '../client/connect-options.js'
import type { JobInfo } from '../client/job-list.js'
import { type MaintenanceSettings, maintenanceShape } from '../client/maintenance-settings.js'
import { ErrorCode, invalidInput, quote, SheafError } from '../errors.js'
import { queuedUnit } from '../jobs/job-runner.js'
import { listLeases, newestLeases } from '../jobs/lease.js'
import { within } from '../primitives/abort.js'
import { systemClock } from '../primitives/clock.js'
import { refuseMore } from '../protocol/arguments.js'
import { parse } from '../protocol/parse.js'
import { integer, options } from '../protocol/shape.js'
import { openRoot } from './connect.js'
import type { OpenedRoot } from './opened-root.js'
import { unknownTransaction } from './transactions.js'

/** Options of `work` and `workOnJob`. */
export interface WorkOptions
  extends Pick<
    ConnectOptions,
    | 'store'
    | 'storage'
    | 'log'
    | 'cacheBytes'
    | 'buildThreads'
    | 'functions'
    | 'tokenizers'
    | 'clock'
    | 'onWarning'
    | 'onMaintenance'
  > {
  /** Settings of maintenance. */
  readonly maintenance?: MaintenanceSettings
  /** Maximum number of jobs that this process runs at the same time, 1 to 64. Default 1. */
  readonly jobs?: number
  /**
   * An index build over more rows than this is split into units of about this many rows, which several workers build at
   * the same time. Each unit becomes a segment of the index. Default: 1,000,000.
   */
  readonly segmentRows?: number
  /** Signal that ends the work. A running job is given back, and another process begins it again. */
  readonly signal?: AbortSignal
}

export const workShape = options<WorkOptions>()({
  store: connectFields.store,
  storage: connectFields.storage,
  log: connectFields.log,
  cacheBytes: connectFields.cacheBytes,
  buildThreads: connectFields.buildThreads,
  functions: connectFields.functions,
  tokenizers: connectFields.tokenizers,
  clock: connectFields.clock,
  onWarning: connectFields.onWarning,
  onMaintenance: connectFields.onMaintenance,
  maintenance: maintenanceShape,
  jobs: integer(1, 64),
  segmentRows: integer(1),
  signal: connectFields.signal,
})

/** Default of `segmentRows`. docs/decisions/0047 has the measurements. */
const segmentRowsDefault = 1_000_000

/** Pause between two looks at a log on a local disk, in milliseconds. A look takes microseconds. */
const nearMs = 200
/**
 * Pauses between two looks at a log that is far away, in milliseconds. The pause doubles while nothing happens. A log that
 * notifies (`CommitLog.watch`) ends a pause.
 */
const farMs = { least: 1000, most: 31_000 }
/** How often a waiting `workOnJob` looks at the job of another process, in milliseconds. */
const aliveMs = 2000
/** Maximum pause after another process has claimed a unit first, in milliseconds. */
const takenMs = 500

/**
 * Work on the root at `path`, until `options.signal` aborts. Then resolves. Takes queued jobs, and does the maintenance
 * after the commits of all processes. Throws the errors of `connect`, except those of options that it does not have.
 *
 * ```js
 * await work('s3://bucket/prefix', { signal: AbortSignal.timeout(3_600_000) })
 * ```
 */
export async function work(
  path: string,
  options: WorkOptions = {},
  ...more: readonly unknown[]
): Promise<void> {
  refuseMore('work', 2, more)
  const engine = await openWorker(path, options, 'work', 'all')
  try {
    await follow(engine, options.signal)
  } finally {
    await engine.close()
  }
}

/** The state of a job after `workOnJob`. */
export interface WorkedJob {
  /** The state of the job, as in `listJobs`. `running`: another process runs the job. */
  readonly state: JobInfo['state']
  /** The reason of a failure. */
  readonly reason?: string
  /** Whether this call ran the job, or a unit of it. */
  readonly ranHere: boolean
}

/**
 * Run one job of the root at `path`. If another process runs the job, run its queued units. If there are none, observe the
 * other process until it is known to be alive, or until its claim has ended and this process can take the job.
 *
 * Throws `TransactionNotFound` if there is no such job, and `Unsupported` if this process lacks the function or the
 * tokenizer of the job.
 */
export async function workOnJob(
  path: string,
  job: string,
  options: WorkOptions = {},
  ...more: readonly unknown[]
): Promise<WorkedJob> {
  refuseMore('workOnJob', 3, more)
  if (typeof job !== 'string' || job.trim() === '')
    throw invalidInput(`job must be the id of a job, got ${quote(job)}`)
  const engine = await openWorker(path, options, 'workOnJob', 'none')
  try {
    return await runJob(engine, job, options.signal)
  } finally {
    await engine.close()
  }
}

async function openWorker(
  path: string,
  given: WorkOptions,
  call: string,
  scope: 'all' | 'none',
): Promise<OpenedRoot> {
  const { jobs = 1, segmentRows = segmentRowsDefault, ...connecting } = parse(workShape, given, call)
  const { clock = systemClock } = connecting
  const { engine, tested } = await openRoot(path, { ...connecting, create: false }, clock, {
    scope,
    concurrency: jobs,
    unitRows: segmentRows,
  })
  await tested
  return engine
}

/** Look at the log until the signal aborts. The engine works in the background. */
async function follow(
  { root, clock, externalLog, jobs }: OpenedRoot,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { least, most } = root.isFar === true ? farMs : { least: nearMs, most: nearMs }
  let wake = () => {}
  const stop = externalLog?.watch?.(() => wake())
  try {
    for (let restMs = least, head = -1; signal?.aborted !== true; ) {
      const woken = new Promise<void>(resolve => {
        wake = resolve
      })
      // A log that does not answer now may answer later.
      await root.refresh(signal).catch(error => {
        if (!isTemporary(error) && signal?.aborted !== true) throw error
      })
      restMs = root.head === head && !jobs.isRunning ? Math.min(2 * restMs, most) : least
      head = root.head
      await within(clock, restMs, woken, signal).catch(() => {})
    }
  } finally {
    stop?.()
  }
}

function isTemporary(error: unknown): boolean {
  return error instanceof SheafError && error.code === ErrorCode.ServiceUnavailable
}

async function runJob(engine: OpenedRoot, id: string, signal: AbortSignal | undefined): Promise<WorkedJob> {
  const { root, jobs, store, clock } = engine
  let ranHere = false
  let heartbeat: string | undefined
  for (;;) {
    signal?.throwIfAborted()
    const state = await root.refresh(signal)
    const job = state.jobs.get(id)
    if (job === undefined) return { ...endOf(engine, id), ranHere }
    if (!jobs.canRun(job.kind)) throw lacksPart(job.kind)
    const next = job.status === 'Queued' ? id : queuedUnit(state.jobs, id)
    if (next !== null) {
      const ran = await jobs.run(next)
      ranHere ||= ran
      // Another process has just claimed it, or the job must wait for another one.
      if (!ran) await clock.sleep(clock.random() * takenMs, signal, true)
      continue
    }
    if (ranHere) return { state: 'running', ranHere }
    jobs.watchOthers()
    const lease = newestLeases((await listLeases(store, signal, `${id}-`)).leases).get(id)
    if (heartbeat !== undefined && lease !== undefined && lease.key !== heartbeat) {
      return { state: 'running', ranHere }
    }
    heartbeat ??= lease?.key
    await clock.sleep(aliveMs, signal, true)
  }
}

function endOf({ root: { state } }: OpenedRoot, id: string): Pick<WorkedJob, 'state' | 'reason'> {
  const note = state.notes.get(id)
  if (note?.kind === undefined) throw unknownTransaction(id)
  const { status } = viewTransaction(state, id)
  if (status === 'Succeeded') return { state: 'finished' }
  if (status === 'Canceled') return { state: 'cancelled' }
  return { state: 'failed', ...(note.reason !== undefined && { reason: note.reason }) }
}

function lacksPart(kind: string): SheafError {
  return new SheafError(
    ErrorCode.Unsupported,
    `this process cannot run a job of kind ${quote(kind)}, because it does not have its function or tokenizer`,
    { hint: 'pass them: workOnJob(path, id, { functions, tokenizers })' },
  )
}
