import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ErrorCode } from '../../src/errors.js'
import { openLanceFile } from '../../src/lance/file.js'
import { CountedBytes, readColumns } from '../support/lance-files.js'

function golden(name: string): Uint8Array {
  return new Uint8Array(readFileSync(join(import.meta.dirname, '../golden/lance', name)))
}

/** Change the version in the footer of a file. */
function withVersion(major: number, minor: number): Uint8Array {
  const bytes = golden('packed-2.2.lance')
  const view = new DataView(bytes.buffer)
  view.setUint16(bytes.length - 8, major, true)
  view.setUint16(bytes.length - 6, minor, true)
  return bytes
}

describe('openLanceFile', () => {
  test.each([
    [0, 1, '0.1'],
    [0, 2, '0.1'],
    [2, 3, '2.3'],
    [3, 0, '3.0'],
  ])('refuses version %i.%i, and names a version to write', async (major, minor, name) => {
    const error = await openLanceFile(new CountedBytes(withVersion(major, minor)), 'a.lance').catch(e => e)
    expect(error.code).toBe(ErrorCode.Unsupported)
    expect(error.message).toBe(
      `a.lance: the file has version ${name} of the Lance file format; Sheaf reads 2.0, 2.1 and 2.2`,
    )
    expect(error.hint).toContain('dataStorageVersion')
  })

  test.each([0, 39, 40, 100])('refuses a file of %i bytes', async length => {
    const bytes = golden('packed-2.2.lance').subarray(0, length)
    await expect(openLanceFile(new CountedBytes(bytes), 'a.lance')).rejects.toThrow('a.lance: ')
  })

  test('obeys a signal', async () => {
    const file = await openLanceFile(new CountedBytes(golden('flat-2.2.lance')), 'a.lance')
    const ids = file.columnIds()
    const reading = file.readColumn(file.schema.fields[0]!, id => ids.get(id), 0, 9, {
      signal: AbortSignal.abort(new Error('enough')),
    })
    await expect(reading).rejects.toThrow('enough')
  })
})

describe('readColumn', () => {
  test('refuses rows and columns that the file does not have', async () => {
    const file = await openLanceFile(new CountedBytes(golden('packed-2.2.lance')), 'a.lance')
    const [field] = file.schema.fields
    await expect(file.readColumn(field!, () => 0, 0, 201)).rejects.toThrow('the rows 0 to 201')
    await expect(file.readColumn(field!, () => 0, -1, 2)).rejects.toThrow('the rows -1 to 2')
    await expect(file.readColumn(field!, () => 5, 0, 1)).rejects.toThrow('a.lance, column "fixed": field')
    await expect(file.readColumn(field!, () => undefined, 0, 1)).rejects.toThrow('column undefined')
  })

  test.each(['2.0', '2.2'])('a damaged page that lacks rows is one error (version %s)', async version => {
    const bytes = Buffer.from(golden(`packed-${version}.lance`))
    // The number of rows in the descriptor: 200 becomes 201. The description of the page: another name.
    bytes[bytes.lastIndexOf(Buffer.from([0x10, 0xc8, 0x01])) + 1]!++
    bytes[bytes.lastIndexOf('lance.encodings')]!++
    const file = await openLanceFile(new CountedBytes(bytes), 'a.lance')
    await expect(readColumns(file)).rejects.toThrow('have 200 rows, but the file has more')
    // The test fails if the error of the page is an unhandled rejection.
    await new Promise(resolve => setImmediate(resolve))
  })

  test('reads few bytes for few rows of large values', async () => {
    const source = new CountedBytes(golden('large-2.2.lance'))
    const file = await openLanceFile(source, 'a.lance')
    const field = file.schema.fields[0]!
    const ids = file.columnIds()
    const before = source.bytesRead
    const column = await file.readColumn(field, id => ids.get(id), 3, 5)
    expect(column.length).toBe(2)
    // The end of the file, which has the pages of small files, is in memory.
    expect(source.bytesRead - before).toBeLessThanOrEqual(2 * 65 * 4)
  })

  test('no rows are an empty column of the type', async () => {
    const file = await openLanceFile(new CountedBytes(golden('nested-2.2.lance')), 'a.lance')
    for (const [i, column] of (await readColumns(file, 7, 7)).entries()) {
      expect([i, column.length]).toEqual([i, 0])
    }
  })
})
