/** Builds and extends vector segments whose partitions are lists. */
import { type Arena, openArena } from '../../kernels/arena.js'
import { type Centroids, trainCentroids } from '../../kernels/clusters.js'
import { Bitset } from '../../primitives/bitset.js'
import type { Pacer } from '../../primitives/pacer.js'
import type { SegmentBytes } from '../sections/section-file.js'
import { ArenaLists } from './arena-lists.js'
import { factsOf, mostCandidates, type Trial, tune } from './calibrate.js'
import type { Codec } from './codec.js'
import { codesResiduals, trainCodec } from './codecs/all.js'
import { Divider } from './divider.js'
import type { VectorInput } from './input.js'
import { type ListPlaces, listPlaces, mapPartitions } from './list-places.js'
import { type ListEffort, ListSegment } from './list-segment.js'
import { assigningBy, type ListWorkers, trainingBy } from './list-threads.js'
import { apartFromAll, nowhere, type Slot, slotIn, slotSize, subtractCentroid } from './list-work.js'
import { spreadOf } from './radius.js'
import { blursFrom } from './saturation.js'
import type { SegmentFacts } from './segment.js'
import { type BuiltLists, type ListPlan, listsFile, type StoredLists } from './stored-lists.js'
import { type Survey, someOf } from './survey.js'
import { questionsOf, Truth, truthDepth } from './truth.js'

/** Number of sampled rows processed per step. */
const stepRows = 2048
/** Number of slots per worker. While the worker processes one slot, the calling thread fills another. */
const slotsEach = 2
/** Number of rows copied into lists between two checks of the clock. */
const listedRows = 512

/** A callback that gets the number of rows that a phase has just finished. */
type OnRows = (rows: number) => void

/** Train centroids and codec on a sample of the rows. */
export async function planLists(survey: Survey, workers: ListWorkers, pacer: Pacer): Promise<ListPlan> {
  const { space, settings } = survey
  const { innerDim } = space
  const { codec: name, partitions, maxIterations, subVectors, bits } = settings
  const some = await someOf(survey, settings.centroidRows, pacer)
  const rows = some.length / innerDim
  const centroids = await trainCentroids(
    some,
    rows,
    innerDim,
    partitions,
    maxIterations,
    pacer,
    assigningBy(workers),
  )
  const vectors = await someOf(survey, settings.codecRows, pacer)
  const coded = vectors.length / innerDim
  const samples = codesResiduals(name) ? await residualsOf(vectors, coded, centroids, pacer) : vectors
  const lastIsRest = space.metric === 'dot'
  const codecSettings = { name, dim: innerDim, lastIsRest, subVectors, bits, maxIterations }
  const codec = await trainCodec(codecSettings, samples, coded, pacer, trainingBy(workers))
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
  const partitions = await (await Divider.open(centroids, pacer)).partitionsOf(vectors, rows, pacer)
  for (let from = 0; from < rows; from += stepRows) {
    const to = Math.min(rows, from + stepRows)
    residuals.set(vectors.subarray(from * dim, to * dim), from * dim)
    for (let row = from; row < to; row++) subtractCentroid(residuals, row, centroids, partitions[row]!)
    await pacer.turn()
  }
  return residuals
}

/** The input of a build. */
interface ListRows {
  readonly plan: ListPlan
  readonly input: VectorInput
  /** The segment to extend, whose rows come first. Null: build a new segment. */
  readonly base: StoredLists | null
  /**
   * The survey of a new segment, whose search effort is tuned. Null for an extended segment, which keeps the effort of
   * `base`.
   */
  readonly survey: Survey | null
}

/**
 * Build a segment over the rows of `base`, if it is not null, and the rows of `input`. Return the bytes of its file.
 */
export async function storedLists(
  { plan, input, base, survey }: ListRows,
  workers: ListWorkers,
  pacer: Pacer,
  onRowsOf: (phase: 'assigning' | 'encoding') => OnRows,
): Promise<SegmentBytes> {
  const { space, codec, codecName, centroids } = plan
  const rows = input.first + input.rows
  const questions = survey && questionsOf(survey.sample, survey.sampled, space, centroids)
  const truth = questions && new Truth(questions, space.innerDim)
  const slots = openSlots(plan, input, workers)
  const task = { space, centroids, codec: { name: codecName, parameters: codec.parameters }, questions }
  await workers.callEach('begin', [{ ...task, kind: input.kind, slots: slots.map(({ buffer }) => buffer) }])
  const work = { plan, input, slots, workers, pacer }
  const { partitionOf, counts, apart } = await assignRows(work, base, onRowsOf('assigning'))
  for (const found of await workers.callEach('found', [])) truth?.add(found)
  const places = listPlaces(codec, counts, rows)
  const arena = openArena(places.end)
  const next = new Uint32Array(counts.length)
  if (base !== null) next.set(copyLists(base, codec, arena, places, counts))
  const built = { plan, rows, arena, places, counts, apart }
  await encodeRows(work, built, partitionOf, next, onRowsOf('encoding'))
  const vectors = counts.reduce((sum, count) => sum + count, 0) + apart.length
  const rowBytes = codec.listBytes(32) / 32
  const guess = { vectors, partitions: counts.length, rowBytes }
  const known = survey === null ? guess : { ...guess, ...(await spreadOf(survey, pacer)) }
  const { facts, effort } =
    truth === null ? extendedFacts(base!, guess) : await tuned(built, truth, known, pacer)
  return listsFile(built, facts, effort, { input, base: base?.beside ?? null }, pacer)
}

/** A slot with its shared memory. */
interface OwnSlot extends Slot {
  readonly buffer: ArrayBufferLike
  readonly number: number
}

function openSlots(
  { space, codec }: ListPlan,
  { kind }: VectorInput,
  { count }: ListWorkers,
): readonly OwnSlot[] {
  const shape = { space, codec, kind }
  return Array.from({ length: slotsEach * count }, (_, number) => {
    const buffer = new SharedArrayBuffer(slotSize(shape))
    return { ...slotIn(buffer, shape), buffer, number }
  })
}

/** The rows to assign and encode, and the slots and workers for this work. */
interface SlotWork {
  readonly plan: ListPlan
  readonly input: VectorInput
  readonly slots: readonly OwnSlot[]
  readonly workers: ListWorkers
  readonly pacer: Pacer
}

/**
 * The functions of one step, for example assigning partitions. The step applies them to all rows of the input, slot by
 * slot.
 */
interface SlotStep<T> {
  /** Initialize the partitions of a slot whose vectors are already set. */
  fill(slot: OwnSlot, first: number, rows: number, present: Bitset | null): void
  /** Let a free worker process the slot. */
  work(slot: OwnSlot, first: number, rows: number): Promise<T>
  /** Use the result of a slot. Called in the order of rows. */
  take(slot: OwnSlot, first: number, rows: number, result: T): Promise<void>
}

/** Apply a step to all rows of the input, slot by slot. */
async function processInSlots<T>(
  { input: { dim, pieces }, slots, pacer }: SlotWork,
  { fill, work, take }: SlotStep<T>,
): Promise<void> {
  const free = [...slots]
  const begun: { slot: OwnSlot; first: number; rows: number; result: Promise<T> }[] = []
  const takeOldest = async () => {
    const { slot, first, rows, result } = begun.shift()!
    await take(slot, first, rows, await result)
    free.push(slot)
  }
  for await (const { first: pieceFirst, rows: pieceRows, values, present } of pieces()) {
    const most = slots[0]!.partitions.length
    for (let from = 0; from < pieceRows; from += most) {
      if (free.length === 0) await takeOldest()
      const slot = free.pop()!
      const first = pieceFirst + from
      const rows = Math.min(most, pieceRows - from)
      slot.values.set(values.subarray(from * dim, (from + rows) * dim))
      fill(slot, first, rows, present?.slice(from, from + rows) ?? null)
      const result = work(slot, first, rows)
      // `takeOldest` awaits the promise and reports its failure. This line only prevents an unhandled rejection.
      result.catch(() => {})
      begun.push({ slot, first, rows, result })
      await pacer.turn()
    }
  }
  while (begun.length > 0) await takeOldest()
}

/**
 * Assign every row of the input to a partition. Return the partition of each row of the input, and the row counts and
 * apart rows of the whole segment.
 */
async function assignRows(
  work: SlotWork,
  base: StoredLists | null,
  onRows: OnRows,
): Promise<{ partitionOf: Uint32Array; counts: Uint32Array; apart: Uint32Array }> {
  const { plan, input, workers } = work
  const partitionOf = new Uint32Array(input.rows)
  const counts = base === null ? new Uint32Array(plan.centroids.count) : base.counts.slice()
  const apart = base === null ? [] : [...base.apart]
  await processInSlots(work, {
    fill({ partitions }, _first, rows, present) {
      for (let row = 0; row < rows; row++) partitions[row] = present?.has(row) === false ? nowhere : 0
    },
    work: ({ number }, first, rows) => workers.call('divide', [number, first, rows]),
    async take({ partitions }, first, rows) {
      partitionOf.set(partitions.subarray(0, rows), first - input.first)
      for (let row = 0; row < rows; row++) {
        const partition = partitions[row]!
        if (partition === apartFromAll) apart.push(first + row)
        else if (partition !== nowhere) counts[partition]! += 1
      }
      onRows(rows)
    },
  })
  return { partitionOf, counts, apart: Uint32Array.from(apart) }
}

/**
 * Copy each list of `base` to the start of the same list in the arena, which is longer. Return the number of copied
 * rows by list.
 */
function copyLists(
  { counts: before, listOf }: StoredLists,
  codec: Codec,
  { buffer }: Arena,
  places: ListPlaces,
  counts: Uint32Array,
): Uint32Array {
  const numbers = new Uint32Array(buffer, places.ordinals)
  for (const [p, count] of before.entries()) {
    if (count === 0) continue
    const { codes, ordinals } = listOf(p)
    const to = new Uint8Array(buffer, places.lists + places.listAt[p]!, codec.listBytes(counts[p]!))
    codec.copy(codes, 0, to, 0, count)
    numbers.set(ordinals, places.rowAt[p]!)
  }
  return before
}

/**
 * Encode the rows of the input and append them to the lists. `next`: by list, the number of rows so far. Updates
 * `next`.
 */
async function encodeRows(
  slotWork: SlotWork,
  { arena: { buffer }, places, counts }: BuiltLists,
  partitionOf: Uint32Array,
  next: Uint32Array,
  onRows: OnRows,
): Promise<void> {
  const { plan, input, workers, pacer } = slotWork
  const { codec } = plan
  const numbers = new Uint32Array(buffer, places.ordinals)
  await processInSlots(slotWork, {
    fill({ partitions }, first, rows) {
      const from = first - input.first
      partitions.set(partitionOf.subarray(from, from + rows))
    },
    work: ({ number }, _first, rows) => workers.call('encode', [number, rows]),
    async take({ partitions, order, codes }, first, rows, count) {
      let lastTurn = 0
      for (let from = 0, to: number; from < count; from = to) {
        const p = partitions[order[from]!]!
        for (to = from + 1; to < count && partitions[order[to]!] === p; ) to++
        const list = new Uint8Array(buffer, places.lists + places.listAt[p]!, codec.listBytes(counts[p]!))
        codec.copy(codes, from, list, next[p]!, to - from)
        const at = places.rowAt[p]! + next[p]!
        for (let i = from; i < to; i++) numbers[at + i - from] = first + order[i]!
        next[p]! += to - from
        if (to - lastTurn < listedRows) continue
        lastTurn = to
        await pacer.turn()
      }
      onRows(rows)
    },
  })
}

/**
 * Return the saturation factors to try (saturation.ts). Tuning takes the first factor that reaches the required recall.
 * With approximate distances the best rows change until late in a search, so a smaller factor suffices than with exact
 * distances. With smaller factors than these, the recall of real text queries was lower.
 */
const factorsOf = ({ ofResiduals }: Codec) => (ofResiduals ? [2, 3, 4, 6] : [3, 4, 6])

async function tuned(
  built: BuiltLists,
  truth: Truth,
  guess: Pick<SegmentFacts, 'vectors' | 'partitions' | 'rowBytes' | 'radius'>,
  pacer: Pacer,
): Promise<{ facts: SegmentFacts; effort: ListEffort }> {
  const { plan, rows, arena, places, counts, apart } = built
  const { space, codec, centroids } = plan
  const everything = { ...guess, recall: null, measured: guess.vectors }
  if (truth.questions.length === 0) {
    // The segment has too few rows for tuning, so every search measures all rows.
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
      const parts = {
        rows,
        space: inner,
        codec,
        lists,
        partitions,
        apart,
        facts: everything,
        effort,
        beside: null,
      }
      return [factor, new ListSegment(parts)]
    }),
  )
  const blurs = blursFrom(codec.blur)
  const trials = factors.flatMap(effort => blurs.map(blur => ({ effort, blur, first: mostCandidates })))
  const passingOf = new Map<ReadonlySet<number>, PassingRows>()
  const found = await tune(
    truth,
    trials,
    async ({ vector: query, excluded }, factor, wanted) => {
      // Request more candidates, because the rows from which questions were made are not counted as neighbours.
      const count = wanted + truth.rows.size
      if (excluded !== null && !passingOf.has(excluded))
        passingOf.set(excluded, await rowsOutside(excluded, built, pacer))
      const { allowed, passing } = (excluded && passingOf.get(excluded)) ?? {
        allowed: null,
        passing: guess.vectors,
      }
      const probe = { query, k: truthDepth, count, allowed, passing, effort: {} }
      return segments.get(factor)!.candidates(probe, pacer)
    },
    pacer,
  )
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

/** The rows that the filter of a question allows, and their number. */
interface PassingRows {
  readonly allowed: Bitset
  readonly passing: number
}

/** Return the rows that are not in the excluded partitions. */
async function rowsOutside(
  excluded: ReadonlySet<number>,
  { rows, arena: { buffer }, places, counts }: BuiltLists,
  pacer: Pacer,
): Promise<PassingRows> {
  const allowed = new Bitset(rows)
  let passing = 0
  for (const [p, count] of counts.entries()) {
    if (excluded.has(p)) continue
    const ordinals = new Uint32Array(buffer, places.ordinals + 4 * places.rowAt[p]!, count)
    for (let i = 0; i < count; i++) allowed.add(ordinals[i]!)
    passing += count
    await pacer.turn()
  }
  return { allowed, passing }
}

/**
 * Return the facts and the effort of an extended segment. The effort is that of the segment before, because the nearest
 * partitions of a query stay the same. `guess`: the facts that depend on the new rows.
 */
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
