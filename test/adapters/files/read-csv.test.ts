import { mkdirSync, writeFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { type FileSource, type ReadCsvOptions, readCsv } from '../../../adapters/files/public.js'
import type { DataType, Field, IntType } from '../../../src/arrow/types.js'
import { ErrorCode } from '../../../src/errors.js'
import { connect } from '../../../src/index.js'
import { failure } from '../../support/failure.js'
import { temporaryRoots } from '../../support/roots.js'

const newFolder = temporaryRoots()

function file(name: string, content: string | Uint8Array): string {
  const folder = newFolder()
  mkdirSync(folder)
  writeFileSync(`${folder}/${name}`, content)
  return `${folder}/${name}`
}

async function* chunks(...parts: (string | Uint8Array)[]): AsyncGenerator<string | Uint8Array> {
  yield* parts
}

async function rows(source: FileSource, options?: ReadCsvOptions): Promise<object[]> {
  const out: object[] = []
  for await (const row of readCsv(source, options)) out.push(row)
  return out
}

/** The values of a column `c`, one per line. */
async function column(cells: readonly string[], options?: ReadCsvOptions): Promise<unknown[]> {
  const found = await rows(chunks(`c,d\n${cells.map(cell => `${cell},\n`).join('')}`), options)
  return found.map(row => (row as { c: unknown }).c)
}

const typed = (type: DataType): ReadCsvOptions => ({
  schema: { fields: ['c', 'd'].map((name): Field => ({ name, type, nullable: true })) },
})

describe('sources', () => {
  const expected = [
    { id: 1n, name: 'Köln' },
    { id: 2n, name: null },
  ]
  const text = 'id,name\n1,Köln\n2,\n'

  test('a path, compressed or not', async () => {
    expect(await rows(file('a.csv', text))).toEqual(expected)
    expect(await rows(file('a.csv.gz', gzipSync(text)))).toEqual(expected)
  })

  test('a Readable, chunks of bytes and of text, cut anywhere', async () => {
    expect(await rows(Readable.from([Buffer.from(text)]))).toEqual(expected)
    const bytes = Buffer.from(text)
    expect(await rows(chunks(...Array.from(bytes, (_, i) => bytes.subarray(i, i + 1))))).toEqual(expected)
    expect(await rows(chunks(...text))).toEqual(expected)
  })

  test('a byte order mark is not part of the first name', async () => {
    expect(await rows(chunks(`\ufeff${text}`))).toEqual(expected)
  })

  test('a table is not created from a header with types for only some of its columns', async () => {
    await using ns = await connect('memory://')
    const create = (types: Record<string, string>) =>
      ns.createTable('t', readCsv(chunks('a,b,c\n\n'), { types }))
    expect(await failure(create({ b: 'int64' }))).toMatchObject({
      code: ErrorCode.InvalidInput,
      message: 'the file has no rows, so the types of these columns are unknown: "a", "c"',
    })
    const table = await create({ a: 'int64', b: 'string', c: 'date' })
    expect((await table.schema()).fields).toHaveLength(3)
    expect(await rows(chunks('a,b\n'), { types: { a: 'int64' } })).toEqual([])
  })

  test('empty input, and a header alone, have no rows', async () => {
    expect(await rows(chunks())).toEqual([])
    expect(await rows(chunks('id,name'))).toEqual([])
  })

  test('quotes over many blocks', async () => {
    const long = 'x,"\r\n'.repeat(50_000)
    const quoted = long.replaceAll('"', '""')
    expect(await rows(chunks(`a,b\n"${quoted}",1\n`))).toEqual([{ a: long, b: 1n }])
  })

  test.each([
    ['no file', () => `${newFolder()}/none.csv`, /there is no file/],
    ['a directory', () => '.', /is a directory, not a file/],
    ['no source', () => 7 as unknown as string, /a path or an async iterable of bytes, got 7/],
    [
      'chunks of something else',
      () => Readable.from([{}]),
      /a chunk of a file must be bytes or text, got \{\}/,
    ],
    ['half a character', () => chunks('a\n\ud83d'), /half of a surrogate pair/],
    ['Latin 1', () => chunks('a\nb\n', Uint8Array.of(0xe9, 10)), /line 3 is not UTF-8/],
    [
      'a cut gzip file',
      () => file('a.csv.gz', gzipSync(text).subarray(0, 20)),
      /is not a complete gzip file/,
    ],
  ])('refuses %s', async (_, source, message) => {
    const error = await failure(rows(source()))
    expect(error).toMatchObject({ code: ErrorCode.InvalidInput, message: expect.stringMatching(message) })
  })

  test('the source is closed when the consumer stops, and when a row is refused', async () => {
    for (const end of ['stop', 'refuse']) {
      let closed = false
      async function* endless() {
        try {
          yield 'a,b\n'
          for (let i = 0; ; i++) yield i === 30_000 ? 'x\n' : '1,2\n'
        } finally {
          closed = true
        }
      }
      if (end === 'refuse')
        expect((await failure(rows(endless()))).message).toContain('line 30002 has 1 cells')
      else for await (const _ of readCsv(endless())) break
      expect(closed).toBe(true)
    }
  })

  test('stops at the abort signal, also if the source hangs', async () => {
    const reason = new Error('enough')
    expect(await failure(rows(chunks('a\n'), { signal: AbortSignal.abort(reason) }))).toBe(reason)
    const controller = new AbortController()
    async function* hanging() {
      yield 'a\n1\n'
      controller.abort(reason)
      await new Promise(() => {})
    }
    expect(await failure(rows(hanging(), { signal: controller.signal }))).toBe(reason)
  })
})

describe('columns', () => {
  test('names from the header row, or given', async () => {
    expect(await rows(chunks('\n"a b",,__proto__\n1,2,3\n'))).toEqual([
      Object.fromEntries([
        ['a b', 1n],
        ['column1', 2n],
        ['__proto__', 3n],
      ]),
    ])
    expect(await rows(chunks('1,2\n'), { columns: ['x', 'y'] })).toEqual([{ x: 1n, y: 2n }])
  })

  test('a blank line is a row if there is one column, and is skipped if there are several', async () => {
    expect(await rows(chunks('a\n1\n\n2\n'))).toEqual([{ a: 1n }, { a: null }, { a: 2n }])
    expect(await rows(chunks('a,b\n1,2\n\n3,4\n'))).toEqual([
      { a: 1n, b: 2n },
      { a: 3n, b: 4n },
    ])
  })

  test.each<[string, string, ReadCsvOptions, RegExp]>([
    ['a name twice', 'a,b,a\n', {}, /line 1 has the column name "a" twice/],
    ['too few cells', 'a,b\n1,2\n"x\ny"\n', {}, /line 3 has 1 cells, but the file has 2 columns/],
    ['too many', 'a,b\n1,2,3\n', {}, /line 2 has 3 cells, but the file has 2 columns/],
    ['a column the schema lacks', 'c,e\n', typed({ kind: 'bool' }), /no column named "e"/],
    ['a type of no column', 'a\n', { types: { b: 'string' } }, /no column named "b"/],
    ['an unknown type', 'a\n1\n', { types: { a: 'txt' } }, /"txt" is not a type/],
    [
      'nulls that are one text',
      'a\n',
      { nulls: 'NA' as unknown as string[] },
      /nulls must be an array, got "NA"/,
    ],
    [
      'more columns than any table has',
      ','.repeat(10_000),
      {},
      /line 1 has 10001 column names; at most 10000 are allowed/,
    ],
    [
      'a delimiter that is none',
      'a\n',
      { delimiter: 'ab' },
      /the delimiter must be one character .* got "ab"/,
    ],
  ])('refuses %s', async (_, text, options, message) => {
    expect((await failure(rows(chunks(text), options))).message).toMatch(message)
  })
})

describe('types are inferred', () => {
  test.each<[string, string[], unknown[]]>([
    ['integers', ['1', '', '-20', '9223372036854775807'], [1n, null, -20n, 2n ** 63n - 1n]],
    [
      'floats',
      ['1', '-0.5', '1e3', 'NaN', '-Infinity'],
      [1, -0.5, 1000, Number.NaN, Number.NEGATIVE_INFINITY],
    ],
    ['-0 is a float', ['-0', '1'], [-0, 1]],
    ['booleans', ['true', 'FALSE', ''], [true, false, null]],
    ['dates', ['2024-02-29', ''], [new Date('2024-02-29'), null]],
    [
      'timestamps, and dates among them',
      ['2024-02-29', '2024-02-29T12:00:00Z', '2024-02-29 12:00:00.123+02:00'],
      ['2024-02-29', '2024-02-29T12:00:00Z', '2024-02-29T10:00:00.123Z'].map(at => new Date(at)),
    ],
    [
      'arrays of numbers',
      ['"[1,2.5]"', '', '"[-1e2, 0]"', '"[ 1e39 ]"'],
      [[1, 2.5], null, [-100, 0], [1e39]],
    ],
    ['empty cells in quotes too are null', ['""', '1'], [null, 1n]],
    ['nothing at all', ['', ''], [null, null]],
  ])('%s', async (_, cells, values) => {
    expect(await column(cells)).toEqual(values)
  })

  test.each<[string, string[]]>([
    ['leading zeros', ['007', '1']],
    ['a plus sign', ['+1', '1']],
    ['integers past int64', ['9223372036854775808', '1']],
    ['integers past 2^53 among floats', ['9007199254740993', '0.5']],
    ['more digits than a float has', ['0.1234567890123456789', '0.5']],
    ['numbers past the range of a float', ['1e999', '1e-999']],
    ['numbers and text', ['1', 'x']],
    ['numbers and booleans', ['1', 'true']],
    ['no dates', ['2024-02-30', '2024-02-29']],
    ['times finer than a millisecond', ['2024-02-29T12:00:00.123456Z', '2024-02-29']],
    ['arrays of numbers with more digits than a float has', ['"[9007199254740993]"', '"[1]"']],
    ['arrays of more than numbers', ['"[1,null]"', '"[1,2]"']],
    ['arrays of numbers past the range of a float', ['"[1e309]"', '"[1]"']],
    ['arrays that are not closed', ['"[1,2"', '"[1]"']],
    ['empty arrays', ['"[]"', '"[1]"']],
    ['blanks around numbers', [' 1', '2']],
  ])('text: %s', async (_, cells) => {
    expect(await column(cells)).toEqual(cells.map(cell => cell.replaceAll('"', '')))
  })

  test('all columns are text, or some by name, if the option says so', async () => {
    expect(await column(['1', '""', ''], { infer: false })).toEqual(['1', null, null])
    expect(await rows(chunks('zip,n\n00501,1\n10115,2\n'), { types: { zip: 'string' } })).toEqual([
      { zip: '00501', n: 1n },
      { zip: '10115', n: 2n },
    ])
  })

  test('texts that mean null also do so in quotes; without the empty text among them, empty text cells are empty texts', async () => {
    expect(await column(['NA', '"NA"', '', '""', 'x'], { nulls: ['NA'] })).toEqual([null, null, '', '', 'x'])
    expect(await column(['NA', '', '1'], { nulls: ['NA'] })).toEqual([null, null, 1n])
    expect(await column(['NA', '', 'x'], { nulls: ['NA', '', 'x'] })).toEqual([null, null, null])
    expect(await rows(chunks('a\nx\n\n""\n'), { nulls: [] })).toEqual([{ a: 'x' }, { a: '' }, { a: '' }])
    const binary = typed({ kind: 'binary', large: false })
    expect(await column(['""', ''], { ...binary, nulls: [] })).toEqual([new Uint8Array(0), new Uint8Array(0)])
  })

  test.each([
    ['x', 'int64'],
    ['007', 'int64'],
    ['1.5', 'int64'],
    ['9223372036854775808', 'int64'],
  ])('a later %s among integers is refused, with the way out', async (cell, type) => {
    const cells = [...Array.from({ length: 10_000 }, (_, i) => `${i}`), cell]
    const error = await failure(column(cells))
    expect(error.code).toBe(ErrorCode.SchemaValidation)
    expect(error.message).toBe(`line 10002: column "c" has the type ${type}, got "${cell}"`)
    expect(error.hint).toContain('pass types: { "c": \'string\' }, a schema, or infer: false')
    expect(await column(cells, { types: { c: 'string' } })).toHaveLength(10_001)
  })

  test.each([
    ['floats', '0.5', '9007199254740993', 'float64'],
    ['dates', '2024-01-01', '2024-01-01T01:00:00Z', 'date32'],
    ['times', '2024-01-01T01:00:00Z', '2024-01-01T01:00:00.0001Z', 'timestamp(ms)'],
    ['arrays of numbers', '"[1,2]"', '"[9007199254740993]"', 'list<float64>'],
    ['booleans', 'true', 'yes', 'bool'],
  ])('a later cell that is none of the %s before it is refused', async (_, cell, later, type) => {
    const error = await failure(column([...Array.from({ length: 10_000 }, () => cell), later]))
    expect(error.message).toContain(`line 10002: column "c" has the type ${type}, got `)
  })
})

describe('types of a schema', () => {
  const item = (type: DataType): Field => ({ name: 'item', type, nullable: true })
  const int = (bits: 8 | 16 | 32 | 64, signed: boolean): IntType => ({ kind: 'int', bits, signed })
  const entries: Field = {
    name: 'entries',
    nullable: false,
    type: {
      kind: 'struct',
      children: [
        { ...item(int(64, true)), name: 'key' },
        { ...item({ kind: 'bool' }), name: 'value' },
      ],
    },
  }
  test.each<[DataType, string, unknown]>([
    [{ kind: 'bool' }, '1', true],
    [{ kind: 'bool' }, 'False', false],
    [int(8, true), '-128', -128],
    [int(64, false), '18446744073709551615', 2n ** 64n - 1n],
    [int(64, true), '+007', 7n],
    [{ kind: 'float', bits: 64 }, '-inf', Number.NEGATIVE_INFINITY],
    [{ kind: 'float', bits: 32 }, '.5', 0.5],
    [{ kind: 'utf8', large: false }, '""', null],
    [{ kind: 'utf8', large: true }, '1', '1'],
    [{ kind: 'binary', large: false }, 'AP8=', Uint8Array.of(0, 255)],
    [{ kind: 'binary', large: false }, '""', null],
    [{ kind: 'fixed_size_binary', width: 2 }, 'AP8=', Uint8Array.of(0, 255)],
    [
      { kind: 'decimal', bits: 128, precision: 20, scale: 2 },
      '123456789012345678.9',
      '123456789012345678.90',
    ],
    [{ kind: 'date', unit: 'day' }, '2024-02-29', new Date('2024-02-29')],
    [{ kind: 'time', unit: 'ms' }, '12:34:56.789', 45_296_789],
    [{ kind: 'time', unit: 'ns' }, '00:00:00.000000001', 1n],
    [
      { kind: 'timestamp', unit: 'us', timezone: 'UTC' },
      '2024-02-29T12:00:00+02:00',
      new Date('2024-02-29T10:00Z'),
    ],
    [{ kind: 'timestamp', unit: 'us', timezone: null }, '1970-01-01T00:00:00.000001', 1n],
    [{ kind: 'timestamp', unit: 's', timezone: null }, '1970-01-01 00:00:01', new Date(1000)],
    [{ kind: 'duration', unit: 's' }, '-90', -90n],
    [{ kind: 'fixed_size_list', size: 2, child: item({ kind: 'float', bits: 32 }) }, '"[1,2]"', [1, 2]],
    [
      { kind: 'list', large: false, child: item(int(64, true)) },
      '"[9007199254740993,null]"',
      [9007199254740993n, null],
    ],
    [
      { kind: 'struct', children: [{ ...item({ kind: 'date', unit: 'day' }), name: 'x' }] },
      '"{""x"":""1970-01-02""}"',
      { x: new Date(86_400_000) },
    ],
    [{ kind: 'map', keysSorted: false, child: entries }, '"[[1,true]]"', [[1n, true]]],
    [
      { kind: 'dictionary', index: int(8, true), value: { kind: 'utf8', large: false }, ordered: false },
      'x',
      'x',
    ],
    [{ kind: 'null' }, '', null],
    [int(32, true), '""', null],
  ])('%j of %s', async (type, cell, value) => {
    expect(await column([cell], typed(type))).toEqual([value])
  })

  test.each<[DataType, string]>([
    [{ kind: 'bool' }, 'yes'],
    [int(8, true), '128'],
    [int(32, true), '1.5'],
    [int(64, false), '-1'],
    [{ kind: 'float', bits: 64 }, '1,5'.replace(',', ';')],
    [{ kind: 'float', bits: 64 }, '1e999'],
    [{ kind: 'binary', large: false }, 'not base64'],
    [{ kind: 'fixed_size_binary', width: 3 }, 'AP8='],
    [{ kind: 'decimal', bits: 128, precision: 3, scale: 1 }, '1.25'],
    [{ kind: 'decimal', bits: 128, precision: 3, scale: 1 }, '100.0'],
    [{ kind: 'date', unit: 'day' }, '2024-02-30'],
    [{ kind: 'date', unit: 'day' }, '2024-02-29T01:00'],
    [{ kind: 'time', unit: 's' }, '12:00:00.5'],
    [{ kind: 'timestamp', unit: 's', timezone: null }, '1970-01-01T00:00:00.5'],
    [{ kind: 'timestamp', unit: 'ns', timezone: null }, '2500-01-01T00:00'],
    [{ kind: 'timestamp', unit: 'ms', timezone: null }, '2024-01-01T24:00:00'],
    [{ kind: 'fixed_size_list', size: 2, child: item({ kind: 'float', bits: 32 }) }, '[1]'],
    [{ kind: 'list', large: false, child: item({ kind: 'bool' }) }, '[1]'],
    [{ kind: 'list', large: false, child: item({ kind: 'bool' }) }, '[tru'],
    [{ kind: 'struct', children: [] }, '"{""x"":1}"'],
    [{ kind: 'null' }, 'x'],
  ])('%j is not %s', async (type, cell) => {
    const error = await failure(column([cell], typed(type)))
    expect(error).toMatchObject({ code: ErrorCode.SchemaValidation, hint: undefined })
    expect(error.message).toMatch(/^line 2: column "c" has the type .*, got "/)
  })
})
