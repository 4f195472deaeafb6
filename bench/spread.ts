/**
 * Measures one exact search that servers divide into parts. All servers, the load balancer and the client are in one
 * process, so `cpuMs` counts the work of all of them. The times show no gain: they show what the division costs.
 *
 * | figure | meaning |
 * |---|---|
 * | cpuMs | processor time of one search, milliseconds |
 * | parts | parts of the search |
 * | mostMs | time of the parts of one server, with the time for which they wait for the other servers of the process |
 */
import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connectHttp } from '../adapters/http/client.js'
import { serve } from '../adapters/http/server.js'
import { connect } from '../src/index.js'
import { MemoryStore } from '../src/storage/memory-store.js'
import { type Bench, type Entry, hashOf, timesOf } from './harness.js'
import { clusteredData } from './vector-data.js'

interface Parameters {
  readonly rows: number
  readonly dim: number
  readonly rounds: number
}

const piece = 70_000

export const bench: Bench<Parameters> = {
  name: 'spread',
  question: 'what does it cost to divide a search into parts for several servers?',
  small: { rows: 4 * piece, dim: 4, rounds: 3 },
  full: { rows: 8 * piece, dim: 128, rounds: 60 },
  async run({ rows, dim, rounds }) {
    const data = clusteredData(rows, dim, 100, 0.5, rounds)
    const store = new MemoryStore('memory://spread')
    const open = () => connect('memory://', { store, maintenance: { compact: false } })
    const first = await open()
    for (let from = 0; from < rows; from += piece) {
      const some = Array.from({ length: piece }, (_, i) => {
        return { id: from + i, v: data.rows.subarray((from + i) * dim, (from + i + 1) * dim) }
      })
      if (from === 0) await first.createTable('t', some)
      else await first.table('t').add(some)
    }
    await first.close()
    const entries: Entry[] = []
    for (const servers of [0, 1, 2]) {
      const nodes = await Promise.all(Array.from({ length: Math.max(1, servers) }, open))
      const urls: string[] = []
      const balancer = await balance(urls)
      const options = servers === 0 ? {} : { balancer: { url: balancer.url, minWorkMs: 0 } }
      const running = await Promise.all(nodes.map(node => serve(node, { port: 0, ...options })))
      urls.push(...running.map(({ url }) => url))
      const client = connectHttp(urls[0]!)
      const search = (round: number) =>
        client.table('t').search(data.queries.subarray(round * dim, (round + 1) * dim))
      const times = new Float64Array(rounds)
      const cpu = new Float64Array(rounds)
      const answers: number[] = []
      for (let round = 0; round < rounds; round++) {
        if (round === 0) for (let i = 0; i < rounds; i++) await search(i).select(['id']).limit(10).toArray()
        const [begun, used] = [performance.now(), process.cpuUsage()]
        const found = await search(round).select(['id']).limit(10).toArray()
        const { user, system } = process.cpuUsage(used)
        times[round] = performance.now() - begun
        cpu[round] = (user + system) / 1000
        answers.push(...found.map(({ id }) => id as number))
      }
      const listed =
        /\[(.+)\] ms/
          .exec(await search(0).analyze())?.[1]
          ?.split(', ')
          .map(Number) ?? []
      const most = listed
        .slice(0, Math.ceil(listed.length / Math.max(1, servers)))
        .reduce((sum, ms) => sum + ms, 0)
      const figures = { cpuMs: timesOf(cpu).p50, parts: listed.length, mostMs: most }
      const name =
        servers === 0 ? 'one server alone' : `parts on ${servers} server${servers === 1 ? '' : 's'}`
      const relativeTime = timesOf(times).p50 / (entries[0]?.milliseconds.p50 ?? timesOf(times).p50)
      entries.push({ name, milliseconds: timesOf(times), relativeTime, answer: hashOf(answers), figures })
      for (const each of [client, ...running, balancer, ...nodes]) await each.close()
    }
    return [{ title: `${rows} x ${dim}, exact, 10 nearest`, entries }]
  },
}

/** Start a load balancer that sends the parts to the servers in turn. */
async function balance(urls: readonly string[]) {
  const places = new Map<unknown, number>()
  const server = createServer((request, response) => {
    const shard = request.headers['x-sheaf-shard']
    const place = places.get(shard) ?? places.size
    places.set(shard, place)
    const { method, url, headers } = request
    const inner = send(urls[place % urls.length]! + url, { method, headers }, reply => {
      response.writeHead(reply.statusCode!, reply.headers)
      reply.pipe(response)
    })
    request.pipe(inner)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const close = async () => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
}
