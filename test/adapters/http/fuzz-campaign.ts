/**
 * A server and who sends it hostile requests, in a process that does nothing else, so that its memory is the server's. Started
 * with a root, a seed, and how many requests each campaign has; tells its parent, for each, what went wrong.
 */
import { serve } from '../../../adapters/http/server.js'
import { decodeIpc } from '../../../src/arrow/decode-ipc.js'
import { connect, type Namespace } from '../../../src/index.js'
import { askJson } from '../../support/http.js'
import { fuzz, type Reply } from './fuzz.js'
import type { Shot } from './hostile.js'

export interface CampaignOutcome {
  readonly faults: readonly string[]
  /** Memory of the process that is left when all garbage is gone. */
  readonly bytesLeft: number
  /** How often each family got each status. */
  readonly statuses: ReadonlyMap<string, number>
}

// Nearly every request makes an error, of which most of the time goes into its trace.
Error.stackTraceLimit = 1

const rows = Array.from({ length: 20 }, (_, id) => ({ id, name: `name ${id}`, vector: [id, 1, 2] }))

function bytesLeft(): number {
  gc!()
  gc!()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function askKept(url: string) {
  return askJson(url, '/v1/table/kept/query', { k: 5, filter: 'id < 3' })
}

function prototypeKeys(): string {
  const keys = [Object.prototype, Array.prototype, Function.prototype].flatMap(Reflect.ownKeys)
  return keys.map(String).join()
}

async function campaign(ns: Namespace, seed: number, count: number): Promise<CampaignOutcome> {
  const errors: unknown[] = []
  const server = await serve(ns, {
    port: 0,
    limits: { bodyBytes: 1 << 20, messageBytes: 1 << 20, requestMs: 10_000, pauseMs: 5_000 },
    logger: ({ status, error }) => {
      if (status === 500 && errors.length < 3) errors.push((error as Error).stack)
    },
  })
  const { url } = server
  await ns.createTable('kept', rows, { mode: 'overwrite' })
  const { bytes: right } = await askKept(url)
  const faults: string[] = []
  const lengths = decodeIpc(right).batches.map(({ length }) => length)
  if (lengths.join() !== '3') faults.push(`the table that is looked at has batches of ${lengths} rows`)
  const untouched = prototypeKeys()

  const between = async () => {
    // What chance has dropped is there again: most of the requests are about these.
    const there = await ns.tableNames()
    for (const name of ['t', 'u']) {
      if (!there.includes(name)) await ns.createTable(name, rows, { mode: 'overwrite' })
    }
    const { status, bytes } = await askKept(url)
    if (status !== 200 || !bytes.equals(right)) faults.push(`a valid request: ${status} ${bytes}`)
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
  const outcome = await fuzz({ url, seed, count, between, judge })
  await between()
  if (prototypeKeys() !== untouched) faults.push('a prototype has another key')
  await server.close()
  return { faults: [...faults, ...outcome.faults], bytesLeft: bytesLeft(), statuses: outcome.statuses }
}

const [root, seed, ...counts] = process.argv.slice(2)
const ns = await connect(root!)
for (const count of counts) process.send!(await campaign(ns, Number(seed), Number(count)))
await ns.close()
process.disconnect()
