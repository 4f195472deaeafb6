/** Rows to files: what the files say, and what is refused. */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { PassThrough, Writable } from 'node:stream'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import {
  type FileRows,
  readArrow,
  readCsv,
  type WriteCsvOptions,
  writeArrow,
  writeCsv,
  writeJsonLines,
} from '../../../adapters/files/public.js'
import { decodeIpc } from '../../../src/arrow/decode-ipc.js'
import { batchToRows } from '../../../src/arrow/values.js'
import { ErrorCode } from '../../../src/errors.js'
import { connect } from '../../../src/index.js'
import { failure } from '../../support/failure.js'
import { temporaryRoots } from '../../support/roots.js'

const newRoot = temporaryRoots()

function newFolder(): string {
  const folder = newRoot()
  mkdirSync(folder)
  return folder
}

type Write = (target: Writable, rows: FileRows, options: WriteCsvOptions) => Promise<unknown>

async function written(write: Write, rows: FileRows, options = {}): Promise<string> {
  const target = new PassThrough()
  const [chunks] = await Promise.all([target.toArray(), write(target, rows, options)])
  return Buffer.concat(chunks).toString()
}

const rows = [
  {
    id: 1n,
    name: 'a "b", c',
    x: -0,
    at: new Date(0),
    v: [1, 2.5],
    raw: Uint8Array.of(255),
    o: { k: [true] },
  },
  {
    id: 2n ** 60n,
    name: '',
    x: Number.NaN,
    at: null,
    v: new Float32Array(2),
    raw: null,
    o: new Map([['k', 1n]]),
  },
  { id: null, name: null },
]

describe('what is written', () => {
  test('CSV', async () => {
    expect(await written(writeCsv, rows)).toBe(
      'id,name,x,at,v,raw,o\n' +
        '1,"a ""b"", c",-0,1970-01-01T00:00:00.000Z,"[1,2.5]",/w==,"{""k"":[true]}"\n' +
        '1152921504606846976,"",NaN,,"[0,0]",,"[[""k"",1]]"\n' +
        ',,,,,,\n',
    )
    expect(await written(writeCsv, [{ 'a;b': 'c;d', e: 'f,g' }], { delimiter: ';' })).toBe(
      '"a;b";e\n"c;d";f,g\n',
    )
    expect(await written(writeCsv, [{ a: null }, { a: '' }])).toBe('a\n\n""\n')
    expect(await written(writeCsv, [])).toBe('')
  })

  test('JSON lines', async () => {
    expect(await written(writeJsonLines, rows)).toBe(
      '{"id":1,"name":"a \\"b\\", c","x":-0,"at":"1970-01-01T00:00:00.000Z","v":[1,2.5],"raw":"/w==","o":{"k":[true]}}\n' +
        '{"id":1152921504606846976,"name":"","x":"NaN","at":null,"v":[0,0],"raw":null,"o":[["k",1]]}\n' +
        '{"id":null,"name":null,"x":null,"at":null,"v":null,"raw":null,"o":null}\n',
    )
    expect(await written(writeJsonLines, [{}])).toBe('{}\n')
  })

  test('Arrow, of row objects with a schema or without', async () => {
    const path = `${newFolder()}/a.arrow`
    const many = Array.from({ length: 2500 }, (_, i) => ({ i: BigInt(i), v: [i, 1] }))
    expect(await writeArrow(path, many)).toEqual({ rows: 2500, bytes: readFileSync(path).length })
    const { batches } = decodeIpc(readFileSync(path))
    expect(batches.map(batch => batch.length)).toEqual([1024, 1024, 452])
    expect(batchToRows(batches[2]!)[451]).toEqual({ i: 2499, v: [2499, 1] })

    const schema = {
      fields: [{ name: 'i', type: { kind: 'int', bits: 8, signed: true }, nullable: true }],
    } as const
    await writeArrow(path, [], { schema })
    expect(decodeIpc(readFileSync(path)).schema).toEqual(schema)
    for await (const batch of readArrow(path)) {
      expect([batch.numRows, batch.schema.names]).toEqual([0, ['i']])
    }
    const error = await failure(writeArrow(path, [{ i: 1 }, { i: 300 }], { schema }))
    expect(error.message).toContain('row 1: column "i" is int8, got 300')
    const late = [...Array.from({ length: 1024 }, () => ({ i: 1 })), { i: 'x' }]
    expect((await failure(writeArrow(path, late))).message).toMatch(
      /in the rows from row 1024 on: row 0: column "i"/,
    )
  })
})

describe('from a table', () => {
  test('through every format, batches and a whole table', async () => {
    await using ns = await connect('memory://')
    const table = await ns.createTable('t', readCsv(stream('id,city\n1,Bonn\n2,\n')))
    const text = 'id,city\n1,Bonn\n2,\n'
    expect(await written(writeCsv, table.query().batches({ rows: 1 }))).toBe(text)
    expect(await written(writeCsv, await table.query().toArrow())).toBe(text)
    expect(await written(writeCsv, await table.query().toArray())).toBe(text)
    expect(await written(writeJsonLines, table.query().batches())).toBe(
      '{"id":1,"city":"Bonn"}\n{"id":2,"city":null}\n',
    )
    const path = `${newFolder()}/a.arrow`
    await writeArrow(path, table.query().batches())
    const back = []
    for await (const batch of readArrow(path)) back.push(batch)
    const copy = await ns.createTable('copy', back)
    expect(await copy.schema()).toEqual(await table.schema())
    expect(await copy.query().toArray()).toEqual(await table.query().toArray())
  })
})

async function* stream(...texts: readonly string[]): AsyncGenerator<string> {
  yield* texts
}

describe('targets', () => {
  test('a path gets a whole file or none; a path that ends in .gz gets a compressed file', async () => {
    const folder = newFolder()
    expect(await writeCsv(`${folder}/a.csv`, [{ a: 1 }])).toEqual({ rows: 1, bytes: 4 })
    const { bytes } = await writeCsv(`${folder}/a.csv.gz`, [{ a: 1 }])
    const packed = readFileSync(`${folder}/a.csv.gz`)
    expect([packed.length, gunzipSync(packed).toString()]).toEqual([bytes, 'a\n1\n'])

    const broken = new Error('broken')
    async function* failing() {
      yield { a: 2 }
      throw broken
    }
    for (const name of ['a.csv', 'b.csv', 'b.csv.gz'])
      expect(await failure(writeCsv(`${folder}/${name}`, failing()))).toBe(broken)
    expect(readFileSync(`${folder}/a.csv`, 'utf8')).toBe('a\n1\n')
    expect(readdirSync(folder)).toEqual(['a.csv', 'a.csv.gz'])
  })

  test('a slow stream is awaited and ended', async () => {
    let asked = 0
    let seen = 0
    function* many() {
      for (; asked < 200_000; asked++) yield { a: 'x'.repeat(20) }
    }
    const slow = new Writable({
      highWaterMark: 1,
      write(chunk, _encoding, done) {
        seen += chunk.length
        // One piece on its way, one being made.
        expect(asked * 21).toBeLessThan(seen + 4 * 256 * 1024)
        setImmediate(done)
      },
    })
    const { rows: count, bytes } = await writeCsv(slow, many())
    expect([count, bytes, slow.writableFinished]).toEqual([200_000, seen, true])
  })

  test('a failing stream ends the rows', async () => {
    let closed = () => {}
    const closing = new Promise<void>(resolve => {
      closed = resolve
    })
    async function* endless() {
      try {
        for (;;) yield { a: 'x'.repeat(1000) }
      } finally {
        closed()
      }
    }
    const broken = new Error('broken')
    const target = new Writable({ write: (_chunk, _encoding, done) => done(broken) })
    expect(await failure(writeCsv(target, endless()))).toBe(broken)
    await closing
  })

  test('the abort signal ends the rows', async () => {
    const reason = new Error('enough')
    for (const target of [`${newFolder()}/a.csv`, new PassThrough().resume()]) {
      const controller = new AbortController()
      async function* hanging() {
        yield { a: 1 }
        controller.abort(reason)
        await new Promise(() => {})
      }
      expect(await failure(writeCsv(target, hanging(), { signal: controller.signal }))).toBe(reason)
    }
  })
})

describe('refused', () => {
  const circle: unknown[] = []
  circle.push(circle)

  test.each<[string, unknown, RegExp]>([
    ['no rows', 7, /rows must be an iterable of record batches or of objects, got 7/],
    ['a row that is none', [{ a: 1 }, null], /row 1 is not an object of columns: null/],
    ['an array of arrays', [[1]], /row 0 is not an object of columns: \[1\]/],
    ['another column', [{ a: 1 }, { b: 2 }], /row 1 has the unknown key "b"/],
    ['a function', [{ a: () => 1 }], /row 0: column "a" contains a function/],
    ['a set', [{ a: 1 }, { a: new Set() }], /row 1: column "a" contains a Set/],
    ['a Date that is none', [{ a: new Date(Number.NaN) }], /row 0: column "a" contains an invalid Date/],
    ['a circle', [{ a: circle }], /row 0: column "a" is nested deeper than 48 levels/],
    [
      'half of a character, in CSV',
      [
        { a: 'x', b: 1 },
        { a: '\ud83d', b: 1 },
      ],
      /row 1: column "a" holds half of a/,
    ],
    ['no columns, in CSV', [{}], /rows without columns cannot be written as CSV/],
  ])('%s', async (_, given, message) => {
    const target = new PassThrough().resume()
    expect((await failure(writeCsv(target, given as FileRows))).message).toMatch(message)
  })

  test('no target, a bad delimiter', async () => {
    expect((await failure(writeCsv(null as unknown as string, []))).message).toContain('a path or a Writable')
    const target = new PassThrough().resume()
    expect((await failure(writeCsv(target, [{ a: 1 }], { delimiter: '1' }))).code).toBe(
      ErrorCode.InvalidInput,
    )
  })
})
