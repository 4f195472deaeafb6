/**
 * Measures cached queries per second of one node and of two nodes behind HAProxy. Nodes are servers in processes of their
 * own, over one root. Without HAProxy on this machine, the bench measures nothing.
 *
 * | figure | meaning |
 * |---|---|
 * | perSecond | queries per second, at the median time |
 * | speedup | median over all rounds of the time of one node divided by this time |
 * | nodeCpuMs | CPU time of the nodes for one query, milliseconds |
 * | otherCpuMs | CPU time of HAProxy and of this process, which sends the queries, for one query |
 * | possible | speedup if two nodes, HAProxy and this process keep all cores busy: at most 2 |
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '../src/index.js'
import { Balancer, haproxy } from './balancer.js'
import { type Answer, type Bench, type CaseResult, type Entry, race, timesOf } from './harness.js'
import { Caller, requestBytes } from './http-load.js'
import { MeasuredServer } from './measured-server.js'
import { fillFloats, seededRandom } from './random.js'

interface Parameters {
  readonly tables: number
  readonly rows: number
  readonly dim: number
  /** Number of vectors in a query. */
  readonly vectors: number
  /** Number of open connections, queries per round on all connections together, and rounds. */
  readonly connections: number
  readonly queries: number
  readonly rounds: number
}

export const bench: Bench<Parameters> = {
  name: 'nodes',
  question: 'how many more cached queries per second do two nodes behind HAProxy answer than one?',
  small: { tables: 4, rows: 200, dim: 8, vectors: 2, connections: 4, queries: 40, rounds: 2 },
  full: { tables: 16, rows: 16_000, dim: 128, vectors: 4, connections: 16, queries: 640, rounds: 9 },
  async run(parameters) {
    if (haproxy === undefined) {
      console.log('nodes: skipped, because HAProxy is not installed')
      return []
    }
    const root = mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
    const open: (() => Promise<void>)[] = []
    try {
      const requests = await fill(root, parameters)
      const nodes: MeasuredServer[] = []
      for (let i = 0; i < 2; i++) {
        const node = await MeasuredServer.start('sheaf', root, { cacheBytes: 2 ** 30 })
        nodes.push(node)
        open.push(() => node.close())
      }
      const ports = nodes.map(({ url }) => Number(new URL(url).port))
      const one = await Balancer.start([ports[0]!])
      open.push(() => one.stop())
      const two = await Balancer.start(ports)
      open.push(() => two.stop())
      return [await measured(requests, nodes, [one, two], parameters)]
    } finally {
      for (const close of open.reverse()) await close()
      rmSync(root, { recursive: true, force: true })
    }
  },
}

/** Create the tables. Returns a query for each of them. */
async function fill(root: string, { tables, rows, dim, vectors }: Parameters): Promise<readonly Buffer[]> {
  const random = seededRandom(1)
  const ns = await connect(root)
  for (let i = 0; i < tables; i++) {
    const stored = Array.from({ length: rows }, (_, id) => ({
      id,
      v: fillFloats(new Float32Array(dim), random),
    }))
    await ns.createTable(`t${i}`, stored)
  }
  await ns.close()
  return Array.from({ length: tables }, (_, i) => {
    const multi_vector = Array.from({ length: vectors }, () => [...fillFloats(new Float32Array(dim), random)])
    return requestBytes(`/v1/table/t${i}/query`, JSON.stringify({ vector: { multi_vector }, k: 10 }))
  })
}

async function measured(
  requests: readonly Buffer[],
  nodes: readonly MeasuredServer[],
  balancers: readonly Balancer[],
  { tables, rows, dim, vectors, connections, queries, rounds }: Parameters,
): Promise<CaseResult> {
  const callers: Caller[] = []
  const contestants = []
  const nodeCpu: number[][] = []
  const otherCpu: number[][] = []
  let before = await cpuTimes(nodes, balancers)
  for (const [index, { port }] of balancers.entries()) {
    const own = await Promise.all(Array.from({ length: connections }, () => Caller.dial(port)))
    callers.push(...own)
    nodeCpu.push([])
    otherCpu.push([])
    contestants.push({
      name: index === 0 ? 'one node' : 'two nodes',
      run: () => answersOf(own, requests, queries),
      after: async () => {
        const now = await cpuTimes(nodes, balancers)
        nodeCpu[index]!.push((now.nodes - before.nodes) / queries)
        otherCpu[index]!.push((now.others - before.others) / queries)
        before = now
      },
    })
  }
  try {
    const title = `${queries} queries on ${connections} connections: the nearest 10 of ${rows} x ${dim} for ${vectors} vectors, ${tables} tables`
    const result = await race({ title, contestants, rounds })
    const [one, two] = result.entries
    if (one!.answer !== two!.answer) throw new Error('two nodes gave another answer than one')
    const median = (values: readonly number[]) => timesOf(new Float64Array(values)).p50
    const entries = result.entries.map((entry, index): Entry => {
      const nodeCpuMs = median(nodeCpu[index]!)
      const otherCpuMs = median(otherCpu[index]!)
      const possible = (availableParallelism() * median(nodeCpu[0]!)) / (nodeCpuMs + otherCpuMs)
      const figures = {
        perSecond: (queries / entry.milliseconds.p50) * 1000,
        speedup: 1 / entry.relativeTime,
        nodeCpuMs,
        otherCpuMs,
      }
      return { ...entry, figures: index === 0 ? figures : { ...figures, possible: Math.min(2, possible) } }
    })
    return { ...result, entries }
  } finally {
    for (const caller of callers) caller.end()
  }
}

/** CPU times since the start of the processes, milliseconds. */
async function cpuTimes(nodes: readonly MeasuredServer[], balancers: readonly Balancer[]) {
  const told = await Promise.all(nodes.map(node => node.tell('tell')))
  const { user, system } = process.cpuUsage()
  return {
    nodes: told.reduce((sum, { cpuSeconds }) => sum + cpuSeconds * 1000, 0),
    others: balancers.reduce((sum, { cpuMs }) => sum + cpuMs, (user + system) / 1000),
  }
}

/** Send the queries of all tables in turn. Returns the bodies of all answers, in the order of the queries. */
async function answersOf(
  callers: readonly Caller[],
  requests: readonly Buffer[],
  queries: number,
): Promise<Answer> {
  const answers: Answer[] = Array.from({ length: queries }, () => null)
  let next = 0
  await Promise.all(
    callers.map(async caller => {
      while (next < queries) {
        const index = next++
        const { status, body } = await caller.ask(requests[index % requests.length]!)
        if (status !== 200) throw new Error(`the server replied with the status ${status}: ${body}`)
        answers[index] = body
      }
    }),
  )
  return answers
}
