/** Segments of vector indexes that keep what they were given: stands in for indexes/vector/build. */

import {
  type SectionFile,
  type SegmentBytes,
  sectionFile,
  sectionOf,
} from '../../src/indexes/sections/section-file.js'
import type { BaseSegment, VectorBuildProgress } from '../../src/indexes/vector/build.js'
import type { VectorInput } from '../../src/indexes/vector/input.js'
import type { VectorSpec } from '../../src/indexes/vector/kind.js'
import type { Pacer } from '../../src/primitives/pacer.js'

/** What tests decide, and look at. */
export const fake = {
  maxSegmentRows: 1_000_000,
  /** Recall that the next segments say they have. */
  recall: null as number | null,
  /** How often pieces were asked for, and whether a base was given. */
  built: [] as {
    readonly spec: VectorSpec
    readonly first: number
    readonly rows: number
    readonly extends: boolean
  }[],
}

export function maxSegmentRows(_spec: VectorSpec, _dim: number): number {
  return fake.maxSegmentRows
}

export function isExtendable({ kind }: VectorSpec): boolean {
  return kind !== 'IVF_HNSW_PQ'
}

export async function buildSegment(
  spec: VectorSpec,
  input: VectorInput,
  base: BaseSegment | null,
  pacer: Pacer,
  progress: VectorBuildProgress,
): Promise<SegmentBytes> {
  const { first, rows, dim } = input
  fake.built.push({ spec, first, rows, extends: base !== null })
  const vectors = new Float32Array((first + rows) * dim)
  const present = new Uint8Array(first + rows)
  if (base !== null) {
    await fill(base.file, 'vectors', new Uint8Array(vectors.buffer, 0, 4 * first * dim))
    await fill(base.file, 'present', present.subarray(0, first))
  }
  for (let pass = 0; pass < 2; pass++) {
    let next = first
    for await (const piece of input.pieces()) {
      if (piece.first !== next || piece.rows > 4096 || piece.values.length !== piece.rows * dim) {
        throw new Error(`a piece of ${piece.rows} rows from ${piece.first} on, not from ${next}`)
      }
      vectors.set(piece.values, next * dim)
      for (let row = 0; row < piece.rows; row++) present[next + row] = Number(piece.present?.has(row) ?? true)
      next += piece.rows
      progress(next - first, pass === 0 ? 'reading' : 'building')
    }
    if (next !== first + rows) throw new Error(`${next - first} rows came, not ${rows}`)
  }
  const facts = { vectors: present.reduce((sum, each) => sum + each, 0), recall: fake.recall }
  const sections = [
    { name: 'vectors', bytes: new Uint8Array(vectors.buffer) },
    { name: 'present', bytes: present },
  ]
  return sectionFile({ facts }, sections, pacer)
}

async function fill(file: SectionFile, name: string, target: Uint8Array): Promise<void> {
  await file.readInto(sectionOf(file, name, target.length), target)
}

/** The vectors of such a segment by ordinal; null for rows without one. */
export async function vectorsIn(
  file: SectionFile,
  dim: number,
): Promise<readonly (readonly number[] | null)[]> {
  const present = new Uint8Array(sectionOf(file, 'present').bytes)
  await fill(file, 'present', present)
  const vectors = new Float32Array(present.length * dim)
  await fill(file, 'vectors', new Uint8Array(vectors.buffer))
  return Array.from(present, (is, row) =>
    is === 1 ? [...vectors.subarray(row * dim, (row + 1) * dim)] : null,
  )
}
