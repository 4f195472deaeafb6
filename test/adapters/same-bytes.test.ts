import { tableFromIPC } from 'apache-arrow'
import { expect, test } from 'vitest'
import { connectHttp } from '../../adapters/http/client.js'
import { serve } from '../../adapters/http/server.js'
import { connect, type Namespace } from '../../src/index.js'
import { temporaryRoots } from '../support/roots.js'
import { shipped } from './built.js'

const freshRoot = temporaryRoots()
const { connectWorker } = await import(shipped('worker'))

test('A-076 one query on one version gives the same bytes through every transport', async () => {
  const root = freshRoot()
  const direct = await connect(root)
  const rows = Array.from({ length: 3000 }, (_, id) => {
    return {
      id,
      name: id % 3 === 0 ? null : `n${id % 50}`,
      v: Array.from({ length: 8 }, (_, j) => (id * 7 + j) % 5),
    }
  })
  const table = await direct.createTable('t', rows, { vectorColumns: ['v'] })
  await table.add(rows.slice(0, 10))
  await table.delete('id % 11 = 0')
  const server = await serve(direct, { port: 0 })
  const workers = await connectWorker(root, { workers: 2 })
  const doors: Namespace[] = [
    direct,
    connectHttp(server.url),
    await connectWorker(root),
    workers,
    await connect(root),
  ]

  const answers = await Promise.all(
    doors.map(async ns => {
      const door = await ns.openTable('t')
      const queries = [
        door.search([1, 2, 3, 4, 0, 1, 2, 3]).where("name LIKE 'n1%' OR name IS NULL").limit(40).withRowId(),
        door.search(new Float32Array(8)).distanceType('cosine').select(['name']).offset(3).limit(500),
        door.query().where('id BETWEEN 5 AND 2500').limit(100).offset(50),
        (await door.checkout(1)).query(),
        door.query().select({ key: 'id % 900', n: 'count(*)' }).groupBy('id % 900'),
        door.query().select({ twice: 'upper(name)', id: 'id % 1700' }).distinct().orderBy('id'),
      ]
      return Promise.all(queries.map(async query => Buffer.from(await query.toIpc()).toString('base64')))
    }),
  )
  for (const answer of answers.slice(1)) expect(answer).toEqual(answers[0])
  expect(new Set(answers[0]).size).toBe(6)

  for (const ns of doors.slice(1)) await ns.close()
  await server.close()
  await direct.close()
})

test('groups and distinct rows without an order are cut into batches of the same length every time', async () => {
  const ns = await connect(freshRoot())
  const table = await ns.createTable(
    't',
    Array.from({ length: 40_000 }, (_, id) => ({ id })),
  )
  const grouped = table.query().select({ id: 'id', n: 'count(*)' }).groupBy('id')
  const distinct = table.query().select(['id']).distinct()
  for (const query of [grouped, distinct, grouped]) {
    const { batches } = tableFromIPC(await query.toIpc())
    expect(batches.map(({ numRows }) => numRows)).toEqual([16_384, 16_384, 7232])
  }
  await ns.close()
})
