/** Program of an LZ4 thread. Encodes one frame per message (`Lz4Task`), in the order of the messages. */
import { parentPort } from 'node:worker_threads'
import { assert } from '../errors.js'
import { encodeLz4Frame } from './encode-lz4.js'
import type { Lz4Task } from './lz4-threads.js'
import { runAtOnce } from './steps.js'

const port = parentPort
assert(port !== null, 'this module runs in a worker thread')
port.on('message', ({ plain, mostBytes }: Lz4Task) => {
  const frame = runAtOnce(encodeLz4Frame(plain, mostBytes))
  port.postMessage(frame, frame === null ? [] : [frame.buffer as ArrayBuffer])
})
