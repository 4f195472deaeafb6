/** Nodes behind HAProxy that are killed and restarted under load. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectHttp } from '../../../adapters/http/client.js'
import { connect, type Namespace } from '../../../src/index.js'
import { ask, askJson } from '../../support/http.js'
import { temporaryRoots } from '../../support/roots.js'
import { ServingNode } from '../campaigns/processes.js'
import { freePort } from '../server.js'
import { Balancer, haproxy } from './balancer.js'

const tables = Array.from({ length: 8 }, (_, i) => `t${i}`)
const freshRoot = temporaryRoots()

/** Reads and keyed writes, one after the other for each table, until `stop` is called. */
class Load {
  readonly failures: unknown[] = []
  /** Keys of the answered writes, by table. */
  readonly written = new Map<string, number[]>(tables.map(name => [name, []]))
  reads = 0
  readonly #client: Namespace
  readonly #name: string
  readonly #url: string
  #isOver = false
  readonly #running: Promise<unknown>

  /** `name`: the first part of the keys of the writes. */
  constructor(name: string, url: string) {
    this.#name = name
    this.#url = url
    this.#client = connectHttp(url)
    this.#running = Promise.all(tables.flatMap(name => [this.#read(name), this.#write(name)]))
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#running
    await this.#client.close()
  }

  async #read(name: string): Promise<void> {
    while (!this.#isOver) {
      const query = { vector: { single_vector: [1, 0] }, k: 1, columns: { column_names: ['id'] } }
      try {
        const reply = await askJson(this.#url, `/v1/table/${name}/query`, query, {
          accept: 'application/json',
        })
        if (reply.status !== 200) this.failures.push([name, reply.status, reply.text])
      } catch (error) {
        this.failures.push([name, error])
      }
      this.reads++
    }
  }

  async #write(name: string): Promise<void> {
    const written = this.written.get(name)!
    for (let key = 1; !this.#isOver; key++) {
      try {
        await this.#client
          .table(name)
          .add([{ id: key, vector: [0, 1] }], { idempotencyKey: `${this.#name} ${name} ${key}` })
        written.push(key)
      } catch (error) {
        this.failures.push([name, key, error])
      }
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }
}

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

describe.skipIf(haproxy.program === null)('two nodes behind HAProxy', () => {
  const nodes: ServingNode[] = []
  let balancer: Balancer

  beforeAll(async () => {
    const root = freshRoot()
    const ns = await connect(root)
    for (const name of tables) await ns.createTable(name, [{ id: 0, vector: [1, 0] }])
    await ns.close()
    const ports = [await freePort(), await freePort()]
    for (const port of ports) {
      const place = { host: '127.0.0.1', port, inNetwork: [] }
      const node = new ServingNode(root, place, {}, ['--drain', '2s', '--prewarm', 'all'])
      nodes.push(node)
      await node.start()
    }
    balancer = await Balancer.start(haproxy, ports)
  })
  afterAll(async () => {
    await balancer?.stop()
    for (const node of nodes) await node.kill()
  })

  async function places(): Promise<Readonly<Record<string, unknown>>> {
    const found: Record<string, unknown> = {}
    for (const name of tables) {
      const { headers } = await ask(balancer.url, { path: `/v1/table/${name}/count_rows` })
      found[name] = headers['x-served-by']
    }
    return found
  }

  const untilBothServe = () =>
    expect.poll(async () => new Set(Object.values(await places())).size, { timeout: 20_000 }).toBe(2)

  /** Every answered write is there once. A row that is there was written by an answered write. */
  async function expectRows(load: Load): Promise<void> {
    expect(load.failures).toEqual([])
    const client = connectHttp(balancer.url)
    for (const name of tables) {
      const rows = await client.table(name).query().where('id > 0').select(['id']).toArray()
      expect([name, rows.map(({ id }) => Number(id)).sort((a, b) => a - b)]).toEqual([
        name,
        load.written.get(name),
      ])
      await client.table(name).delete('id > 0')
    }
    await client.close()
  }

  test('both nodes answer with the same bytes', async () => {
    const query = JSON.stringify({ vector: { single_vector: [0.5, 0.5] }, k: 5 })
    const headers = { 'content-type': 'application/json' }
    for (const name of tables) {
      const asked = nodes.map(({ url }) =>
        ask(url, { path: `/v1/table/${name}/query`, headers, body: query }),
      )
      const [one, two] = await Promise.all(asked)
      expect(one!.status).toBe(200)
      expect(two!.bytes.equals(one!.bytes)).toBe(true)
    }
  })

  test('a killed node fails no read and no write with a key; its tables move, and come back', async () => {
    await untilBothServe()
    const before = await places()
    const load = new Load('kill', balancer.url)
    await pause(1500)
    await nodes[0]!.kill()
    await pause(2500)
    const during = await places()
    expect(new Set(Object.values(during))).toEqual(new Set(['node2']))
    await nodes[0]!.start()
    await untilBothServe()
    await load.stop()
    expect(await places()).toEqual(before)
    console.log(
      `kill -9: ${load.reads} reads, ${[...load.written.values()].flat().length} writes, ${load.failures.length} failed`,
    )
    await expectRows(load)
  })

  test('a restart of both nodes, one after the other, fails no request', async () => {
    const load = new Load('restart', balancer.url)
    for (const node of nodes) {
      await pause(1000)
      expect(await node.terminate()).toBe(0)
      await node.start()
      await untilBothServe()
    }
    await load.stop()
    console.log(
      `restarts: ${load.reads} reads, ${[...load.written.values()].flat().length} writes, ${load.failures.length} failed`,
    )
    await expectRows(load)
  })
})
