import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { type ReadJsonLinesOptions, readJsonLines } from '../../../adapters/files/public.js'
import type { DataType, Schema } from '../../../src/arrow/types.js'
import { ErrorCode } from '../../../src/errors.js'
import { failure } from '../../support/failure.js'

async function rows(text: string | Uint8Array[], options?: ReadJsonLinesOptions): Promise<object[]> {
  const out: object[] = []
  for await (const row of readJsonLines(Readable.from(Array.isArray(text) ? text : [text]), options))
    out.push(row)
  return out
}

const schemaOf = (types: Readonly<Record<string, DataType>>): Schema => ({
  fields: Object.entries(types).map(([name, type]) => ({ name, type, nullable: true })),
})

describe('JSON lines', () => {
  test('are objects; blank lines are skipped', async () => {
    const text = '\ufeff{"a":1,"b":[1,{"c":null}]}\r\n\n \t\n{"a":"\\u00e9\\n"}'
    expect(await rows(text)).toEqual([{ a: 1, b: [1, { c: null }] }, { a: 'é\n' }])
    expect(await rows('')).toEqual([])
  })

  test('keep every digit of an integer', async () => {
    expect(
      await rows(
        '{"a":9007199254740993,"b":[-123456789012345678901],"c":9007199254740991,"s":"9007199254740993"}',
      ),
    ).toEqual([
      { a: 9007199254740993n, b: [-123456789012345678901n], c: 9007199254740991, s: '9007199254740993' },
    ])
    expect(await rows('{"__proto__":1,"x":0.1234567890123456,"y":-0,"z":1e21}')).toEqual([
      Object.fromEntries([
        ['__proto__', 1],
        ['x', 0.1234567890123456],
        ['y', -0],
        ['z', 1e21],
      ]),
    ])
  })

  test('take the types of a schema', async () => {
    const schema = schemaOf({
      id: { kind: 'int', bits: 64, signed: true },
      at: { kind: 'timestamp', unit: 'us', timezone: null },
      x: { kind: 'float', bits: 64 },
      raw: { kind: 'binary', large: false },
      price: { kind: 'decimal', bits: 128, precision: 20, scale: 2 },
    })
    expect(
      await rows(
        '{"id":1,"at":"1970-01-01T00:00:00.000001","x":"NaN","raw":"AP8=","price":12.5}\n{"id":"2","x":null}',
        { schema },
      ),
    ).toEqual([
      { id: 1n, at: 1n, x: Number.NaN, raw: Uint8Array.of(0, 255), price: '12.50' },
      { id: 2n, x: null },
    ])
  })

  test.each<[string, string, RegExp]>([
    ['malformed lines', '{"a":1}\n\n{"a":\n', /^line 3 is not valid JSON: .*, in "\{\\"a\\":"/],
    ['arrays', '[1]\n', /^line 1 is not a JSON object, in "\[1\]"/],
    ['numbers', '{}\n7\n', /^line 2 is not a JSON object/],
    [
      'numbers past the range of a float',
      '{"a":1e999}',
      /^line 1 contains the number "1e999", which is beyond the range/,
    ],
    [
      'integers without end',
      `{"a":${'9'.repeat(500)}}`,
      /^line 1 contains .*beyond the range of float64|an integer of 500 digits/,
    ],
    [
      'depth without end',
      `{"a":[1234567890123456789${',[1'.repeat(200)}${']'.repeat(201)}}`,
      /^line 1 is nested deeper than 128/,
    ],
  ])('refuses %s', async (_, text, message) => {
    const error = await failure(rows(text))
    expect(error).toMatchObject({ code: ErrorCode.InvalidInput, message: expect.stringMatching(message) })
  })

  test('refuses what does not fit the schema', async () => {
    const schema = schemaOf({ price: { kind: 'int', bits: 32, signed: true } })
    const misfit = await failure(rows('{"price":1}\n{"price":1.5}', { schema }))
    expect(misfit.code).toBe(ErrorCode.SchemaValidation)
    expect(misfit.message).toBe('line 2: column "price" has the type int32, got 1.5')
    const unknown = await failure(rows('{"prise":1}', { schema }))
    expect(unknown.code).toBe(ErrorCode.ColumnNotFound)
    expect(unknown.hint).toBe('did you mean "price"?')
  })

  test('refuses what is not UTF-8, naming the line', async () => {
    const lines = [Buffer.from('{"a":1}\n{"a":"'), Uint8Array.of(0xff), Buffer.from('"}\n')]
    expect((await failure(rows(lines))).message).toBe('line 2 is not UTF-8')
  })

  test('refuses a line without end', async () => {
    const piece = Buffer.alloc(2 ** 20, 0x20)
    async function* endless() {
      yield '{}\n'
      for (;;) yield piece
    }
    const read = async () => {
      for await (const _ of readJsonLines(endless()));
    }
    expect((await failure(read())).message).toBe('line 2 is longer than 67108864 bytes')
  })
})
