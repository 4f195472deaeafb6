/** An index of which no type is said has the one that fits its column, and of vectors the memory there is. */
import { expect, test } from 'vitest'
import { type CreateIndexOptions, connect } from '../../src/index.js'

const byte = { name: 'item', type: { kind: 'int', bits: 8, signed: false }, nullable: true } as const

const rows = Array.from({ length: 2000 }, (_, i) => ({
  id: i,
  name: `name ${i}`,
  tags: [`t${i % 5}`],
  v: Array.from({ length: 16 }, (_, k) => Math.sin(i * (k + 1))),
}))

test.each([
  [64 << 20, 'IVF_HNSW_SQ'],
  [512 << 10, 'IVF_PQ'],
])('with cacheBytes of %d an index of vectors is %s', async (cacheBytes, vectors) => {
  const ns = await connect('memory://', { cacheBytes })
  const table = await ns.createTable('t', rows, { vectorColumns: ['v'] })
  const bytes = await ns.createTable('bytes', [{ b: Array.from({ length: 16 }, (_, k) => k) }], {
    schema: {
      fields: [{ name: 'b', type: { kind: 'fixed_size_list', size: 16, child: byte }, nullable: false }],
    },
  })
  const typeOf = async (column: string, options: CreateIndexOptions = {}) => {
    const { name } = await table.createIndex(column, { waitTimeoutMs: 60_000, ...options })
    return (await table.listIndices()).find(index => index.name === name)!.type
  }
  expect(await typeOf('id')).toBe('BTREE')
  expect(await typeOf('name')).toBe('BTREE')
  expect(await typeOf('tags')).toBe('LABEL_LIST')
  expect(await typeOf('v', { distanceType: 'cosine' })).toBe(vectors)
  await bytes.createIndex('b', { distanceType: 'hamming' })
  expect(await bytes.listIndices()).toMatchObject([{ type: 'IVF_FLAT' }])
  await expect(table.createIndex('id', { distanceType: 'dot', partitions: 3 })).rejects.toMatchObject({
    code: 13,
    message: expect.stringContaining('a BTREE index has no use for num_partitions'),
  })
  await ns.close()
})
