/**
 * Measures the cost of Sheaf's HTTP server. A plain server of node:http that sends the same prepared bytes is the
 * reference.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { connect, type Namespace } from '../src/index.js'
import { type Bench, type CaseResult, type Entry, hashOf, timesOf } from './harness.js'
import { Caller, requestBytes, timeOf } from './http-load.js'
import { fillFloats, seededRandom } from './random.js'

interface Parameters {
  readonly rows: number
  readonly dim: number
  /** Number of open connections, requests per round on all connections together, and rounds. */
  readonly connections: number
  readonly requests: number
  readonly rounds: number
  /** Number of single requests, one after the other, to measure the latency. */
  readonly single: number
}

export const bench: Bench<Parameters> = {
  name: 'http',
  question:
    'how many requests per second does the server answer, and how long does one take, compared with node:http?',
  small: { rows: 200, dim: 8, connections: 2, requests: 20, rounds: 2, single: 20 },
  full: { rows: 10_000, dim: 128, connections: 32, requests: 8_000, rounds: 7, single: 3_000 },
  async run(parameters) {
    const { rows, dim } = parameters
    const root = mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
    let servers: ChildProcess | undefined
    const ns = await connect(root)
    try {
      const random = seededRandom(1)
      const table = await ns.createTable(
        't',
        Array.from({ length: rows }, (_, id) => ({ id, v: fillFloats(new Float32Array(dim), random) })),
      )
      await table.createIndex('id')
      await table.waitForIndex('id_idx')
      servers = fork(resolve('bench/http-servers.mjs'), [root])
      const [ports] = (await once(servers, 'message')) as [Ports]
      const vector = [...fillFloats(new Float32Array(dim), random)]
      const cases: CaseResult[] = []
      for (const [title, path, body, call] of [
        ['count of all rows', 'count_rows', {}, () => table.countRows()],
        ['one row by its key', 'query', { vector: [], filter: 'id = 77', k: 1 }, one(ns)],
        [`the nearest 10 of ${rows} x ${dim}`, 'query', { vector, k: 10 }, nearest(ns, vector)],
      ] as const) {
        const request = { path: `/v1/table/t/${path}`, body: JSON.stringify(body) }
        cases.push(...(await measured(title, request, servers, ports, call, parameters)))
      }
      return cases
    } finally {
      servers?.disconnect()
      await ns.close()
      rmSync(root, { recursive: true, force: true })
    }
  },
}

interface Ports {
  readonly sheaf: number
  readonly bare: number
}

function one(ns: Namespace) {
  const vector = null
  return () => ns.operations.queryTable({ id: ['t'], vector, filter: 'id = 77', k: 1 })
}

function nearest(ns: Namespace, numbers: readonly number[]) {
  const vector = { single_vector: numbers }
  return async () => (await ns.operations.queryTable({ id: ['t'], vector, k: 10 })).chunks.length
}

async function measured(
  title: string,
  { path, body }: { readonly path: string; readonly body: string },
  servers: ChildProcess,
  ports: Ports,
  call: () => Promise<unknown>,
  { connections, requests, rounds, single }: Parameters,
): Promise<CaseResult[]> {
  const request = requestBytes(path, body)
  const callers = async (port: number) =>
    Promise.all(Array.from({ length: connections }, () => Caller.dial(port)))
  const [sheaf, bare] = [await callers(ports.sheaf), await callers(ports.bare)]
  const answer = await sheaf[0]!.ask(request)
  if (answer.status !== 200) throw new Error(`${title}: ${answer.status} ${answer.body}`)
  servers.send({ path, type: answer.type, body: answer.body.toString('base64') })
  await once(servers, 'message')

  const many = { bare: new Float64Array(rounds), sheaf: new Float64Array(rounds) }
  for (let round = -2; round < rounds; round++) {
    const took = {
      bare: await timeOf(bare, request, requests),
      sheaf: await timeOf(sheaf, request, requests),
    }
    if (round < 0) continue
    many.bare[round] = took.bare
    many.sheaf[round] = took.sheaf
  }
  const alone = {
    bare: new Float64Array(single),
    sheaf: new Float64Array(single),
    direct: new Float64Array(single),
  }
  for (let i = -Math.ceil(single / 4); i < single; i++) {
    const took = {
      bare: await milliseconds(() => bare[0]!.ask(request)),
      sheaf: await milliseconds(() => sheaf[0]!.ask(request)),
      direct: await milliseconds(call),
    }
    if (i < 0) continue
    for (const name of ['bare', 'sheaf', 'direct'] as const) alone[name][i] = took[name]
  }
  for (const caller of [...sheaf, ...bare]) caller.end()

  const hash = hashOf(answer.body)
  const entry = (name: string, times: Float64Array, first: Float64Array, figures = {}): Entry => {
    const milliseconds = timesOf(times)
    return {
      name,
      milliseconds,
      relativeTime: milliseconds.p50 / timesOf(first).p50,
      answer: hash,
      figures,
    }
  }
  const rate = (times: Float64Array) => ({ perSecond: (requests / timesOf(times).p50) * 1000 })
  const sum = timesOf(alone.bare).p50 + timesOf(alone.direct).p50
  return [
    {
      title: `${title}: ${requests} requests on ${connections} connections`,
      entries: [
        entry('bare server', many.bare, many.bare, rate(many.bare)),
        entry('sheaf', many.sheaf, many.bare, {
          ...rate(many.sheaf),
          share: timesOf(many.bare).p50 / timesOf(many.sheaf).p50,
        }),
      ],
    },
    {
      title: `${title}: one request at a time`,
      entries: [
        entry('bare server', alone.bare, alone.bare),
        entry('direct call', alone.direct, alone.bare),
        entry('sheaf', alone.sheaf, alone.bare, { toBareAndDirect: timesOf(alone.sheaf).p50 / sum }),
      ],
    },
  ]
}

async function milliseconds(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}
