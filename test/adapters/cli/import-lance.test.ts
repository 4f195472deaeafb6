/** `sheaf import` of tables of LanceDB: folders that LanceDB 0.39 wrote, and folders that `writeLance` writes. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { writeLance } from '../../../adapters/files/public.js'
import { connect, ErrorCode, type Row } from '../../../src/index.js'
import { failure } from '../../support/failure.js'
import { temporaryRoots } from '../../support/roots.js'
import { runImport } from './importing.js'

const golden = join(import.meta.dirname, '../../golden')
const freshRoot = temporaryRoots()
let printed: string[] = []
let noted: string[] = []
/** Called for each printed line. */
let onPrinted: (line: string) => void = () => {}

beforeEach(() => {
  printed = []
  noted = []
  onPrinted = () => {}
  vi.spyOn(console, 'log').mockImplementation(text => {
    printed.push(String(text))
    onPrinted(String(text))
  })
  vi.spyOn(console, 'error').mockImplementation(text => noted.push(String(text)))
})
afterEach(() => void vi.restoreAllMocks())

/** The rows and columns of a table. `address`: a root, or a directory of LanceDB. */
async function contentOf(address: string, name: string): Promise<{ rows: Row[]; schema: unknown }> {
  await using ns = await connect(address, {
    int64: 'bigint',
    ...(!address.startsWith('lance') && { readOnly: true }),
  })
  const table = await ns.openTable(name)
  const { fields, metadata } = await table.schema()
  return {
    rows: (await table.query().toArray()) as Row[],
    schema: {
      fields: fields.map(({ name, type, nullable, metadata }) => ({ name, type, nullable, metadata })),
      metadata,
    },
  }
}

const addressOf = (folder: string) => `lance+${pathToFileURL(folder)}`

/** A copy of golden tables. */
function copyOf(folder: string): string {
  const copy = freshRoot()
  cpSync(join(golden, folder), copy, { recursive: true })
  return copy
}

function statesIn(directory: string): string[] {
  return readdirSync(directory).filter(name => name.startsWith('.sheaf-import-'))
}

describe('a directory of LanceDB', () => {
  test('is told from its content: all tables are imported with rows, columns and the tags of the newest version', async () => {
    const source = copyOf('lance-tables')
    const root = freshRoot()
    await runImport([source, root])
    for (const name of ['plain', 'stable']) {
      expect(await contentOf(root, name)).toEqual(await contentOf(addressOf(source), name))
    }
    expect(printed).toEqual([
      '40 rows imported: table plain, version 2',
      '40 rows imported: table stable, version 2',
    ])
    expect(noted).toEqual([
      'not copied from table plain: tag first, because it names version 1, and version 6 was copied',
      'not copied from table stable: tag first, because it names version 1, and version 6 was copied',
    ])
    expect(statesIn(source)).toEqual([])
  })

  test('gives one table with --table, and a folder of a table gives this table under another name', async () => {
    const source = copyOf('lance-tables')
    const root = freshRoot()
    writeFileSync(join(source, 'more.csv'), 'a\n1\n')
    await runImport([source, root, '--table', 'stable', '--format', 'lance'])
    expect(noted[0]).toBe(`left out: ${join(source, 'more.csv')}; import it separately`)
    await runImport([join(source, 'plain.lance'), root, '--table', 'other', '--part-size', '500B'])
    await runImport([join(source, 'plain.lance'), root, '--table', 'other', '--mode', 'append'])
    await using ns = await connect(root)
    expect(await ns.tableNames()).toEqual(['other', 'stable'])
    expect(await (await ns.openTable('other')).countRows()).toBe(80)
    expect(await failure(runImport([source, root, '--table', 'none']))).toMatchObject({
      message: 'no table of LanceDB has the name none: there are plain, stable',
    })
    expect(await failure(runImport([join(source, 'plain.lance'), root, '--table', 'other']))).toMatchObject({
      code: ErrorCode.TableAlreadyExists,
    })
  })

  test('indexes are built again with their parameters, and those that Sheaf does not have are named', async () => {
    const root = freshRoot()
    const source = copyOf('lance-import')
    await runImport([source, root])
    expect(printed).toEqual([
      '66 rows imported: table docs, version 2',
      '  tag now = v2',
      '  index a_idx  IVF_PQ on a',
      '  index b_idx  IVF_HNSW_SQ on b',
      '  index by x  BTREE on meta.x',
      '  index id_idx  BTREE on id',
      '  index kind_idx  BITMAP on kind',
      '  index labels_idx  LABEL_LIST on labels',
      '  index text_idx  FTS on text',
    ])
    expect(noted).toEqual([
      'not copied from table docs: tag raw, because it names version 1, and version 10 was copied',
      'not copied from table docs: index fm: Sheaf has no FM indexes',
    ])
    await using ns = await connect(root)
    const { indexes } = await ns.operations.listTableIndices({ id: ['docs'] })
    const shown = indexes.map(({ index_name, status, index_details }) => [
      index_name,
      status,
      JSON.parse(index_details ?? 'null'),
    ])
    expect(shown).toEqual([
      ['a_idx', 'ready', { distance_type: 'cosine', num_sub_vectors: 2, num_bits: 4 }],
      ['b_idx', 'ready', { distance_type: 'dot', m: 8, ef_construction: 40 }],
      ['by x', 'ready', {}],
      ['id_idx', 'ready', {}],
      ['kind_idx', 'ready', {}],
      ['labels_idx', 'ready', {}],
      [
        'text_idx',
        'ready',
        expect.objectContaining({ with_position: true, stem: false, custom_stop_words: ['foxes'] }),
      ],
    ])
    const docs = await ns.openTable('docs')
    expect(await (await docs.checkout('now')).countRows()).toBe(66)
    expect(await docs.search('running').limit(100).toArray()).toHaveLength(66)
    expect(await docs.search('foxes').toArray()).toEqual([])
    const written = (await contentOf(addressOf(source), 'docs')).rows
    expect((await contentOf(root, 'docs')).rows).toEqual(written)
  })

  test('an interrupted import is continued: tables that are complete are not imported again', async () => {
    const source = copyOf('lance-tables')
    const root = freshRoot()
    const stop = new AbortController()
    onPrinted = () => stop.abort(new Error('stopped'))
    await expect(runImport([source, root], stop.signal)).rejects.toThrow('stopped')
    expect(statesIn(source).length).toBeGreaterThan(0)
    await runImport([source, root])
    expect(noted).toContain('table plain was imported by an earlier run of the command')
    expect(printed).toEqual([
      '40 rows imported: table plain, version 2',
      '40 rows imported: table stable, version 2',
    ])
    expect(statesIn(source)).toEqual([])
    const again = await failure(runImport([source, root]))
    expect(again).toMatchObject({ message: '2 of 2 tables could not be imported' })
    expect(noted.at(-1)).toMatch(/^table stable is not imported: the table "stable" exists \(pass --mode/)
  })

  test('a version that LanceDB wrote after the interruption needs --restart', async () => {
    const source = copyOf('lance-tables')
    const folder = join(source, 'plain.lance')
    const newest = join(folder, '_versions/18446744073709551609.manifest')
    const bytes = readFileSync(newest)
    rmSync(newest)
    const root = freshRoot()
    const stop = new AbortController()
    vi.mocked(console.error).mockImplementation(text => {
      noted.push(String(text))
      stop.abort(new Error('stopped'))
    })
    // The note about the tag comes before the table gets its name.
    await expect(runImport([folder, root], stop.signal)).rejects.toThrow('stopped')
    writeFileSync(newest, bytes)
    expect(await failure(runImport([folder, root]))).toMatchObject({
      message: expect.stringContaining('plain.lance" has changed since an earlier run began the import'),
      hint: expect.stringContaining('--restart'),
    })
    await runImport([folder, root, '--restart'])
    await using ns = await connect(root)
    expect(await ns.tableNames()).toEqual(['plain'])
    expect(await (await ns.openTable('plain')).countRows()).toBe(40)
    expect(statesIn(source)).toEqual([])
  })

  test('a table that cannot be read does not stop the others, and the same command completes the import', async () => {
    const source = copyOf('lance-tables')
    const newest = join(source, 'plain.lance/_versions/18446744073709551609.manifest')
    const bytes = readFileSync(newest)
    writeFileSync(newest, bytes.subarray(0, 100))
    const root = freshRoot()
    expect(await failure(runImport([source, root]))).toMatchObject({
      message: '1 of 2 tables could not be imported',
    })
    expect(noted[0]).toMatch(/^table plain is not imported: .*is not a Lance manifest/)
    writeFileSync(newest, bytes)
    await runImport([source, root])
    expect(printed).toEqual([
      '40 rows imported: table stable, version 2',
      '40 rows imported: table plain, version 2',
    ])
    expect(statesIn(source)).toEqual([])
  })

  test('options that do not fit are refused', async () => {
    const source = copyOf('lance-tables')
    const root = freshRoot()
    const files = freshRoot()
    mkdirSync(files)
    writeFileSync(join(files, 'a.csv'), 'a\n1\n')
    await expect(runImport([source, root, '--mode', 'append'])).rejects.toThrow(
      '--mode append needs one table',
    )
    await expect(runImport([source, root, '--delimiter', ';'])).rejects.toThrow(
      '--delimiter needs the format csv',
    )
    await expect(runImport([source, join(files, 'a.csv'), root])).rejects.toThrow('separately')
    await expect(runImport(['lance', source, root])).rejects.toThrow('pass --format lance')
    await expect(runImport([files, root, '--format', 'lance'])).rejects.toThrow('has no table of LanceDB')
    await expect(runImport([join(source, 'plain.lance'), join(source, 'plain.lance'), root])).rejects.toThrow(
      'two tables of LanceDB have the name plain',
    )
    expect(existsSync(root)).toBe(false)
  })
})

test('a table without rows, and all types that writeLance writes, are imported as they are', async () => {
  const source = freshRoot()
  mkdirSync(source)
  const rows = [
    {
      id: 1n,
      text: 'a',
      list: [1, null],
      s: { x: 1, y: null },
      v: new Float32Array([1, 2]),
      b: new Uint8Array([1]),
      day: new Date(0),
    },
    { id: 2n, text: null, list: null, s: null, v: new Float32Array([3, 4]), b: null, day: null },
  ]
  await using memory = await connect('memory://')
  const table = await memory.createTable('t', rows)
  await writeLance(join(source, 'full.lance'), table.query().batches())
  await writeLance(join(source, 'empty.lance'), table.query().where('false').batches(), {
    schema: { ...(await table.schema()), metadata: { owner: 'me' } },
  })
  const root = freshRoot()
  await runImport([source, root])
  for (const name of ['empty', 'full']) {
    expect(await contentOf(root, name)).toEqual(await contentOf(addressOf(source), name))
  }
  expect((await contentOf(root, 'empty')).schema).toMatchObject({ metadata: { owner: 'me' } })
  expect(printed).toEqual(['0 rows imported: table empty', '2 rows imported: table full, version 2'])
})
