/** An insert that overwrites, as LanceDB's clients send it. */
import { expect, test } from 'vitest'
import { connect } from '../../../src/index.js'
import { ask } from '../../support/http.js'
import { servers } from './servers.js'

const start = servers()

test('an overwrite with other columns replaces them for LanceDB’s clients, and is refused for other clients', async () => {
  const ns = await connect('memory://')
  const table = await ns.createTable('t', [{ id: 1, name: 'a' }], { properties: { kept: 'yes' } })
  const other = await ns.createTable('u', [{ id: 'x', price: 2 }])
  const body = await other.query().toIpc()
  const url = await start(ns)
  const insert = (path: string, headers = {}) => ask(url, { path: `/v1/table/t/${path}`, headers, body })
  expect(await insert('insert?mode=overwrite')).toMatchObject({ status: 400 })
  expect(await insert('insert/?mode=append')).toMatchObject({ status: 400 })
  const keyed = { 'idempotency-key': 'k' }
  const reply = await insert('insert/?mode=overwrite', keyed)
  expect(reply).toMatchObject({ status: 200, json: { num_inserted_rows: 1, version: 2 } })
  expect((await insert('insert/?mode=overwrite', keyed)).json).toEqual(reply.json)
  expect(await table.query().toArray()).toEqual([{ id: 'x', price: 2 }])
  expect(await (await table.checkout(1)).query().toArray()).toEqual([{ id: 1, name: 'a' }])
  expect(await ns.operations.describeTable({ id: ['t'] })).toMatchObject({ properties: { kept: 'yes' } })
})
