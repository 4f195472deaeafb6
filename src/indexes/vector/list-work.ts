/**
 * Assigns rows to lists and encodes them during a build. This work runs in the calling thread or in several worker
 * threads.
 */
import { type Arena, openArena, Places } from '../../kernels/arena.js'
import { assigningHere, type Centroids, type TrainingSample, trainCentroids } from '../../kernels/clusters.js'
import type { ElementKind } from '../../kernels/vector-segment.js'
import type { Pacer } from '../../primitives/pacer.js'
import type { Codec, CodecName } from './codec.js'
import { openCodec } from './codecs/all.js'
import { Divider } from './divider.js'
import { isApart, placeVector, type Space, squaredLength } from './space.js'
import { type FoundRows, type Question, Truth } from './truth.js'

/** The partition number of rows without a vector. */
export const nowhere = 0xffff_ffff
/** The partition number of apart rows, whose vectors are outside the space (space.ts). */
export const apartFromAll = 0xffff_fffe

/** Desired bytes of the vectors in a slot. Processing them takes a few milliseconds. */
const slotBytes = 2 * 1024 * 1024
/** Maximum and minimum number of rows in a slot. */
const slotRowsMost = 4096
const slotRowsLeast = 64
/** Number of rows encoded between two checks of the clock. It is a multiple of the block size of every codec. */
const encodedRows = 256

/** The description of a build, which workers get before they get rows. */
interface RowsTask {
  readonly space: Space
  readonly centroids: Centroids
  readonly codec: { readonly name: CodecName; readonly parameters: Uint8Array }
  /**
   * The sampled queries whose true neighbours the workers find (truth.ts). Null: the build needs no true neighbours.
   */
  readonly questions: readonly Question[] | null
  readonly kind: ElementKind
  /** The shared memory of each slot. A slot contains the rows of one call. */
  readonly slots: readonly ArrayBufferLike[]
}

/** A buffer with rows that the calling thread and a worker exchange. */
export interface Slot {
  /** The vectors, with the element kind of the input. */
  readonly values: Float32Array | Uint8Array
  /** The partition of each row. */
  readonly partitions: Uint32Array
  /** Row offsets in the slot, sorted by partition. */
  readonly order: Uint32Array
  /** The codes of the rows in the format of a list, in the order of `order`. */
  readonly codes: Uint8Array
}

/** Return the capacity of a slot, in rows. */
function slotRowsOf(dim: number): number {
  return Math.max(slotRowsLeast, Math.min(slotRowsMost, Math.floor(slotBytes / (4 * dim))))
}

type SlotShape = Pick<RowsTask, 'space' | 'kind'> & { readonly codec: Codec }

function slotPlaces({ space, kind, codec }: SlotShape) {
  const rows = slotRowsOf(space.innerDim)
  const places = new Places()
  return {
    rows,
    values: places.take(rows * space.dim * (kind === 'u8' ? 1 : 4)),
    partitions: places.take(rows * 4),
    order: places.take(rows * 4),
    codes: places.take(codec.listBytes(rows)),
    bytes: places.end,
  }
}

/** Return the bytes of a slot. */
export function slotSize(shape: SlotShape): number {
  return slotPlaces(shape).bytes
}

/** Return views of a slot's parts in its memory. */
export function slotIn(buffer: ArrayBufferLike, shape: SlotShape): Slot {
  const { rows, values, partitions, order, codes } = slotPlaces(shape)
  const elements = rows * shape.space.dim
  return {
    values:
      shape.kind === 'u8'
        ? new Uint8Array(buffer, values, elements)
        : new Float32Array(buffer, values, elements),
    partitions: new Uint32Array(buffer, partitions, rows),
    order: new Uint32Array(buffer, order, rows),
    codes: new Uint8Array(buffer, codes, shape.codec.listBytes(rows)),
  }
}

/** The rows `from` to `to - 1` of a sample in shared memory, which are to be assigned to centroids. */
interface AssignTask {
  readonly sample: ArrayBufferLike
  readonly from: number
  readonly to: number
  readonly centroids: Centroids
}

/**
 * The calls that a worker supports. Arguments and results can be posted to other threads. Calls must not overlap, so
 * callers use `oneByOne`.
 */
export class ListWork {
  readonly #pacer: Pacer
  #rows: RowsWork | null = null

  constructor(pacer: Pacer) {
    this.#pacer = pacer
  }

  /** Return the number of the nearest centroid of each row. */
  async assign({ sample, from, to, centroids }: AssignTask): Promise<Uint32Array> {
    const { dim } = centroids
    const rows = to - from
    const out = new Uint32Array(rows)
    const some = new Float32Array(sample, from * dim * 4, rows * dim)
    await assigningHere(false)(some, rows, centroids)(centroids, out, this.#pacer)
    return out
  }

  async train(
    { values, rows, dim }: TrainingSample,
    count: number,
    maxIterations: number,
  ): Promise<Centroids> {
    return trainCentroids(values, rows, dim, count, maxIterations, this.#pacer)
  }

  /** Set the build for which the calls below work. */
  async begin(task: RowsTask): Promise<void> {
    const divider = await Divider.open(task.centroids, this.#pacer)
    this.#rows = new RowsWork(task, divider, this.#pacer)
  }

  /**
   * Assign the rows of a slot to partitions. Skips rows with the partition `nowhere`. `first`: the ordinal of the first
   * row.
   */
  async divide(slot: number, first: number, rows: number): Promise<void> {
    await this.#rows!.divide(slot, first, rows)
  }

  /** Encode the rows of a slot that have a partition, sorted by partition. Return the number of encoded rows. */
  async encode(slot: number, rows: number): Promise<number> {
    return this.#rows!.encode(slot, rows)
  }

  /** Return the rows nearest to each sampled query, among the rows that this worker has assigned to partitions. */
  async found(): Promise<readonly FoundRows[]> {
    return this.#rows!.found()
  }
}

export type CallName = keyof ListWork
export type CallArgs<N extends CallName> = Parameters<ListWork[N]>
export type CallResult<N extends CallName> = Awaited<ReturnType<ListWork[N]>>
type DoCall = <N extends CallName>(name: N, args: CallArgs<N>) => Promise<CallResult<N>>

/** Return a function that runs calls one after the other, in call order. */
export function oneByOne(work: ListWork): DoCall {
  let last: Promise<unknown> = Promise.resolve()
  return <N extends CallName>(name: N, args: CallArgs<N>) => {
    const call = work[name] as (...args: CallArgs<N>) => Promise<CallResult<N>>
    const done = last.then(() => call.apply(work, args))
    last = done.catch(() => {})
    return done
  }
}

class RowsWork {
  readonly #space: Space
  readonly #centroids: Centroids
  readonly #codec: Codec
  readonly #divider: Divider
  readonly #truth: Truth | null
  readonly #slots: readonly Slot[]
  readonly #pacer: Pacer
  readonly #arena: Arena
  readonly #list: number
  readonly #vectors: Float32Array
  readonly #ordinals: Uint32Array
  /** For each row whose vector is in the space: its offset in the slot. */
  readonly #offsets: Uint32Array

  constructor(
    { space, centroids, codec: { name, parameters }, questions, kind, slots }: RowsTask,
    divider: Divider,
    pacer: Pacer,
  ) {
    const { innerDim } = space
    const rows = slotRowsOf(innerDim)
    const codec = openCodec(name, innerDim, parameters)
    const places = new Places()
    const vectors = places.take(rows * innerDim * 4)
    this.#list = places.take(codec.listBytes(rows))
    this.#arena = openArena(places.end)
    this.#vectors = new Float32Array(this.#arena.buffer, vectors, rows * innerDim)
    this.#ordinals = new Uint32Array(rows)
    this.#offsets = new Uint32Array(rows)
    this.#space = space
    this.#centroids = centroids
    this.#codec = codec
    this.#divider = divider
    this.#truth = questions === null ? null : new Truth(questions, innerDim)
    this.#slots = slots.map(buffer => slotIn(buffer, { space, kind, codec }))
    this.#pacer = pacer
  }

  async divide(slot: number, first: number, rows: number): Promise<void> {
    const { partitions } = this.#slots[slot]!
    const { innerDim } = this.#space
    let count = 0
    for (let row = 0; row < rows; row++) {
      if (partitions[row] === nowhere) continue
      if (!this.#toSpace(slot, row, count)) {
        partitions[row] = apartFromAll
        continue
      }
      this.#ordinals[count] = first + row
      this.#offsets[count++] = row
    }
    await this.#pacer.turn()
    const vectors = this.#vectors.subarray(0, count * innerDim)
    const numbers = await this.#divider.partitionsOf(vectors, count, this.#pacer)
    for (let i = 0; i < count; i++) partitions[this.#offsets[i]!] = numbers[i]!
    await this.#truth?.pass(vectors, this.#ordinals, numbers, count, this.#pacer)
  }

  async encode(slot: number, rows: number): Promise<number> {
    const { partitions, order, codes } = this.#slots[slot]!
    const { innerDim } = this.#space
    const codec = this.#codec
    const keys = new Float64Array(rows)
    let count = 0
    for (let row = 0; row < rows; row++) {
      const partition = partitions[row]!
      if (partition < this.#centroids.count) keys[count++] = partition * slotRowsMost + row
    }
    keys.subarray(0, count).sort()
    for (let i = 0; i < count; i++) {
      const row = keys[i]! % slotRowsMost
      order[i] = row
      this.#toSpace(slot, row, i)
      if (codec.ofResiduals) subtractCentroid(this.#vectors, i, this.#centroids, partitions[row]!)
    }
    await this.#pacer.turn()
    const list = new Uint8Array(this.#arena.buffer, this.#list, codec.listBytes(count)).fill(0)
    for (let from = 0; from < count; from += encodedRows) {
      const some = Math.min(encodedRows, count - from)
      const vectors = this.#vectors.byteOffset + from * innerDim * 4
      codec.encode(this.#arena, vectors, some, this.#list, count, from)
      await this.#pacer.turn()
    }
    codes.set(list)
    return count
  }

  found(): readonly FoundRows[] {
    return this.#truth?.found() ?? []
  }

  /** Convert a row of a slot to vector `number` of the space. Return false if its vector is outside the space. */
  #toSpace(slot: number, row: number, number: number): boolean {
    const { values } = this.#slots[slot]!
    const { dim, innerDim } = this.#space
    const square = squaredLength(values, row * dim, dim)
    if (isApart(this.#space, square)) return false
    placeVector(this.#space, values, row * dim, square, this.#vectors, number * innerDim)
    return true
  }
}

/** Replace vector `row` by its residual: the vector minus the centroid. */
export function subtractCentroid(
  vectors: Float32Array,
  row: number,
  { values, dim }: Centroids,
  centroid: number,
): void {
  const at = row * dim
  const from = centroid * dim
  for (let i = 0; i < dim; i++) vectors[at + i]! -= values[from + i]!
}
