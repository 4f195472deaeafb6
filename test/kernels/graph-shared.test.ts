import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { seededRandom } from '../../bench/random.js'
import { graphPlaces } from '../../src/indexes/vector/graph-segment.js'
import { type Crew, insertByThreads, openCrew, Tally } from '../../src/indexes/vector/insert-threads.js'
import { attachArena, type GraphArena, openArena } from '../../src/kernels/arena.js'
import { type Entry, Graph, type GraphPlaces, type GraphShape, levelsOf } from '../../src/kernels/graph.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { built } from '../adapters/built.js'

const workerFile = pathToFileURL(built('src/indexes/vector/insert-worker.ts'))
const noEntry = (): Entry => ({ row: -1, level: 0 })
const dim = 16

interface Laid {
  readonly shape: GraphShape
  readonly places: GraphPlaces
  readonly arena: GraphArena
  readonly graph: Graph
  readonly crew: Crew | null
  readonly rows: Uint32Array
}

/** `threads` 0: an arena of this thread's own. */
function lay(vectors: readonly Uint8Array[], m: number, threads: number, graphs = 1): Laid {
  const rows = vectors.length
  const shape = { kind: 'u8', stride: dim, rows, m, levels: levelsOf(0, rows, m), efMax: 128 } as const
  const places = graphPlaces(shape)
  const crew = threads > 0 ? openCrew(shape, places.end, graphs, threads)! : null
  const arena = crew?.arena ?? openArena(places.end)
  for (const [row, vector] of vectors.entries())
    new Uint8Array(arena.buffer, places.vectors + row * dim, dim).set(vector)
  const graph = new Graph(arena, shape, places, true, crew?.shared)
  return { shape, places, arena, graph, crew, rows: Uint32Array.from({ length: rows }, (_, row) => row) }
}

function random(count: number, values: number, seed: number): Uint8Array[] {
  const draw = seededRandom(seed)
  return Array.from({ length: count }, () => Uint8Array.from({ length: dim }, () => draw() * values))
}

/** The graph of a thread of its own, as it would see the same memory. */
function besides({ crew, shape, places }: Laid, thread: number): Graph {
  const { arena, scratches, shared } = crew!
  const own = { ...places, scratch: scratches[thread]! }
  return new Graph(attachArena(arena.memory), shape, own, false, shared)
}

async function insertAll(
  laid: Laid,
  entries: Entry[],
  parts: readonly Uint32Array[],
  width: number,
  file = workerFile,
) {
  const { crew, shape, places, graph } = laid
  let told = 0
  const onInserted = (rows: number) => {
    told += rows
  }
  expect(
    await insertByThreads(
      crew!,
      { shape, places, entries },
      { partitions: parts, efConstruction: width, onInserted, file },
      new Pacer(),
    ),
  ).toBe(true)
  expect(told).toBe(parts.reduce((sum, { length }) => sum + length, 0))
  for (const rows of parts) graph.join(rows)
}

function stored({ arena, places }: Laid): Uint8Array {
  return new Uint8Array(arena.buffer, places.links, places.scratch - places.links)
}

interface Node {
  readonly level: number
  readonly lists: readonly Uint32Array[]
  readonly twins: readonly number[]
}

/** Every node with its edges and twins, once it is shown that no list has what it may not have. */
function nodesOf({ arena, places, shape, rows }: Laid, group: (row: number) => number = () => 0) {
  const { m, levels } = shape
  const listOf = (row: number, level: number) => {
    const start = new Uint32Array(arena.buffer, places.upperStarts + 4 * row, 1)[0]!
    const at =
      level === 0
        ? places.links + row * 4 * (1 + 2 * m)
        : places.upperLinks + 4 * (start + (level - 1) * (1 + m))
    return new Uint32Array(arena.buffer, at, 1 + (level === 0 ? 2 * m : m))
  }
  const nodes = new Map<number, Node>()
  const twinsOf = new Map<number, number>()
  for (const row of rows) {
    const [head, first] = listOf(row, 0) as unknown as [number, number]
    const twins: number[] = []
    if (head >>> 31 === 1) {
      for (let twin = first; ; ) {
        if (twinsOf.has(twin)) expect.unreachable(`${twin} is a twin twice`)
        twinsOf.set(twin, row)
        twins.push(twin)
        const next = listOf(twin, 0)[1]!
        if (next === twin) break
        twin = next
      }
      expect(listOf(first, 0)[2]).toBe(twins.at(-1))
    }
    const lists = Array.from({ length: levels[row]! + 1 }, (_, level) => {
      const list = listOf(row, level)
      const end = 1 + (list[0]! & 0xffff)
      const edges = list.subarray(level === 0 ? 1 + (head >>> 31) : 1, end)
      if (end > list.length || new Set(edges).size !== edges.length)
        expect.unreachable(`${row} has edges ${edges} on level ${level}`)
      for (const to of edges)
        if (to === row || group(to) !== group(row) || levels[to]! < level)
          expect.unreachable(`${row} -> ${to}`)
      return edges
    })
    nodes.set(row, { level: levels[row]!, lists, twins })
  }
  for (const twin of twinsOf.keys()) {
    if (nodes.get(twin)!.lists.some(({ length }) => length > 0)) expect.unreachable(`twin ${twin} has edges`)
    nodes.delete(twin)
  }
  for (const { lists } of nodes.values())
    for (const list of lists)
      for (const to of list) if (!nodes.has(to)) expect.unreachable(`an edge to twin ${to}`)
  return nodes
}

/** Nodes that no walk from the entry could come to. */
function unreachable(nodes: ReadonlyMap<number, Node>, entry: Entry): number {
  const seen = new Set([entry.row])
  for (const row of seen) for (const list of nodes.get(row)!.lists) for (const to of list) seen.add(to)
  return nodes.size - seen.size
}

function distance(a: Uint8Array, b: Uint8Array): number {
  let sum = 0
  for (let i = 0; i < dim; i++) sum += (a[i]! - b[i]!) ** 2
  return sum
}

function recall({ graph, rows }: Laid, vectors: readonly Uint8Array[], entry: Entry, ef: number): number {
  let hits = 0
  for (const query of random(40, 256, 99)) {
    graph.query.set(query)
    const { found } = graph.walk([entry], ef, 10, false)
    const bound = Float64Array.from(rows, row => distance(vectors[row]!, query)).sort()[9]!
    hits += [...graph.rows(found)].filter(row => distance(vectors[row]!, query) <= bound).length
  }
  return hits / 400
}

test('one thread builds in shared memory what it builds in its own', () => {
  for (const values of [256, 2]) {
    const vectors = random(1500, values, 1)
    const [own, shared] = [lay(vectors, 5, 0), lay(vectors, 5, 1)]
    const entries = [own, shared].map(({ graph, rows }) => {
      const entry = noEntry()
      // Twins are joined after each call.
      for (const row of rows) graph.insert(row, 1, entry, 30)
      return entry
    })
    expect(entries[1]).toEqual(entries[0])
    expect(Buffer.compare(stored(shared), stored(own))).toBe(0)
  }
})

test('many threads reach the recall of one, and as many rows are reachable', async () => {
  const vectors = random(2500, 256, 1)
  const [one, several] = [lay(vectors, 8, 0), lay(vectors, 8, 3)]
  const [alone, common] = [noEntry(), noEntry()]
  one.graph.insertRows(one.rows, alone, 60)
  await insertAll(several, [common], [several.rows], 60)
  expect(common.level).toBe(alone.level)
  expect(recall(several, vectors, common, 64)).toBeGreaterThan(recall(one, vectors, alone, 64) - 0.02)
  expect(unreachable(nodesOf(several), common)).toBeLessThanOrEqual(unreachable(nodesOf(one), alone) + 2)
})

/** Threads that begin together, once all have loaded what they need. */
const together = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { workerData } from 'node:worker_threads'
    const { tally, thread } = workerData
    await import(${JSON.stringify(new URL('insert-threads.js', workerFile).href)})
    Atomics.store(tally, ${Tally.begun} + thread, 1)
    while (tally.subarray(${Tally.begun}).some((_, i, all) => Atomics.load(all, i) === 0));
    await import(${JSON.stringify(workerFile.href)})
  `)}`,
)

test('no edge is lost while all threads add to the list of one row', async () => {
  // Corners of a cube are nearer to its middle than to each other; and there is room for all edges, so both rows of one have it.
  const corners = random(2000, 2, 7).map(vector => vector.map(bit => bit * 255))
  const laid = lay([new Uint8Array(dim).fill(127), ...corners], 1001, 4)
  const entry = noEntry()
  await insertAll(laid, [entry], [laid.rows], 4, together)
  const nodes = nodesOf(laid)
  for (const [row, { lists }] of nodes)
    for (const [level, list] of lists.entries())
      for (const to of list)
        if (!nodes.get(to)!.lists[level]!.includes(row)) expect.unreachable(`${to} lost its edge to ${row}`)
  expect(nodes.get(0)!.lists[0]!.length).toBeGreaterThan(100)
})

test('lists stay intact while all threads work on the same few rows', async () => {
  // The fewer edges, the more often lists are full and chosen anew.
  for (const [values, m] of [
    [3, 2],
    [256, 4],
  ] as const) {
    const laid = lay(random(1500, values, 2), m, 4)
    const entry = noEntry()
    await insertAll(laid, [entry], [laid.rows], 16)
    const nodes = nodesOf(laid)
    expect([...nodes.values()].reduce((sum, { twins }) => sum + 1 + twins.length, 0)).toBe(1500)
    expect(nodes.get(entry.row)!.level).toBe(Math.max(...laid.shape.levels))
    for (const [row, { lists }] of nodes) if (lists[0]!.length === 0) expect.unreachable(`${row} has no edge`)
  }
})

test('equal rows have at most one node per thread', async () => {
  const threads = 4
  for (const distinct of [1, 20]) {
    const some = random(distinct, 256, 3)
    const vectors = Array.from({ length: 2000 }, (_, row) => some[row % distinct]!)
    const laid = lay(vectors, 8, threads)
    const entry = noEntry()
    await insertAll(laid, [entry], [laid.rows], 60)
    expect(nodesOf(laid).size).toBeLessThanOrEqual(distinct * threads)
    const { graph } = laid
    graph.query.set(some[0]!)
    const { found } = graph.walk([entry], 128, 100, false)
    expect([...graph.rows(found)].every(row => row % distinct === 0)).toBe(true)
    expect(found).toBe(100)
  }
})

test('graphs that share rows are independent, and rows can be appended', async () => {
  const vectors = random(2000, 4, 4)
  const laid = lay(vectors, 4, 3, 3)
  const entries = [noEntry(), noEntry(), noEntry()]
  const parts = entries.map((_, number) => laid.rows.filter(row => row % 3 === number))
  // One of them has no rows to begin with.
  await insertAll(
    laid,
    entries,
    [parts[0]!.subarray(0, 400), parts[1]!.subarray(0, 400), new Uint32Array()],
    20,
  )
  expect(entries[2]).toEqual(noEntry())
  await insertAll(laid, entries, [parts[0]!.subarray(400), parts[1]!.subarray(400), parts[2]!], 20)
  const nodes = nodesOf(laid, row => row % 3)
  expect([...nodes.values()].reduce((sum, { twins }) => sum + 1 + twins.length, 0)).toBe(2000)
  expect(entries.map(({ row }) => row % 3)).toEqual([0, 1, 2])
})

test('several searches read one memory while other threads insert', async () => {
  const vectors = random(2500, 256, 5)
  const laid = lay(vectors, 8, 2)
  const entry = noEntry()
  laid.graph.insertRows(laid.rows.subarray(0, 1000), entry, 40)
  const readers = [besides(laid, 0), besides(laid, 1)]
  const answers = readers.map(reader => {
    const queries = random(20, 256, 6)
    return queries.map(query => {
      reader.query.set(query)
      return [...reader.rows(reader.walk([entry], 50, 10, false).found)]
    })
  })
  expect(answers[1]).toEqual(answers[0])
  const more = insertAll(laid, [{ ...entry }], [laid.rows.subarray(1000)], 40)
  let walks = 0
  let isDone = false
  const done = more.finally(() => {
    isDone = true
  })
  while (!isDone) {
    laid.graph.query.set(vectors[walks % 1000]!)
    const { found } = laid.graph.walk([entry], 50, 10, false)
    const rows = laid.graph.rows(found)
    expect(new Set(rows).size).toBe(10)
    walks++
    await new Promise(resolve => setImmediate(resolve))
  }
  await done
  nodesOf(laid)
})
