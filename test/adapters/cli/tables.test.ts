/** `sheaf query`, `head`, `diff` and `export`, as a user runs them. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { selectionOf } from '../../../adapters/cli/split-list.js'
import { tableLines } from '../../../adapters/cli/text-table.js'
import { plainPieces } from '../../../adapters/files/pieces.js'
import { readArrow, readCsv, readParquet } from '../../../adapters/files/public.js'
import { decodeIpc } from '../../../src/arrow/decode-ipc.js'
import { connect } from '../../../src/index.js'
import { temporaryRoots } from '../../support/roots.js'
import { shipped } from '../built.js'

const freshRoot = temporaryRoots()
const program = shipped('cli')

function run(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' })
  return { status, stdout, stderr }
}

/** A root with the table `t` in four versions, of which the second has a tag. */
async function rootWithTable(): Promise<string> {
  const root = freshRoot()
  await using ns = await connect(root, { maintenance: 'elsewhere' })
  const table = await ns.createTable('t', [
    { id: 1n, name: 'Ann', city: 'Köln' },
    { id: 9007199254740993n, name: 'Bo', city: 'Bonn' },
    { id: 3n, name: null, city: 'Köln' },
  ])
  await table.update({ name: 'Cy' }, 'id = 3')
  await table.tags.create('named', 2)
  await table.delete('id = 1')
  await table.add([{ id: 4n, name: 'Di', city: 'Ulm' }])
  return root
}

const lanceTables = `lance+${pathToFileURL(join(import.meta.dirname, '../../golden/lance-tables'))}`

test('a directory of LanceDB is queried, exported and inspected', () => {
  const folder = freshRoot()
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'out.csv')
  expect(run('query', lanceTables, 'plain', '--where', 'id = 2', '--select', 'id,words').stdout).toBe(
    '{"id":2,"words":"new"}\n',
  )
  expect(run('export', lanceTables, 'plain', file, '--select', 'id').status).toBe(0)
  expect(readFileSync(file, 'utf8').split('\n')).toHaveLength(42)
  const { stdout, stderr } = run('inspect', lanceTables)
  expect(stderr).toBe('')
  expect(stdout).toMatch(/^lance\+file.*: 2 tables\n\nplain {2}/)
  expect(run('verify', lanceTables).stderr).toContain('is a directory of LanceDB, not a root of Sheaf')
})

describe('sheaf query', () => {
  test('prints the rows of a condition, an order, a group, a version and a tag, as JSON lines in a pipe', async () => {
    const root = await rootWithTable()
    expect(run('query', root, 't', '--where', "city = 'Bonn'")).toEqual({
      status: 0,
      stdout: '{"id":9007199254740993,"name":"Bo","city":"Bonn"}\n',
      stderr: '',
    })
    const grouped = ['--group-by', 'city', '--select', 'city,count(*) AS n', '--having', 'n > 1']
    expect(run('query', root, 't', '--version', '1', ...grouped).stdout).toBe('{"city":"Köln","n":2}\n')
    const ordered = [
      '--select',
      'upper(name) AS name',
      '--order-by',
      'id desc',
      '--offset',
      '1',
      '--limit',
      '1',
    ]
    expect(run('query', root, 't', '--tag', 'named', ...ordered).stdout).toBe('{"name":"CY"}\n')
    expect(run('query', root, 't', '--select', 'id', '--format', 'csv').stdout).toBe(
      'id\n9007199254740993\n3\n4\n',
    )
    expect(run('head', root, 't', '--limit', '1', '--version', '1').stdout).toMatch(/^\{"id":1,.*\}\n$/)
    expect(run('query', root, 't', '--where', 'id < 0', '--format', 'csv').stdout).toBe('id,name,city\n')
  })

  test('writes Arrow and Parquet, and reads a server as it reads a root', async () => {
    const root = await rootWithTable()
    const { stdout } = spawnSync(process.execPath, [program, 'query', root, 't', '--format', 'arrow'])
    expect(decodeIpc(stdout)).toMatchObject({ schema: { fields: [{ name: 'id' }, {}, {}] } })
    const parquet = spawnSync(process.execPath, [program, 'query', root, 't', '--format', 'parquet']).stdout
    const names: string[] = []
    for await (const batch of readParquet(new Uint8Array(parquet)))
      for (const { name } of batch.toArray()) names.push(name)
    expect(names).toHaveLength(3)
    const child = spawn(process.execPath, [program, 'serve', root, '--port', '0', '--tokens', 'me=geheim'])
    try {
      const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
      const url = line.replace('listening on ', '')
      const options = { encoding: 'utf8', env: { ...process.env, SHEAF_TOKEN: 'geheim' } } as const
      const asked = spawnSync(process.execPath, [program, 'query', url, 't', '--select', 'id'], options)
      expect(asked.stdout).toBe('{"id":9007199254740993}\n{"id":3}\n{"id":4}\n')
      expect(run('query', url, 't')).toMatchObject({ status: 1, stdout: '' })
    } finally {
      child.kill('SIGKILL')
    }
    expect(run('query', root, 't', '--token', 'x')).toMatchObject({ status: 2 })
  })

  test('ends quietly if the program that reads its output ends early', async () => {
    const root = freshRoot()
    const ns = await connect(root)
    await ns.createTable(
      't',
      Array.from({ length: 100_000 }, (_, id) => ({ id, text: 'x'.repeat(50) })),
    )
    await ns.close()
    const child = spawn(process.execPath, [program, 'query', root, 't'])
    const exit = once(child, 'exit')
    let errors = ''
    child.stderr.on('data', text => {
      errors += text
    })
    await once(child.stdout, 'data')
    child.stdout.destroy()
    expect(await exit).toEqual([0, null])
    expect(errors).toBe('')
  })

  test.each([
    [['--where', 'nme = 1'], 1, 'no column named "nme"'],
    [['--version', '99'], 1, 'has no version 99'],
    [['--tag', 'x', '--version', '1'], 2, '--version and --tag exclude each other'],
    [['--select', 'upper(name)'], 2, 'write upper(name) AS name'],
  ])('%j exits with %i, and says why', async (args, status, text) => {
    const result = run('query', await rootWithTable(), 't', ...args)
    expect([result.status, result.stdout]).toEqual([status, ''])
    expect(result.stderr).toContain(text)
    expect(result.stderr).not.toContain('    at ')
  })
})

test('names of columns and expressions are told apart', () => {
  expect(selectionOf(['id', '"a b"', 'meta.lang'])).toEqual(['id', 'a b', 'meta.lang'])
  expect(selectionOf(['id', 'lower(x) as "the x"'])).toEqual({ id: 'id', 'the x': 'lower(x)' })
  expect(() => selectionOf(['a AS x', 'b AS x'])).toThrow('twice')
  expect(() => selectionOf(['a + 1'])).toThrow('write a + 1 AS name')
})

describe('a table of text', () => {
  async function linesOf(rows: object[], columns?: number): Promise<string[]> {
    const lines: string[] = []
    for await (const line of tableLines(plainPieces(rows as never), columns)) lines.push(line)
    return lines
  }

  test('aligns numbers right and texts left, also of wide characters', async () => {
    expect(
      await linesOf([
        { n: 1, s: '日本', t: 'x' },
        { n: 22, s: 'abc', t: null },
      ]),
    ).toEqual([' n  s     t', '--  ----  ----', ' 1  日本  x', '22  abc   null', '(2 rows)'])
  })

  test('cuts wide values and columns to the terminal, and says how many columns have no room', async () => {
    const row = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`c${i}`, 'x'.repeat(100)]))
    const lines = await linesOf([row], 40)
    expect(lines.every(line => line.length <= 40 || line.startsWith('('))).toBe(true)
    expect(lines[2]).toBe(Array.from({ length: 4 }, () => 'xxxxxxx…').join('  '))
    expect(lines.at(-1)).toBe('(1 row; 5 columns more: select columns, or use --format json)')
  })

  test('shows long lists by their beginning, and no control characters', async () => {
    const [, , row] = await linesOf([{ v: [1, 2, 3, 4, 5, 6], s: '\x1b[31mred\nline\u202e' }])
    expect(row).toBe('[1, 2, 3, 4, … 6]  \\u001b[31mred\\nline\\u202e')
  })

  test('gives all rows, although only the first thousand determine the widths', async () => {
    const lines = await linesOf(Array.from({ length: 1001 }, (_, i) => ({ s: i < 1000 ? 'a' : 'longer' })))
    expect(lines).toHaveLength(1004)
    expect(lines.slice(-2)).toEqual(['…', '(1,001 rows)'])
  })
})

describe('sheaf diff', () => {
  test('prints added, removed and changed rows and columns, as JSON lines in a pipe', async () => {
    const root = await rootWithTable()
    await using ns = await connect(root)
    await (await ns.openTable('t')).addColumns({ n: 'id + 1' })
    const { status, stdout } = run('diff', root, 't', '1', '5')
    expect(status).toBe(0)
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(lines).toMatchObject([
      { kind: 'schema', added: ['n'], removed: [], renamed: [], retyped: [] },
      { kind: 'added', row: { id: 4, name: 'Di' } },
      { kind: 'removed', row: { id: 1, name: 'Ann' } },
      { kind: 'changed', before: { id: 3, name: null }, after: { id: 3, name: 'Cy' } },
    ])
    const text = run('diff', root, 't', '1', 'named', '--format', 'text')
    expect(text.stdout).toBe('0 rows added, 0 removed, 1 changed\n~ _rowid: 2, name: null → "Cy"\n')
    expect(run('diff', root, 't', '2', '1', '--format', 'text', '--limit', '0').stdout).toBe(
      '0 rows added, 0 removed, 1 changed\n~ … 1 more\n',
    )
    expect(run('diff', root, 't', '1', 'x')).toMatchObject({ status: 1, stdout: '' })
  })
})

describe('sheaf export', () => {
  test('writes a complete file in the format of its name, or none', async () => {
    const root = await rootWithTable()
    const directory = freshRoot()
    mkdirSync(directory)
    const at = (name: string) => join(directory, name)
    const csv = run(
      'export',
      root,
      't',
      at('t.csv.gz'),
      '--where',
      'id > 3',
      '--select',
      'id,city',
      '--order-by',
      'id',
    )
    expect(csv).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^2 rows written to .*t\.csv\.gz, \d+ B\n$/),
    })
    const read = []
    for await (const row of readCsv(at('t.csv.gz'))) read.push(row)
    expect(read).toEqual([
      { id: 4n, city: 'Ulm' },
      { id: 9007199254740993n, city: 'Bonn' },
    ])
    expect(run('export', root, 't', at('t.tsv'), '--version', '1', '--limit', '1').status).toBe(0)
    expect(readFileSync(at('t.tsv'), 'utf8')).toBe('id\tname\tcity\n1\tAnn\tKöln\n')
    expect(run('export', root, 't', at('t.arrow'), '--where', 'id < 0').status).toBe(0)
    for await (const batch of readArrow(at('t.arrow'))) {
      expect(batch.schema.fields.map(({ name }) => name)).toEqual(['id', 'name', 'city'])
    }
    writeFileSync(at('old.jsonl'), 'old')
    expect(run('export', root, 't', at('old.jsonl'), '--where', 'nope = 1').status).toBe(1)
    expect(readFileSync(at('old.jsonl'), 'utf8')).toBe('old')
    for (const [name, message] of [
      ['t.xyz', 'pass --format'],
      ['t.parquet.gz', 'leave out .gz'],
    ] as const) {
      expect(run('export', root, 't', at(name))).toMatchObject({
        status: 2,
        stderr: expect.stringContaining(message),
      })
      expect(existsSync(at(name))).toBe(false)
    }
  })

  test('writes Parquet, and a folder that a connection to lance+file: reads', async () => {
    const root = await rootWithTable()
    const directory = freshRoot()
    mkdirSync(directory)
    expect(run('export', root, 't', join(directory, 't.parquet')).status).toBe(0)
    expect(run('export', root, 't', join(directory, 't.lance')).status).toBe(0)
    await using ns = await connect(root, { readOnly: true })
    const rows = await ns.table('t').query().orderBy('id').toArray({ int64: 'bigint' })
    await using lance = await connect(`lance+${pathToFileURL(directory)}`)
    expect(await lance.table('t').query().orderBy('id').toArray({ int64: 'bigint' })).toEqual(rows)
    await using memory = await connect('memory://')
    const copy = await memory.createTable('t', readParquet(join(directory, 't.parquet')))
    expect(await copy.query().orderBy('id').toArray({ int64: 'bigint' })).toEqual(rows)
    expect(run('export', root, 't', join(directory, 't.lance'))).toMatchObject({ status: 1 })
  })
})
