/** The stack of an error has the line of the program that awaits the call, over every transport. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { readCsv } from '../../adapters/files/read-csv.js'
import type { Namespace, Table } from '../../src/index.js'
import { ErrorCode, SheafError } from '../../src/index.js'
import { doors } from '../support/transports.js'

const folder = mkdtempSync(join(tmpdir(), 'sheaf-stack-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let roots = 0
const badCsv = () => readCsv(new TextEncoder().encode('a,b\n1,2\nx"y,3\n') as never)

const calls: Readonly<Record<string, (ns: Namespace, table: Table) => Promise<unknown>>> = {
  createTable: ns => ns.createTable('t', [{ id: 1 }]),
  'createTable with rows that do not fit': ns => ns.createTable('u', [{ id: 1 }, { id: 'x' }]),
  'createTable from a file': ns => ns.createTable('u', badCsv()),
  openTable: ns => ns.openTable('missing'),
  add: (_, table) => table.add([{ id: 'x' }]),
  'search().toArray': (_, table) => table.query().where('missing = 1').toArray(),
  'search().toArray with a value that cannot be cast': (_, table) =>
    table.query().where('CAST(text AS INT) > 1').toArray(),
  'search().toArrow': (_, table) => table.query().select(['missing']).toArrow(),
  countRows: (_, table) => table.countRows('missing = 1'),
  update: (_, table) => table.update({ missing: 1 }),
  delete: (_, table) => table.delete('missing = 1'),
  createIndex: (_, table) => table.createIndex('missing'),
  restore: (_, table) => table.restore(999),
}

describe.each(doors(() => join(folder, String(roots++))))('$name', ({ open }) => {
  test('errors of common calls have the frame of the caller', async () => {
    const { ns, close } = await open()
    const table = await ns.createTable('t', [{ id: 1, text: 'a' }])
    const missing: string[] = []
    for (const [name, call] of Object.entries(calls)) {
      async function theCaller() {
        await call(ns, table)
      }
      const error = await theCaller().catch((reason: Error) => reason)
      if (!(error instanceof SheafError && error.stack?.includes('theCaller'))) missing.push(name)
    }
    expect(missing).toEqual([])
    await close()
  })
})

test('the stack begins with the name of the code and the message', async () => {
  const error = new SheafError(ErrorCode.ColumnNotFound, 'no column named "a"')
  expect(error.name).toBe('ColumnNotFound')
  expect(error.stack).toMatch(/^ColumnNotFound: no column named "a"\n +at /)
  expect(Error.stackTraceLimit).toBeLessThan(50)
})

test('an error that ends many calls has the frames of one of them', async () => {
  const { addCallerFrames } = await import('../../src/errors.js')
  const error = new SheafError(ErrorCode.ServiceUnavailable, 'stopped')
  async function call(): Promise<never> {
    await Promise.resolve()
    throw addCallerFrames(error)
  }
  await call().catch(() => {})
  const { stack } = error
  await call().catch(() => {})
  expect(error.stack).toBe(stack)
})
