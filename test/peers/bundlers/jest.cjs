/** Run by Jest without flags: CommonJS, and a global object of its own for each file. */
const assert = require('node:assert/strict')
const { mkdtempSync, rmSync } = require('node:fs')
const { tmpdir } = require('node:os')
const { join } = require('node:path')
const sheaf = require('sheaf')
const files = require('sheaf/files')
const http = require('sheaf/http')
const protocol = require('sheaf/protocol')
const worker = require('sheaf/worker')
const { everyPart } = require('../runtimes/every-part.cjs')

test('every part works', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sheaf-jest-'))
  const passed = await everyPart({ sheaf, http, worker, files, protocol }, { assert, join }, folder)
  rmSync(folder, { recursive: true })
  expect(passed).not.toContain('no ')
}, 60_000)

test('an error is a SheafError and an Error', async () => {
  const ns = await sheaf.connect('memory://')
  await expect(ns.openTable('missing')).rejects.toThrow(sheaf.SheafError)
  await expect(ns.openTable('missing')).rejects.toMatchObject({ name: 'TableNotFound', code: 4 })
  await ns.close()
})

test('a job runs', async () => {
  const ns = await sheaf.connect('memory://')
  const table = await ns.createTable('t', [{ id: 1, vector: new Float32Array(4) }])
  await table.createIndex('id')
  await table.waitForIndex(['id_idx'])
  await ns.close()
})
