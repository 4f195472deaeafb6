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

const seconds = Number(process.env.SHEAF_LOAD_SECONDS ?? 10)
const connections = 500
/** Between two requests on a connection: in all 2000 a second at most, which leaves something to the tests beside this one. */
const pauseMs = 250
/** Both, but not for ever. */
const warmReplies = 6000
const warmMs = 30_000
const freshFolder = temporaryRoots()

/** A server in a process of its own, whose memory is its own. */
const program = `
  import { connect } from ${JSON.stringify(shipped('index'))}
  import { serve } from ${JSON.stringify(shipped('http'))}
  const ns = await connect(process.argv[1], { cacheBytes: 4 << 20 })
  const rows = Array.from({ length: 2000 }, (_, id) => ({ id, name: 'name ' + id, vec: [id % 7, id % 11, 1, 0] }))
  for (const name of ['t', 'log']) await ns.createTable(name, rows)
  const server = await serve(ns, { port: 0 })
  process.send(server.url)
  // What is garbage is no leak.
  const telling = setInterval(() => {
    gc()
    process.send(process.memoryUsage.rss())
  }, 500)
  process.once('disconnect', async () => {
    clearInterval(telling)
    await server.close()
    await ns.close()
  })
`

const inserted = concatChunks(encodeIpcStream(...insertedRows()))

function insertedRows() {
  const batch = rowsToBatch([1, 2, 3].map(id => ({ id, name: `new ${id}`, vec: [id, 0, 0, 1] })))
  return [batch.schema, [batch]] as const
}

function post(path: string, body: string | Uint8Array, last: boolean): Buffer {
  const bytes = Buffer.from(body as string)
  const type = typeof body === 'string' ? 'application/json' : 'application/vnd.apache.arrow.stream'
  const close = last ? 'connection: close\r\n' : ''
  const head = `POST ${path} HTTP/1.1\r\nhost: sheaf\r\ncontent-type: ${type}\r\n${close}content-length: ${bytes.length}\r\n\r\n`
  return Buffer.concat([Buffer.from(head), bytes])
}

function dial(url: string): Socket {
  const { hostname, port } = new URL(url)
  return connect({ host: hostname, port: Number(port), noDelay: true })
}

test(`${connections} connections for ${seconds} s`, async () => {
  const child = fork('-', [], {
    execPath: process.execPath,
    execArgv: ['--expose-gc', '--input-type=module', '-e', program, freshFolder()],
    stdio: 'inherit',
  })
  const [url] = (await once(child, 'message')) as [string]
  const random = seededRandom(Number(process.env.SHEAF_SEED ?? 1))
  const errors: string[] = []
  let replies = 0
  let isOver = false

  const request = (last: boolean) => {
    const what = random()
    if (what < 0.4) {
      const vector = [random() * 7, random() * 11, 1, 0]
      return post('/v1/table/t/query', JSON.stringify({ k: 5, vector: { single_vector: vector } }), last)
    }
    if (what < 0.7) return post('/v1/table/t/count_rows', '{"predicate":"id % 3 = 0"}', last)
    if (what < 0.95) return post('/v1/table/t/describe', '{}', last)
    return post('/v1/table/log/insert', inserted, last)
  }

  /** One connection after another, where `isFresh`; else one. */
  const caller = async (isFresh: boolean) => {
    let socket: Socket | undefined
    while (!isOver && errors.length < 5) {
      await new Promise(resolve => setTimeout(resolve, pauseMs * (0.5 + random())))
      socket ??= dial(url)
      const reply = await exchange(socket, request(isFresh)).catch((cause: Error) => cause)
      replies++
      if (reply instanceof Error || reply.status !== 200) {
        errors.push(reply instanceof Error ? reply.message : `${reply.status} ${reply.body}`)
      }
      if (isFresh) socket = undefined
    }
    socket?.destroy()
  }

  const callers = Array.from({ length: connections }, (_, i) => caller(i % 20 === 0))
  const samples: number[] = []
  const sleep = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))
  try {
    child.on('message', rss => samples.push(rss as number))
    const latest = performance.now() + warmMs
    // Until its code is compiled and its heap has the size it needs.
    while ((replies < warmReplies || isGrowing(samples)) && performance.now() < latest) await sleep(500)
    samples.splice(0)
    await sleep(seconds * 1000)
  } finally {
    isOver = true
    await Promise.all(callers)
    child.disconnect()
    await once(child, 'exit')
  }
  const third = Math.floor(samples.length / 3)
  const [first, last] = [median(samples.slice(0, third)), median(samples.slice(-third))]
  expect(errors).toEqual([])
  expect(replies).toBeGreaterThan(connections)
  expect(last).toBeLessThanOrEqual(first * 1.1)
}, 3_600_000)

/** Whether there is more than there was two seconds ago. */
function isGrowing(samples: readonly number[]): boolean {
  return samples.length < 6 || samples.at(-1)! > 1.01 * samples.at(-5)!
}

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
