/**
 * Runs the demonstration with 60,000 vectors of 784 dimensions: Fashion-MNIST (Xiao et al., 2017; MIT license), which
 * ann-benchmarks uses too.
 */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { connect, type Schema } from '../../src/index.js'
import { line, step } from './report.js'

const names = ['T-shirt', 'Trouser', 'Pullover', 'Dress', 'Coat', 'Sandal', 'Shirt', 'Sneaker', 'Bag', 'Boot']
const timedQueries = 200
const checkedQueries = 5
const k = 10

const pixel = { name: 'item', type: { kind: 'int', bits: 8, signed: false }, nullable: true } as const
const schema: Schema = {
  fields: [
    { name: 'id', type: { kind: 'int', bits: 32, signed: true }, nullable: false },
    { name: 'label', type: { kind: 'utf8', large: false }, nullable: false },
    { name: 'vector', type: { kind: 'fixed_size_list', size: 784, child: pixel }, nullable: false },
  ],
}

export async function searchImages(folder: string, root: string): Promise<void> {
  rmSync(root, { recursive: true, force: true })
  line('Sheaf searches 60,000 images by their 784 grey values.\n')
  const { images, labels, queries } = await step('read', async () => {
    const images = readImages(join(folder, 'train-images-idx3-ubyte.gz'))
    const labels = gunzipSync(readFileSync(join(folder, 'train-labels-idx1-ubyte.gz'))).subarray(8)
    const queries = readImages(join(folder, 't10k-images-idx3-ubyte.gz'))
    return [{ images, labels, queries }, `${images.length} images, ${queries.length} queries`]
  })
  const ns = await step('open', async () => [await connect(root), `a namespace in ./${root}`])
  const table = await step('create', async () => {
    const rows = images.map((vector, id) => ({ id, label: names[labels[id]!], vector }))
    return [
      await ns.createTable('images', rows, { schema }),
      'table images, vectors of uint8: version 1, on disk',
    ]
  })
  const find = (query: Uint8Array) => table.search(query).select(['id', 'label']).limit(k).toArray()
  await step('search', async () => {
    const hits = await find(queries[0]!)
    return [hits, `the first query, columns read from disk: ${labelsOf(hits)}`]
  })

  const times: number[] = []
  await step('search', async () => {
    for (let i = 0; i < timedQueries; i++) {
      const start = process.hrtime.bigint()
      await find(queries[i]!)
      times.push(Number(process.hrtime.bigint() - start) / 1e6)
    }
    times.sort((a, b) => a - b)
    const at = (share: number) => times[Math.floor(share * (times.length - 1))]!.toFixed(2)
    return [times, `${timedQueries} queries, top ${k}: p50 ${at(0.5)} ms, p95 ${at(0.95)} ms each`]
  })
  await step('recall', async () => {
    let found = 0
    for (let i = 0; i < checkedQueries; i++) {
      const expected = new Set(nearestByLoop(images, queries[i]!))
      for (const { id } of await find(queries[i]!)) if (expected.has(Number(id))) found++
    }
    const recall = found / (k * checkedQueries)
    return [
      recall,
      `recall@${k} ${recall.toFixed(3)}, compared with an exact scan, ${checkedQueries} queries`,
    ]
  })
  await step('filter', async () => {
    const hits = await table
      .search(queries[0]!)
      .where('label <> ?', ['Boot'])
      .select(['label'])
      .limit(k)
      .toArray()
    return [hits, `the nearest images that are not boots: ${labelsOf(hits)}`]
  })
  await ns.close()
}

function labelsOf(hits: readonly Record<string, unknown>[]): string {
  const counts = new Map<unknown, number>()
  for (const { label } of hits) counts.set(label, (counts.get(label) ?? 0) + 1)
  return [...counts].map(([label, count]) => `${count} x ${label}`).join(', ')
}

function readImages(path: string): Uint8Array[] {
  const pixels = gunzipSync(readFileSync(path)).subarray(16)
  return Array.from({ length: pixels.length / 784 }, (_, i) => pixels.subarray(i * 784, (i + 1) * 784))
}

function nearestByLoop(images: readonly Uint8Array[], query: Uint8Array): number[] {
  const distances = images.map((image, id) => {
    let sum = 0
    for (let i = 0; i < 784; i++) sum += (image[i]! - query[i]!) ** 2
    return { id, sum }
  })
  return distances
    .sort((a, b) => a.sum - b.sum || a.id - b.id)
    .slice(0, k)
    .map(({ id }) => id)
}
