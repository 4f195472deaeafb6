/**
 * Generates or loads vectors with labels, queries that are near rows of one label, and filters that depend on labels.
 */
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { dataPath } from '../scripts/data.js'
import type { Namespace, Table } from '../src/index.js'
import { sharesOf } from './query-vector.js'
import { seededRandom } from './random.js'
import { fashionData } from './vector-data.js'

export interface LabelledVectors {
  readonly name: string
  readonly dim: number
  /** The elements of all rows (`rows x dim`). */
  readonly rows: Float32Array
  /** The label of each row: an integer from 0 on. */
  readonly labels: Int32Array
  /** The elements of all queries (`queries x dim`). */
  readonly queries: Float32Array
  /** For each query: the label of the rows near it. */
  readonly own: Int32Array
}

/**
 * Create a table with the columns `vector`, `id` (number of the row), `c` (its label), `share` (random in [0, 1)) and
 * `x` (first element of the vector).
 */
export async function labelledTable(ns: Namespace, name: string, data: LabelledVectors): Promise<Table> {
  const { dim, rows, labels } = data
  const share = sharesOf(labels.length)
  const all = Array.from(labels, (c, id) => ({
    id,
    c,
    share: share[id]!,
    x: rows[id * dim]!,
    vector: rows.slice(id * dim, (id + 1) * dim),
  }))
  let table: Table | null = null
  for (let first = 0; first < all.length; first += 20_000) {
    const some = all.slice(first, first + 20_000)
    if (table === null) table = await ns.createTable(name, some)
    else await table.add(some)
  }
  return table!
}

/** A filter. It may depend on the query. */
export interface Filter {
  readonly name: string
  /** Return the filter as SQL. Null: all rows pass. */
  where(query: number): string | null
  passes(query: number, row: number): boolean
}

/** Return the same rows, but only the queries whose label has less than a quarter of the rows. */
export function bySmallLabels(data: LabelledVectors): LabelledVectors {
  const { dim, labels, queries, own } = data
  const sizes = new Map<number, number>()
  for (const label of labels) sizes.set(label, (sizes.get(label) ?? 0) + 1)
  const kept = [...own.keys()].filter(q => sizes.get(own[q]!)! < labels.length / 4)
  const some = new Float32Array(kept.length * dim)
  for (const [i, q] of kept.entries()) some.set(queries.subarray(q * dim, (q + 1) * dim), i * dim)
  return { ...data, queries: some, own: Int32Array.from(kept, q => own[q]!) }
}

/** Return filters by label, by a random share of the rows, by one dimension, and by two of these together. */
export function filtersOf(data: LabelledVectors): readonly Filter[] {
  const { dim, rows, labels, own, queries } = data
  const share = sharesOf(labels.length)
  const count = labels.reduce((most, label) => Math.max(most, label + 1), 0)
  const middles = middlesOf(data, count)
  /** For each query: the labels sorted by the distance of their mean from the query, the farthest label first. */
  const farthest = Array.from(own, (_, q) => {
    const query = queries.subarray(q * dim, (q + 1) * dim)
    const far = middles.map(middle => squaresBetween(middle, query))
    return [...far.keys()].sort((a, b) => far[b]! - far[a]!)
  })
  const sizes = new Float64Array(count)
  for (const label of labels) sizes[label]! += 1
  const big = sizes.indexOf(Math.max(...sizes))
  const first = Float32Array.from(labels, (_, row) => rows[row * dim]!)
  const high = first.slice().sort()[Math.floor(first.length * 0.8)]!
  const random = (part: number): Filter => ({
    name: `random ${100 * part} %`,
    where: () => `share < ${part}`,
    passes: (_, row) => share[row]! < part,
  })
  const label = (name: string, chosen: (query: number) => readonly number[]): Filter => ({
    name,
    where: q => `c IN (${chosen(q).join(', ')})`,
    passes: (q, row) => chosen(q).includes(labels[row]!),
  })
  const others: Filter = {
    name: 'other label',
    where: q => `c <> ${own[q]!}`,
    passes: (q, row) => labels[row] !== own[q],
  }
  const both: Filter = {
    name: 'other label, random 10 %',
    where: q => `c <> ${own[q]!} AND share < 0.1`,
    passes: (q, row) => labels[row] !== own[q] && share[row]! < 0.1,
  }
  return [
    { name: 'none', where: () => null, passes: () => true },
    ...[0.99, 0.5, 0.1, 0.01, 0.001].map(random),
    label('own label', q => [own[q]!]),
    others,
    label('farthest label', q => farthest[q]!.slice(0, 1)),
    label('three far labels', q => farthest[q]!.slice(0, 3)),
    label('largest label', () => [big]),
    { name: 'first dimension', where: () => `x > ${high}`, passes: (_, row) => first[row]! > high },
    both,
  ]
}

/**
 * Generate normally distributed clusters. The first cluster has about half of the rows. `apart`: the standard deviation
 * of the cluster centres. There are three kinds of queries: near a row, halfway between two rows, and outside of the
 * clusters.
 */
export function clouds(
  name: string,
  count: number,
  dim: number,
  clusters: number,
  apart: number,
  queries: number,
  seed = 1,
): LabelledVectors {
  const random = seededRandom(seed)
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const middles = Float32Array.from({ length: clusters * dim }, () => apart * normal())
  const labels = Int32Array.from({ length: count }, () =>
    random() < 0.5 ? 0 : Math.floor(random() * clusters),
  )
  const rows = new Float32Array(count * dim)
  for (let i = 0; i < rows.length; i++) {
    rows[i] = middles[labels[Math.floor(i / dim)]! * dim + (i % dim)]! + normal()
  }
  const own = new Int32Array(queries)
  const asked = new Float32Array(queries * dim)
  for (let q = 0; q < queries; q++) {
    const one = Math.floor(random() * count)
    const other = Math.floor(random() * count)
    own[q] = labels[one]!
    for (let i = 0; i < dim; i++) {
      const [a, b] = [rows[one * dim + i]!, rows[other * dim + i]!]
      asked[q * dim + i] = q % 3 === 0 ? a + 0.3 * normal() : q % 3 === 1 ? (a + b) / 2 : a + 0.7 * (a - b)
    }
  }
  return { name, dim, rows, labels, queries: asked, own }
}

/** Label rows and queries by k-means. The label is the number of the nearest of `count` means. */
export function labelledByMeans(
  name: string,
  dim: number,
  rows: Float32Array,
  queries: Float32Array,
  count: number,
): LabelledVectors {
  const total = rows.length / dim
  let middles: readonly ArrayLike<number>[] = Array.from({ length: count }, (_, i) => {
    const at = Math.floor(((i + 0.5) * total) / count) * dim
    return Float64Array.from(rows.subarray(at, at + dim))
  })
  const labelsOf = (vectors: Float32Array) =>
    Int32Array.from({ length: vectors.length / dim }, (_, i) => {
      const vector = vectors.subarray(i * dim, (i + 1) * dim)
      const far = middles.map(middle => squaresBetween(middle, vector))
      return far.indexOf(Math.min(...far))
    })
  let labels = labelsOf(rows)
  const own = new Int32Array(queries.length / dim)
  for (let round = 0; round < 4; round++) {
    middles = middlesOf({ name, dim, rows, labels, queries, own }, count)
    labels = labelsOf(rows)
  }
  return { name, dim, rows, labels, queries, own: labelsOf(queries) }
}

/**
 * Load embedded texts, embedded questions about them, and topics as labels. Returns null if the files are not on this
 * machine.
 */
export function questionsToTexts(count: number): LabelledVectors | null {
  const [documents, questions] = ['docs', 'queries'].map(part =>
    dataPath('vectors', 'scifact-minilm', `scifact-${part}.f16`),
  )
  if (documents == null || questions == null) return null
  const dim = 384
  const all = widened(readFileSync(questions))
  const queries = new Float32Array(count * dim)
  for (let q = 0; q < count; q++) {
    const at = Math.floor((q * all.length) / dim / count) * dim
    queries.set(all.subarray(at, at + dim), q * dim)
  }
  return labelledByMeans('real questions', dim, widened(readFileSync(documents)), queries, 8)
}

/**
 * Load images of clothes with their kinds as labels, and other images as queries. Returns null if the files are not on
 * this machine.
 */
export function labelledPictures(count: number): LabelledVectors | null {
  const data = fashionData(count)
  const [labels, own] = ['train', 't10k'].map(part =>
    dataPath('vectors', 'fashion-mnist', `${part}-labels-idx1-ubyte.gz`),
  )
  if (data === null || labels == null || own == null) return null
  const labelsIn = (path: string, most: number) =>
    Int32Array.from(gunzipSync(readFileSync(path)).subarray(8, 8 + most))
  return { ...data, labels: labelsIn(labels, data.rows.length / data.dim), own: labelsIn(own, count) }
}

/** Convert little-endian half floats to float32. */
function widened(bytes: Buffer): Float32Array {
  return Float32Array.from({ length: bytes.length / 2 }, (_, i) => {
    const half = bytes.readUInt16LE(2 * i)
    const [exponent, fraction] = [(half >> 10) & 31, half & 1023]
    const size = exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15)
    return half >> 15 ? -size : size
  })
}

function middlesOf({ dim, rows, labels }: LabelledVectors, count: number): readonly Float64Array[] {
  const middles = Array.from({ length: count }, () => new Float64Array(dim))
  const sizes = new Float64Array(count)
  for (const [row, label] of labels.entries()) {
    sizes[label]! += 1
    for (let i = 0; i < dim; i++) middles[label]![i]! += rows[row * dim + i]!
  }
  return middles.map((middle, label) => middle.map(sum => sum / Math.max(1, sizes[label]!)))
}

export function squaresBetween(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += (a[i]! - b[i]!) ** 2
  return sum
}
