/** The exports of `sheaf/worker`. */
export { type ConnectWorkerOptions, connectWorker } from './client.js'
