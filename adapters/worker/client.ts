/** A namespace whose engine runs in a worker thread, as if it were in this one. */
import { Worker } from 'node:worker_threads'
import { quote } from '../../src/errors.js'
import { type ConnectOptions, Namespace } from '../../src/index.js'
import { WorkerLink } from './link.js'
import type { WorkerTask } from './main.js'

/** The options of `connect` that are plain data: stores, clocks, functions and tokenizers cannot cross threads. */
export type ConnectWorkerOptions = Pick<
  ConnectOptions,
  'create' | 'readOnly' | 'cacheBytes' | 'buildThreads' | 'signal'
>

/**
 * Opens the namespace at `path` in a new worker thread; throws what `connect` throws. Rows travel without being copied on this
 * side. When the worker dies, calls reject with code 17, writes with kind `commit-state-unknown`.
 */
export async function connectWorker(path: string, options: ConnectWorkerOptions = {}): Promise<Namespace> {
  const { signal, ...plainOptions } = options
  const workerData: WorkerTask = { path, options: plainOptions }
  const worker = new Worker(new URL('./main.js', import.meta.url), { workerData })
  const link = await WorkerLink.open(worker, quote(path), signal)
  return new Namespace(link.operations, () => link.close())
}
