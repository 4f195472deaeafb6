/** Builds segments whose partitions are lists. */
import { type Arena, openArena } from '../../kernels/arena.js'
import { type Centroids, trainCentroids } from '../../kernels/clusters.js'
import { Bitset } from '../../primitives/bitset.js'
import type { Pacer } from '../../primitives/pacer.js'
import type { SegmentBytes } from '../section-file.js'
import { ArenaLists } from './arena-lists.js'
import { factsOf, mostCandidates, type Trial, tune } from './calibrate.js'
import type { Codec } from './codec.js'
import { codesResiduals, trainCodec } from './codecs/all.js'
import { Divider } from './divider.js'
import type { VectorInput } from './input.js'
import { type ListPlaces, listPlaces, mapPartitions } from './list-places.js'
import { type ListEffort, ListSegment } from './list-segment.js'
import { spreadOf } from './radius.js'
import { blursFrom } from './saturation.js'
import type { SegmentFacts } from './segment.js'
import { type ListPlan, listsFile, type StoredLists } from './stored-lists.js'
import { placedRows, type Survey, someOf } from './survey.js'
import { questionsOf, Truth, truthDepth } from './truth.js'

/** Rows looked at in one step. */
const stepRows = 2048
/** Partition of a row that is in none. */
const nowhere = 0xffff_ffff

/** Called with the rows that a phase is through with. */
export type OnRows = (rows: number) => void

/** Centroids and codec, from a sample of the rows. */
export async function planLists(survey: Survey, pacer: Pacer): Promise<ListPlan> {
  const { space, settings } = survey
  const { innerDim } = space
  const { codec: name, partitions, maxIterations, subVectors, bits } = settings
  const some = await someOf(survey, settings.centroidRows, pacer)
  const rows = some.length / innerDim
  const centroids = await trainCentroids(some, rows, innerDim, partitions, maxIterations, pacer)
  const vectors = await someOf(survey, settings.codecRows, pacer)
  const coded = vectors.length / innerDim
  const samples = codesResiduals(name) ? await residualsOf(vectors, coded, centroids, pacer) : vectors
  const lastIsRest = space.metric === 'dot'
  const codecSettings = { name, dim: innerDim, lastIsRest, subVectors, bits, maxIterations }
  const codec = await trainCodec(codecSettings, samples, coded, pacer)
  return { space, codecName: name, codec, centroids }
}

async function residualsOf(
  vectors: Float32Array,
  rows: number,
  centroids: Centroids,
  pacer: Pacer,
): Promise<Float32Array> {
  const { dim } = centroids
  const residuals = new Float32Array(vectors.length)
  const partitions = await new Divider(centroids).partitionsOf(vectors, rows, pacer)
  for (let from = 0; from < rows; from += stepRows) {
    const to = Math.min(rows, from + stepRows)
    residuals.set(vectors.subarray(from * dim, to * dim), from * dim)
    for (let row = from; row < to; row++) subtract(residuals, row, centroids, partitions[row]!)
    await pacer.turn()
  }
  return residuals
}

function subtract(vectors: Float32Array, row: number, { values, dim }: Centroids, centroid: number): void {
  const at = row * dim
  const from = centroid * dim
  for (let i = 0; i < dim; i++) vectors[at + i]! -= values[from + i]!
}

/**
 * The file of a segment over the rows of `base`, if any, and those of `input`. `survey`: of a new segment, whose effort is found out;
 * one that is extended keeps its own.
 */
export async function storedLists(
  plan: ListPlan,
  input: VectorInput,
  base: StoredLists | null,
  survey: Survey | null,
  pacer: Pacer,
  onRows: OnRows,
): Promise<SegmentBytes> {
  const { space, codec } = plan
  const rows = input.first + input.rows
  const truth =
    survey === null
      ? null
      : new Truth(questionsOf(survey.sample, survey.sampled, space, plan.centroids), space.innerDim, stepRows)
  const { partitionOf, counts, apart } = await divided(plan, input, base, truth, pacer, onRows)
  const places = listPlaces(codec, counts, rows)
  const staging = places.end
  const arena = openArena(staging + stepRows * space.innerDim * 4)
  const next = new Uint32Array(counts.length)
  if (base !== null) next.set(copied(base, codec, arena, places, counts))
  await encoded(plan, input, arena, places, staging, { partitionOf, counts, next }, pacer, onRows)
  const vectors = counts.reduce((sum, count) => sum + count, 0) + apart.length
  const rowBytes = codec.listBytes(32) / 32
  const guess = { vectors, partitions: counts.length, rowBytes }
  const known = survey === null ? guess : { ...guess, ...(await spreadOf(survey, pacer)) }
  const { facts, effort } =
    truth === null
      ? extendedFacts(base!, guess)
      : await tuned(rows, plan, arena, places, counts, apart, truth, known, pacer)
  return listsFile(plan, rows, arena, places, counts, apart, facts, effort, input.ends, pacer)
}

/** Which row goes where. */
async function divided(
  { space, centroids }: ListPlan,
  input: VectorInput,
  base: StoredLists | null,
  truth: Truth | null,
  pacer: Pacer,
  onRows: OnRows,
): Promise<{ partitionOf: Uint32Array; counts: Uint32Array; apart: Uint32Array }> {
  const partitionOf = new Uint32Array(input.rows).fill(nowhere)
  const counts = base === null ? new Uint32Array(centroids.count) : base.counts.slice()
  const apart = base === null ? [] : [...base.apart]
  const divider = new Divider(centroids)
  for await (const piece of placedRows(space, input, stepRows, pacer)) {
    const { count, ordinals, vectors } = piece
    apart.push(...piece.apart)
    const numbers = await divider.partitionsOf(vectors, count, pacer)
    for (let i = 0; i < count; i++) {
      const partition = numbers[i]!
      partitionOf[ordinals[i]! - input.first] = partition
      counts[partition]! += 1
    }
    await pacer.turn()
    if (truth !== null) await truth.pass(vectors, ordinals, numbers, count, pacer)
    onRows(count)
  }
  return { partitionOf, counts, apart: Uint32Array.from(apart) }
}

/** Copies the lists of a segment to the beginnings of longer ones; returns how many rows each had. */
function copied(
  { counts: before, ordinals, lists, places: old }: StoredLists,
  codec: Codec,
  { buffer }: Arena,
  places: ListPlaces,
  counts: Uint32Array,
): Uint32Array {
  const numbers = new Uint32Array(buffer, places.ordinals)
  for (const [p, count] of before.entries()) {
    if (count === 0) continue
    const from = lists.subarray(old.listAt[p]!, old.listAt[p]! + codec.listBytes(count))
    const to = new Uint8Array(buffer, places.lists + places.listAt[p]!, codec.listBytes(counts[p]!))
    codec.copy(from, 0, to, 0, count)
    numbers.set(ordinals.subarray(old.rowAt[p]!, old.rowAt[p]! + count), places.rowAt[p]!)
  }
  return before
}

/** Writes the rows of the input behind those that are there. */
async function encoded(
  { space, codec, centroids }: ListPlan,
  input: VectorInput,
  arena: Arena,
  places: ListPlaces,
  staging: number,
  { partitionOf, counts, next }: { partitionOf: Uint32Array; counts: Uint32Array; next: Uint32Array },
  pacer: Pacer,
  onRows: OnRows,
): Promise<void> {
  const { innerDim } = space
  const staged = new Float32Array(arena.buffer, staging, stepRows * innerDim)
  const numbers = new Uint32Array(arena.buffer, places.ordinals)
  const order = new Uint32Array(stepRows)
  for await (const { count, ordinals, vectors } of placedRows(space, input, stepRows, pacer)) {
    const partition = (i: number) => partitionOf[ordinals[i]! - input.first]!
    for (let i = 0; i < count; i++) order[i] = i
    if (counts.length > 1) order.subarray(0, count).sort((a, b) => partition(a) - partition(b) || a - b)
    for (let i = 0; i < count; i++) {
      staged.set(vectors.subarray(order[i]! * innerDim, (order[i]! + 1) * innerDim), i * innerDim)
      if (codec.ofResiduals) subtract(staged, i, centroids, partition(order[i]!))
    }
    await pacer.turn()
    for (let from = 0, to: number; from < count; from = to) {
      const p = partition(order[from]!)
      for (to = from + 1; to < count && partition(order[to]!) === p; ) to++
      const first = next[p]!
      const list = places.lists + places.listAt[p]!
      codec.encode(arena, staging + from * innerDim * 4, to - from, list, counts[p]!, first)
      for (let i = from; i < to; i++) numbers[places.rowAt[p]! + first + i - from] = ordinals[order[i]!]!
      next[p]! += to - from
      await pacer.turn()
    }
    onRows(count)
  }
}

/**
 * How many times as far as the nearest rows lie partitions are looked at: the first that is enough is taken. Guessed distances err, so that the
 * best rows change late by themselves; exact ones need more. Begins where real questions to texts keep their recall.
 */
const factorsOf = ({ ofResiduals }: Codec) => (ofResiduals ? [2, 3, 4, 6] : [3, 4, 6])

async function tuned(
  rows: number,
  { space, codec, centroids }: ListPlan,
  arena: Arena,
  places: ListPlaces,
  counts: Uint32Array,
  apart: Uint32Array,
  truth: Truth,
  guess: Pick<SegmentFacts, 'vectors' | 'partitions' | 'rowBytes' | 'radius'>,
  pacer: Pacer,
): Promise<{ facts: SegmentFacts; effort: ListEffort }> {
  const everything = { ...guess, recall: null, measured: guess.vectors }
  if (truth.questions.length === 0) {
    // So few rows that every one may be measured.
    return { facts: everything, effort: { candidates: guess.vectors } }
  }
  const inner = { ...space, metric: 'l2', dim: space.innerDim } as const
  const partitions = { centroids: centroids.values, counts }
  await mapPartitions(arena.buffer, places, counts, rows, pacer)
  const lists = new ArenaLists(arena, places, counts, rows, null)
  const factors = factorsOf(codec)
  const segments = new Map(
    factors.map(factor => {
      const effort = { candidates: 1, factor }
      return [factor, new ListSegment(rows, inner, codec, lists, partitions, apart, everything, effort)]
    }),
  )
  const blurs = blursFrom(codec.blur)
  const trials = factors.flatMap(effort => blurs.map(blur => ({ effort, blur, first: mostCandidates })))
  const found = await tune(truth, trials, async ({ vector: query, excluded }, factor, wanted) => {
    await pacer.turn()
    // The rows of questions are among the candidates, and count as no neighbours.
    const count = wanted + truth.rows.size
    const allowed = excluded === null ? null : outside(excluded, rows, arena, places, counts)
    const passing = allowed?.count() ?? guess.vectors
    const probe = { query, k: truthDepth, count, allowed, passing, effort: {} }
    return segments.get(factor)!.candidates(probe, pacer)
  })
  const { candidates, trial } = found.all
  const effortOf = ({ effort: factor, blur }: Trial) => ({ factor, blur })
  return {
    facts: { ...guess, ...factsOf(found) },
    effort: {
      candidates,
      ...effortOf(trial),
      ...(found.filtered !== null && { filtered: effortOf(found.filtered.trial) }),
    },
  }
}

/** The rows that lie in other partitions. */
function outside(
  excluded: ReadonlySet<number>,
  rows: number,
  { buffer }: Arena,
  places: ListPlaces,
  counts: Uint32Array,
): Bitset {
  const bits = new Bitset(rows)
  for (const [p, count] of counts.entries()) {
    if (excluded.has(p)) continue
    const ordinals = new Uint32Array(buffer, places.ordinals + 4 * places.rowAt[p]!, count)
    for (let i = 0; i < count; i++) bits.add(ordinals[i]!)
  }
  return bits
}

/** With more rows in each list the same partitions are the nearest. */
function extendedFacts(
  { facts, effort }: StoredLists,
  guess: Pick<SegmentFacts, 'vectors' | 'partitions' | 'rowBytes'>,
): { facts: SegmentFacts; effort: ListEffort } {
  const growth = guess.vectors / Math.max(1, facts.vectors)
  return {
    facts: { ...facts, ...guess, measured: Math.round(facts.measured * growth) },
    effort,
  }
}
