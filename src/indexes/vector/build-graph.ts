/** Builds and extends vector segments whose partitions are HNSW graphs. */
import { assert } from '../../errors.js'
import { openArena } from '../../kernels/arena.js'
import { trainCentroids } from '../../kernels/clusters.js'
import { type Entry, Graph } from '../../kernels/graph.js'
import { Bitset } from '../../primitives/bitset.js'
import type { Pacer } from '../../primitives/pacer.js'
import type { SectionFile, SegmentBytes } from '../sections/section-file.js'
import { factsOf, type Trial, tune } from './calibrate.js'
import { Divider } from './divider.js'
import { blurs, type GraphEffort, GraphSegment, graphPlaces, type WalkEffort } from './graph-segment.js'
import type { VectorInput } from './input.js'
import { type Crew, insertByThreads, openCrew } from './insert-threads.js'
import { type NodeCodec, type NodeCodecName, trainNodeCodec } from './node-codec.js'
import { spreadOf } from './radius.js'
import { type Blur, blursFrom, enoughWork } from './saturation.js'
import type { SegmentFacts } from './segment.js'
import {
  type BuiltGraph,
  type GraphPlan,
  type GraphRecord,
  graphFile,
  linksIn,
  readGraph,
  readGraphRecord,
  shapeOf,
} from './stored-graph.js'
import { placedRows, type Survey, someOf } from './survey.js'
import { type Question, questionsOf, Truth, truthDepth } from './truth.js'

/** Number of rows processed between two turns of the event loop. */
const stepRows = 2048
/** Target duration of one kernel call, in milliseconds. */
const callMs = 4
/** Minimum number of rows for which several threads insert. */
const threadedRows = 20_000
/**
 * Minimum number of rows of one insertion by threads. The calling thread inserts fewer rows itself, because starting
 * threads takes longer.
 */
const leastThreaded = 4096

/** A callback that gets the number of rows that a phase has just finished. */
type OnRows = (rows: number) => void

interface GraphOptions {
  /** Maximum number of threads that insert rows. */
  readonly threads: number
  readonly onRead: OnRows
  readonly onInserted: OnRows
}

/** Train centroids and codec on a sample of the rows. */
export async function planGraph(survey: Survey, pacer: Pacer): Promise<GraphPlan> {
  const { space, settings } = survey
  const { codec: name, partitions, m, efConstruction } = settings
  assert(name !== 'binary' && name !== 'bits', `graphs do not support the codec ${name}`)
  const codec = await nodeCodec(name, survey, pacer)
  const plan = { space, codec, m, efConstruction }
  if (partitions === 1) return { ...plan, partitions, centroids: new Float32Array(0) }
  const some = await someOf(survey, settings.centroidRows, pacer)
  const { innerDim: dim } = space
  const trained = await trainCentroids(
    some,
    some.length / dim,
    dim,
    partitions,
    settings.maxIterations,
    pacer,
  )
  const { count, values } = trained
  return { ...plan, partitions: count, centroids: count > 1 ? values : new Float32Array(0) }
}

async function nodeCodec(name: NodeCodecName, survey: Survey, pacer: Pacer): Promise<NodeCodec> {
  const { codecRows, maxIterations, subVectors, bits } = survey.settings
  const { innerDim: dim, metric } = survey.space
  const some = await someOf(survey, codecRows, pacer)
  const settings = { name, dim, lastIsRest: metric === 'dot', subVectors, bits, maxIterations }
  return trainNodeCodec(settings, some, some.length / dim, pacer)
}

/** Build a segment over the rows of `input`, and return the bytes of its file. */
export async function newGraph(
  plan: GraphPlan,
  input: VectorInput,
  survey: Survey,
  pacer: Pacer,
  { threads, onRead, onInserted }: GraphOptions,
): Promise<SegmentBytes> {
  const tuning = await questionsFor(plan, input.rows, survey, pacer)
  const { truth } = tuning
  // PQ codes are too inexact for choosing edges. So build the graph over scalar codes, and then copy its edges.
  const isCoarse = plan.codec.kind === 'pq'
  const building = isCoarse ? { ...plan, codec: await nodeCodec('scalar', survey, pacer) } : plan
  const built = await emptyGraph(building, input.rows, input.rows < threadedRows ? 1 : threads, pacer)
  const { partitionOf, apart } = await readNodes(building, input, built, tuning, pacer, onRead)
  const result = isCoarse
    ? { ...(await emptyGraph(plan, input.rows, 1, pacer)), entries: built.entries }
    : built
  if (isCoarse) await readNodes(plan, input, result, null, pacer, () => {})
  // Insert the rows from which questions were made only after tuning, because during tuning no edge may lead to them.
  const leftOut = new Uint32Array(input.rows).fill(noPartition)
  for (const row of truth.rows) {
    leftOut[row] = partitionOf[row]!
    partitionOf[row] = noPartition
    tuning.cellOf[row] = noPartition
  }
  const first = await rowsByPartition(partitionOf, 0, building.partitions, pacer)
  await insert(building, built, first, pacer, onInserted)
  if (isCoarse) copyLinks(built, result)
  const vectors = survey.placed + apart.length
  const spread = await spreadOf(survey, pacer)
  const { facts, effort } = await tuned(plan, result, apart, { vectors, ...spread }, tuning, pacer)
  const last = await rowsByPartition(leftOut, 0, building.partitions, pacer)
  await insert(building, built, last, pacer, onInserted)
  if (isCoarse) copyLinks(built, result)
  return graphFile(plan, result, { apart, facts, effort, ends: input.ends }, pacer)
}

/** The questions (sampled queries, truth.ts) that tune a graph during its build, and the cells for their filters. */
interface TuningQuestions {
  readonly truth: Truth
  /** Assigns rows to cells. The filter of a question excludes the rows of some cells. */
  readonly cells: Divider
  /**
   * The cell of each row. It is `noPartition` for rows that are not nodes, and for rows from which questions were made.
   */
  readonly cellOf: Uint32Array
}

/** Maximum number of cells. The filter of a question excludes a tenth of the cells (truth.ts). */
const cellsMax = 40
/** Number of sampled rows per cell. */
const cellRows = 50

async function questionsFor(
  { space }: GraphPlan,
  rows: number,
  survey: Survey,
  pacer: Pacer,
): Promise<TuningQuestions> {
  const { innerDim } = space
  const some = await someOf(survey, cellsMax * cellRows, pacer)
  const sampled = some.length / innerDim
  const count = Math.max(1, Math.min(cellsMax, Math.floor(sampled / cellRows)))
  const cells = await trainCentroids(some, sampled, innerDim, count, survey.settings.maxIterations, pacer)
  const questions = questionsOf(survey.sample, survey.sampled, space, cells)
  return {
    truth: new Truth(questions, innerDim),
    cells: await Divider.open(cells, pacer),
    cellOf: new Uint32Array(rows).fill(noPartition),
  }
}

/** Copy all edges to a graph over the same rows with another codec. */
function copyLinks(from: BuiltGraph, to: BuiltGraph): void {
  const [source, target] = [linksIn(from.shape, from.places), linksIn(to.shape, to.places)]
  for (const [i, { at, bytes }] of source.entries()) {
    new Uint8Array(to.arena.buffer, target[i]!.at, bytes).set(new Uint8Array(from.arena.buffer, at, bytes))
  }
}

/**
 * Return the bytes of a new segment with the rows of the segment in `file` and those of `input`. Throws Internal if
 * `file` is damaged.
 */
export async function extendedGraph(
  file: SectionFile,
  input: VectorInput,
  pacer: Pacer,
  { threads, onRead, onInserted }: GraphOptions,
): Promise<SegmentBytes> {
  const base = await readGraphRecord(file)
  const { plan } = base
  const rowsAfter = input.first + input.rows
  const built = await emptyGraph(plan, rowsAfter, input.rows < threadedRows ? 1 : threads, pacer)
  await readGraph(file, base, built.arena.buffer, built.places)
  for (const [i, entry] of base.entries.entries()) Object.assign(built.entries[i]!, entry)
  const read = await readNodes(plan, input, built, null, pacer, onRead)
  const rows = await rowsByPartition(read.partitionOf, input.first, plan.partitions, pacer)
  await insert(plan, built, rows, pacer, onInserted)
  const apart = Uint32Array.of(...base.apart, ...read.apart)
  return graphFile(
    plan,
    built,
    { apart, ...grown(base, read.placed + read.apart.length), ends: input.ends },
    pacer,
  )
}

/** The rows that the filter of a question allows, and their number. */
interface AllowedRows {
  readonly bits: Bitset
  readonly count: number
}

interface GrowingGraph extends BuiltGraph {
  /** The memory that insert threads share. Null: the calling thread inserts. */
  readonly crew: Crew | null
}

async function emptyGraph(
  plan: GraphPlan,
  rows: number,
  threads: number,
  pacer: Pacer,
): Promise<GrowingGraph> {
  // Yield between the steps, because each step takes about ten milliseconds per million rows.
  const shape = shapeOf(plan, rows)
  await pacer.turn()
  const places = graphPlaces(shape)
  const crew = threads > 1 ? openCrew(shape, places.end, plan.partitions, threads) : null
  const arena = crew?.arena ?? openArena(places.end)
  const entries = Array.from({ length: plan.partitions }, (): Entry => ({ row: -1, level: 0 }))
  await pacer.turn()
  const graph = new Graph(arena, shape, places, true, crew?.shared)
  await pacer.turn()
  return { arena, shape, places, graph, entries, crew }
}

interface Read {
  /** The partition of each row of the input. It is `noPartition` for rows that are not nodes. */
  readonly partitionOf: Uint32Array
  /** Number of rows that became nodes. */
  readonly placed: number
  readonly apart: Uint32Array
}

/** The partition number of rows that are not nodes, because they have no vector or are apart. */
const noPartition = 0xffff_ffff

/** Encode the rows of the input as nodes of the graph, without edges. Return their partitions and the apart rows. */
async function readNodes(
  { space, codec, centroids, partitions }: GraphPlan,
  input: VectorInput,
  { arena, places }: BuiltGraph,
  tuning: TuningQuestions | null,
  pacer: Pacer,
  onRead: OnRows,
): Promise<Read> {
  const dim = space.innerDim
  const partitionOf = new Uint32Array(input.rows).fill(noPartition)
  const apart: number[] = []
  const divider = await Divider.open({ count: partitions, dim, values: centroids }, pacer)
  // A codec must read and write in one arena, so an additional arena contains the vectors and the encoded nodes of a
  // step.
  const staging = openArena(stepRows * (dim * 4 + codec.stride) + 64)
  const nodes = stepRows * dim * 4
  let placed = 0
  for await (const { count, ordinals, vectors, apart: more } of placedRows(space, input, stepRows, pacer)) {
    apart.push(...more)
    const some = vectors.subarray(0, count * dim)
    new Float32Array(staging.buffer, 0, some.length).set(some)
    codec.encode(staging, 0, count, nodes)
    const numbers = await divider.partitionsOf(some, count, pacer)
    for (let i = 0; i < count; i++) {
      const row = ordinals[i]!
      const node = new Uint8Array(staging.buffer, nodes + i * codec.stride, codec.stride)
      new Uint8Array(arena.buffer, places.vectors + row * codec.stride, codec.stride).set(node)
      partitionOf[row - input.first] = numbers[i]!
    }
    await pacer.turn()
    if (tuning !== null && tuning.truth.rows.size > 0) {
      const cells = await tuning.cells.partitionsOf(some, count, pacer)
      for (let i = 0; i < count; i++) tuning.cellOf[ordinals[i]!] = cells[i]!
      await tuning.truth.pass(vectors, ordinals, cells, count, pacer)
    }
    placed += count
    onRead(count)
  }
  return { partitionOf, placed, apart: Uint32Array.from(apart) }
}

/**
 * Return the rows of each partition, in a scattered order. If sorted input were inserted in its order, the first rows
 * would link only to similar rows, and pruning would remove the edges between clusters. `first`: the ordinal of the
 * first row of `partitionOf`.
 */
async function rowsByPartition(
  partitionOf: Uint32Array,
  first: number,
  partitions: number,
  pacer: Pacer,
): Promise<readonly Uint32Array[]> {
  const counts = new Uint32Array(partitions)
  for (const partition of partitionOf) if (partition !== noPartition) counts[partition]! += 1
  const rows = Array.from(counts, count => new Uint32Array(count))
  const next = new Uint32Array(partitions)
  const { length } = partitionOf
  const step = coprimeStep(length)
  for (let i = 0, row = 0; i < length; i++, row = (row + step) % length) {
    const partition = partitionOf[row]!
    if (partition !== noPartition) rows[partition]![next[partition]!++] = first + row
    if (i % stepRows === 0) await pacer.turn()
  }
  return rows
}

/**
 * Return a number near `0.618 * length` that is coprime to `length`. With such a step, steps modulo `length` visit
 * every row once.
 */
function coprimeStep(length: number): number {
  let step = Math.max(1, Math.round(length * 0.618))
  while (step > 1 && greatestCommonDivisor(step, length) !== 1) step--
  return step
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b)
}

async function insert(
  { efConstruction }: GraphPlan,
  built: GrowingGraph,
  rows: readonly Uint32Array[],
  pacer: Pacer,
  onInserted: OnRows,
): Promise<void> {
  const { graph, entries, crew } = built
  const count = rows.reduce((sum, { length }) => sum + length, 0)
  if (
    crew !== null &&
    count >= leastThreaded &&
    (await insertByThreads(crew, built, { partitions: rows, efConstruction, onInserted }, pacer))
  ) {
    for (const all of rows) {
      for (let from = 0; from < all.length; from += stepRows) {
        graph.join(all.subarray(from, from + stepRows))
        await pacer.turn()
      }
    }
    return
  }
  let size = 16
  for (const [partition, all] of rows.entries()) {
    for (let from = 0; from < all.length; ) {
      const some = all.subarray(from, from + size)
      const begun = pacer.worked()
      graph.insertRows(some, entries[partition]!, efConstruction)
      const took = pacer.worked() - begun
      if (some.length === size)
        size = Math.max(1, Math.round(took > callMs ? size / 2 : took < callMs / 3 ? size * 2 : size))
      from += some.length
      onInserted(some.length)
      await pacer.turn()
    }
  }
}

/**
 * Search efforts to try, cheapest first. Queries that resemble rows need a larger `ef` to find their last neighbours;
 * other queries need a larger `factor`.
 */
const steps: readonly WalkEffort[] = [
  { ef: 16, factor: 3 },
  { ef: 32, factor: 3 },
  { ef: 64, factor: 3 },
  { ef: 64, factor: 4 },
  { ef: 128, factor: 3 },
  { ef: 128, factor: 4 },
  { ef: 256, factor: 3 },
  { ef: 256, factor: 4 },
  { ef: 512, factor: 3 },
  { ef: 512, factor: 4 },
]

/**
 * If no effort suffices with the default blur, larger blurs are tried: first with this step of `steps`, then with the
 * last step.
 */
const blurredStep = 6

/** Return the trials in order: first all efforts with the default blur, then larger blurs (saturation.ts). */
function trialsOf({ kind }: NodeCodec): readonly Trial[] {
  const [usual, ...others] = kind === 'f32' ? [blurs[kind]] : blursFrom(blurs[kind])
  const trial = (effort: number, blur: Blur) => ({ effort, blur, first: enoughWork(blur, truthDepth) })
  return [
    ...[...steps.keys()].map(step => trial(step, usual!)),
    ...[blurredStep, steps.length - 1].flatMap(step => others.map(blur => trial(step, blur))),
  ]
}

/** Tune the search effort. The rows from which questions were made must not be inserted yet. */
async function tuned(
  plan: GraphPlan,
  { arena, shape, graph, entries }: BuiltGraph,
  apart: Uint32Array,
  known: Pick<SegmentFacts, 'vectors' | 'radius'>,
  { truth, cellOf }: TuningQuestions,
  pacer: Pacer,
): Promise<{ facts: SegmentFacts; effort: GraphEffort }> {
  const { partitions, codec, centroids } = plan
  const { vectors } = known
  const guess = { ...known, partitions, rowBytes: codec.stride }
  const everything = { ...guess, recall: null, measured: vectors }
  // By default, a walk starts in a quarter of the partitions, which is sufficient.
  const probes = Math.max(1, Math.ceil(partitions / 4))
  if (truth.rows.size === 0) {
    return {
      facts: everything,
      effort: { ef: Math.max(1, vectors), probes, candidates: Math.max(1, vectors) },
    }
  }
  const inner = { ...plan.space, metric: 'l2', dim: plan.space.innerDim } as const
  const segments = steps.map(step => {
    const effort = { ...step, probes, candidates: truthDepth }
    const parts = { graph, arena, codec, entries, centroids, apart, facts: everything, effort }
    return new GraphSegment({ rows: shape.rows, space: inner, ...parts })
  })
  const allowedFor = new Map<Question, AllowedRows>()
  const found = await tune(
    truth,
    trialsOf(codec),
    async (question, step, count) => {
      const { vector: query, excluded } = question
      let among = allowedFor.get(question)
      if (excluded !== null && among === undefined) {
        among = rowsOutside(excluded, cellOf)
        allowedFor.set(question, among)
      }
      const { bits: allowed = null, count: passing = vectors } = among ?? {}
      return segments[step]!.allKept({ query, k: truthDepth, count, allowed, passing, effort: {} })
    },
    pacer,
  )
  const { candidates, trial } = found.all
  const effortOf = ({ effort: step, blur }: Trial) => ({ ...steps[step]!, blur })
  return {
    facts: { ...guess, ...factsOf(found) },
    effort: {
      ...effortOf(trial),
      ...(found.filtered !== null && { filtered: effortOf(found.filtered.trial) }),
      probes,
      candidates,
    },
  }
}

function rowsOutside(cells: ReadonlySet<number>, cellOf: Uint32Array): AllowedRows {
  const bits = new Bitset(cellOf.length)
  let count = 0
  for (let row = 0; row < cellOf.length; row++) {
    if (cellOf[row] === noPartition || cells.has(cellOf[row]!)) continue
    bits.add(row)
    count++
  }
  return { bits, count }
}

/**
 * Return the facts and the effort of a segment to which `added` vectors were added. When the number of rows doubles, a
 * walk measures about a quarter more rows.
 */
function grown(
  { facts, effort }: GraphRecord,
  added: number,
): { readonly facts: SegmentFacts; readonly effort: GraphEffort } {
  const vectors = facts.vectors + added
  const factor = 1 + Math.max(0, Math.log2(vectors / Math.max(1, facts.vectors))) / 4
  return { facts: { ...facts, vectors, measured: Math.round(facts.measured * factor) }, effort }
}
