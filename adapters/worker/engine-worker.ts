/** The entry file of a worker thread. Opens an engine, then answers the calls of the program. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { assert } from '../../src/errors.js'
import { type ConnectOptions, connect } from '../../src/index.js'
import { host } from './host.js'
import { type FromWorker, packError } from './messages.js'
import { PortSharing } from './sharing.js'

/** The data with which a worker is started. */
export interface WorkerTask {
  readonly path: string
  readonly options: ConnectOptions
  /** Memory limit for decoding all uploads together, bytes. */
  readonly uploadBytes: number
  /** The connection to the directory of shared data. Present if several workers have this root open. */
  readonly sharing?: {
    readonly port: MessagePort
    readonly workerIndex: number
    readonly workerCount: number
    readonly pins: boolean
  }
}

assert(parentPort !== null, 'this module runs in a worker thread')
const { path, options, uploadBytes, sharing } = workerData as WorkerTask
try {
  const shared = sharing && { sharing: new PortSharing(sharing.port, sharing) }
  host(parentPort, await connect(path, { ...options, ...shared }), uploadBytes)
} catch (cause) {
  parentPort.postMessage({ kind: 'refused', error: packError(cause) } satisfies FromWorker)
}
