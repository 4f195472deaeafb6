/**
 * Generates the rows of a table of any size from a seed, batch by batch. A smaller table is a prefix of a larger table.
 *
 * | column | type | values |
 * |---|---|---|
 * | id | int64 | ascending, with gaps |
 * | key | int64 | each value once, in no order |
 * | g | int32 | uniform in [0, 1,000,000) |
 * | category | utf8 | `rare` (0.1 % of the rows), `tenth` (10 %), or one of 98 others |
 * | vector | float32 list | a mixture of clusters, as embeddings are |
 * | text | utf8 | 20 words of a vocabulary of 60,000, the word of rank n about 1 / n as frequent as the first |
 */
import {
  Field,
  FixedSizeList,
  Float32,
  Int32,
  Int64,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableToIPC,
  Utf8,
} from 'apache-arrow'
import { seededRandom } from './random.js'
import { textQueries, vocabulary, wordOf } from './text-data.js'

/** Number of rows of every batch except the last one. */
export const batchRows = 8 * 1024
export const groups = 1_000_000
const wordsEach = 20

/**
 * Shape of the vectors: each cluster belongs to a topic. Clusters differ in size and width, and each has its noise
 * mainly in a few directions (a "space").
 */
const topics = 64
const clusters = 4096
const spaces = 16
const spaceDim = 24
const noisesEach = 1024

export interface GrowthData {
  /** Yield the rows `first..rows` in batches. `first` must be a multiple of `batchRows`. */
  batches(rows: number, first?: number): Generator<RecordBatch>
  /** Return the values of a row that `batches` does not yield, to append it. */
  rowAt(row: number): GrowthRow
  /** Query vectors from the same clusters. They are not rows. */
  readonly queries: readonly Float32Array[]
  /** Text queries: three words of one text each. */
  readonly words: readonly string[]
  /** The time in milliseconds that was spent on generating batches. */
  readonly milliseconds: number
}

export interface GrowthRow {
  readonly id: number
  readonly key: number
  readonly g: number
  readonly category: string
  readonly vector: Float32Array
  readonly text: string
}

/** Return the key of a row. The function is a permutation of the unsigned 32-bit numbers. */
export function keyOf(row: number): number {
  let mixed = Math.imul(row + 1, 0x9e3779b1)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b)
  return (mixed ^ (mixed >>> 13)) >>> 0
}

export function idOf(row: number): number {
  return 4 * row + (keyOf(row) & 3)
}

/** Create a generator of rows and queries. `queries`: the number of queries of each kind. */
export function growthData(dim: number, queries: number): GrowthData {
  const mixture = new Mixture(dim)
  const words = Array.from({ length: vocabulary }, (_, rank) => Buffer.from(`${wordOf(rank)} `))
  const schema = schemaOf(dim)
  const batch = (number: number, length: number): RecordBatch => {
    const first = number * batchRows
    const random = (column: number) => seededRandom(8 * number + column)
    const ids = BigInt64Array.from({ length }, (_, i) => BigInt(idOf(first + i)))
    const keys = BigInt64Array.from({ length }, (_, i) => BigInt(keyOf(first + i)))
    const children = [
      makeData({ type: new Int64(), data: ids }),
      makeData({ type: new Int64(), data: keys }),
      makeData({ type: new Int32(), data: Int32Array.from({ length }, below(groups, random(1))) }),
      utf8(length, categories(length, random(2))),
      vectorsOf(schema.fields[4]!.type as FixedSizeList, mixture.rows(length, random(3))),
      utf8(length, texts(length, words, random(4))),
    ]
    return new RecordBatch(
      schema,
      makeData({ type: new Struct(schema.fields), length, nullCount: 0, children }),
    )
  }
  let milliseconds = 0
  const random = seededRandom(1_000_003)
  const documents = Array.from(batch(0, batchRows).getChild('text')!, String)
  return {
    *batches(rows, first = 0) {
      for (let from = first; from < rows; from += batchRows) {
        const begun = performance.now()
        const made = batch(from / batchRows, Math.min(batchRows, rows - from))
        milliseconds += performance.now() - begun
        yield made
      }
    },
    rowAt: row => ({
      id: idOf(row),
      key: keyOf(row),
      g: row % groups,
      category: 'c00',
      vector: mixture.query(seededRandom(row)),
      text: documents[row % documents.length]!,
    }),
    queries: Array.from({ length: queries }, () => mixture.query(random)),
    words: textQueries({ name: 'growth', documents }, queries).words3,
    get milliseconds() {
      return milliseconds
    },
  }
}

function schemaOf(dim: number): Schema {
  return new Schema([
    new Field('id', new Int64(), false),
    new Field('key', new Int64(), false),
    new Field('g', new Int32(), false),
    new Field('category', new Utf8(), false),
    new Field('vector', new FixedSizeList(dim, new Field('item', new Float32(), false)), false),
    new Field('text', new Utf8(), false),
  ])
}

/** Encode batches as an Arrow IPC stream, for callers that use another release of apache-arrow. */
export function ipcOf(batches: readonly RecordBatch[]): Uint8Array {
  return tableToIPC(new Table([...batches]), 'stream')
}

/** Return the elements of all vectors of a batch. */
export function floatsOf(batch: RecordBatch): Float32Array {
  return batch.getChild('vector')!.data[0]!.children[0]!.values as Float32Array
}

function below(limit: number, random: () => number): () => number {
  return () => Math.floor(limit * random())
}

interface Utf8Values {
  readonly offsets: Int32Array
  readonly bytes: Uint8Array
}

function utf8(length: number, { offsets, bytes }: Utf8Values) {
  return makeData({ type: new Utf8(), length, nullCount: 0, valueOffsets: offsets, data: bytes })
}

function vectorsOf(type: FixedSizeList, values: Float32Array) {
  const child = makeData({ type: new Float32(), data: values })
  return makeData({ type, length: values.length / type.listSize, nullCount: 0, child })
}

function categories(length: number, random: () => number): Utf8Values {
  const names = Array.from({ length }, () => {
    const drawn = random()
    if (drawn < 0.001) return 'rare'
    if (drawn < 0.101) return 'tenth'
    return `c${String(Math.floor(98 * random())).padStart(2, '0')}`
  })
  const offsets = new Int32Array(length + 1)
  for (const [i, name] of names.entries()) offsets[i + 1] = offsets[i]! + name.length
  return { offsets, bytes: Buffer.from(names.join('')) }
}

/** Generate texts. Each of `words` ends with a space. The space after the last word of a text is dropped. */
function texts(length: number, words: readonly Uint8Array[], random: () => number): Utf8Values {
  const longest = words.at(-1)!.length
  const bytes = new Uint8Array(length * wordsEach * longest)
  const offsets = new Int32Array(length + 1)
  const spread = Math.log(words.length)
  let at = 0
  for (let row = 0; row < length; row++) {
    for (let i = 0; i < wordsEach; i++) {
      const word = words[Math.floor(Math.exp(spread * random()))]!
      bytes.set(word, at)
      at += word.length
    }
    offsets[row + 1] = --at
  }
  return { offsets, bytes: bytes.subarray(0, at) }
}

/**
 * Generates vectors around cluster centres. The noise of a row is the sum of three vectors from a precomputed table, so
 * no logarithms are needed per row.
 */
class Mixture {
  readonly #dim: number
  readonly #centres: Float32Array
  readonly #widths: Float32Array
  /** The directions of each space. */
  readonly #bases: Float32Array
  readonly #noises: Float32Array

  constructor(dim: number) {
    const random = seededRandom(42)
    this.#dim = dim
    const middles = Float32Array.from({ length: topics * dim }, () => normal(random))
    this.#centres = Float32Array.from({ length: clusters * dim }, (_, i) => {
      return middles[(Math.floor(i / dim) % topics) * dim + (i % dim)]! + 0.6 * normal(random)
    })
    this.#widths = Float32Array.from({ length: clusters }, () => 0.5 + 0.5 * random())
    this.#bases = Float32Array.from({ length: spaces * spaceDim * dim }, () => {
      return normal(random) / Math.sqrt(spaceDim)
    })
    this.#noises = new Float32Array(spaces * noisesEach * dim)
    for (let i = 0; i < spaces * noisesEach; i++) {
      this.#noise(i % spaces, random, this.#noises.subarray(i * dim, (i + 1) * dim))
    }
  }

  rows(length: number, random: () => number): Float32Array {
    const dim = this.#dim
    const [centres, noises] = [this.#centres, this.#noises]
    const values = new Float32Array(length * dim)
    for (let row = 0; row < length; row++) {
      const cluster = clusterOf(random)
      const noise = () => (Math.floor(noisesEach * random()) * spaces + (cluster % spaces)) * dim
      const [a, b, c] = [noise(), noise(), noise()]
      const width = this.#widths[cluster]! / Math.sqrt(3)
      for (let i = 0; i < dim; i++) {
        const sum = noises[a + i]! + noises[b + i]! + noises[c + i]!
        values[row * dim + i] = centres[cluster * dim + i]! + width * sum
      }
    }
    return values
  }

  query(random: () => number): Float32Array {
    const cluster = clusterOf(random)
    const vector = new Float32Array(this.#dim)
    this.#noise(cluster % spaces, random, vector)
    return vector.map((value, i) => this.#centres[cluster * this.#dim + i]! + this.#widths[cluster]! * value)
  }

  /** Generate noise that is large in the directions of a space and small in all other directions. */
  #noise(space: number, random: () => number, target: Float32Array): void {
    const dim = this.#dim
    for (let i = 0; i < dim; i++) target[i] = 0.3 * normal(random)
    for (let k = 0; k < spaceDim; k++) {
      const [factor, at] = [normal(random), (space * spaceDim + k) * dim]
      for (let i = 0; i < dim; i++) target[i]! += factor * this.#bases[at + i]!
    }
  }
}

/** Draw a cluster. Clusters with lower numbers are more frequent. */
function clusterOf(random: () => number): number {
  return Math.floor(clusters * random() ** 2)
}

function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}
