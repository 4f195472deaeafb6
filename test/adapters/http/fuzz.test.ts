/** Nothing that a client sends harms a server: not what it holds, not what it answers to others, not its memory. */
import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { type HttpServer, serve } from '../../../adapters/http/server.js'
import { decodeIpc } from '../../../src/arrow/decode-ipc.js'
import { connect, type Namespace } from '../../../src/index.js'
import { askJson } from '../../support/http.js'
import { temporaryRoots } from '../../support/roots.js'
import { fuzz, type Reply } from './fuzz.js'
import type { Shot } from './hostile.js'

const seed = Number(process.env.SHEAF_SEED ?? 1)
const count = Number(process.env.SHEAF_FUZZ ?? 20_000)
const freshFolder = temporaryRoots()

// Nearly every request makes an error, of which most of the time goes into its trace.
Error.stackTraceLimit = 4

const rows = Array.from({ length: 20 }, (_, id) => ({ id, name: `name ${id}`, vec: [id, 1, 2] }))

/** Memory of the process that is left when all garbage is gone. */
function memoryLeft(): number {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  gc()
  gc()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function askKept(url: string) {
  return askJson(url, '/v1/table/kept/query', { k: 5, filter: 'id < 3' })
}

function prototypeKeys(): PropertyKey[] {
  return [Object.prototype, Array.prototype, Function.prototype].flatMap(Reflect.ownKeys)
}

async function campaign(ns: Namespace, requests: number): Promise<readonly string[]> {
  const errors: unknown[] = []
  const server: HttpServer = await serve(ns, {
    port: 0,
    limits: { bodyBytes: 1 << 20, messageBytes: 1 << 20, requestMs: 10_000, pauseMs: 5_000 },
    logger: ({ status, error }) => {
      if (status === 500 && errors.length < 3) errors.push((error as Error).stack)
    },
  })
  const { url } = server
  await ns.createTable('kept', rows, { mode: 'overwrite' })
  const { bytes: right } = await askKept(url)
  expect(decodeIpc(right).batches.map(({ length }) => length)).toEqual([3])
  const untouched = prototypeKeys()

  const between = async () => {
    // What chance has dropped is there again: most of the requests are about these.
    for (const name of ['t', 'u']) {
      if (!(await ns.tableNames()).includes(name)) await ns.createTable(name, rows, { mode: 'overwrite' })
    }
    const { status, bytes } = await askKept(url)
    expect([status, bytes.equals(right)]).toEqual([200, true])
  }

  const judge = ({ hopeless }: Shot, replies: readonly Reply[]) => {
    for (const { status, body } of replies) {
      if (status === 500) return `500: ${errors.join('\n')}`
      if (status < 200 || status > 503 || (status >= 300 && status < 400)) return `status ${status}`
      if (hopeless && status < 300) return 'this cannot be right'
      if (status < 400 || body.length === 0) continue
      const { error, code } = JSON.parse(body.toString()) as {
        readonly error?: unknown
        readonly code?: unknown
      }
      if (typeof error !== 'string' || typeof code !== 'number') return 'an error without its object'
    }
    return undefined
  }

  await between()
  const { faults, statuses } = await fuzz({ url, seed, count: requests, between, judge })
  await between()
  if (process.env.SHEAF_FUZZ_PRINT) console.log([...statuses].sort())
  expect(prototypeKeys()).toEqual(untouched)
  await server.close()
  return faults
}

test(`${count} hostile requests`, async () => {
  const ns = await connect('memory://')
  expect(await campaign(ns, Math.min(count / 20, 10_000))).toEqual([])
  const before = memoryLeft()
  expect(await campaign(ns, count)).toEqual([])
  // What chance has written stays, and its log.
  expect(memoryLeft() - before).toBeLessThan(15e6 + 500 * count)
  await ns.close()
}, 3_600_000)

test('nothing is written beside the root', async () => {
  const folder = `${freshFolder()}/root`
  const ns = await connect(folder)
  expect(await campaign(ns, 300)).toEqual([])
  await ns.close()
  expect(readdirSync(dirname(folder))).toEqual(['root'])
})
