/**
 * A worker whose operations do what their request says: the first name of the id is the behaviour. Everything the program
 * cannot see from outside is told in the reply.
 */
import { once } from 'node:events'
import { parentPort, workerData } from 'node:worker_threads'
import { uploadBytesDefault } from '../../../adapters/upload-memory.js'
import { host } from '../../../adapters/worker/host.js'
import { ErrorCode, SheafError } from '../../../src/errors.js'
import type { Namespace } from '../../../src/index.js'
import type { ArrowBody, CallOptions } from '../../../src/protocol/calls.js'
import type { OperationName } from '../../../src/protocol/operations.js'
import { withHandler } from '../echo.js'
import { sampleReply } from '../samples.js'

/** Chunks as an engine has them: views of memory it goes on using. */
const column = new Uint8Array(1000).fill(7)
const chunks = [column, column.subarray(10, 20), column]

let waiting: (() => void)[] = []
let closed = 0
let exitsAtCommit = false
let restsEnded = 0

async function handle(
  name: OperationName,
  request: Readonly<Record<string, unknown>>,
  { signal, ...options }: CallOptions,
  body: ArrowBody | undefined,
): Promise<unknown> {
  const behaviour = (request.id as string[] | undefined)?.[0]
  switch (behaviour) {
    case 'echo':
      return { properties: { heard: JSON.stringify({ name, request, options, closed }) } }
    case 'fail':
      throw new SheafError(ErrorCode.ServiceUnavailable, 'who knows', {
        kind: 'commit-state-unknown',
        hint: 'look',
        at: { offset: 3, length: 2 },
        transactionId: 'a-b',
      })
    case 'break':
      throw new TypeError('broken')
    case 'unclonable':
      return { properties: { call: () => {} } }
    case 'rows':
      return { version: column[0], chunks }
    case 'begun':
      return { version: 7, chunks, rest: rest(Number((request.id as string[])[1]), signal) }
    case 'stalled':
      return { version: 7, chunks, rest: stalled(signal!) }
    case 'rest-ended':
      return restsEnded
    case 'workerIndex':
      return name === 'queryTable'
        ? { version: workerData.workerIndex, chunks }
        : { num_deleted_rows: 1, version: workerData.workerIndex }
    case 'until-aborted':
      await once(signal!, 'abort')
      throw signal!.reason
    case 'despite-abort':
      await once(signal!, 'abort')
      return { num_deleted_rows: 1, version: 1 }
    case 'wait':
      await new Promise<void>(resolve => waiting.push(resolve))
      return 1
    case 'release':
      for (const resolve of waiting) resolve()
      waiting = []
      return undefined
    case 'take':
      return take(body!, Number((request.id as string[])[1]))
    case 'exit':
      process.exit(3)
      break
    case 'exit-at-commit':
      exitsAtCommit = true
      return undefined
    case 'throw':
      setImmediate(() => {
        throw new Error('uncaught')
      })
      return new Promise(() => {})
    default:
      return sampleReply({ name })
  }
}

/** The rest of a reply: `count` chunks and a footer of two bytes. A negative count: fails after the first chunk. */
async function* rest(count: number, signal: AbortSignal | undefined) {
  try {
    for (let i = 0; i < Math.abs(count); i++) {
      signal?.throwIfAborted()
      yield column.fill(7)
      if (count < 0) throw new SheafError(ErrorCode.TableNotFound, 'the file is gone')
    }
    yield column.subarray(0, 2)
  } finally {
    restsEnded++
  }
}

/** A scan that finds nothing more, until it is told to give up. */
async function* stalled(signal: AbortSignal) {
  try {
    yield new Uint8Array(2 ** 20)
    yield column
    await once(signal, 'abort')
    throw signal.reason
  } finally {
    restsEnded++
  }
}

/** Reads up to `limit` bytes of a body, and tells how many came. */
async function take(body: ArrowBody, limit: number) {
  if (body instanceof Uint8Array) return { num_inserted_rows: body.length, version: body[0] ?? 0 }
  let length = 0
  let sum = 0
  for await (const chunk of body) {
    length += chunk.length
    for (const byte of chunk) sum += byte
    if (length >= limit) break
  }
  return { num_inserted_rows: length, version: sum }
}

const operations = withHandler(handle)
const close = async () => {
  closed++
}
const echo = { operations, close } as Namespace

host(
  parentPort!,
  {
    operations,
    close,
    snapshot: async () => echo,
    async transaction(work) {
      const result = await work(echo)
      if (exitsAtCommit) process.exit(3)
      return result
    },
    async *watch({ signal } = {}) {
      yield 7
      await once(signal!, 'abort')
      throw signal!.reason
    },
    async optimize({ signal } = {}) {
      await once(signal!, 'abort')
      throw signal!.reason
    },
    tableAt: async location => [location],
    async verify({ onProgress, signal } = {}) {
      for (let done = 0; done < 3; done++) onProgress?.({ phase: 'log', done, total: 3 })
      if (onProgress !== undefined) await new Promise(setImmediate)
      signal?.throwIfAborted()
      return {
        ok: true,
        problems: [],
        repaired: [],
        unreferenced: [],
        checked: { slots: 3, files: 0, bytes: 0, tables: 0, versions: 0 },
      }
    },
  },
  uploadBytesDefault,
)
