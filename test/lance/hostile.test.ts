/** Tables and files that no writer of Lance would write: each is refused soon, by a typed error, and with little memory. */
import { appendFileSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { MessageWriter } from '../../adapters/files/lance/message-writer.js'
import { connect, ErrorCode } from '../../src/index.js'
import { readColumnMetadata } from '../../src/lance/column-metadata.js'
import { decodeBlock } from '../../src/lance/decode-block.js'
import { openLanceFile } from '../../src/lance/file.js'
import { readManifest } from '../../src/lance/manifest.js'
import { decodePlain } from '../../src/lance/plain-page.js'
import { MessageReader } from '../../src/lance/protobuf.js'
import { failure } from '../support/failure.js'
import {
  ended,
  type HostileFragment,
  type HostilePage,
  lanceDataFile,
  lanceField,
  lanceFile,
  lanceManifest,
  writeHostileTable,
} from '../support/hostile-lance.js'
import { CountedBytes, readColumns } from '../support/lance-files.js'
import { temporaryRoots } from '../support/roots.js'

const freshFolder = temporaryRoots()
const message = () => new MessageWriter()
const int32 = lanceField(0, 'a', 'int32')
/** The message of an encoding: values of `bits` bits. */
const flat = (bits: number) => message().message(1, message().number(1, bits))
const runs = (bits: number) => message().message(8, message().message(1, flat(bits)).message(2, flat(32)))
/** Four values in one chunk. */
const chunk = Uint8Array.of(4, 0, 16, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0)
const chunkWord = Uint8Array.of(2 << 4, 0)
const chunkLayout = message().message(
  1,
  message().message(3, flat(32)).numbers(6, [1]).number(7, 1).number(9, 4),
)
const fourRows = lanceFile(int32, 4, [{ rows: 4, buffers: [chunkWord, chunk], layout: chunkLayout }])
const fragment: HostileFragment = { id: 0, rows: 4, files: [lanceDataFile('a.lance', [0])] }

/** Read all rows of the table `t` in a folder. `warnings`: receives the warnings of the connection. */
async function readTable(folder: string, warnings: string[] = []): Promise<unknown[]> {
  const ns = await connect(`lance+${pathToFileURL(folder)}`, { onWarning: text => warnings.push(text) })
  try {
    return await (await ns.openTable('t')).query().toArray()
  } finally {
    await ns.close()
  }
}

function manifestOf(...fragments: readonly HostileFragment[]): Uint8Array {
  return lanceManifest({ fields: [int32], fragments })
}

test('the files of these tests are read', async () => {
  const folder = freshFolder()
  writeHostileTable(folder, manifestOf(fragment), { 'data/a.lance': fourRows })
  expect(await readTable(folder)).toEqual([{ a: 1 }, { a: 2 }, { a: 3 }, { a: 4 }])
})

describe('a manifest', () => {
  test.each([
    ['a negative field id', [lanceField(-1, 'a', 'struct'), lanceField(0, 'b', 'int32')], 'has the id -1'],
    ['two columns with one name', [int32, lanceField(1, 'a', 'string')], 'two fields with the name "a"'],
    [
      'two fields of a struct with one name',
      [lanceField(0, 's', 'struct'), lanceField(1, 'x', 'int8', 0), lanceField(2, 'x', 'int8', 0)],
      'two fields with the name "x"',
    ],
    ['a cycle of parents', [lanceField(0, 'a', 'struct', 1), lanceField(1, 'b', 'struct', 0)], 'precede'],
  ])('with %s is refused', (_, fields, text) => {
    expect(() => readManifest(lanceManifest({ fields, fragments: [] }), 'm')).toThrow(text)
  })

  test('with two columns for one field is refused', () => {
    const files = [lanceDataFile('a.lance', [0]), lanceDataFile('b.lance', [0])]
    expect(() => readManifest(manifestOf({ ...fragment, files }), 'm')).toThrow('stores field 0 twice')
  })

  test('with a time that is no date is refused', () => {
    const manifest = lanceManifest({ fields: [int32], fragments: [], seconds: 1e13 })
    expect(() => readManifest(manifest, 'm')).toThrow('has the time 10000000000000 s')
  })

  test('with more fragments than fit the memory is refused before they are read', () => {
    const empty = ended(new Uint8Array(2 ** 20).fill(0x12).map((byte, i) => (i % 2 === 0 ? byte : 0)))
    expect(() => readManifest(empty, 'm')).toThrow('m has more than 262144 fragments')
  })

  test('that is larger than the limit is refused before it is read', async () => {
    const folder = freshFolder()
    writeHostileTable(folder, new Uint8Array(0))
    const path = join(folder, 't.lance/_versions/18446744073709551614.manifest')
    truncateSync(path, 2 ** 33)
    appendFileSync(path, 'LANC')
    expect(await failure(readTable(folder))).toMatchObject({
      code: ErrorCode.Unsupported,
      message: expect.stringContaining(
        'has 8589934596 bytes; Sheaf reads manifests of at most 67108864 bytes',
      ),
    })
  })
})

describe('a table', () => {
  test('whose data file has other rows than the manifest says is refused', async () => {
    const folder = freshFolder()
    writeHostileTable(folder, manifestOf({ ...fragment, rows: 3 }), { 'data/a.lance': fourRows })
    expect(await failure(readTable(folder))).toMatchObject({
      message: 't.lance/data/a.lance has 4 rows, but the manifest says 3',
    })
  })

  test('whose data file is missing says so', async () => {
    const folder = freshFolder()
    writeHostileTable(folder, manifestOf(fragment))
    expect(await failure(readTable(folder))).toMatchObject({
      code: ErrorCode.Internal,
      message: 't.lance/data/a.lance is missing',
    })
  })

  test('whose deletion file is too large is refused before it is read', async () => {
    const folder = freshFolder()
    const deletions = message().number(1, 1).number(2, 1).number(3, 5).number(4, 1)
    writeHostileTable(folder, manifestOf({ ...fragment, deletions }), {
      'data/a.lance': fourRows,
      '_deletions/0-1-5.bin': '',
    })
    truncateSync(join(folder, 't.lance/_deletions/0-1-5.bin'), 2 ** 33)
    expect(await failure(readTable(folder))).toMatchObject({
      code: ErrorCode.InvalidInput,
      message: expect.stringContaining('has 8589934592 bytes, but its fragment has 4 rows'),
    })
  })

  test('is read beside tags that are damaged', async () => {
    const folder = freshFolder()
    writeHostileTable(folder, manifestOf(fragment), {
      'data/a.lance': fourRows,
      '_refs/tags/cut.json': '{"version":',
      '_refs/tags/long.json': '',
    })
    truncateSync(join(folder, 't.lance/_refs/tags/long.json'), 2 ** 33)
    const warnings: string[] = []
    expect(await readTable(folder, warnings)).toHaveLength(4)
    expect(new Set(warnings)).toEqual(
      new Set(['tag "cut" of table "t" cannot be read', 'tag "long" of table "t" cannot be read']),
    )
  })
})

describe('a data file', () => {
  async function read(rows: number, pages: readonly HostilePage[]): Promise<unknown> {
    return readColumns(await openLanceFile(new CountedBytes(lanceFile(int32, rows, pages)), 'x'))
  }

  test('whose pages share bytes is refused before they are read', async () => {
    const layout = message().message(3, message().number(3, 32).message(7, flat(32)).numbers(8, [1]))
    const shared = { rows: 1, buffers: [{ start: 0, size: 100_000 }], layout }
    const pages = [{ ...shared, buffers: [new Uint8Array(100_000)] }, ...new Array(99).fill(shared)]
    expect(await failure(read(100, pages))).toMatchObject({
      message: expect.stringContaining('the pages of a column have 10000000 bytes, but the file has'),
    })
  })

  test('with a page without an encoding is refused', () => {
    const column = message().message(2, message().number(3, 1)).finish()
    expect(() => readColumnMetadata(new MessageReader(column))).toThrow('a page of a column has no encoding')
  })

  test('with few bytes for many values in a dictionary or in levels is refused', async () => {
    const layout = message().message(
      1,
      message()
        .message(3, flat(32))
        .message(4, runs(32))
        .number(5, 2 ** 28)
        .numbers(6, [1])
        .number(7, 1)
        .number(9, 4),
    )
    const dictionary = Uint8Array.of(4, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 16)
    expect(
      await failure(read(4, [{ rows: 4, buffers: [chunkWord, chunk, dictionary], layout }])),
    ).toMatchObject({
      message: expect.stringContaining('a block announces 268435456 values'),
    })
    const seven = { kind: 'constant', value: new Uint8Array(64) } as const
    expect(() => decodeBlock(seven, new Uint8Array(0), 2 ** 25)).toThrow('33554432 copies of a value')
  })

  test.each([8, 16, 32, 64])('has runs and copies of values of %i bits', bits => {
    const width = bits / 8
    const values = Uint8Array.from({ length: 3 * width }, (_, i) => i + 1)
    const lengths = Uint8Array.of(2, 0, 5)
    const bytes = new Uint8Array([3 * width, 0, 0, 0, 0, 0, 0, 0, ...values, ...lengths])
    const plain = { kind: 'flat', bits: 8 } as const
    const encoding = { kind: 'rle', values: { kind: 'flat', bits }, lengths: plain } as const
    const expected = [0, 0, 2, 2, 2, 2].flatMap(i => [...values.subarray(i * width, (i + 1) * width)])
    expect(decodeBlock(encoding, bytes, 6)).toMatchObject({ bits, bytes: Uint8Array.from(expected) })
    const value = values.subarray(0, width)
    expect(decodeBlock({ kind: 'constant', value }, bytes, 3)).toMatchObject({
      bits,
      bytes: Uint8Array.from([...value, ...value, ...value]),
    })
  })

  test('of version 2.0 with many rows without bytes is refused', () => {
    const packed = message().message(10, message().number(2, 64).message(3, message())).finish()
    const type = { kind: 'int', bits: 64, signed: false } as const
    const decode = (rows: number) =>
      decodePlain({ rows, encoding: packed, buffers: [new Uint8Array(0)], type })
    expect(decode(5).block).toMatchObject({ bytes: new Uint8Array(40) })
    expect(() => decode(2 ** 50)).toThrow('a page has 1125899906842624 rows')
  })

  test('that announces more values than fit the memory is refused by a typed error', async () => {
    const wide = lanceField(0, 'a', 'fixed_size_list:fixed_size_binary:2147483647:2147483647')
    const layout = message().message(2, message().numbers(5, [3]))
    const file = lanceFile(wide, 1, [{ rows: 1, buffers: [], layout }])
    expect(
      await failure(openLanceFile(new CountedBytes(file), 'x').then(opened => readColumns(opened))),
    ).toMatchObject({ code: ErrorCode.InvalidInput })
  })
})
