/** What the worker thread runs: opens an engine, then answers for it. */
import { parentPort, workerData } from 'node:worker_threads'
import { assert } from '../../src/errors.js'
import { type ConnectOptions, connect } from '../../src/index.js'
import { host } from './host.js'
import { type FromWorker, packError } from './messages.js'

/** What a worker is started with. */
export interface WorkerTask {
  readonly path: string
  readonly options: ConnectOptions
}

assert(parentPort !== null, 'this module runs in a worker thread')
const { path, options } = workerData as WorkerTask
try {
  host(parentPort, await connect(path, options))
} catch (cause) {
  parentPort.postMessage({ kind: 'refused', error: packError(cause) } satisfies FromWorker)
}
