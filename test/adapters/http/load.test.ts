/** Five hundred connections for a while: everybody is answered, and the server's memory stays as it is. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { concatChunks, encodeIpcStream } from '../../../src/arrow/encode-ipc.js'
import { rowsToBatch } from '../../../src/arrow/rows.js'
import { seededRandom } from '../../../src/primitives/seeded-random.js'
import { temporaryRoots } from '../../support/roots.js'
import { shipped } from '../built.js'
import { Replies, type Reply } from './fuzz.js'

const seconds = Number(process.env.SHEAF_LOAD_SECONDS ?? 3)
const connections = 500
/** Sent as fast as they are answered, before anything is weighed: code is compiled, caches fill, every buffer is needed once. */
const warmReplies = 3000
/** Weighed at least, also where the machine answers few a second. */
const leastReplies = 5000
/** Between two requests on a connection once it is warm: in all some 1000 a second, which leaves something to the tests beside this one. */
const pauseMs = 500
/** Replies between two samples of the server's memory: the same of them on every machine. */
const sampleEvery = 100
const freshFolder = temporaryRoots()

/** A server in a process of its own, whose memory is its own. */
const program = `
  import { connect } from ${JSON.stringify(shipped('index'))}
  import { serve } from ${JSON.stringify(shipped('http'))}
  const ns = await connect(process.argv[1], { cacheBytes: 4 << 20 })
  const rows = Array.from({ length: 2000 }, (_, id) => ({ id, name: 'name ' + id, vector: [id % 7, id % 11, 1, 0] }))
  for (const name of ['t', 'log']) await ns.createTable(name, rows)
  const server = await serve(ns, { port: 0 })
  process.send(server.url)
  process.on('message', () => {
    // What is garbage is no leak.
    gc()
    process.send(process.memoryUsage.rss())
  })
  process.once('disconnect', async () => {
    await server.close()
    await ns.close()
  })
`
/**
 * Node gives young objects up to 32 MB, whenever it finds that many survive: as much as a leak would have to be to be seen.
 * So they get what they need from the start; and glibc gets one heap, not one more for each thread that once was busy.
 */
const execArgv = ['--expose-gc', '--max-semi-space-size=2', '--input-type=module', '-e', program]
const env = { ...process.env, MALLOC_ARENA_MAX: '1' }

const inserted = concatChunks(encodeIpcStream(...insertedRows()))

function insertedRows() {
  const batch = rowsToBatch([1, 2, 3].map(id => ({ id, name: `new ${id}`, vector: [id, 0, 0, 1] })))
  return [batch.schema, [batch]] as const
}

function post(path: string, body: string | Uint8Array, last: boolean): Buffer {
  const bytes = Buffer.from(body as string)
  const type = typeof body === 'string' ? 'application/json' : 'application/vnd.apache.arrow.stream'
  const close = last ? 'connection: close\r\n' : ''
  const head = `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${type}\r\n${close}content-length: ${bytes.length}\r\n\r\n`
  return Buffer.concat([Buffer.from(head), bytes])
}

function dial(url: string): Socket {
  const { hostname, port } = new URL(url)
  return connect({ host: hostname, port: Number(port), noDelay: true })
}

test(`${connections} connections for ${seconds} s`, async () => {
  const child = fork('-', [], {
    execPath: process.execPath,
    execArgv: [...execArgv, freshFolder()],
    env,
    stdio: 'inherit',
  })
  const [url] = (await once(child, 'message')) as [string]
  const random = seededRandom(Number(process.env.SHEAF_SEED ?? 1))
  const errors: string[] = []
  const samples: number[] = []
  child.on('message', rss => samples.push(rss as number))
  let replies = 0
  let warmAt = 0
  let isOver = false

  const count = () => {
    if (++replies === warmReplies) warmAt = performance.now()
    const weighed = replies - warmReplies
    if (weighed < 0) return
    if (weighed % sampleEvery === 0) child.send('weigh')
    isOver ||= weighed >= leastReplies && performance.now() - warmAt >= seconds * 1000
  }

  const request = (last: boolean) => {
    const what = random()
    if (what < 0.4) {
      const vector = [random() * 7, random() * 11, 1, 0]
      return post('/v1/table/t/query', JSON.stringify({ k: 5, vector: { single_vector: vector } }), last)
    }
    if (what < 0.7) return post('/v1/table/t/count_rows', '{"predicate":"id % 3 = 0"}', last)
    if (what < 0.95) return post('/v1/table/t/describe', '{}', last)
    // In place of what was there: all that may grow is the history, which is kept, at less than a kilobyte a commit.
    return post('/v1/table/log/insert?mode=overwrite', inserted, last)
  }

  /** One connection after another, where `isFresh`; else one. */
  const caller = async (isFresh: boolean) => {
    let socket: Socket | undefined
    while (!isOver && errors.length < 5) {
      const ms = replies < warmReplies ? 0 : pauseMs * (0.5 + random())
      await new Promise(resolve => setTimeout(resolve, ms))
      socket ??= dial(url)
      const reply = await exchange(socket, request(isFresh)).catch((cause: Error) => cause)
      count()
      if (reply instanceof Error || reply.status !== 200) {
        errors.push(reply instanceof Error ? reply.message : `${reply.status} ${reply.body}`)
      }
      if (isFresh) socket = undefined
    }
    socket?.destroy()
  }

  try {
    await Promise.all(Array.from({ length: connections }, (_, i) => caller(i % 20 === 0)))
  } finally {
    isOver = true
    child.disconnect()
    await once(child, 'exit')
  }
  if (process.env.SHEAF_LOAD_PRINT) console.log(samples.map(bytes => (bytes / 1e6).toFixed(1)).join(' '))
  const third = Math.floor(samples.length / 3)
  const [first, last] = [median(samples.slice(0, third)), median(samples.slice(-third))]
  expect(errors).toEqual([])
  expect(samples.length).toBeGreaterThanOrEqual(leastReplies / sampleEvery)
  expect(last).toBeLessThanOrEqual(first * 1.1)
}, 3_600_000)

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!
}

/** Rejects where the connection ends before the reply. */
function exchange(socket: Socket, bytes: Buffer): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const replies = new Replies()
    const settle = (cause?: Error) => {
      socket.off('data', take)
      socket.off('error', settle)
      socket.off('close', ended)
      const [reply] = replies.all
      if (reply === undefined) reject(cause)
      else resolve(reply)
    }
    const take = (chunk: Buffer) => {
      replies.take(chunk)
      if (replies.all.length > 0) settle()
    }
    const ended = () => settle(new Error('the connection ended without a reply'))
    socket.on('data', take)
    socket.on('error', settle)
    socket.on('close', ended)
    socket.write(bytes)
  })
}
