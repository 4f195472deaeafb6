/** The program of a thread that helps to build segments of lists. The thread runs the calls that it receives. */
import { parentPort } from 'node:worker_threads'
import { assert } from '../../errors.js'
import { Pacer } from '../../primitives/pacer.js'
import type { ListCall } from './list-threads.js'
import { ListWork, oneByOne } from './list-work.js'

const port = parentPort
assert(port !== null, 'this module runs in a worker thread')
const call = oneByOne(new ListWork(new Pacer()))
port.on('message', async ({ name, args }: ListCall) => {
  port.postMessage({ result: await call(name, args as never) })
})
port.postMessage('ready')
