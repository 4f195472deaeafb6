/** Writes and reads files of vector index segments that consist of graphs (HNSW). */
import { corrupted } from '../../errors.js'
import type { GraphArena } from '../../kernels/arena.js'
import {
  type Entry,
  Graph,
  type GraphPlaces,
  type GraphShape,
  graphSizes,
  levelsOf,
} from '../../kernels/graph.js'
import type { Pacer } from '../../primitives/pacer.js'
import {
  type Json,
  numbersOf,
  type SectionFile,
  type SegmentBytes,
  sectionFile,
  sectionOf,
} from '../sections/section-file.js'
import { type GraphEffort, GraphSegment, graphPlaces, walkMax } from './graph-segment.js'
import { type NodeCodec, type NodeCodecName, openNodeCodec } from './node-codec.js'
import type { SegmentFacts } from './segment.js'
import { partsOfLists, type SegmentHead } from './segment-head.js'
import { type SegmentMemory, unchanging } from './segment-memory.js'
import type { Space } from './space.js'

/** The parameters that determine the nodes, the edges and the partitions. */
export interface GraphPlan {
  readonly space: Space
  readonly codec: NodeCodec
  readonly m: number
  readonly efConstruction: number
  /** The centroids of the partitions, `innerDim` elements each. Empty if there is only one partition. */
  readonly centroids: Float32Array
  readonly partitions: number
}

/** A newly built graph, in its own arena. */
export interface BuiltGraph {
  readonly arena: GraphArena
  readonly shape: GraphShape
  readonly places: GraphPlaces
  readonly graph: Graph
  /** The entry point of each partition. */
  readonly entries: Entry[]
}

interface GraphHead extends SegmentHead {
  readonly shape: 'graph'
  readonly codec: NodeCodecName
  readonly m: number
  readonly efConstruction: number
  readonly entries: readonly Entry[]
  readonly effort: GraphEffort
}

/** Return the shape of a graph over `rows` rows. The levels of a row depend only on its ordinal. */
export function shapeOf({ codec, m, efConstruction }: GraphPlan, rows: number): GraphShape {
  return {
    kind: codec.kind,
    stride: codec.stride,
    rows,
    m,
    levels: levelsOf(0, rows, m),
    efMax: Math.max(walkMax, efConstruction),
  }
}

/** The content of a graph's file, except the parameters of the graph, its nodes and its edges. */
interface GraphTraits {
  readonly apart: Uint32Array
  readonly facts: SegmentFacts
  readonly effort: GraphEffort
  /** If table rows hold lists of vectors: for each table row, the ordinal after its last vector. */
  readonly ends: Uint32Array | undefined
}

/** Return the bytes of the file of a built graph. */
export function graphFile(
  { space, codec, m, efConstruction, centroids }: GraphPlan,
  { arena: { buffer }, shape, places, entries }: BuiltGraph,
  { apart, facts, effort, ends }: GraphTraits,
  pacer: Pacer,
): SegmentBytes {
  const { rows } = shape
  const more = partsOfLists(ends)
  const head: GraphHead = {
    shape: 'graph',
    codec: codec.name,
    rows,
    ...more.head,
    space,
    facts,
    m,
    efConstruction,
    entries,
    effort,
  }
  const sections = [
    { name: 'codec', bytes: codec.parameters },
    {
      name: 'centroids',
      bytes: new Uint8Array(centroids.buffer, centroids.byteOffset, centroids.byteLength),
    },
    { name: 'apart', bytes: new Uint8Array(apart.buffer, apart.byteOffset, apart.byteLength) },
    ...sectionsIn(shape, places).map(({ name, at, bytes }) => ({
      name,
      bytes: new Uint8Array(buffer, at, bytes),
    })),
    ...more.sections,
  ]
  return sectionFile(head as unknown as Json, sections, pacer)
}

interface Stored {
  readonly name: string
  readonly at: number
  readonly bytes: number
}

/** Return the sections whose bytes are equal in the file and in the arena, with their addresses in the arena. */
function sectionsIn(shape: GraphShape, places: GraphPlaces): readonly Stored[] {
  const nodes = { name: 'nodes', at: places.vectors, bytes: shape.rows * shape.stride }
  return [nodes, ...linksIn(shape, places)]
}

/** Return the sections with the edges, with their addresses in the arena. */
export function linksIn(shape: GraphShape, places: GraphPlaces): readonly Stored[] {
  const { links, upperLinks, upperStarts } = graphSizes(shape)
  return [
    { name: 'links', at: places.links, bytes: links },
    { name: 'upper', at: places.upperLinks, bytes: upperLinks },
    { name: 'starts', at: places.upperStarts, bytes: upperStarts },
  ]
}

/** The content of a segment of graphs, except its nodes and edges. */
export interface GraphRecord {
  readonly plan: GraphPlan
  readonly rows: number
  readonly entries: readonly Entry[]
  readonly apart: Uint32Array
  readonly facts: SegmentFacts
  readonly effort: GraphEffort
}

/** Read everything of a segment of graphs except nodes and edges. Throws Internal if the file is damaged. */
export async function readGraphRecord(file: SectionFile): Promise<GraphRecord> {
  const head = file.footer.head as unknown as GraphHead
  const { space, codec: name, m, efConstruction, entries, rows, facts, effort } = head
  const parameters = sectionOf(file, 'codec')
  const codecBytes = new Uint8Array(parameters.bytes)
  await file.readInto(parameters, codecBytes)
  const codec = openNodeCodec(name, space.innerDim, codecBytes)
  const apart = await numbersOf(file, 'apart')
  const partitions = entries.length
  const centroids = new Float32Array(partitions > 1 ? partitions * space.innerDim : 0)
  const bytes = new Uint8Array(centroids.buffer)
  await file.readInto(sectionOf(file, 'centroids', bytes.length), bytes)
  if (entries.some(({ row }) => row >= rows))
    throw corrupted(`${file.name} has ${rows} rows, but an entry point is not among them`)
  const plan = { space, codec, m, efConstruction, centroids, partitions }
  return { plan, rows, entries, apart, facts, effort }
}

/**
 * Read nodes and edges into an arena with space for all rows of the segment. Throws Internal if the file is damaged.
 */
export async function readGraph(
  file: SectionFile,
  { plan, rows }: GraphRecord,
  buffer: ArrayBufferLike,
  places: GraphPlaces,
): Promise<void> {
  for (const { name, at, bytes } of sectionsIn(shapeOf(plan, rows), places)) {
    await file.readInto(sectionOf(file, name, bytes), new Uint8Array(buffer, at, bytes))
  }
}

/** Open a segment for searches. Throws Internal if the file is damaged. */
export async function openGraph(file: SectionFile, memory: SegmentMemory): Promise<GraphSegment> {
  const record = await readGraphRecord(file)
  const { plan, rows, entries, apart, facts, effort } = record
  const shape = shapeOf(plan, rows)
  const { workerCount, workerIndex } = memory
  const places = graphPlaces(shape, workerCount, workerIndex)
  const arena = await memory.open(places.end, buffer => readGraph(file, record, buffer, places))
  const graph = new Graph(arena, shape, places, false, workerCount > 1 ? unchanging : null)
  const { space, codec, centroids } = plan
  return new GraphSegment({ rows, space, graph, arena, codec, entries, centroids, apart, facts, effort })
}
