import { describe, expect, test } from 'vitest'
import { decodeIpc } from '../../src/arrow/decode-ipc.js'
import { decodeIpcStream } from '../../src/arrow/decode-stream.js'
import { concatChunks, encodeIpcFile, encodeIpcStream } from '../../src/arrow/encode-ipc.js'
import {
  int8,
  int16,
  int32,
  int64,
  int64s,
  type Part,
  table,
  tables,
  text,
} from '../../src/arrow/flatbuffer-write.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import type { Schema } from '../../src/arrow/types.js'
import { ErrorCode, SheafError } from '../../src/errors.js'
import { compressedStream, lz4, ipcMessage as message, stored } from '../support/arrow-compressed.js'
import { contents } from '../support/arrow-generators.js'

const batch = rowsToBatch([
  { id: 1, name: 'one', vector: [1, 2] },
  { id: 2, name: null, vector: [3, 4] },
])
const { schema } = batch
const stream = concatChunks(encodeIpcStream(schema, [batch]))
const file = concatChunks(encodeIpcFile(schema, [batch]))

function schemaMessage(typeId: number, type: Part, children: Part[] = [], endianness = 0): Uint8Array {
  const field = table([text('col'), int8(1), int8(typeId), type, null, tables(children)])
  return message(1, table([int16(endianness), tables([field])]))
}

const item = table([text('item'), int8(1), int8(2), table([int32(32), int8(1)]), null, tables([])])

/** A stream as it began before Arrow 0.15: no continuation, and the metadata filled up behind the length. */
function legacy(modern: Uint8Array): Uint8Array {
  const length = new DataView(modern.buffer, modern.byteOffset).getInt32(4, true)
  const prefix = Buffer.alloc(4)
  prefix.writeInt32LE(length + 4)
  return Buffer.concat([prefix, modern.subarray(8, 8 + length), Buffer.alloc(4), modern.subarray(8 + length)])
}

async function* once(...chunks: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks
}

async function refusal(bytes: Uint8Array): Promise<SheafError> {
  let error: unknown
  try {
    decodeIpc(bytes)
  } catch (caught) {
    error = caught
  }
  expect(error).toBeInstanceOf(SheafError)
  const fromChunks = await decodeIpcStream(once(bytes))
    .then(
      async decoded => {
        for await (const part of decoded.batches) expect(part).toBeDefined()
      },
      (caught: unknown) => caught,
    )
    .catch((caught: unknown) => caught)
  expect(fromChunks).toMatchObject({ code: (error as SheafError).code })
  return error as SheafError
}

test('input that begins like JSON gets an error that says so', () => {
  expect(() => decodeIpc(Buffer.from('[{"id": 1}]'))).toThrow(
    expect.objectContaining({ code: 13, hint: expect.stringContaining('looks like JSON') }),
  )
})

describe('input that is not an Arrow body', () => {
  test.each([
    ['nothing', new Uint8Array(0), /^0 bytes is not an Arrow body$/],
    [
      'a Parquet file',
      new TextEncoder().encode('PAR1....PAR1'),
      /^the bytes are a Parquet file, not an Arrow stream or file$/,
    ],
    [
      'JSON',
      Buffer.from('{"id": [1, 2, 3]}'),
      /not an arrow stream: expected ff ff ff ff at byte 0, got 7b 22 69 64/,
    ],
    [
      'a stream of the format before Arrow 0.15',
      legacy(stream),
      /the legacy IPC format of Arrow versions before 0\.15/,
    ],
    ['one byte', Uint8Array.of(1), /cut off at byte 1/],
    ['an end of stream alone', Uint8Array.of(255, 255, 255, 255, 0, 0, 0, 0), /no schema before byte/],
    ['a file cut off', file.subarray(0, file.length - 20), /arrow file cut off: it does not end with ARROW1/],
    [
      'a stream cut inside a body',
      stream.subarray(0, stream.length - 60),
      /cut off at byte \d+, inside a message/,
    ],
    ['two streams in a row', concatChunks([stream, stream]), /follow the end of the stream \(byte \d+\)/],
    [
      'a second schema',
      concatChunks([stream.subarray(0, schemaEnd()), stream]),
      /a second schema \(byte \d+\)/,
    ],
    ['a batch before its schema', stream.subarray(schemaEnd()), /no schema before byte 0/],
  ])('%s is refused and says why', async (_, bytes, words) => {
    const error = await refusal(bytes)
    expect(error.code).toBe(ErrorCode.InvalidInput)
    expect(error.message).toMatch(words)
  })
})

function schemaEnd(): number {
  return 8 + new DataView(stream.buffer, stream.byteOffset).getInt32(4, true)
}

describe('types that Sheaf does not support', () => {
  test.each([
    ['a union', schemaMessage(14, table([int16(0)]), [item]), /column "col" has type union/],
    ['run-end encoding', schemaMessage(22, table([]), [item, item]), /column "col" has type run_end_encoded/],
    ['a list view', schemaMessage(25, table([]), [item]), /column "col" has type list_view/],
    ['a large list view', schemaMessage(26, table([]), [item]), /column "col" has type large_list_view/],
    [
      'decimal64',
      schemaMessage(7, table([int32(10), int32(2), int32(64)])),
      /column "col" has type decimal64/,
    ],
    ['big-endian bodies', schemaMessage(2, table([int32(32), int8(1)]), [], 1), /the body is big-endian/],
    ['a tensor', message(4, table([])), /header type 4/],
  ])('%s is unsupported and named', async (_, bytes, words) => {
    const error = await refusal(bytes)
    expect(error.code).toBe(ErrorCode.Unsupported)
    expect(error.message).toMatch(words)
  })
})

describe('inconsistent input that a naive reader would trust', () => {
  test('a field that contains itself ends in an error', async () => {
    const bytes = schemaMessage(12, table([]), [item])
    // Point the child vector's first entry back at the outer field.
    const view = new DataView(bytes.buffer, bytes.byteOffset)
    const fieldAt = findTable(bytes, 'col')
    const entryAt = findEntry(bytes, 'item')
    view.setUint32(entryAt, (fieldAt - entryAt) >>> 0, true)
    const error = await refusal(bytes)
    expect(error.message).toMatch(/reaches past the metadata|nested deeper|more tables/)
  })

  test('one field offered as each of a thousand children of itself, level after level, stays cheap', () => {
    let parts: Part = item
    for (let depth = 0; depth < 30; depth++) {
      parts = table([text('s'), int8(1), int8(13), table([]), null, tables([parts, parts])])
      if (depth > 12) break
    }
    // 2^13 leaves: honest, as long as they are all there.
    const honest = message(1, table([int16(0), tables([parts])]))
    const started = performance.now()
    expect(decodeIpc(honest).schema.fields).toHaveLength(1)
    expect(performance.now() - started).toBeLessThan(5000)
  })

  test('schemas nested deeper than the limit are refused', async () => {
    let part: Part = item
    for (let depth = 0; depth < 60; depth++) {
      part = table([text('l'), int8(1), int8(12), table([]), null, tables([part])])
    }
    const error = await refusal(message(1, table([int16(0), tables([part])])))
    expect(error).toMatchObject({
      code: ErrorCode.SchemaValidation,
      message: expect.stringMatching(/nested deeper than 48/),
    })
  })

  test('a batch that announces two billion rows without bytes is charged for them', async () => {
    const nulls = schemaMessage(1, table([]))
    const header = table([int64(0x7fffffff), int64s([0x7fffffff, 0x7fffffff], 2), int64s([], 2)])
    const error = await refusal(concatChunks([nulls, message(3, header)]))
    expect(error.status).toBe(413)
  })

  test('buffers that overlap are refused', async () => {
    const ints = schemaMessage(2, table([int32(32), int8(1)]))
    const body = new Uint8Array(64)
    const header = table([int64(8), int64s([8, 1], 2), int64s([0, 64, 0, 64], 2)])
    const error = await refusal(concatChunks([ints, message(3, header, body)]))
    expect(error.message).toMatch(/column "col" has buffers that overlap others/)
  })

  test('a metadata length of two gigabytes is refused without taking memory for it', async () => {
    const bytes = Uint8Array.of(255, 255, 255, 255, 255, 255, 255, 127, 1, 2, 3)
    await expect(decodeIpcStream(once(bytes))).rejects.toMatchObject({ status: 413 })
  })
})

/** Where the table lies whose slot 0 points to this text. */
function findTable(bytes: Uint8Array, name: string): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  const textAt = Buffer.from(bytes).indexOf(name) - 4
  for (let at = 8; at + 4 <= bytes.length; at += 4) {
    const vtable = at - view.getInt32(at, true)
    if (vtable < 8 || vtable + 6 > bytes.length) continue
    const slot = view.getUint16(vtable + 4, true)
    if (slot === 0 || at + slot + 4 > bytes.length) continue
    if (at + slot + view.getUint32(at + slot, true) === textAt) return at
  }
  throw new Error(`no table named ${name}`)
}

/** Where the offset lies that points to that table. */
function findEntry(bytes: Uint8Array, name: string): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  const target = findTable(bytes, name)
  for (let at = 8; at + 4 <= bytes.length; at += 4) {
    if (at !== target && at + view.getUint32(at, true) === target) return at
  }
  throw new Error(`nothing points to ${name}`)
}

describe('broken columns', () => {
  const width = (bits: number) => table([int32(bits), int8(1)])
  const body = (...words: number[]) =>
    new Uint8Array(Int32Array.from([...words, ...new Array(16 - words.length).fill(0)]).buffer)
  const dictionaryField = table([
    text('col'),
    int8(1),
    int8(5),
    table([]),
    table([int64(7), table([int32(32), int8(1)])]),
    tables([]),
  ])
  test.each([
    [
      'offsets that decrease',
      schemaMessage(5, table([])),
      [2, 0],
      [0, 0, 0, 12, 16, 4],
      body(0, 4, 2),
      /has offsets that decrease at row 1/,
    ],
    [
      'offsets past the values',
      schemaMessage(5, table([])),
      [2, 0],
      [0, 0, 0, 12, 16, 4],
      body(0, 4, 9),
      /has offsets up to byte 9, but only 4 bytes of data/,
    ],
    [
      'a negative offset',
      schemaMessage(5, table([])),
      [1, 0],
      [0, 0, 0, 8, 16, 4],
      body(-1, 4),
      /has the offset -1/,
    ],
    [
      'too few offsets',
      schemaMessage(5, table([])),
      [4, 0],
      [0, 0, 0, 12, 16, 4],
      body(),
      /has 12 bytes of offsets, but 4 rows need 20/,
    ],
    [
      'text that is not UTF-8',
      schemaMessage(5, table([])),
      [1, 0],
      [0, 0, 0, 8, 16, 4],
      body(0, 4, 0, 0, 0xc3c3),
      /has invalid UTF-8 in row 0/,
    ],
    [
      'values too short',
      schemaMessage(2, width(64)),
      [4, 0],
      [0, 0, 0, 16],
      body(),
      /has 16 bytes of values, but needs 32/,
    ],
    [
      'validity too short',
      schemaMessage(2, width(8)),
      [40, 1],
      [0, 1, 8, 40],
      body(),
      /has 1 bytes of validity for 40 rows/,
    ],
    [
      'more nulls than rows',
      schemaMessage(2, width(8)),
      [4, 5],
      [0, 1, 8, 4],
      body(),
      /has 5 nulls in 4 rows/,
    ],
    [
      'rows that are not the batch’s',
      schemaMessage(2, width(8)),
      [3, 0],
      [0, 0, 8, 4],
      body(),
      /has 3 rows, but its batch has 4/,
      4,
    ],
    [
      'a buffer outside the body',
      schemaMessage(2, width(8)),
      [4, 0],
      [0, 0, 80, 4],
      body(),
      /has values at bytes 80 to 84 of a body of 64 bytes/,
    ],
    [
      'nodes left over',
      schemaMessage(2, width(8)),
      [4, 0, 4, 0],
      [0, 0, 0, 4],
      body(),
      /2 nodes and 2 buffers, but the schema needs 1 and 2/,
    ],
    [
      'list offsets past the child',
      schemaMessage(12, table([]), [item]),
      [1, 0, 2, 0],
      [0, 0, 0, 8, 0, 0, 16, 8],
      body(0, 3),
      /has offsets up to row 3, but its child has 2 rows/,
    ],
    [
      'an index without a dictionary',
      message(1, table([int16(0), tables([dictionaryField])])),
      [1, 0],
      [0, 0, 0, 4],
      body(0),
      /has index 0 in row 0, but its dictionary has 0 values/,
    ],
  ] as const)(
    '%s are refused, naming column and byte',
    async (_, head, nodes, buffers, bytes, words, rows?: number) => {
      const header = table([int64(rows ?? nodes[0]), int64s(nodes, 2), int64s(buffers, 2)])
      const error = await refusal(concatChunks([head, message(3, header, bytes)]))
      expect(error.message).toMatch(words)
      expect(error.message).toMatch(/\(byte \d+\)$/)
    },
  )
})

describe('dictionaries in a stream', () => {
  const field = table([
    text('col'),
    int8(1),
    int8(5),
    table([]),
    table([int64(7), table([int32(8), int8(1)])]),
    tables([]),
  ])
  const head = message(1, table([int16(0), tables([field])]))
  const dictionary = (letters: string, delta: boolean) => {
    const bytes = new Uint8Array(64)
    const offsets = new Int32Array(bytes.buffer, 0, letters.length + 1)
    for (let i = 0; i <= letters.length; i++) offsets[i] = i
    bytes.set(Buffer.from(letters), 32)
    const buffers = [0, 0, 0, 4 * (letters.length + 1), 32, letters.length]
    const data = table([int64(letters.length), int64s([letters.length, 0], 2), int64s(buffers, 2)])
    return message(2, table([int64(7), data, delta ? int8(1) : null]), bytes)
  }
  const rows = (...indices: number[]) => {
    const bytes = new Uint8Array(64)
    bytes.set(indices)
    return message(
      3,
      table([int64(indices.length), int64s([indices.length, 0], 2), int64s([0, 0, 0, indices.length], 2)]),
      bytes,
    )
  }

  test('grow by deltas, and batches before a delta keep what they had', () => {
    const bytes = concatChunks([head, dictionary('ab', false), rows(1, 0), dictionary('c', true), rows(2, 0)])
    expect(decodeIpc(bytes).batches.map(contents)).toEqual([[['b', 'a']], [['c', 'a']]])
  })

  test('are replaced by one that is no delta', () => {
    const bytes = concatChunks([
      head,
      dictionary('ab', false),
      rows(1, 0),
      dictionary('xyz', false),
      rows(1, 2),
    ])
    expect(decodeIpc(bytes).batches.map(contents)).toEqual([[['b', 'a']], [['y', 'z']]])
  })

  test('for no column are refused', async () => {
    const other = message(2, table([int64(8), table([int64(0), int64s([0, 0], 2), int64s([], 2)])]))
    const error = await refusal(concatChunks([head, other]))
    expect(error.message).toMatch(/no column uses dictionary 8/)
  })

  test('with deltas joined again and again stay within the limit', () => {
    const parts = [head, dictionary('abcdefg', false)]
    for (let i = 0; i < 200; i++) parts.push(dictionary('hijklmn', true), rows(0))
    expect(() => decodeIpc(concatChunks(parts), { maxBytes: 20_000 })).toThrow(
      expect.objectContaining({ status: 413 }),
    )
  })
})

describe('bodies compressed with LZ4', () => {
  const rows = Array.from({ length: 500 }, (_, i) => ({
    n: i % 3,
    text: i % 7 === 0 ? null : `text ${i % 5}`,
  }))
  const plain = rowsToBatch(rows)

  const compressed = (pays: boolean) => compressedStream(plain, pays ? lz4 : stored)

  test('decode, compressed or stored', () => {
    for (const pays of [true, false]) {
      const { batches } = decodeIpc(compressed(pays))
      expect(batches.map(contents)).toEqual([contents(plain)])
    }
  })

  test('are bounded by their decoded size', async () => {
    const bytes = compressed(true)
    expect(bytes.length).toBeLessThan(4000)
    const limit = { maxBytes: 3999 }
    const tooLarge = {
      code: ErrorCode.InvalidInput,
      status: 413,
      message: expect.stringMatching(/column "n" .* larger than 3999 bytes/),
    }
    expect(() => decodeIpc(bytes, limit)).toThrow(expect.objectContaining(tooLarge))
    const decoded = await decodeIpcStream(once(bytes), limit)
    await expect(decoded.batches[Symbol.asyncIterator]().next()).rejects.toMatchObject(tooLarge)
  })

  test('with an unknown codec are refused', async () => {
    const header = table([int64(0), int64s([], 2), int64s([], 2), table([int8(5)])])
    const error = await refusal(concatChunks([encodeIpcStream({ fields: [] }, [])[0]!, message(3, header)]))
    expect(error.message).toMatch(/unknown codec 5/)
  })
})

describe('utf8_view and binary_view', () => {
  const views = (typeId: number, rows: (string | null)[]): Uint8Array => {
    const bytes = new Uint8Array(8 + 16 * rows.length + 8 + 200)
    const view = new DataView(bytes.buffer)
    const dataAt = Math.ceil((8 + 16 * rows.length) / 8) * 8
    let used = 0
    rows.forEach((value, i) => {
      const at = 8 + 16 * i
      if (value === null) return
      bytes[i >>> 3]! |= 1 << (i & 7)
      const encoded = Buffer.from(value)
      view.setUint32(at, encoded.length, true)
      if (encoded.length <= 12) bytes.set(encoded, at + 4)
      else {
        bytes.set(encoded.subarray(0, 4), at + 4)
        view.setInt32(at + 12, used, true)
        bytes.set(encoded, dataAt + used)
        used += encoded.length
      }
    })
    const nulls = rows.filter(row => row === null).length
    const buffers = [0, 8, 8, 16 * rows.length, dataAt, used]
    const header = table([
      int64(rows.length),
      int64s([rows.length, nulls], 2),
      int64s(buffers, 2),
      null,
      int64s([1], 1),
    ])
    return concatChunks([schemaMessage(typeId, table([])), message(3, header, bytes)])
  }
  const rows = ['short', null, 'this one is longer than twelve bytes', '', 'exactly12by', 'é'.repeat(20)]

  test('become plain text and bytes', () => {
    const texts = decodeIpc(views(24, rows))
    expect(texts.schema.fields[0]!.type).toEqual({ kind: 'utf8', large: false })
    expect(contents(texts.batches[0]!)).toEqual([rows])
    const binary = decodeIpc(views(23, rows))
    expect(binary.schema.fields[0]!.type).toEqual({ kind: 'binary', large: false })
    expect(contents(binary.batches[0]!)[0]![2]).toEqual(new Uint8Array(Buffer.from(rows[2]!)))
  })

  test('that all point at one long value are charged for their decoded size', () => {
    const bytes = views(24, new Array(50).fill('abcdefghijklmnop'.repeat(10).slice(0, 13)).slice(0, 12))
    expect(() => decodeIpc(bytes, { maxBytes: 100 })).toThrow(expect.objectContaining({ status: 413 }))
  })
})

describe('a stream in chunks', () => {
  test('gives its schema before its batches arrive', async () => {
    let asked = 0
    async function* slow(): AsyncGenerator<Uint8Array> {
      asked++
      yield stream.subarray(0, schemaEnd())
      asked++
      yield stream.subarray(schemaEnd())
    }
    const decoded = await decodeIpcStream(slow())
    expect(asked).toBe(1)
    expect(decoded.schema).toEqual(schema)
    for await (const part of decoded.batches) expect(contents(part)).toEqual(contents(batch))
    expect(asked).toBe(2)
  })

  test('holds one batch at a time', async () => {
    const big = rowsToBatch(Array.from({ length: 1000 }, (_, i) => ({ x: i })))
    const head = encodeIpcStream(big.schema, [])
    const body = encodeIpcStream(big.schema, [big]).slice(head.length - 1, -1)
    let sent = 0
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield* head.slice(0, -1)
      for (; sent < 5000; sent++) yield* body
    }
    let rows = 0
    const decoded = await decodeIpcStream(endless(), { maxBytes: 100_000 })
    for await (const part of decoded.batches) {
      rows += part.length
      expect(rows / 1000).toBeGreaterThanOrEqual(sent)
    }
    expect(rows).toBe(5_000_000)
  })

  test('stops at the abort signal', async () => {
    const controller = new AbortController()
    const reason = new Error('enough')
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield stream.subarray(0, schemaEnd())
      for (;;) yield stream.subarray(schemaEnd(), -8)
    }
    const decoded = await decodeIpcStream(endless(), { signal: controller.signal })
    const read = async (): Promise<void> => {
      for await (const part of decoded.batches) if (part.length > 0) controller.abort(reason)
    }
    await expect(read()).rejects.toBe(reason)
    await expect(decodeIpcStream(endless(), { signal: controller.signal })).rejects.toBe(reason)
  })

  test('is closed when the reader stops, or if the schema is bad', async () => {
    let closed = 0
    async function* source(first: Uint8Array): AsyncGenerator<Uint8Array> {
      try {
        yield first
        yield stream
      } finally {
        closed++
      }
    }
    await expect(decodeIpcStream(source(Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8)))).rejects.toThrow(
      /not an arrow stream/,
    )
    expect(closed).toBe(1)
    const twice = concatChunks([stream.subarray(0, -8), stream.subarray(schemaEnd(), -8)])
    for await (const part of (await decodeIpcStream(source(twice))).batches) {
      expect(part.length).toBe(2)
      break
    }
    expect(closed).toBe(2)
  })
})

describe('buffers in the layout of Sheaf', () => {
  test('are not copied', () => {
    const { batches } = decodeIpc(file)
    for (const column of batches[0]!.columns) {
      const values = column.values ?? column.children[0]!.values!
      expect(values.buffer).toBe(file.buffer)
    }
  })

  test('are copied if their alignment is wrong', () => {
    const shifted = new Uint8Array(file.length + 1).subarray(1)
    shifted.set(file)
    expect(decodeIpc(shifted).batches.map(contents)).toEqual([contents(batch)])
  })

  test('are plain Uint8Arrays even if the input is a Buffer, and stay unchanged', () => {
    const body = Uint8Array.of(0b11111101, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 0, 0, 0)
    const header = table([int64(3), int64s([3, 1], 2), int64s([0, 1, 8, 3], 2)])
    const head = schemaMessage(2, table([int32(8), int8(1)]))
    const bytes = Buffer.from(concatChunks([head, message(3, header, body)]))
    const before = Buffer.from(bytes)
    const decoded = decodeIpc(bytes)
    const validity = decoded.batches[0]!.columns[0]!.validity!
    expect(Object.getPrototypeOf(validity)).toBe(Uint8Array.prototype)
    const again = decodeIpc(concatChunks(encodeIpcStream(decoded.schema, decoded.batches)))
    expect(again.batches[0]!.columns[0]!.validity).toEqual(Uint8Array.of(0b101))
    expect(bytes.equals(before)).toBe(true)
  })

  test('may have no batch and still give a schema', () => {
    for (const encode of [encodeIpcStream, encodeIpcFile]) {
      const empty: Schema = { fields: schema.fields }
      expect(decodeIpc(concatChunks(encode(empty, [])))).toEqual({ schema: empty, batches: [] })
    }
  })
})
