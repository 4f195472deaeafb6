/** `sheaf import` of Parquet, hnswlib and SQLite. */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { readHnswlibFolder, writeParquet } from '../../../adapters/files/public.js'
import { connect, type Row } from '../../../src/index.js'
import { temporaryRoots } from '../../support/roots.js'
import { importing, rowsOf } from './importing.js'

const freshRoot = temporaryRoots()
let printed: string[] = []
let noted: string[] = []

beforeEach(() => {
  printed = []
  noted = []
  vi.spyOn(console, 'log').mockImplementation(text => printed.push(String(text)))
  vi.spyOn(console, 'error').mockImplementation(text => noted.push(String(text)))
})
afterEach(() => void vi.restoreAllMocks())

function freshFolder(): string {
  const folder = freshRoot()
  mkdirSync(folder)
  return folder
}

describe('Parquet', () => {
  const rows = Array.from({ length: 3000 }, (_, i) => ({
    id: BigInt(i),
    day: new Date(i * 86_400_000),
    text: i % 7 === 0 ? null : `row ${i}`,
    v: new Float32Array([i, 1]),
  }))

  test('keeps rows and types, of a file, of a gzipped file and of the files of a directory', async () => {
    const folder = freshFolder()
    const at = (name: string) => join(folder, name)
    await writeParquet(at('a.parquet'), rows.slice(0, 1000), { rowGroupRows: 300 })
    await writeParquet(at('b.pq'), rows.slice(1000), { compression: 'gzip' })
    const root = freshRoot()
    await importing(folder, root, '--table', 't', '--part-size', '8kB')
    expect(noted).toEqual([])
    expect(await rowsOf(root, 't')).toEqual(rows)
    writeFileSync(at('c.bin'), gzipSync(readFileSync(at('a.parquet'))))
    await importing(at('c.bin'), root, '--table', 'packed')
    expect(await rowsOf(root, 'packed')).toEqual(rows.slice(0, 1000))
    await importing(at('*.parquet'), root, '--table', 'packed', '--mode', 'append')
    expect(await rowsOf(root, 'packed')).toHaveLength(2000)
    await using ns = await connect(root)
    const types = async (name: string) =>
      (await (await ns.openTable(name)).schema()).fields.map(f => String(f.type.kind))
    expect(await types('t')).toEqual(['int', 'timestamp', 'utf8', 'fixed_size_list'])
  })

  test('lists of numbers become vectors of the dimension of --vector', async () => {
    const folder = freshFolder()
    await writeParquet(join(folder, 'l.parquet'), [{ v: [0.1, 2] }, { v: [3, 4] }])
    const root = freshRoot()
    await importing(join(folder, 'l.parquet'), root, '--vector', 'v:2')
    expect(await rowsOf(root, 'l')).toEqual([
      { v: new Float32Array([0.1, 2]) },
      { v: new Float32Array([3, 4]) },
    ])
    await expect(
      importing(join(folder, 'l.parquet'), root, '--vector', 'v:3', '--table', 'x'),
    ).rejects.toThrow('"v" is fixed_size_list<float32>[3]')
  })

  test('a file needs the magic text at both ends, and options of CSV are refused', async () => {
    const folder = freshFolder()
    const at = (name: string) => join(folder, name)
    await writeParquet(at('a.parquet'), rows)
    const bytes = readFileSync(at('a.parquet'))
    writeFileSync(at('cut.parquet'), bytes.subarray(0, 5000))
    writeFileSync(at('text'), 'PAR1,b\n1,2\n')
    const root = freshRoot()
    await expect(importing(at('cut.parquet'), root)).rejects.toMatchObject({
      message: expect.stringContaining('has no known format'),
      hint: expect.stringContaining('cut off'),
    })
    await expect(importing(at('cut.parquet'), root, '--format', 'parquet')).rejects.toThrow('cut off')
    await importing(at('text'), root)
    expect(await rowsOf(root, 'text')).toEqual([{ PAR1: 1n, b: 2n }])
    await expect(importing(at('a.parquet'), root, '--delimiter', ';')).rejects.toThrow(
      '--delimiter needs the format csv',
    )
    await using ns = await connect(root)
    expect(await ns.tableNames()).toEqual(['text'])
  })

  test('an upsert of record batches and text updates the columns that the first file has', async () => {
    const folder = freshFolder()
    const at = (name: string) => join(folder, name)
    await writeParquet(at('t.parquet'), rows)
    const root = freshRoot()
    await importing(at('t.parquet'), root)
    await writeParquet(at('1.parquet'), [{ id: 1n, text: 'one' }])
    writeFileSync(at('2.jsonl'), '{"id":2,"text":"two"}\n')
    await importing(at('1.parquet'), at('2.jsonl'), root, '--table', 't', '--mode', 'upsert', '--key', 'id')
    const [, one, two] = (await rowsOf(root, 't')).sort((a, b) => Number(a.id) - Number(b.id))
    expect([one, two]).toEqual([
      { ...rows[1], text: 'one' },
      { ...rows[2], text: 'two' },
    ])
  })
})

describe('hnswlib', () => {
  const golden = join(import.meta.dirname, '../../golden/hnswlib')

  test('an index file is told from its header, and gives the labels and vectors', async () => {
    const root = freshRoot()
    await importing(join(golden, 'l2.bin'), root, '--table', 'points')
    const { points } = JSON.parse(readFileSync(join(golden, 'l2.json'), 'utf8'))
    const found = await rowsOf(root, 'points')
    expect(
      Object.fromEntries(found.map(({ id, vector }) => [String(id), [...(vector as Float32Array)]])),
    ).toEqual(points)
    const folder = freshFolder()
    writeFileSync(join(folder, 'cut'), readFileSync(join(golden, 'l2.bin')).subarray(0, -10))
    await expect(importing(join(folder, 'cut'), root)).rejects.toThrow(
      'is not a complete index file of hnswlib',
    )
  })

  test('a folder of LangChain is one source, with one row for each document', async () => {
    const folder = freshFolder()
    cpSync(join(golden, 'langchain'), join(folder, 'store'), { recursive: true })
    const root = freshRoot()
    await importing(join(folder, 'store'), root, '--part-size', '100B')
    const rows: unknown[] = []
    for await (const row of readHnswlibFolder(join(folder, 'store'))) rows.push(row)
    const found = await rowsOf(root, 'store')
    expect(found.map(({ id, text, vector }) => ({ id, text, vector }))).toEqual(
      (rows as Row[]).map(({ id, text, vector }) => ({ id, text, vector })),
    )
    const path = join(folder, 'store/docstore.json')
    const documents = JSON.parse(readFileSync(path, 'utf8'))
    documents[0][1].metadata = { text: 'taken' }
    writeFileSync(path, JSON.stringify(documents))
    await expect(importing(join(folder, 'store'), root, '--table', 'x')).rejects.toMatchObject({
      hint: expect.stringContaining('with a program'),
    })
    await expect(importing(join(folder, 'store'), root, '--table', 'x', '--nulls', 'a')).rejects.toThrow()
  })
})

describe('SQLite', () => {
  const magic = 'SQLite format 3\0'

  test('is told from its content, and the error says which package is missing, or that the file is damaged', async () => {
    const folder = freshFolder()
    writeFileSync(join(folder, 'a.db'), magic.padEnd(4096, '\0'))
    await expect(importing(join(folder, 'a.db'), freshRoot(), '--source-table', 't')).rejects.toThrow(
      /better-sqlite3|with SQLite/,
    )
    writeFileSync(join(folder, 'a.csv'), 'a\n1\n')
    await expect(importing(join(folder, 'a.csv'), freshRoot(), '--source-table', 't')).rejects.toThrow(
      '--source-table needs the format sqlite',
    )
  })
})
