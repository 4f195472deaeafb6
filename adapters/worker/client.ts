/** A namespace whose engines run in worker threads, as if one of them were in this. */
import { Worker } from 'node:worker_threads'
import type { ConnectOptions } from '../../src/client/connect-options.js'
import { connectFields } from '../../src/client/connect-options.js'
import { Namespace } from '../../src/client/namespace.js'
import { checkRootPath } from '../../src/client/root-path.js'
import { invalidInput, quote } from '../../src/errors.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import { parse } from '../../src/protocol/parse.js'
import { integer, options } from '../../src/protocol/shape.js'
import { uploadBytesDefault } from '../upload-memory.js'
import { Directory } from './directory.js'
import type { WorkerTask } from './main.js'
import { type Hire, Team } from './team.js'

/** The options of `connect` that are plain data: stores, clocks, functions and tokenizers cannot cross threads. */
export interface ConnectWorkerOptions
  extends Pick<
    ConnectOptions,
    'create' | 'readOnly' | 'cacheBytes' | 'buildThreads' | 'maintenance' | 'signal'
  > {
  /**
   * Threads that answer, 1 to 64: the first writes, all of them read rows. Each has an engine of its own, with `cacheBytes` of its own.
   * A `memory://` root lives in one. Default 1.
   */
  readonly workers?: number
}

const { create, readOnly, cacheBytes, buildThreads, maintenance, signal: signalField } = connectFields

export const connectWorkerShape = options<ConnectWorkerOptions>()({
  create,
  readOnly,
  cacheBytes,
  buildThreads,
  maintenance,
  workers: integer(1, 64),
  signal: signalField,
})

/** What a worker kept of such a root is lost with it. */
const inMemory = 'memory://'

/**
 * Opens the namespace at `path` in new worker threads; throws what `connect` throws, and code 13 for `workers` out of range. Long
 * answers are not copied on this side. When a worker dies, its calls reject with code 17, writes with kind
 * `commit-state-unknown`; the next call starts another one, or rejects with the reason why there is none.
 */
export async function connectWorker(path: string, options?: ConnectWorkerOptions): Promise<Namespace>
export async function connectWorker(
  path: string,
  given: ConnectWorkerOptions = {},
  ...more: readonly unknown[]
): Promise<Namespace> {
  refuseMore('connectWorker', 2, more)
  return openWorkers(path, parse(connectWorkerShape, given, 'connectWorker'), uploadBytesDefault)
}

/** As `connectWorker`. `uploadBytes`: of all uploads together, while they are decoded. */
export async function openWorkers(
  path: string,
  { signal, workers = 1, ...plainOptions }: ConnectWorkerOptions,
  uploadBytes: number,
): Promise<Namespace> {
  checkRootPath(path)
  const lasting = !path.startsWith(inMemory)
  if (!lasting && workers > 1) {
    throw invalidInput(`${quote(path)} lies in the memory of one worker, not of ${workers}`, {
      hint: 'use a directory',
    })
  }
  const hire = hireFor({ path, options: plainOptions, uploadBytes }, workers)
  const team = await Team.open(quote(path), hire, { seats: workers, lasting, signal })
  return new Namespace(team.operations, () => team.close(), team.features)
}

/** Only the first writes; and nobody makes a root anew that was there. */
function hireFor(task: Omit<WorkerTask, 'sharing'>, seats: number): Hire {
  const { options } = task
  const directory = seats > 1 ? new Directory() : null
  return (seat, again) => {
    const others = seat === 0 ? {} : { readOnly: true }
    const pins = options.readOnly !== true
    const port = directory?.join()
    const workerData: WorkerTask = {
      ...task,
      options: { ...options, ...others, ...((again || seat > 0) && { create: false }) },
      ...(port && { sharing: { port, seat, seats, pins } }),
    }
    return new Worker(new URL('./main.js', import.meta.url), { workerData, transferList: port ? [port] : [] })
  }
}
