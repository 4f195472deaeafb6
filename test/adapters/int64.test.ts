/** The option `int64` of a connection, over each transport. */
import { expect, test } from 'vitest'
import { connectHttp, serve } from '../../adapters/http/public.js'
import { connectWorker } from '../../adapters/worker/public.js'
import { connect } from '../../src/index.js'
import { temporaryRoots } from '../support/roots.js'

const roots = temporaryRoots()
const big = 2n ** 60n

test('snapshots and transactions read 64-bit integers as their connection does', async () => {
  const root = roots()
  const direct = await connect(root, { int64: 'bigint' })
  await direct.createTable('t', [{ id: big }])
  const server = await serve(direct, { port: 0 })
  const worker = await connectWorker(root, { int64: 'bigint' })
  const http = connectHttp(server.url, { int64: 'bigint' })
  for (const ns of [direct, worker, http]) {
    expect(await ns.table('t').query().toArray()).toEqual([{ id: big }])
  }
  for (const ns of [direct, worker]) {
    const frozen = await ns.snapshot()
    expect(await frozen.table('t').query().first()).toEqual({ id: big })
    await frozen.close()
    const read = await ns.transaction(tx => tx.table('t').query().first())
    expect(read).toEqual({ id: big })
  }
  await Promise.all([http.close(), worker.close()])
  await server.close()
  await direct.close()
})
