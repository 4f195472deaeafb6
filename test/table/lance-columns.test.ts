/** Single rows of golden files of Lance have the values that they have in the whole column. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { arrowField } from '../../src/lance/schema.js'
import type { TableField } from '../../src/manifest/table-schema.js'
import { readLanceRows } from '../../src/table/lance-columns.js'
import type { TableSource } from '../../src/table/table-source.js'
import { randomFrom } from '../support/clock.js'
import { comparable, openFile, readColumns } from '../support/lance-files.js'

const folder = join(import.meta.dirname, '../golden/lance')
const names = ['flat-2.0.lance', 'flat-2.2.lance', 'large-2.2.lance', 'nested-2.2.lance']

describe.each(names)('%s', name => {
  test('rows in any order, with consecutive rows and repeated rows', async () => {
    const file = await openFile(join(folder, name))
    const wholes = await readColumns(file)
    const bytes = readFileSync(join(folder, name))
    const source = {
      store: {
        getRange: async (_: string, at: number, length: number) => bytes.subarray(at, at + length),
        readInto: async (_: string, at: number, target: Uint8Array) => bytes.copy(target, 0, at),
      },
      lanceFiles: { get: (_: string, load: () => unknown) => load() },
    } as unknown as TableSource
    const { fields } = file.schema
    const columns = {
      lance: name,
      version: file.version,
      bytes: bytes.length,
      fields: fields.map(({ id }) => id),
      fieldsById: new Map(fields.map(field => [field.id, field])),
      columns: file.columnIds(),
    }
    const random = randomFrom(4)
    for (const [i, field] of fields.entries()) {
      const values = comparable(wholes[i]!)
      const start = Math.floor(random() * (file.rows - 3))
      const rows = Uint32Array.of(
        ...Array.from({ length: 6 }, () => Math.floor(random() * file.rows)),
        ...[start, start + 1, start + 2, start],
      )
      const own = { ...arrowField(field), id: field.id } as TableField
      const found = comparable(
        await readLanceRows(source, 'folder', columns, own, { fragmentRows: file.rows, rows }),
      )
      expect({ field: field.name, found }).toEqual({
        field: field.name,
        found: Array.from(rows, row => values[row]),
      })
    }
  })
})
