import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Arena, openArena, Places } from '../../src/kernels/arena.js'
import { type Entry, Graph, graphSizes, levelsOf, type NodeKind } from '../../src/kernels/graph.js'

interface Options {
  readonly kind: NodeKind
  readonly m?: number
  readonly width?: number
  readonly efMax?: number
  readonly plain?: boolean
  /** Each of the graphs that share the rows has those whose number it is modulo this. */
  readonly graphs?: number
}

interface Built {
  readonly graph: Graph
  readonly arena: Arena
  readonly entries: Entry[]
  /** Address and bytes of everything that is stored. */
  readonly stored: readonly [number, number]
  readonly distance: (row: number, query: ArrayLike<number>) => number
  ask(query: ArrayLike<number>): void
}

/** Vectors of `dim` elements: whole numbers below 256. */
function build(
  vectors: readonly ArrayLike<number>[],
  dim: number,
  { kind, m = 8, width = 60, efMax = 128, plain = false, graphs = 1 }: Options,
): Built {
  const rows = vectors.length
  const element = kind === 'f32' ? 4 : 1
  const stride = kind === 'f32' ? Math.ceil(dim / 16) * 64 : Math.ceil(dim / 16) * 16
  const shape = { kind, stride, rows, m, levels: levelsOf(0, rows, m), efMax }
  const sizes = graphSizes(shape)
  const places = new Places()
  const at = {
    vectors: places.take(rows * stride),
    links: places.take(sizes.links),
    upperLinks: places.take(sizes.upperLinks),
    upperStarts: places.take(sizes.upperStarts),
    scratch: places.take(sizes.scratch),
  }
  const arena = openArena(places.end, plain)
  const Elements = kind === 'f32' ? Float32Array : Uint8Array
  vectors.forEach((vector, row) => {
    new Elements(arena.buffer, at.vectors + row * stride, dim).set(vector)
  })
  const graph = new Graph(arena, shape, at, true)
  const entries = Array.from({ length: graphs }, (_, number) => {
    const entry = { row: -1, level: 0 }
    if (graphs === 1) graph.insert(0, rows, entry, width)
    else {
      const own = Uint32Array.from({ length: rows }, (_, row) => row).filter(row => row % graphs === number)
      graph.insertRows(own, entry, width)
    }
    return entry
  })
  return {
    graph,
    arena,
    entries,
    stored: [at.vectors, at.scratch - at.vectors],
    distance: (row, query) => {
      let sum = 0
      for (let i = 0; i < dim; i++) sum += (vectors[row]![i]! - query[i]!) ** 2
      return sum
    },
    ask: query =>
      new Elements(
        graph.query.buffer as ArrayBuffer,
        graph.query.byteOffset,
        graph.query.length / element,
      ).set(query),
  }
}

/** Allows some rows; returns all nodes that stand for them. */
function allow({ graph, entries }: Pick<Built, 'graph' | 'entries'>, isAllowed: (row: number) => boolean) {
  const { nodeOf } = graph.nodes(entries)
  const nodes = new Set<number>()
  for (const bits of [graph.allowed, graph.allowedNodes]) bits.fill(0)
  nodeOf.forEach((node, row) => {
    if (!isAllowed(row)) return
    graph.allowed[row >> 5]! |= 1 << (row & 31)
    graph.allowedNodes[node >> 5]! |= 1 << (node & 31)
    nodes.add(node)
  })
  return Uint32Array.from(nodes)
}

function spread(nodes: Uint32Array): Uint32Array {
  const count = Math.min(nodes.length, 4 * Math.sqrt(nodes.length))
  return Uint32Array.from({ length: count }, (_, i) => nodes[Math.floor((i * nodes.length) / count)]!)
}

/** The share of the `k` nearest that walks find, by distance: any of rows as far as each other will do. */
function recall(
  { graph, entries, distance, ask }: Built,
  rows: number,
  queries: readonly ArrayLike<number>[],
  ef: number,
  k: number,
  isAllowed?: (row: number) => boolean,
): number {
  let hits = 0
  let wanted = 0
  // As many as a walk of a segment begins from.
  const seeds = isAllowed && spread(allow({ graph, entries }, isAllowed))
  for (const query of queries) {
    ask(query)
    const { found } = seeds ? graph.walk([], ef, k, true, seeds) : graph.walk(entries, ef, k, false)
    const given = [...graph.rows(found)]
    expect(new Set(given).size).toBe(found)
    const all = Array.from({ length: rows }, (_, row) => row).filter(isAllowed ?? (() => true))
    const nearest = all.map(row => distance(row, query)).sort((a, b) => a - b)
    const bound = nearest[Math.min(k, nearest.length) - 1]!
    if (isAllowed) expect(given.every(isAllowed)).toBe(true)
    expect([...graph.distances(found)]).toEqual(given.map(row => distance(row, query)))
    hits += given.filter(row => distance(row, query) <= bound).length
    wanted += Math.min(k, nearest.length)
  }
  return hits / wanted
}

/** The same numbers with every run. */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

function uniform(count: number, dim: number, seed: number): Uint8Array[] {
  const draw = numbers(seed)
  return Array.from({ length: count }, () => Uint8Array.from({ length: dim }, () => draw() * 256))
}

/** `spread`: how far elements are from those of their centre, at most. */
function clustered(count: number, dim: number, centres: number, spread: number, seed: number): Uint8Array[] {
  const draw = numbers(seed)
  const middle = uniform(centres, dim, 3)
  return Array.from({ length: count }, () => {
    const centre = middle[Math.floor(draw() * centres)]!
    return Uint8Array.from(centre, x => Math.max(0, Math.min(255, x + (draw() * 2 - 1) * spread)))
  })
}

const few = fc.record({
  kind: fc.constantFrom<NodeKind>('f32', 'u8'),
  dim: fc.integer({ min: 1, max: 40 }),
  m: fc.integer({ min: 2, max: 6 }),
  width: fc.integer({ min: 1, max: 12 }),
  graphs: fc.integer({ min: 1, max: 3 }),
  /** Few values make many rows equal. */
  values: fc.constantFrom(2, 4, 256),
  rows: fc.integer({ min: 0, max: 120 }),
  seed: fc.nat(),
})

const rule = { factor: 1.5, more: 3, watched: 5, late: 1, least: 4, most: 60 }

test('the kernel and its reference implementation write the same bytes and find the same rows', () => {
  fc.assert(
    fc.property(few, ({ kind, dim, m, width, graphs, values, rows, seed }) => {
      const draw = numbers(seed)
      const vectors = Array.from({ length: rows + 1 }, () =>
        Float32Array.from({ length: dim }, () =>
          kind === 'u8' ? Math.floor(draw() * values) : Math.floor(draw() * values) / 7,
        ),
      )
      const query = vectors.pop()!
      const options = { kind, m, width, graphs, efMax: 16 }
      const [simd, plain] = [build(vectors, dim, options), build(vectors, dim, { ...options, plain: true })]
      expect(plain.entries).toEqual(simd.entries)
      expect(Buffer.compare(stored(plain), stored(simd))).toBe(0)
      const walks = [
        [false, undefined],
        [true, undefined],
        [false, rule],
        [true, rule],
      ] as const
      for (const [filtered, until] of walks) {
        const [one, other] = [simd, plain].map(built => {
          const nodes = allow(built, row => row % 3 === 0)
          built.ask(query)
          const seeds = nodes.filter((_, i) => i % 5 === 0)
          const walked = built.graph.walk(built.entries, 9, 7, filtered, seeds, until)
          return {
            walked,
            rows: [...built.graph.rows(walked.found)],
            distances: [...built.graph.distances(walked.found)],
          }
        })
        expect(other).toEqual(one)
      }
    }),
    { numRuns: 80 },
  )
})

function stored({ arena, stored: [at, bytes] }: Built): Uint8Array {
  return new Uint8Array(arena.buffer, at, bytes)
}

test('a search that keeps as many candidates as there are rows finds all, in order', () => {
  fc.assert(
    fc.property(few, ({ dim, m, graphs, values, rows, seed }) => {
      const draw = numbers(seed)
      const vectors = Array.from({ length: rows }, () =>
        Uint8Array.from({ length: dim }, () => draw() * values),
      )
      const built = build(vectors, dim, { kind: 'u8', m: m + 2, graphs })
      const query = Uint8Array.from({ length: dim }, () => draw() * values)
      built.ask(query)
      const all = vectors.map((_, row) => row)
      for (const isAllowed of [() => true, (row: number) => row % 4 === 1]) {
        const nodes = allow(built, isAllowed)
        const { found } = built.graph.walk([], 128, 128, true, nodes)
        expect([...built.graph.rows(found)]).toEqual(
          all.filter(isAllowed).sort((a, b) => built.distance(a, query) - built.distance(b, query) || a - b),
        )
      }
    }),
    { numRuns: 40 },
  )
})

test('a search finds nearly all of the nearest rows', () => {
  const rows = uniform(3000, 16, 1)
  for (const kind of ['f32', 'u8'] as const) {
    const built = build(rows, 16, { kind })
    expect(recall(built, rows.length, uniform(20, 16, 2), 64, 10)).toBeGreaterThan(0.97)
  }
})

test('a search finds allowed rows, few or many', () => {
  const rows = uniform(2500, 16, 1)
  const built = build(rows, 16, { kind: 'u8' })
  const queries = uniform(15, 16, 2)
  for (const every of [2, 5, 10])
    expect(recall(built, rows.length, queries, 64, 10, row => row % every === 1)).toBeGreaterThan(0.94)
})

test('a search gets from one cluster of vectors to another far away', () => {
  for (const spread of [3, 30]) {
    const rows = clustered(2500, 32, 50, spread, 1)
    const built = build(rows, 32, { kind: 'u8' })
    expect(recall(built, rows.length, clustered(30, 32, 50, spread, 2), 64, 10)).toBeGreaterThan(0.97)
  }
})

test('rows that are all equal, or one of a few, hide no row', () => {
  const draw = numbers(5)
  for (const distinct of [1, 3, 200]) {
    const vectors = uniform(distinct, 16, 7)
    const rows = Array.from({ length: 5000 }, () => vectors[Math.floor(draw() * distinct)]!)
    for (const kind of ['f32', 'u8'] as const) {
      const built = build(rows, 16, { kind })
      expect(recall(built, rows.length, [...vectors.slice(0, 8), ...uniform(8, 16, 8)], 64, 50)).toBe(1)
      expect(recall(built, rows.length, vectors.slice(0, 8), 64, 20, row => row % 9 === 1)).toBe(1)
    }
  }
})

test('codes are searched by a table of distances, along edges built from vectors', () => {
  const parts = 6
  const rows = uniform(1500, parts, 1)
  const made = build(rows, parts, { kind: 'u8' })
  for (const plain of [false, true]) {
    const shape = {
      kind: 'pq' as const,
      stride: parts,
      rows: rows.length,
      m: 8,
      levels: levelsOf(0, rows.length, 8),
      efMax: 64,
    }
    const sizes = graphSizes(shape)
    const places = new Places()
    const codes = places.take(rows.length * parts)
    const sections = stored(made).subarray(rows.length * 16)
    const links = places.take(sections.length)
    const scratch = places.take(sizes.scratch)
    const arena = openArena(places.end, plain)
    new Uint8Array(arena.buffer, links).set(sections)
    rows.forEach((row, number) => {
      new Uint8Array(arena.buffer).set(row, codes + number * parts)
    })
    const upperLinks = links + Math.ceil(sizes.links / 64) * 64
    const upperStarts = upperLinks + Math.ceil(sizes.upperLinks / 64) * 64
    const graph = new Graph(arena, shape, { vectors: codes, links, upperLinks, upperStarts, scratch }, false)
    const table = new Float32Array(graph.query.buffer, graph.query.byteOffset, parts * 256)
    const codedBy = (query: ArrayLike<number>) => {
      for (let i = 0; i < table.length; i++) table[i] = (query[i >> 8]! - (i & 255)) ** 2
    }
    const { entries, distance } = made
    expect(
      recall({ ...made, graph, ask: codedBy, entries, distance }, rows.length, uniform(10, parts, 2), 50, 10),
    ).toBeGreaterThan(0.97)
    expect(() => graph.insert(0, 1, { row: -1, level: 0 }, 10)).toThrow('rows of codes cannot be inserted')
  }
})

test('a search drops the farther half of its open candidates, and continues', () => {
  const rows = uniform(17_000, 4, 1)
  const everywhere = rows.map((_, row) => ({ row, level: 0 }))
  const found = [false, true].map(plain => {
    const built = build(rows, 4, { kind: 'u8', m: 4, width: 8, efMax: 8, plain })
    const { graph } = built
    allow(built, row => row % 1000 === 0)
    built.ask(rows[5]!)
    return [...graph.rows(graph.walk(everywhere, 8, 8, true).found)]
  })
  expect(found[0]!.length).toBe(8)
  expect(found[1]).toEqual(found[0])
})

test('visited marks stay valid when their numbers start again', () => {
  const rows = uniform(50, 4, 1)
  const built = build(rows, 4, { kind: 'u8' })
  built.ask(rows[7]!)
  for (let i = 0; i < 70_000; i++)
    if (built.graph.walk(built.entries, 4, 1, false).found !== 1) expect.unreachable()
  expect([...built.graph.rows(1)]).toEqual([7])
})

test('more candidates than the maximum are an error of the caller', () => {
  const { graph } = build(uniform(1, 1, 1), 1, { kind: 'u8', width: 8, efMax: 8 })
  expect(() => graph.walk([], 9, 1, false)).toThrow('must be from 1 to')
  expect(() => graph.walk([], 4, 5, false)).toThrow('k is 5, more than the 4')
  expect(() => graph.insert(0, 1, { row: -1, level: 0 }, 9)).toThrow('must be from 1 to')
})

test('levels shrink by m, and depend only on the row', () => {
  const levels = levelsOf(0, 100_000, 16)
  const above = (level: number) => levels.filter(drawn => drawn >= level).length
  expect(above(1)).toBeCloseTo(100_000 / 16, -3)
  expect(above(2)).toBeCloseTo(100_000 / 256, -2)
  expect([...levelsOf(500, 1000, 16)]).toEqual([...levels.subarray(500, 1500)])
})
