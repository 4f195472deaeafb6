/** Every root in `test/golden/format-*` opens, and reads as it did when it was made. Adding a case is adding a folder. */
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { describeRoot } from '../scripts/describe-root.js'
import { connect, type Row } from '../src/index.js'

const folder = 'test/golden'
const copies = mkdtempSync(join(tmpdir(), 'sheaf-golden-'))
afterAll(() => rmSync(copies, { recursive: true, force: true }))

describe.each(readdirSync(folder).filter(name => name.startsWith('format-')))('%s', name => {
  const root = join(folder, name, 'root')
  const expected = JSON.parse(readFileSync(join(folder, name, 'expected.json'), 'utf8'))

  test('reads unchanged, without writing anything', async () => {
    const ns = await connect(root, { readOnly: true })
    expect(JSON.parse(JSON.stringify(await describeRoot(ns)))).toEqual(expected)
    await ns.close()
  })

  const tokens = join(folder, name, 'tokens.json')
  if (existsSync(tokens))
    test('slices of its read sessions are read by their tokens', async () => {
      const ns = await connect(root, { readOnly: true })
      const table = await ns.openTable('a')
      const ids: number[] = []
      for (const token of JSON.parse(readFileSync(tokens, 'utf8'))) {
        for await (const batch of table.slice(token).batches()) {
          for (const { id, name } of batch.toArray()) {
            ids.push(Number(id))
            expect(name).toBe(Number(id) % 5 === 0 ? null : `row ${id} – ünïcödé`)
          }
        }
      }
      const wanted = Array.from({ length: 399 }, (_, i) => 101 + i).filter(id => id % 10 !== 3)
      expect(ids).toEqual(wanted)
      await ns.close()
    })

  const nearest = join(folder, name, 'nearest.json')
  if (existsSync(nearest))
    test('indexes of lists of vectors return the nearest rows', async () => {
      const ns = await connect(root, { readOnly: true })
      const { query, ids } = JSON.parse(readFileSync(nearest, 'utf8'))
      for (const kind of ['IVF_FLAT', 'IVF_HNSW_SQ']) {
        const table = await ns.openTable(kind)
        expect(await table.listIndices()).toMatchObject([{ type: kind, unindexedRows: 9 }])
        const found = await table.search(query).nprobes(2).limit(5).select(['id']).toArray()
        expect(found.map(({ id }) => Number(id))).toEqual(ids)
      }
      await ns.close()
    })

  const beside = join(folder, name, 'beside.json')
  if (existsSync(beside))
    test('indexes with vectors beside their lists return the nearest rows', async () => {
      const ns = await connect(root, { readOnly: true })
      const { query, nearest } = JSON.parse(readFileSync(beside, 'utf8'))
      for (const [kind, rows] of Object.entries(nearest)) {
        const table = await ns.openTable(kind)
        const search = table.search(query).nprobes(3).refineFactor(5).limit(6).select(['id'])
        expect(JSON.parse(JSON.stringify(await search.toArray())), kind).toEqual(rows)
      }
      await ns.close()
    })

  const terms = join(folder, name, 'terms.json')
  if (existsSync(terms))
    test('a text index whose dictionary has pages finds rows', async () => {
      const ns = await connect(root, { readOnly: true })
      const table = await ns.openTable('a')
      for (const [words, rows] of Object.entries(JSON.parse(readFileSync(terms, 'utf8')))) {
        const found = await table.search(words).limit(5).select(['id']).toArray()
        expect(JSON.parse(JSON.stringify(found)), words).toEqual(rows)
      }
      await ns.close()
    })

  if (name === 'format-1-stretches')
    test('filters skip stretches by the statistics of their file', async () => {
      const ns = await connect(root, { readOnly: true })
      const table = await ns.openTable('a')
      expect(await table.countRows('id BETWEEN 30000 AND 30029')).toBe(10)
      const plan = await table.query().where('id BETWEEN 30000 AND 30029').select(['mixed']).analyze()
      expect(plan).toContain('rows_decided_by_zones=11808')
      await ns.close()
    })

  if (name === 'format-1-strides')
    test('lookups by scalar indexes find the rows', async () => {
      const ns = await connect(root, { readOnly: true })
      const table = await ns.openTable('a')
      const rows = await table.query().withRowId().toArray()
      for (const [where, passes] of Object.entries(lookups)) {
        const search = table.query().where(where).withRowId()
        expect(await search.explain()).toContain('ScalarIndexQuery')
        const passing = rows.filter(passes)
        expect(passing, where).not.toEqual([])
        expect(await search.toArray(), where).toEqual(passing)
      }
      await ns.close()
    })

  test('accepts further commits', async () => {
    const copy = join(copies, name)
    cpSync(root, copy, { recursive: true })
    const ns = await connect(copy)
    const [id] = (await ns.operations.listAllTables({})).tables
    const table = await ns.openTable(id!)
    const version = await table.version()
    await table.tags.create('later', version)
    expect(await table.tags.version('later')).toBe(version)
    await ns.close()
    const again = await connect(copy, { create: false })
    expect(await (await again.openTable(id!)).tags.version('later')).toBe(version)
    await again.close()
  })
})

/** Filters of the table with scalar indexes, and the rows that pass. */
const lookups: Readonly<Record<string, (row: Row) => boolean>> = {
  'key = 4711': ({ key }) => key === 4711,
  'key IN (0, 17, 8500, 9000)': ({ key }) => [17, 8500].includes(key as number),
  'key BETWEEN 100 AND 140': ({ key }) => key !== null && Number(key) >= 100 && Number(key) <= 140,
  "label = 'label 1234'": ({ label }) => label === 'label 1234',
  "key IS NULL AND label < 'label 2'": ({ key, label }) =>
    key === null && label !== null && String(label) < 'label 2',
}
