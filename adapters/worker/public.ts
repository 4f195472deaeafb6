/** What `sheaf/worker` offers. */
export { type ConnectWorkerOptions, connectWorker } from './client.js'
