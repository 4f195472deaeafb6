/** `sheaf import`: in this process, and as a program that is killed. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ImportProgress, progressText } from '../../../adapters/cli/import-progress.js'
import { delimiterOf } from '../../../adapters/cli/source-formats.js'
import { readCsv, writeArrow, writeLance, writeParquet } from '../../../adapters/files/public.js'
import { connectHttp } from '../../../adapters/http/client.js'
import { Namespace as NamespaceOfClient } from '../../../src/client/namespace.js'
import { connect, ErrorCode, type Namespace, type Table } from '../../../src/index.js'
import { temporaryRoots } from '../../support/roots.js'
import { shipped } from '../built.js'
import { importing, rowsOf } from './importing.js'

const freshRoot = temporaryRoots()
const program = shipped('cli')

let printed: string[] = []
let noted: string[] = []
const children: ChildProcessWithoutNullStreams[] = []

beforeEach(() => {
  printed = []
  noted = []
  vi.spyOn(console, 'log').mockImplementation(text => printed.push(String(text)))
  vi.spyOn(console, 'error').mockImplementation(text => noted.push(String(text)))
})

afterEach(() => {
  vi.restoreAllMocks()
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

/** A fresh directory with files. */
function filesIn(files: Readonly<Record<string, string | Uint8Array>>): string {
  const directory = freshRoot()
  mkdirSync(directory)
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(directory, name, '..'), { recursive: true })
    writeFileSync(join(directory, name), content)
  }
  return directory
}

async function namesIn(root: string): Promise<readonly string[]> {
  await using ns = await connect(root, { create: false, readOnly: true })
  return ns.tableNames()
}

function statesIn(directory: string): string[] {
  return readdirSync(directory).filter(name => name.startsWith('.sheaf-import-'))
}

describe('an import', () => {
  test('of generated CSV equals createTable(readCsv(...))', async () => {
    const cell = fc.oneof(
      fc.integer().map(String),
      fc.constantFrom(
        '',
        '007',
        'true',
        'false',
        '1.5',
        '-0',
        '2024-02-29',
        '2024-02-29T10:00:00',
        '[1,2]',
        'NaN',
      ),
      fc.string({ unit: 'grapheme', maxLength: 5 }),
    )
    const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`
    const file = fc
      .record({
        width: fc.integer({ min: 1, max: 4 }),
        cells: fc.array(cell, { minLength: 4, maxLength: 60 }),
        partBytes: fc.integer({ min: 1, max: 400 }),
        lineEnd: fc.constantFrom('\n', '\r\n'),
        mark: fc.constantFrom('', '\ufeff'),
      })
      .map(({ width, cells, partBytes, lineEnd, mark }) => {
        const lines = [Array.from({ length: width }, (_, i) => `c${i}`).join(',')]
        for (let i = 0; i + width <= cells.length; i += width) {
          lines.push(
            cells
              .slice(i, i + width)
              .map(quoted)
              .join(','),
          )
        }
        return { text: mark + lines.join(lineEnd) + lineEnd, partBytes }
      })
    await fc.assert(
      fc.asyncProperty(file, async ({ text: content, partBytes }) => {
        const source = join(filesIn({ 't.csv': content }), 't.csv')
        const root = freshRoot()
        await importing(source, root, '--part-size', String(partBytes))
        await using ns = await connect(root, { int64: 'bigint' })
        const whole = await ns.createTable('whole', readCsv(source))
        const imported: Table = await ns.openTable('t')
        const types = async (table: Table) =>
          (await table.schema()).fields.map(({ name, type, nullable }) => ({ name, type, nullable }))
        expect(await types(imported)).toEqual(await types(whole))
        expect(await imported.query().toArray()).toEqual(await whole.query().toArray())
      }),
      { numRuns: 25 },
    )
  })

  test('tells the format from the content, and reads directories, patterns and gzip', async () => {
    const directory = filesIn({
      'b.csv': '\ufeffid,name\r\n2,"b ""q"""\r\n',
      'a.jsonl': '{"id":1,"name":"a"}\n',
      'sub/z.csv.gz': gzipSync('id,name\n4,z\n'),
      'README.md': 'no data',
      'packed.bin': gzipSync('id;name\n5,5;x\n'),
    })
    await writeArrow(join(directory, 'c.arrow'), [{ id: 3, name: 'c' }])
    const root = freshRoot()
    await importing(directory, root, '--table', 'all')
    expect(noted).toEqual([
      `left out: ${join(directory, 'README.md')}; its name has no known ending`,
      `left out: ${join(directory, 'packed.bin')}; its name has no known ending`,
    ])
    expect((await rowsOf(root, 'all')).map(({ name }) => name)).toEqual(['a', 'b "q"', 'c', 'z'])
    await importing(join(directory, '*.csv'), join(directory, '**', '*.gz'), root, '--table', 'some')
    expect((await rowsOf(root, 'some')).map(({ id }) => id)).toEqual([2n, 4n])
    await importing(join(directory, 'packed.bin'), root, '--table', 'packed')
    expect(await rowsOf(root, 'packed')).toEqual([{ id: '5,5', name: 'x' }])
    await expect(importing(directory, join(directory, '*.csv'), root, '--table', 'twice')).rejects.toThrow(
      'is named twice',
    )
    await expect(importing(join(directory, '*.parquet'), root, '--table', 'none')).rejects.toThrow(
      'no file matches',
    )
    await expect(importing(root, root, '--table', 'none')).rejects.toThrow('is a root of Sheaf')
  })

  test('gives columns the types of --types and --vector, and refuses columns that are not there', async () => {
    const directory = filesIn({
      'j.jsonl': '{"v":[1,2],"day":"2024-01-02"}\n',
      'head.csv': 'a,b\n',
      'no.csv': '',
    })
    const root = freshRoot()
    await importing(join(directory, 'j.jsonl'), root, '--vector', 'v:2', '--types', 'day:date!')
    await importing(join(directory, 'head.csv'), root, '--types', 'a:decimal(10, 2),b:string')
    await using ns = await connect(root)
    const fields = async (name: string) => (await (await ns.openTable(name)).schema()).fields
    expect(await fields('j')).toMatchObject([
      { name: 'v', type: { kind: 'fixed_size_list', size: 2 } },
      { name: 'day', type: { kind: 'date' }, nullable: false },
    ])
    expect(await fields('head')).toMatchObject([{ type: { kind: 'decimal' } }, { type: { kind: 'utf8' } }])
    await expect(
      importing(join(directory, 'j.jsonl'), root, '--table', 'x', '--types', 'dya:date'),
    ).rejects.toThrow('no column named "dya"')
    await expect(
      importing(join(directory, 'j.jsonl'), root, '--table', 'x', '--vector', 'v:3'),
    ).rejects.toThrow('line 1: column "v" needs 3 values, got 2')
    await expect(importing(join(directory, 'no.csv'), root)).rejects.toThrow(
      '"no.csv" has no rows'.replace('"', ''),
    )
    await expect(
      importing(join(directory, 'head.csv'), root, '--table', 'x', '--types', 'b:int64'),
    ).rejects.toThrow('has no rows, so the types of these columns are unknown: "a"')
    expect(await ns.tableNames()).toEqual(['head', 'j'])
    expect(statesIn(directory)).toEqual([])
  })

  test('standard input is refused, because a source is read twice', async () => {
    await expect(importing('-', freshRoot(), '--table', 't')).rejects.toThrow('cannot read standard input')
  })

  test('appends, and upserts by key, as the types of the table', async () => {
    const directory = filesIn({
      'a.csv': 'zip,n,s\n04103,1,x\n',
      'b.csv': 'zip,n\n7,2\n',
      'bad.jsonl': '{"zip":"1"}\n{"n":1}\n',
    })
    const root = freshRoot()
    const at = (name: string) => join(directory, name)
    await importing(at('a.csv'), root, '--table', 't')
    await expect(importing(at('a.csv'), root, '--table', 't')).rejects.toMatchObject({
      code: ErrorCode.TableAlreadyExists,
    })
    await importing(at('b.csv'), root, '--table', 't', '--mode', 'append')
    writeFileSync(at('b.csv'), 'zip,n\n7,3\n04103,5\n9,9\n')
    await importing(at('b.csv'), root, '--table', 't', '--mode', 'upsert', '--key', 'zip')
    expect(printed.at(-1)).toBe('1 row imported, 2 updated: table t, version 4')
    expect((await rowsOf(root, 't')).sort((a, b) => Number(a.n) - Number(b.n))).toEqual([
      { zip: '7', n: 3n, s: null },
      { zip: '04103', n: 5n, s: 'x' },
      { zip: '9', n: 9n, s: null },
    ])
    await expect(
      importing(at('bad.jsonl'), root, '--table', 't', '--mode', 'upsert', '--key', 'zip'),
    ).rejects.toThrow('bad.jsonl" line 2: ')
    await expect(importing(at('a.csv'), root, '--table', 'u', '--mode', 'append')).rejects.toMatchObject({
      code: ErrorCode.TableNotFound,
    })
  })

  test('ends at a bad row without a trace, or leaves bad rows out and writes them to a file', async () => {
    const directory = filesIn({
      'a.csv': 'id,n\n1,1\n2\nx,3\n4,4\n',
      'b.jsonl': '{"id":5,"n":5}\n{"id":\n{"id":"six","n":6}\n',
      'quote.csv': 'id,n\n1,"x\n',
    })
    const root = freshRoot()
    const args = [join(directory, '[ab].*').replace('[ab]', '?'), root, '--table', 't', '--types', 'id:int64']
    await expect(importing(...args)).rejects.toThrow('a.csv" line 3 has 1 cells, but the file has 2 columns')
    expect(await namesIn(root)).toEqual([])
    expect(statesIn(directory)).toEqual([])
    const rejects = join(directory, 'rejects')
    await importing(...args, '--bad-rows', 'skip', '--rejects', rejects)
    expect((await rowsOf(root, 't')).map(({ id }) => id)).toEqual([1n, 4n, 5n])
    expect(noted).toEqual([`4 bad rows left out; see ${rejects}`])
    const lines = readFileSync(rejects, 'utf8').trimEnd().split('\n')
    expect(lines.map(line => JSON.parse(line))).toMatchObject([
      { file: join(directory, 'a.csv'), line: 3, data: ['2'] },
      { file: join(directory, 'a.csv'), line: 4, data: ['x', '3'] },
      { file: join(directory, 'b.jsonl'), line: 2, data: '{"id":' },
      { file: join(directory, 'b.jsonl'), line: 3, data: { id: 'six', n: 6 } },
    ])
    // A quote that is not closed hides the ends of all later rows, so it is fatal also with skip.
    await expect(importing(join(directory, 'quote.csv'), root, '--bad-rows', 'skip')).rejects.toThrow(
      'not closed',
    )
  })

  test('of a file that another program changes meanwhile fails without a trace', async () => {
    const directory = filesIn({ 't.csv': 'id\n1\n2\n' })
    const root = freshRoot()
    vi.spyOn(ImportProgress.prototype, 'show').mockImplementationOnce(() =>
      appendFileSync(join(directory, 't.csv'), '3\n'),
    )
    await expect(importing(join(directory, 't.csv'), root)).rejects.toThrow('changed while it was imported')
    expect(await namesIn(root)).toEqual([])
    expect(statesIn(directory)).toEqual([])
  })

  test('leaves no table behind if another process creates the table meanwhile', async () => {
    const directory = filesIn({ 't.csv': 'id\n1\n2\n' })
    const root = freshRoot()
    const { renameTable } = NamespaceOfClient.prototype
    vi.spyOn(NamespaceOfClient.prototype, 'renameTable').mockImplementationOnce(async function (
      this: Namespace,
      ...names
    ) {
      await this.createTable('t', [{ id: 7 }])
      return renameTable.apply(this as never, names)
    })
    await expect(importing(join(directory, 't.csv'), root)).rejects.toMatchObject({
      code: ErrorCode.TableAlreadyExists,
    })
    expect(await namesIn(root)).toEqual(['t'])
    expect(await rowsOf(root, 't')).toEqual([{ id: 7 }])
    expect(statesIn(directory)).toEqual([])
  })
})

interface Served {
  readonly url: string
  /** The requests so far. */
  readonly requests: readonly {
    readonly operation?: string
    readonly path: string
    readonly status: number
  }[]
}

async function served(root: string): Promise<Served> {
  const child = spawn(process.execPath, [program, 'serve', root, '--port', '0', '--log', 'json'])
  children.push(child)
  const requests: Served['requests'][number][] = []
  createInterface(child.stderr).on('line', line => requests.push(JSON.parse(line)))
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  return { url: line.replace('listening on ', ''), requests }
}

function insertsIn({ requests }: Pick<Served, 'requests'>): number {
  return requests.filter(({ path, status }) => /\/insert/.test(path) && status === 200).length
}

/** The number of parts that were sent between the start of a process and its commit, the `count`th commit. */
async function insertsUntilCommit(server: Served, ns: Namespace, count: number): Promise<number> {
  const isCommit = ({ path }: { readonly path: string }) => path.endsWith('multipart_write/complete')
  // The log arrives after the answers: each call gives it time.
  while (server.requests.filter(isCommit).length < count) await ns.tableNames()
  const commit = server.requests.findIndex(
    (request, i) => isCommit(request) && server.requests.slice(0, i).filter(isCommit).length === count - 1,
  )
  const begin = server.requests.findLastIndex(
    ({ path }, i) =>
      i < commit && path.endsWith(count === 1 ? 'multipart_write/describe' : 'multipart_write/create'),
  )
  return insertsIn({ requests: server.requests.slice(begin, commit) })
}

/** Run the program, while this process goes on reading the log of the server. */
async function run(args: readonly string[]): Promise<{ status: number; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [program, ...args])
  children.push(child)
  const [out, errors] = [text(child.stdout), text(child.stderr)]
  const [status] = (await once(child, 'exit')) as [number]
  return { status, stdout: await out, stderr: await errors }
}

const rows = 20_000

describe('an import that is killed', () => {
  /** Begin an import over HTTP, and kill it after some parts. */
  async function killed(source: string, server: Served): Promise<string[]> {
    const args = ['import', source, server.url, '--table', 'big', '--part-size', '16kB']
    const child = spawn(process.execPath, [program, ...args])
    children.push(child)
    const exit = once(child, 'exit')
    const ns = connectHttp(server.url)
    while (insertsIn(server) < 5) await ns.tableNames()
    child.kill('SIGKILL')
    await exit
    await ns.close()
    return args
  }

  function bigFile(): string {
    const lines = Array.from({ length: rows }, (_, i) => `${i},"name ${i}"`)
    return filesIn({ 'big.csv': `id,name\n${lines.join('\n')}\n` })
  }

  test.each(['csv', 'parquet', 'lance'])(
    'is continued by the same command, which sends only the missing parts (%s)',
    async format => {
      const directory = bigFile()
      const csv = () => readCsv(join(directory, 'big.csv'))
      if (format === 'parquet') await writeParquet(join(directory, 'big.parquet'), csv())
      if (format === 'lance') await writeLance(join(directory, 'big.lance'), csv())
      const server = await served(freshRoot())
      const args = await killed(join(directory, `big.${format}`), server)
      await using ns = connectHttp(server.url)
      expect(await ns.tableNames()).not.toContain('big')
      expect(statesIn(directory)).toHaveLength(1)
      const again = await run(args)
      expect(again).toMatchObject({ status: 0, stdout: '20,000 rows imported: table big, version 2\n' })
      const [, there] = /continuing an interrupted import: [\d,]+ rows in (\d+) parts are there/.exec(
        again.stderr,
      )!
      expect(Number(there)).toBeGreaterThanOrEqual(5)
      const sentAfterKill = await insertsUntilCommit(server, ns, 1)
      const table = await ns.openTable('big')
      const answer = await table
        .query()
        .select({ n: 'count(*)', m: 'count(DISTINCT id)', s: 'sum(id)' })
        .toArray()
      expect(answer).toEqual([{ n: rows, m: rows, s: (rows * (rows - 1)) / 2 }])
      expect(await run([...args, '--table', 'other'])).toMatchObject({ status: 0 })
      expect(sentAfterKill + Number(there)).toBe(await insertsUntilCommit(server, ns, 2))
      expect(statesIn(directory)).toEqual([])
      expect((await ns.tableNames()).filter(name => name.includes('import'))).toEqual([])
    },
  )

  test('refuses a changed source and other options, and starts again with --restart', async () => {
    const directory = bigFile()
    const source = join(directory, 'big.csv')
    const server = await served(freshRoot())
    const args = await killed(source, server)
    expect((await run([...args, '--bad-rows', 'skip'])).stderr).toMatch(
      /the interrupted import had other options: .*--restart/,
    )
    utimesSync(source, 1, 1)
    expect(await run(args)).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(
        /big\.csv" has changed since an earlier run began the import .*--restart/,
      ),
    })
    expect(await run([...args, '--restart'])).toMatchObject({ status: 0, stderr: '' })
    await using ns = connectHttp(server.url)
    expect(await ns.tableNames()).toEqual(['big'])
  })
})

test('the progress line has a bar, the rate and the rest of the time', () => {
  expect(progressText({ bytes: 0, rows: 0 }, 100, 0)).toBe('[....................] 0 %  0 rows, 0 rows/s')
  expect(progressText({ bytes: 25, rows: 5000 }, 100, 2000)).toBe(
    '[#####...............] 25 %  5,000 rows, 2,500 rows/s, 6 s left',
  )
  expect(progressText({ bytes: 0, rows: 0 }, 0, 5000)).toContain('100 %')
})

test('the delimiter of CSV is told from the first line, without the text in quotes', () => {
  expect(['a,b;c,d', 'a\tb', '"x,y,z";b', 'one', '"a;b",c'].map(delimiterOf)).toEqual([
    ',',
    '\t',
    ';',
    ',',
    ',',
  ])
})
