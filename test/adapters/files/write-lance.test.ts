/** Rows to Lance tables: which files there are, and what is refused. The peers read the values. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as arrow from 'apache-arrow'
import { describe, expect, test } from 'vitest'
import { writeArrow, writeLance, writeParquet } from '../../../adapters/files/public.js'
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

/** A table of apache-arrow with the column `s` of two texts. */
function textTable(nullBitmap: Uint8Array | null, offsets: readonly number[], ...bytes: readonly number[]) {
  const data = arrow.makeData({
    type: new arrow.Utf8(),
    length: 2,
    nullCount: nullBitmap === null ? 0 : 1,
    nullBitmap,
    valueOffsets: Int32Array.from(offsets),
    data: Uint8Array.from(bytes),
  })
  return new arrow.Table({ s: new arrow.Vector([data]) })
}

test.each([
  ['two columns with one name', ErrorCode.SchemaValidation, doubled()],
  ['text that is not UTF-8', ErrorCode.InvalidInput, textTable(null, [0, 1, 2], 0xff, 0x61)],
  ['a character in two texts', ErrorCode.InvalidInput, textTable(null, [0, 1, 2], 0xc3, 0xa4)],
])('no writer writes %s', async (_, code, table) => {
  const folder = newFolder()
  for (const write of [writeLance, writeParquet, writeArrow]) {
    expect((await failure(write(join(folder, write.name), table))).code).toBe(code)
  }
  expect(readdirSync(folder)).toEqual([])
})

/** A table with two columns with the name `a`. */
function doubled() {
  const field = new arrow.Field('a', new arrow.Int32(), true)
  const column = arrow.vectorFromArray([1], new arrow.Int32()).data[0]!
  const struct = new arrow.Struct<{ a: arrow.Int32 }>([field, field])
  const data = arrow.makeData({ type: struct, length: 1, children: [column, column] })
  return new arrow.Table([new arrow.RecordBatch(new arrow.Schema([field, field]), data)])
}

describe('writeLance', () => {
  test('writes a data file, a transaction and a manifest', async () => {
    const folder = newFolder()
    const path = join(folder, 't.lance')
    const written = await writeLance(path, [{ a: 1 }, { a: null }])
    expect(written.rows).toBe(2)
    expect(readdirSync(path).sort()).toEqual(['_transactions', '_versions', 'data'])
    expect(readdirSync(join(path, '_versions'))).toEqual(['18446744073709551614.manifest'])
    expect(readdirSync(join(path, 'data'))).toHaveLength(1)
    expect(readdirSync(folder)).toEqual(['t.lance'])
  })

  test('names this version of the package as the writer of the manifest', async () => {
    const path = join(newFolder(), 't.lance')
    await writeLance(path, [{ a: 1 }])
    const manifest = readFileSync(join(path, '_versions/18446744073709551614.manifest'))
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
    const name = Buffer.from('sheaf')
    const writer = [0x0a, name.length, ...name, 0x12, version.length, ...Buffer.from(version)]
    expect(manifest.includes(Buffer.from(writer))).toBe(true)
  })

  test('leaves nothing behind if the rows fail or the signal aborts', async () => {
    const folder = newFolder()
    const rows = async function* () {
      yield { a: 1 }
      throw new Error('no more')
    }
    expect((await failure(writeLance(join(folder, 't.lance'), rows()))).message).toContain('no more')
    const signal = AbortSignal.abort(new Error('stop'))
    expect((await failure(writeLance(join(folder, 't.lance'), [{ a: 1 }], { signal }))).message).toBe('stop')
    expect(readdirSync(folder)).toEqual([])
  })

  test('refuses a path that exists, and accepts an empty folder', async () => {
    const folder = newFolder()
    await writeLance(folder, [{ a: 1 }])
    expect((await failure(writeLance(folder, [{ a: 1 }]))).code).toBe(ErrorCode.InvalidInput)
    const file = join(newFolder(), 'file')
    writeFileSync(file, 'text')
    expect((await failure(writeLance(file, [{ a: 1 }]))).code).toBe(ErrorCode.InvalidInput)
  })

  test('refuses types that Lance does not have, and tables without columns', async () => {
    const path = join(newFolder(), 't.lance')
    expect((await failure(writeLance(path, []))).code).toBe(ErrorCode.InvalidInput)
    expect(existsSync(path)).toBe(false)
  })

  test.each(['a.b', 'a`b', '', '_rowid', '_row_created_at_version'])(
    'refuses the column name %j, with which LanceDB cannot query',
    async name => {
      const path = join(newFolder(), 't.lance')
      expect((await failure(writeLance(path, [{ [name]: 1 }]))).code).toBe(ErrorCode.Unsupported)
      expect(existsSync(path)).toBe(false)
    },
  )

  test('writes no bytes of nulls, because LanceDB checks their text', async () => {
    const path = join(newFolder(), 't.lance')
    await writeLance(path, textTable(Uint8Array.of(0b10), [0, 3, 4], 0xff, 0xfe, 0xfd, 0x61))
    const [name] = readdirSync(join(path, 'data'))
    expect(readFileSync(join(path, 'data', name!)).includes(Buffer.of(0xff, 0xfe, 0xfd))).toBe(false)
  })
})

test('a few rows of a large table are those of a scan, read one by one or with their part', async () => {
  const folder = newFolder()
  const rows = Array.from({ length: 20_000 }, (_, id) => ({
    id,
    text: id % 7 === 0 ? null : `text ${id}`,
    words: Array.from({ length: id % 3 }, (_, i) => `word ${id + i}`),
    vector: Float32Array.from({ length: 64 }, (_, i) => id + i),
  }))
  await writeLance(join(folder, 't.lance'), rows)
  const ns = await connect(`lance+${pathToFileURL(folder)}`)
  const table = await ns.openTable('t')
  const scanned: object[] = []
  for await (const row of table.query()) scanned.push(row)
  expect(scanned).toHaveLength(rows.length)
  // The first reads are one by one. Later reads load whole parts.
  for (let round = 0; round < 12; round++) {
    const offsets = [19_999, 3, 4, 8_191, 8_192, 16_384 + round, round, 12_000].filter(
      (offset, i, all) => all.indexOf(offset) === i,
    )
    const found = await table.takeOffsets(offsets).toArray()
    expect(found).toEqual(offsets.map(offset => scanned[offset]))
  }
  await ns.close()
})
