/** The commit log in PostgreSQL on a real server, also while the server is killed. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openPostgresLog, type PostgresLogOptions } from '../../adapters/postgres/public.js'
import { statementsOf } from '../../adapters/postgres/statements.js'
import type { ExternalLog } from '../../src/commit/external-log.js'
import { statedChecksum } from '../../src/commit/slot.js'
import { connect, moveLog } from '../../src/index.js'
import { commitLogSuite } from '../suites/commit-log.js'
import { externalLogSuite, filled, slotAfter } from '../suites/external-log.js'
import { temporaryRoots } from '../support/roots.js'
import { CuttingProxy } from './cutting-proxy.js'
import { PostgresServer, postgresFolder } from './postgres-server.js'

const freshRoot = temporaryRoots()

test.runIf(postgresFolder === null)('PostgreSQL is skipped', () => {
  console.log('stores: PostgreSQL skipped, because its server is not installed')
})

describe.runIf(postgresFolder !== null)('PostgreSQL', () => {
  let server: PostgresServer
  let pool: pg.Pool
  let roots = 0
  const opened: ExternalLog[] = []
  const open = async (options: PostgresLogOptions = {}) => {
    const log = await openPostgresLog({ pool, root: `root ${roots++}`, ...options })
    opened.push(log)
    return log
  }
  const newPool = () => {
    const created = new pg.Pool({ ...server.config, max: 20 })
    created.on('error', () => {})
    return created
  }

  beforeAll(async () => {
    server = await PostgresServer.start()
    pool = newPool()
  })
  afterAll(async () => {
    for (const log of opened) await log.close!()
    await pool?.end()
    await server?.stop()
  })

  commitLogSuite('PostgresLog', () => open(), { checksPrevious: true })
  externalLogSuite('PostgresLog', () => open())

  test('a root moves to PostgreSQL, to another log there, and back, while a process writes', async () => {
    const path = freshRoot()
    const urlOf = (root: string) => {
      const { host, port, user, database } = server.config
      return `postgres://${user}@${host}:${port}/${database}?root=${root}`
    }
    const names = [`move ${roots++}`, `move ${roots++}`]
    const first = await connect(path)
    const table = await first.createTable('t', [{ id: -1 }])
    const acknowledged = [-1]
    const writing = (async () => {
      for (let id = 0; ; id++) {
        await table.add([{ id }])
        acknowledged.push(id)
      }
    })().catch(error => error)
    await new Promise(resolve => setTimeout(resolve, 200))
    await moveLog(path, { to: await openPostgresLog(urlOf(names[0]!)) })
    expect((await writing).message).toMatch(/^the log of this root was moved to "postgres:/)
    await first.close()
    await expect(connect(path)).rejects.toThrow(
      /was moved to "postgres:\/\/127.0.0.1:\d+\/postgres\?schema=public/,
    )
    await moveLog(path, {
      from: await openPostgresLog(urlOf(names[0]!)),
      to: await openPostgresLog(urlOf(names[1]!)),
    })
    await expect(connect(path, { log: await openPostgresLog(urlOf(names[0]!)) })).rejects.toThrow(
      /was moved to/,
    )
    const second = await connect(path, { log: await openPostgresLog(urlOf(names[1]!)) })
    await (await second.openTable('t')).add([{ id: -2 }])
    expect((await second.verify()).problems).toEqual([])
    await second.close()
    await moveLog(path, { from: await openPostgresLog(urlOf(names[1]!)), to: 'files' })
    await using last = await connect(path)
    const rows = await (await last.openTable('t')).query().toArray()
    expect(rows.map(({ id }) => Number(id)).sort((a, b) => a - b)).toEqual([-2, ...acknowledged])
    expect((await last.verify()).problems).toEqual([])
  })

  test('a log makes its own pool, and closes it', async () => {
    const log = await openPostgresLog({ config: server.config, root: `root ${roots++}` })
    await filled(log, 1)
    await log.close!()
    const connected = "SELECT FROM pg_stat_activity WHERE application_name = 'sheaf'"
    await expect.poll(async () => (await pool.query(connected)).rowCount).toBe(0)
  })

  test('names of schemas, tables and roots may have any characters', async () => {
    await pool.query('CREATE SCHEMA "a.b ""c"""')
    const log = await open({ schema: 'a.b "c"', table: 'log; DROP TABLE "x"', root: "it's 'mine'" })
    const slots = await filled(log, 2)
    expect(await log.has(2, statedChecksum(slots[2]!)!)).toBe(true)
    await openPostgresLog({ pool, schema: 'a.b "c"', table: 'log; DROP TABLE "x"' })
  })

  test('several processes create the table at the same time', async () => {
    for (let round = 0; round < 10; round++) {
      const logs = await Promise.all(Array.from({ length: 8 }, () => open({ table: `table ${round}` })))
      for (const log of logs) await filled(log, 1)
    }
  })

  test('a user without rights is refused', async () => {
    await open()
    await pool.query('CREATE ROLE reader LOGIN')
    await pool.query('GRANT SELECT ON sheaf_log TO reader')
    const log = await openPostgresLog({ config: { ...server.config, user: 'reader' }, root: 'x' })
    expect(await log.read(0)).toBeNull()
    await expect(log.append(0, new Uint8Array(1))).rejects.toMatchObject({ name: 'PermissionDenied' })
    await log.close!()
    await expect(openPostgresLog({ config: { ...server.config, user: 'nobody' } })).rejects.toMatchObject({
      name: 'PermissionDenied',
    })
    await expect(openPostgresLog({ config: { ...server.config, database: 'none' } })).rejects.toMatchObject({
      name: 'InvalidInput',
    })
  })

  test('a standby is refused', async () => {
    const standby = await server.startStandby()
    try {
      await expect(openPostgresLog({ config: standby.config })).rejects.toMatchObject({
        name: 'ServiceUnavailable',
        message: expect.stringContaining('is a standby'),
      })
    } finally {
      await standby.stop()
    }
  })

  test('a slot is committed synchronously, and a stronger setting is kept', async () => {
    const { append } = statementsOf('public', 'sheaf_log')
    await open()
    const settingAfter = async (setting: string) => {
      const client = await pool.connect()
      try {
        await client.query(`SET synchronous_commit = '${setting}'`)
        const values = [`root ${roots++}`, 0, Buffer.of(1), null, 'c']
        const { rows } = await client.query({ text: append, values, rowMode: 'array' })
        const after = await client.query('SHOW synchronous_commit')
        return [rows[0]![1], after.rows[0].synchronous_commit]
      } finally {
        client.release(true)
      }
    }
    for (const weak of ['off', 'local', 'remote_write', 'on'])
      expect(await settingAfter(weak)).toEqual(['on', weak])
    expect(await settingAfter('remote_apply')).toEqual(['remote_apply', 'remote_apply'])
  })

  // Without the lock on the previous slot, the insert waits for the deletion of its own slot, and wins.
  test.each([2, 5])('an append of slot %i that is delayed past a trim is refused', async slot => {
    const root = `root ${roots++}`
    const log = await open({ root })
    const slots = await filled(log, 8)
    const trimmer = await pool.connect()
    try {
      const { trim, trimFirst } = statementsOf('public', 'sheaf_log')
      await trimmer.query('BEGIN')
      await trimmer.query(trimFirst, [root, slot])
      await trimmer.query(trim, [root, slot, 1000])
      const late = log.append(slot, slots[slot]!)
      const waits = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%sheaf_log%'`
      await expect.poll(async () => (await pool.query(waits)).rowCount).toBe(1)
      await trimmer.query('COMMIT')
      expect(await late).toBe('taken')
      expect(await log.read(slot)).toBeNull()
    } finally {
      trimmer.release(true)
    }
  })

  test('trims, appends and late appends race without an error or a resurrected slot', async () => {
    const root = `root ${roots++}`
    const logs = await Promise.all(Array.from({ length: 4 }, () => open({ root })))
    const slots = await filled(logs[0]!, 3)
    const last = 150
    let floor = 0
    const appending = logs.map(async (log, writer) => {
      while (slots.length <= last) {
        const slot = slots.length
        const bytes = slotAfter(statedChecksum(slots[slot - 1]!)!, slot, `${writer}`)
        if ((await log.append(slot, bytes)) === 'won') {
          expect(slots).toHaveLength(slot)
          slots.push(bytes)
        }
      }
    })
    const late = logs.map(async log => {
      while (slots.length <= last) {
        const slot = 1 + Math.floor(Math.random() * (slots.length - 1))
        expect(await log.append(slot, slots[slot]!)).toBe('taken')
      }
    })
    const trimming = logs.map(async log => {
      while (slots.length <= last) {
        const to = slots.length - 2
        await log.trim(to)
        floor = Math.max(floor, to)
      }
    })
    await Promise.all([...appending, ...late, ...trimming])
    expect(floor).toBeGreaterThan(100)
    for (let slot = 1; slot <= floor; slot++) expect(await logs[0]!.read(slot)).toBeNull()
    const crcs = slots.map(bytes => statedChecksum(bytes)!)
    for (let slot = floor + 1; slot < slots.length; slot++)
      expect(await logs[0]!.has(slot, crcs[slot])).toBe(true)
  })

  test('large slots are read, a few of them together', async () => {
    const log = await open()
    await log.append(0, new Uint8Array(8_000_000).fill(7))
    const read = (await log.read(0))!
    expect(read.length).toBe(8_000_000)
    expect(read.every(byte => byte === 7)).toBe(true)
    for (let slot = 1; slot < 5; slot++) await log.append(slot, new Uint8Array(7_000_000).fill(slot))
    const kindsOf = async (first: number) =>
      (await log.readTogether!(first, 4))!.found.map(bytes => (bytes === null ? null : bytes[6_999_999]))
    expect(await kindsOf(0)).toEqual([7, 1])
    expect(await kindsOf(2)).toEqual([2])
    expect(await kindsOf(4)).toEqual([4, null, null, null])
  })

  test('a commit wakes up the connections that watch, also after a restart of the server', async () => {
    const path = freshRoot()
    const root = `root ${roots++}`
    const ns = await connect(path, { log: await openPostgresLog({ config: server.config, root }) })
    const other = await connect(path, { log: await openPostgresLog({ config: server.config, root }) })
    const table = await ns.createTable('t', [{ id: 0 }])
    const changes = other.watch()[Symbol.asyncIterator]()
    await changes.next()
    const latencyOf = async () => {
      const next = changes.next()
      await new Promise(done => setTimeout(done, 50))
      await table.add([{ id: 1 }])
      const started = performance.now()
      await next
      return performance.now() - started
    }
    // Wait until the connection listens.
    await expect.poll(() => latencyOf(), { timeout: 30_000 }).toBeLessThan(100)
    await server.kill()
    await server.run()
    await expect.poll(() => latencyOf(), { timeout: 30_000 }).toBeLessThan(100)
    await changes.return?.()
    await ns.close()
    await other.close()
  })

  test('no row is lost or added twice while answers of the server are lost', async () => {
    const proxy = await CuttingProxy.start(server.port)
    const config = { ...server.config, port: proxy.port }
    const root = `root ${roots++}`
    const ns = await connect(freshRoot(), { log: await openPostgresLog({ config, root }) })
    const table = await ns.createTable('t', [{ id: 0 }])
    let requests = 0
    let inserts = 0
    proxy.cuts = request => {
      const isInsert = request.includes('INSERT INTO')
      if (isInsert) inserts++
      return isInsert ? inserts % 3 === 0 : requests++ % 7 === 0
    }
    for (let id = 1; id <= 60; id++) await table.add([{ id }])
    proxy.cuts = () => false
    const ids = (await table.query().select(['id']).toArray()).map(row => Number(row.id))
    expect(ids.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 61 }, (_, i) => i))
    expect(proxy.cut).toBeGreaterThan(20)
    await ns.close()
    await proxy.stop()
  })

  test('no row is lost or added twice while four processes append, and the server is stopped three times', async () => {
    const path = freshRoot()
    const root = 'main'
    const table = 'sheaf_log'
    const writers = 4
    const rows = 100
    const created = await connect(path, {
      log: await openPostgresLog({ config: server.config, table, root }),
    })
    await created.createTable('t', [{ key: 'first' }])
    await created.close()
    const acknowledged: string[] = []
    const ends = Array.from({ length: writers }, async (_, writer) => {
      const program = resolve('test/stores/postgres-writer.mjs')
      const args = [program, path, JSON.stringify(server.config), String(writer), String(rows)]
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
      child.stdout.on('data', (data: Buffer) => acknowledged.push(...data.toString().trim().split('\n')))
      const [status] = await once(child, 'close')
      expect(status).toBe(0)
    })
    const stops: number[] = []
    for (let stop = 1; stop <= 3; stop++) {
      await expect
        .poll(() => acknowledged.length, { timeout: 60_000 })
        .toBeGreaterThan((stop * writers * rows) / 4)
      stops.push(acknowledged.length)
      await server.kill()
      await server.run()
    }
    await Promise.all(ends)
    const ns = await connect(path, { log: await openPostgresLog({ config: server.config, root }) })
    const found = await (await ns.openTable('t')).query().select(['key']).toArray()
    const keys = found.map(row => String(row.key))
    const expected = Array.from({ length: writers * rows }, (_, i) => `${Math.floor(i / rows)}-${i % rows}`)
    console.log(`stopped after ${stops.join(', ')} of ${expected.length} rows; ${keys.length - 1} rows found`)
    expect(acknowledged.toSorted()).toEqual(expected.toSorted())
    expect(keys.toSorted()).toEqual([...expected, 'first'].toSorted())
    expect((await ns.verify()).problems).toEqual([])
    await ns.close()
  }, 300_000)

  test('a commit of one row takes at most three times as long as an INSERT of the same bytes', async () => {
    const own = newPool()
    const root = `root ${roots++}`
    const ns = await connect(freshRoot(), { log: await openPostgresLog({ pool: own, root }) })
    const table = await ns.createTable('t', [{ id: 0, text: 'a text' }])
    await own.query('CREATE TABLE plain (id bigserial PRIMARY KEY, bytes bytea)')
    await table.add([{ id: 1, text: 'a text' }])
    const { rows } = await own.query(
      'SELECT bytes FROM sheaf_log WHERE root = $1 ORDER BY slot DESC LIMIT 1',
      [root],
    )
    const client = await own.connect()
    await client.query("SET synchronous_commit = 'on'")
    const timeOf = async (work: () => Promise<unknown>) => {
      const started = performance.now()
      await work()
      return performance.now() - started
    }
    const commits: number[] = []
    const inserts: number[] = []
    for (let id = 0; id < 600; id++) {
      commits.push(await timeOf(() => table.add([{ id, text: 'a text' }])))
      inserts.push(await timeOf(() => client.query('INSERT INTO plain (bytes) VALUES ($1)', [rows[0].bytes])))
    }
    client.release()
    const median = (times: number[]) => times.toSorted((a, b) => a - b)[times.length >> 1]!
    const [commit, insert] = [median(commits), median(inserts)]
    console.log(
      `commit of one row (${rows[0].bytes.length} bytes): ${commit.toFixed(2)} ms; INSERT: ${insert.toFixed(2)} ms; ratio ${(commit / insert).toFixed(2)}`,
    )
    expect(commit / insert).toBeLessThan(3)
    await ns.close()
    await own.end()
  })
})
