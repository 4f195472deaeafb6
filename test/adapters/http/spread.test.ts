/** Searches that several nodes of a root execute together. */
import * as fc from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { connectHttp } from '../../../adapters/http/client.js'
import type { ServeOptions } from '../../../adapters/http/options.js'
import { type HttpServer, serve } from '../../../adapters/http/server.js'
import { concatBytes } from '../../../src/arrow/concat-bytes.js'
import { unitForm } from '../../../src/engine/unit-token.js'
import { connect, type Namespace, type Table } from '../../../src/index.js'
import type * as vectorBuild from '../../../src/indexes/vector/build.js'
import { systemClock } from '../../../src/primitives/clock.js'
import type { Request } from '../../../src/protocol/calls.js'
import type * as exactUnits from '../../../src/query/exact-units.js'
import type * as nearCosts from '../../../src/query/near-costs.js'
import { SessionTokens } from '../../../src/root/session-tokens.js'
import { MemoryStore } from '../../../src/storage/memory-store.js'
import type * as indexFold from '../../../src/write/plan-index-fold.js'
import { failure } from '../../support/failure.js'
import { type HashProxy, hashProxy } from '../../support/hash-proxy.js'

/** Rows of a segment and of a unit of an exact search. */
const unitRows = 600

vi.mock('../../../src/indexes/vector/build.js', async original => {
  const module = await original<typeof vectorBuild>()
  return { ...module, maxSegmentRows: () => unitRows }
})
vi.mock('../../../src/query/exact-units.js', async original => {
  const { dividedInto } = await original<typeof exactUnits>()
  return {
    exactUnits: (layout: Parameters<typeof exactUnits.exactUnits>[0]) => dividedInto(unitRows, layout),
  }
})
/** Whether every search uses its index, although measuring a few rows costs less. */
const always = { index: false }
vi.mock('../../../src/query/near-costs.js', async original => {
  const module = await original<typeof nearCosts>()
  const isLittle: typeof module.isLittle = (...what) => !always.index && module.isLittle(...what)
  const asking: typeof module.asking = (...what) => (always.index ? 0 : module.asking(...what))
  return { ...module, isLittle, asking }
})
// Nothing is merged, so that each addition that is indexed has its own text segment.
vi.mock('../../../src/write/plan-index-fold.js', async original => {
  const module = await original<typeof indexFold>()
  const planIndexFold: typeof module.planIndexFold = (index, layout, mode) => {
    const plan = module.planIndexFold(index, layout, mode)
    return plan === null || index.text === undefined ? plan : { ...plan, from: [], base: null }
  }
  return { ...module, planIndexFold }
})

type QueryRequest = Omit<Request<'queryTable'>, 'id'>

const words = ['wheat', 'arrow', 'quiver', 'sheaf', 'field', 'barn', 'mill']
const rowsFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, i) => {
    const id = first + i
    const noise = (by: number) => Math.floor(Math.abs(Math.sin(id * by) * 4))
    return {
      id,
      n: id % 10,
      v: Array.from({ length: 8 }, (_, d) => noise(d + 1)),
      t: Array.from({ length: 1 + (id % 5) }, (_, w) => words[(id * (w + 3) + w) % words.length]).join(' '),
    }
  })

/** Nodes of one root behind a load balancer, and a namespace that searches alone. */
class Nodes {
  readonly all: Namespace[] = []
  readonly servers: HttpServer[] = []
  readonly store = new MemoryStore('memory://nodes')
  plain!: Namespace
  table!: Table
  proxy!: HashProxy

  async open(count: number, options: ServeOptions = {}): Promise<this> {
    const open = () => connect('memory://', { store: this.store, maintenance: { compact: false } })
    this.plain = await open()
    const urls: string[] = []
    this.proxy = await hashProxy(urls)
    for (let i = 0; i < count; i++) {
      const ns = await open()
      const balancer = { url: this.proxy.url, minWorkMs: 0 }
      const server = await serve(ns, { port: 0, ...options, balancer })
      this.all.push(ns)
      this.servers.push(server)
      urls.push(server.url)
    }
    return this
  }

  async close(): Promise<void> {
    for (const each of [this.proxy, ...this.servers, ...this.all, this.plain]) await each.close()
  }

  /** Compare the answer of the nodes with the answer of the namespace that searches alone. */
  async check(request: QueryRequest, headers = {}): Promise<void> {
    const query = { id: ['t'], ...request }
    const alone = await this.plain.operations.queryTable(query)
    const client = connectHttp(this.servers[0]!.url, { headers })
    try {
      const together = await client.operations.queryTable(query)
      expect(Buffer.from(concatBytes(together.chunks))).toEqual(Buffer.from(concatBytes(alone.chunks)))
    } finally {
      await client.close()
    }
  }

  async analyzed(request: QueryRequest): Promise<string> {
    const client = connectHttp(this.servers[0]!.url)
    try {
      return await client.operations.analyzeTableQueryPlan({ id: ['t'], ...request })
    } finally {
      await client.close()
    }
  }
}

const opened: Nodes[] = []
afterEach(() => Promise.all(opened.splice(0).map(nodes => nodes.close())))

/** Nodes with a table of four vector segments, three text segments, deleted rows and unindexed rows. */
async function tableOn(nodes: Nodes, kind: 'IVF_FLAT' | 'IVF_PQ' | 'IVF_HNSW_SQ' | null): Promise<Nodes> {
  const { plain } = nodes
  const table = await plain.createTable('t', rowsFrom(0, 700), { vectorColumns: ['v'] })
  if (kind !== null) await table.createIndex('t', { type: 'FTS', withPosition: true, waitTimeoutMs: 60_000 })
  for (const first of [700, 1400]) {
    await table.add(rowsFrom(first, 700))
    if (kind !== null) await plain.optimize()
  }
  const options = { type: kind!, partitions: 4, waitTimeoutMs: 60_000 } as const
  if (kind !== null) await table.createIndex('v', options as never)
  await table.delete('id % 7 = 3')
  await table.add(rowsFrom(2100, 300))
  await table.update({ n: '3' as never }, 'id between 100 and 140')
  nodes.table = table as Table
  return nodes
}

const filters = ['n < 5', 'n % 3 = 1', 'id > 2000', 'id < 40', 'n = 3 and t is not null', 'id < 0']
const vectors = fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 8, maxLength: 8 })
const texts = fc.oneof(
  fc
    .subarray(words, { minLength: 1, maxLength: 3 })
    .map(all => ({ string_query: { query: all.join(' '), columns: ['t'] } })),
  fc.constantFrom(
    { structured_query: { query: { phrase: { terms: 'wheat arrow', column: 't', slop: 2 } } } },
    {
      structured_query: {
        query: {
          boolean: {
            must: [{ match: { terms: 'wheat', column: 't' } }],
            should: [{ match: { terms: 'barn mill', column: 't', boost: 2 } }],
            must_not: [{ match: { terms: 'field', column: 't' } }],
          },
        },
      },
    },
  ),
)
const requests = fc
  .record(
    {
      kind: fc.constantFrom('vector', 'text', 'hybrid'),
      vector: vectors,
      text: texts,
      k: fc.integer({ min: 1, max: 30 }),
      offset: fc.constantFrom(undefined, 0, 3, 11),
      filter: fc.option(fc.constantFrom(...filters), { nil: undefined }),
      prefilter: fc.boolean(),
      refine_factor: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
      nprobes: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
      fast_search: fc.boolean(),
      bypass_vector_index: fc.boolean(),
      distance_type: fc.constantFrom('l2', 'cosine', 'dot'),
      range: fc.option(fc.tuple(fc.integer({ min: 0, max: 10 }), fc.integer({ min: 11, max: 60 })), {
        nil: undefined,
      }),
    },
    { noNullPrototype: true },
  )
  .map(
    ({ kind, vector, text, range, distance_type, bypass_vector_index, nprobes, refine_factor, ...rest }) => {
      const near = {
        vector: { single_vector: vector },
        ...(bypass_vector_index ? { bypass_vector_index, distance_type } : { nprobes, refine_factor }),
        ...(range !== undefined && { lower_bound: range[0], upper_bound: range[1] }),
      }
      const request = {
        ...rest,
        ...(bypass_vector_index && { fast_search: false }),
        ...(kind === 'text' ? { vector: null } : near),
        ...(kind !== 'vector' && { full_text_query: text }),
        with_row_id: true,
      }
      return request as unknown as QueryRequest
    },
  )

describe.each(['IVF_FLAT', 'IVF_PQ', 'IVF_HNSW_SQ'] as const)('with indexes, %s', kind => {
  const nodes = new Nodes()
  beforeAll(async () => {
    await tableOn(await nodes.open(3), kind)
  }, 120_000)
  afterAll(() => nodes.close())

  test('every split of the parts over nodes gives the bytes of the local answer', async () => {
    const splits = fc.record({ request: requests, seed: fc.nat(), usesIndex: fc.boolean() })
    await fc.assert(
      fc.asyncProperty(splits, async ({ request, seed, usesIndex }) => {
        always.index = usesIndex
        let next = seed
        nodes.proxy.route = request => {
          if (request.headers['x-sheaf-shard'] === undefined) return 0
          next = (next * 1103515245 + 12345) % 2 ** 31
          // A part of the requests gets no answer.
          return next % 17 === 0 ? null : (next >> 8) % (1 + (seed % 3))
        }
        await nodes.check(request)
      }),
      { numRuns: 60 },
    )
    expect(new Set(nodes.proxy.sent.map(({ server }) => server)).size).toBe(3)
  }, 120_000)
})

describe('parts of searches', () => {
  const near: QueryRequest = { vector: { single_vector: [1, 2, 0, 3, 1, 0, 2, 1] }, k: 10 }
  const text: QueryRequest = {
    vector: null,
    full_text_query: { string_query: { query: 'wheat barn', columns: ['t'] } },
    k: 10,
  }
  const open = async (count: number, options: ServeOptions = {}) => {
    always.index = true
    const nodes = await new Nodes().open(count, options)
    opened.push(nodes)
    return tableOn(nodes, 'IVF_FLAT')
  }

  test('each part goes to the node of its data, and is never sent on', async () => {
    const nodes = await open(2)
    for (const [request, searches] of [
      [near, 1],
      [text, 2],
    ] as const) {
      nodes.proxy.sent.length = 0
      await nodes.check(request)
      const count = nodes.proxy.sent.length
      await nodes.check(request)
      const [first, second] = [nodes.proxy.sent.slice(0, count), nodes.proxy.sent.slice(count)]
      const order = (all: typeof first) => all.map(({ shard, server }) => `${shard} ${server}`).sort()
      expect(order(second)).toEqual(order(first))
      const shards = new Set(first.map(({ shard }) => shard))
      expect(shards.size).toBeGreaterThan(3)
      expect(count).toBe(searches * shards.size)
    }
    expect(await nodes.analyzed(near)).toMatch(
      /\nnodes: vector: (\d) of \1 parts answered by nodes in \[.+\] ms, computed_here=0, failures=0, hedged=0$/,
    )
    const analyzed = await nodes.analyzed(text)
    expect(analyzed).toMatch(
      /\nnodes: statistics: (\d) of \1 parts .+ failures=0, hedged=0\nnodes: text: (\d) of \2 /,
    )
    expect(analyzed).toMatch(/text search: spread over nodes in \d parts, about .+ ms of work/)
  })

  test('a part is computed by the asked node if every other node fails', async () => {
    const nodes = await open(2)
    nodes.proxy.route = () => null
    await nodes.check(near)
    expect(await nodes.analyzed(near)).toMatch(/ 0 of (\d) parts .+ computed_here=\1, failures=/)
    await nodes.check({ ...near, ...text, vector: near.vector })
  })

  test('the metrics of a server show that the load balancer does not answer', async () => {
    const nodes = await open(1)
    await nodes.check(near)
    nodes.proxy.route = () => null
    for (let i = 0; i < 3; i++) await nodes.check(near)
    const metrics = await (await fetch(`${nodes.servers[0]!.url}/metrics`)).text()
    const count = (result: string) =>
      Number(new RegExp(`^sheaf_search_parts_total\\{result="${result}"\\} (\\d+)$`, 'm').exec(metrics)?.[1])
    expect(count('answered')).toBeGreaterThan(1)
    expect(count('failed')).toBeGreaterThanOrEqual(16)
    expect(count('unsent')).toBeGreaterThan(1)
  })

  test('a part is computed by the asked node if its node does not answer in time', async () => {
    const nodes = await open(2)
    let late: string | undefined
    nodes.proxy.route = (request, chosen) => {
      const shard = request.headers['x-sheaf-shard'] as string | undefined
      late ??= shard
      return shard !== undefined && shard === late ? new Promise(() => {}) : chosen
    }
    await nodes.check(near)
    expect(await nodes.analyzed(near)).toMatch(/computed_here=1, failures=0, hedged=1/)
  })

  test('a node checks the credentials of the caller for each part', async () => {
    const asked = new Set<string>()
    let allows = true
    const nodes = await open(2, {
      auth: { apiKeys: { ann: 'the key of ann' } },
      authorize: (operation, _id, _identity, { principal }) => {
        asked.add(`${principal!.name} ${operation}`)
        return allows || operation !== 'readTableSlice'
      },
    })
    const keys = new Set<unknown>()
    nodes.proxy.route = (request, chosen) => {
      keys.add(request.headers['x-api-key'])
      return chosen
    }
    await nodes.check(near, { 'x-api-key': 'the key of ann' })
    expect(keys).toEqual(new Set(['the key of ann']))
    expect(asked).toEqual(new Set(['ann queryTable', 'ann readTableSlice']))
    allows = false
    await nodes.check(near, { 'x-api-key': 'the key of ann' })
  })

  test('the time limit of a call holds for its parts', async () => {
    const nodes = await open(2)
    const limits: number[] = []
    nodes.proxy.route = (request, chosen) => {
      limits.push(Number(request.headers['x-request-timeout-ms']))
      return chosen
    }
    await nodes.check(near, { 'x-request-timeout-ms': '20000' })
    expect(Math.min(...limits)).toBeGreaterThan(10_000)
    expect(Math.max(...limits)).toBeLessThanOrEqual(20_000)
  })

  test('the token of a part is refused for another table, another form and another operation', async () => {
    const nodes = await open(1)
    const { plain, table, store } = nodes
    await plain.createTable('u', rowsFrom(0, 3), { vectorColumns: ['v'] })
    const { uuid, version, location } = await plain.operations.describeTable({ id: ['t'] })
    const seal = await new SessionTokens(store, systemClock, false).sealing()
    const { form, ...content } = {
      form: unitForm,
      id: ['t'],
      uuid: uuid!,
      location: location!.slice(location!.indexOf('tables/')),
      version: version!,
      request: JSON.stringify(near),
      now: 0,
      query: { search: 'vector', unit: 0 },
    } as const
    const read = (id: string, token: string) => nodes.all[0]!.operations.readTableSlice({ id: [id], token })
    const token = seal({ form, ...content })
    await table.add(rowsFrom(3000, 1))
    expect((await read('t', token)).version).toBe(version)
    expect(await failure(read('u', token))).toMatchObject({
      message: expect.stringContaining('the token is for table'),
    })
    expect(await failure(read('t', seal({ form: 0, ...content })))).toMatchObject({
      message: `the sub-query has the form 0, but this node reads only the form ${unitForm}`,
    })
    expect(await failure(read('t', `${token.slice(0, -1)}${token.endsWith('A') ? 'Q' : 'A'}`))).toMatchObject(
      {
        code: 13,
      },
    )
    const close = plain.operations.closeTableReadSession({ id: ['t'], session: token })
    expect(await failure(close)).toMatchObject({ message: expect.stringContaining('belongs to a sub-query') })
  })

  test('explain says why a search is not spread', async () => {
    const nodes = await open(2)
    const explained = async (server: number, request: QueryRequest) => {
      const client = connectHttp(nodes.servers[server]!.url)
      const { id: _, ...query } = { id: [], ...request }
      const plan = await client.operations.explainTableQueryPlan({ id: ['t'], query })
      await client.close()
      return (plan as unknown as string).split('\n').at(-1)
    }
    const match = (more: object) => ({
      ...text,
      full_text_query: { structured_query: { query: { match: { terms: 'wheat', column: 't', ...more } } } },
    })
    const reasons: [QueryRequest, string][] = [
      [near, 'vector search: spread over nodes in'],
      [
        { ...near, vector: { multi_vector: [near.vector!.single_vector!, near.vector!.single_vector!] } },
        'it has several query vectors',
      ],
      [match({ fuzziness: 1 }), 'fuzzy words and prefixes need the terms of all segments'],
      [match({ prefix: true }), 'fuzzy words and prefixes need the terms of all segments'],
      [{ ...near, k: 20_000 }, 'it needs more than 10000 rows'],
      [{ ...near, differs_from: 1 }, 'it compares two versions'],
    ]
    for (const [request, reason] of reasons) expect(await explained(0, request)).toContain(reason)
    const quiet = await serve(nodes.all[1]!, { port: 0, balancer: { url: nodes.proxy.url } })
    nodes.servers.push(quiet)
    expect(await explained(2, near)).toMatch(/alone, because about .+ ms of work are less than 20 ms/)
    nodes.proxy.sent.length = 0
    const client = connectHttp(quiet.url)
    await client.operations.queryTable({ id: ['t'], ...near })
    await client.close()
    expect(nodes.proxy.sent).toEqual([])
  })
})
