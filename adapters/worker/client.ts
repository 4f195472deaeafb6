/** Opens a namespace whose engines run in worker threads. Its API is the same as for an engine in this thread. */
import { Worker } from 'node:worker_threads'
import type { ConnectOptions } from '../../src/client/connect-options.js'
import { connectFields } from '../../src/client/connect-options.js'
import { type AnyCatalogue, type CatalogueOf, Namespace } from '../../src/client/namespace.js'
import { checkRootPath } from '../../src/client/root-path.js'
import { ErrorCode, invalidInput, quote, SheafError } from '../../src/errors.js'
import { externalHint, threadFile } from '../../src/primitives/module-files.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import { parse } from '../../src/protocol/parse.js'
import { integer, options } from '../../src/protocol/shape.js'
import { uploadBytesDefault } from '../upload-memory.js'
import { Directory } from './directory.js'
import type { WorkerTask } from './engine-worker.js'
import { type StartWorker, Team } from './team.js'

/**
 * The options of `connect` that are plain data. Stores, clocks, functions and tokenizers are missing, because they
 * cannot be sent to another thread.
 */
export interface ConnectWorkerOptions
  extends Pick<
    ConnectOptions,
    | 'create'
    | 'readOnly'
    | 'cacheBytes'
    | 'cacheDir'
    | 'cacheDiskBytes'
    | 'maxStalenessMs'
    | 'buildThreads'
    | 'maintenance'
    | 'int64'
    | 'signal'
  > {
  /**
   * Number of worker threads, 1 to 64. Default 1. The first worker does all writes; all workers read rows. Each worker
   * has its own engine with its own `cacheBytes`. A `memory://` root allows only one worker.
   */
  readonly workers?: number
}

const {
  store: _,
  storage: __,
  log: ___,
  functions: ____,
  tokenizers: _____,
  clock: ______,
  onWarning: _______,
  onMaintenance: ________,
  tracing: _________,
  sharing: __________,
  ...plainFields
} = connectFields

export const connectWorkerShape = options<ConnectWorkerOptions>()({ ...plainFields, workers: integer(1, 64) })

/** Prefix of the path of a root in memory. Such a root is lost when its worker ends. */
const inMemory = 'memory://'

/**
 * Open the namespace at `path` in new worker threads. The memory of long answers is transferred to this thread, not
 * copied.
 *
 * Throws the errors of `connect`, and InvalidInput if `workers` is out of range. When a worker dies, its calls reject
 * with ServiceUnavailable. For a write, this error has the kind `commit-state-unknown`. The next call starts a new
 * worker, or rejects with the error of the start.
 *
 * ```js
 * const ns = await connectWorker('./data', { workers: 4 })
 * ```
 */
export async function connectWorker<C extends object = AnyCatalogue>(
  path: string,
  options: ConnectWorkerOptions & { readonly int64: 'bigint' },
): Promise<Namespace<CatalogueOf<C, bigint>, bigint>>
export async function connectWorker<C extends object = AnyCatalogue>(
  path: string,
  options?: ConnectWorkerOptions,
): Promise<Namespace<CatalogueOf<C, number>>>
export async function connectWorker(
  path: string,
  given: ConnectWorkerOptions = {},
  ...more: readonly unknown[]
): Promise<unknown> {
  refuseMore('connectWorker', 2, more)
  return openWorkers(path, parse(connectWorkerShape, given, 'connectWorker'), uploadBytesDefault)
}

/** Open a namespace like `connectWorker`. `uploadBytes`: memory limit for decoding all uploads together, bytes. */
export async function openWorkers(
  path: string,
  { signal, workers = 1, int64, ...plainOptions }: ConnectWorkerOptions,
  uploadBytes: number,
): Promise<Namespace> {
  checkRootPath(path)
  const lasting = !path.startsWith(inMemory)
  if (!lasting && workers > 1) {
    throw invalidInput(
      `${quote(path)} is in the memory of one worker, so workers must be 1, got ${workers}`,
      {
        hint: 'use a directory',
      },
    )
  }
  const startWorker = workerStarter({ path, options: plainOptions, uploadBytes }, workers)
  const team = await Team.open(quote(path), startWorker, { workers, lasting, signal })
  return new Namespace(team.operations, () => team.close(), team.features, int64)
}

function fileNotFound(cause: unknown): SheafError {
  return new SheafError(
    ErrorCode.ServiceUnavailable,
    'cannot find the file that worker threads of Sheaf run',
    {
      hint: externalHint,
      cause,
    },
  )
}

/**
 * Return a function that starts workers. Only worker 0 may write. A worker that replaces a dead one must not create the
 * root, because the root existed before.
 */
function workerStarter(task: Omit<WorkerTask, 'sharing'>, workerCount: number): StartWorker {
  const { options } = task
  const directory = workerCount > 1 ? new Directory() : null
  return (workerIndex, again) => {
    const others = workerIndex === 0 ? {} : { readOnly: true }
    const pins = options.readOnly !== true
    const port = directory?.join()
    const workerData: WorkerTask = {
      ...task,
      options: { ...options, ...others, ...((again || workerIndex > 0) && { create: false }) },
      ...(port && { sharing: { port, workerIndex, workerCount, pins } }),
    }
    const started = { workerData, transferList: port ? [port] : [] }
    const file = threadFile('engine-worker.js', import.meta.url)
    if (file !== null) return new Worker(file, started)
    try {
      // Keep this expression: bundlers recognize only this form of `new Worker`.
      return new Worker(new URL('./engine-worker.js', import.meta.url), started)
    } catch (cause) {
      throw fileNotFound(cause)
    }
  }
}
