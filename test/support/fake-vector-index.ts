/**
 * Vector indexes without files: sorted indexes whose names begin with `v_` are taken for indexes of the column `v`, over the rows that
 * they really cover, at every version. A segment looks at every vector it numbers each time it is asked.
 */

import type { Blur } from '../../src/indexes/vector/saturation.js'
import type {
  Candidates,
  Ending,
  PoorShares,
  Probe,
  Recalls,
  VectorIndexSegment,
} from '../../src/indexes/vector/segment.js'
import { distancesOf } from '../../src/kernels/exact.js'
import type { Metric } from '../../src/kernels/metric.js'
import { VectorSegment } from '../../src/kernels/vector-segment.js'
import { filePath } from '../../src/manifest/file-names.js'
import type { Layout } from '../../src/manifest/layout.js'
import type { IndexSegment, TableIndex } from '../../src/manifest/table-index.js'
import type { TableReader } from '../../src/table/table-reader.js'
import { vectorFields } from '../../src/table/vector-column.js'

/** What a segment makes of the rows that it may propose, the nearest first: which of them, in which order. */
export type Proposing = (nearest: Uint32Array, distances: Float32Array, count: number) => Uint32Array

/** The nearest, and all that are as far as the last of them: equal ones rank by numbers that segments do not know. */
export const perfectly: Proposing = (nearest, distances, count) => {
  let end = Math.min(count, nearest.length)
  while (end > 0 && end < nearest.length && distances[end] === distances[end - 1]) end++
  return nearest.slice(0, end)
}

export class FakeVectorIndexes {
  metric: Metric = 'l2'
  propose: Proposing = perfectly
  /** Rows that a segment says it measures for an answer. */
  measured = 1
  /** What it found of the ten nearest when it was built; null: it was not asked. */
  recalls: Recalls | null = null
  /** For how many queries it found little when it was built; null: it was not asked. */
  poor: PoorShares | null = null
  /** How far most rows lie from their middle; null: nobody measured it. */
  radius: number | null = null
  /** How far the order of the proposed rows can be trusted. */
  blur: Blur = { factor: 1, more: 0 }
  /** How a search ends. */
  ended: Ending = 'saturated'
  /** What segments were asked, and how often one was opened. */
  readonly probes: Probe[] = []
  opened = 0
  /** By path: who saw a segment first, when all of its rows were there. */
  readonly #first = new Map<string, { readonly reader: TableReader; readonly segment: IndexSegment }>()

  /** The layout of a version as this takes it. `location`: the folder of the table. */
  taken(reader: TableReader, location: string, layout: Layout): Layout {
    const field = layout.schema.fields.find(({ name }) => name === 'v')!
    const indexes = layout.indexes.filter(isTaken).map((index): TableIndex => {
      for (const segment of index.segments) {
        const path = `${location}/${filePath('indexes', segment.file)}`
        if (!this.#first.has(path)) this.#first.set(path, { reader, segment })
      }
      return { ...index, kind: 'IVF_FLAT', field: field.id, vector: { metric: this.metric } }
    })
    return { ...layout, indexes }
  }

  /** In the place of `openSegment`. */
  async open(path: string, rows: number, dim: number): Promise<VectorIndexSegment> {
    this.opened++
    const { reader, segment } = this.#first.get(path)!
    const field = vectorFields(reader.schema).find(({ name }) => name === 'v')!
    const vectors = VectorSegment.allocate('f32', dim, rows)
    const isThere = new Array<boolean>(rows).fill(false)
    for (const { first, count, fragment: id, at, gone } of segment.cover) {
      if (gone !== undefined) throw new Error('a segment was seen too late')
      const fragment = reader.layout.fragments.find(known => known.id === id)!
      for (const part of await reader.partsOf(fragment)) {
        const own = await reader.vectors(part, field)
        for (let row = 0; row < part.rows; row++) {
          const ordinal = first + part.first + row - at
          if (ordinal < first || ordinal >= first + count) continue
          isThere[ordinal] = own.present?.has(row) ?? true
          const values = own.segment.values.subarray(row * dim, (row + 1) * dim)
          ;(vectors.values as Float32Array).set(values, ordinal * dim)
        }
      }
    }
    return this.#segment(vectors, isThere)
  }

  #segment(vectors: VectorSegment, isThere: readonly boolean[]): VectorIndexSegment {
    const { metric, measured, recalls, poor, radius, blur } = this
    const { rows } = vectors
    const count = isThere.filter(there => there).length
    return {
      rows,
      bytes: vectors.byteLength,
      facts: {
        vectors: count,
        partitions: 4,
        recall: recalls?.rows ?? null,
        ...(recalls !== null && { recalls }),
        ...(poor !== null && { poor }),
        ...(radius !== null && { radius }),
        measured,
        rowBytes: vectors.dim * 4,
      },
      candidatesFor: k => k,
      blurFor: () => blur,
      candidates: async (probe): Promise<Candidates> => {
        this.probes.push(probe)
        const distances = distancesOf(vectors, probe.query, metric)
        const allowed = [...distances.keys()].filter(i => isThere[i] && (probe.allowed?.has(i) ?? true))
        const nearest = Uint32Array.from(allowed).sort((a, b) => distances[a]! - distances[b]! || a - b)
        const ordinals = this.propose(
          nearest,
          Float32Array.from(nearest, i => distances[i]!),
          probe.count,
        )
        return { ordinals, partitions: 2, measured: nearest.length, ended: this.ended }
      },
    }
  }
}

function isTaken({ name }: TableIndex): boolean {
  return name.startsWith('v_')
}
