import { describe, expect, test } from 'vitest'
import { optionsOfUrl, serverOf, urlOf } from '../../../adapters/postgres/log-url.js'
import { openPostgresLog } from '../../../adapters/postgres/public.js'
import { Ambiguous } from '../../../src/storage/blob-store.js'
import { FakePool, networkError, serverError } from './fake-pool.js'

/** The package `pg` is not installed here. `npm run test:stores -- postgres` tests the log with it and with a server. */
describe('openPostgresLog', () => {
  test('says which package to install', async () => {
    await expect(openPostgresLog({ config: {} })).rejects.toMatchObject({
      name: 'InvalidInput',
      message: 'sheaf/postgres needs the package "pg", which cannot be loaded',
      hint: 'npm install pg',
    })
  })

  test('refuses options that are unknown, wrong or contradict each other', async () => {
    const pool = new FakePool()
    const wrong: [object, string][] = [
      [{ pool, tabel: 'x' }, 'table'],
      [{ pool, table: '' }, 'table'],
      [{ pool, table: 'x'.repeat(64) }, 'at most 63 bytes'],
      [{ pool, schema: 'a\0b' }, 'without NUL'],
      [{ pool, root: 'a\0b' }, 'NUL'],
      [{ pool: {} }, 'a pool of the package pg'],
      [{ pool, config: {} }, 'either pool or config'],
      [{ pool, retries: -1 }, 'retries'],
      [{ pool, timeoutMs: 0 }, 'timeoutMs'],
    ]
    for (const [options, text] of wrong) {
      const error = await openPostgresLog(options as never).catch(reason => reason)
      expect(error).toMatchObject({ code: 13 })
      expect(`${error.message} ${error.hint}`).toContain(text)
    }
  })

  test('names the log without the user and the password', async () => {
    const log = await openPostgresLog({ pool: new FakePool(), root: 'docs' })
    expect(log.name).toBe('postgres://db.example:5432/app?schema=public&table=sheaf_log&root=docs')
    expect(log.fileOf(7)).toBe(`slot 7 of ${log.name}`)
    const other = await openPostgresLog({ pool: new FakePool(), schema: 'own', table: 'log of "us"' })
    expect(other.name).toBe('postgres://db.example:5432/app?schema=own&table=log%20of%20%22us%22&root=main')
  })

  test('takes the URL with which it is named in messages, and shows no password', async () => {
    const url = 'postgresql://me:secret@127.0.0.1:1/app?sslmode=disable&schema=own&table=a%26b&root=docs'
    expect(optionsOfUrl(url)).toEqual({
      config: { connectionString: 'postgresql://me:secret@127.0.0.1:1/app?sslmode=disable' },
      schema: 'own',
      table: 'a&b',
      root: 'docs',
    })
    expect(urlOf('postgres://127.0.0.1:1/app', { schema: 'own', table: 'a&b', root: 'docs' })).toBe(
      'postgres://127.0.0.1:1/app?schema=own&table=a%26b&root=docs',
    )
    for (const wrong of ['secret', 'mysql://me:secret@a/b', 'postgres://me:secret@a:b/c']) {
      const error = await openPostgresLog(wrong).catch(reason => reason)
      expect(error).toMatchObject({ name: 'InvalidInput' })
      expect(error.message).not.toContain('secret')
    }
  })

  test('names the server before there is a connection', () => {
    expect(serverOf({ connectionString: 'postgres://me:secret@db.example:6000/app' })).toBe(
      'postgres://db.example:6000/app',
    )
    expect(serverOf({ host: 'db.example', database: 'app' })).toBe('postgres://db.example:5432/app')
    expect(serverOf({ host: '/tmp', database: 'app' })).toBe('postgres:///app?host=%2Ftmp')
  })

  test('asks for a schema if there is none', async () => {
    const pool = new FakePool()
    pool.schema = null
    await expect(openPostgresLog({ pool })).rejects.toMatchObject({
      name: 'InvalidInput',
      hint: 'set the option schema',
    })
    expect((await openPostgresLog({ pool, schema: 'own' })).name).toContain('schema=own&table=sheaf_log')
  })

  test('refuses a standby', async () => {
    const pool = new FakePool()
    pool.isStandby = true
    await expect(openPostgresLog({ pool })).rejects.toMatchObject({
      name: 'ServiceUnavailable',
      message: expect.stringContaining('is a standby'),
      hint: 'connect to the primary server',
    })
    expect(pool.released).toEqual([true])
  })

  test('does not end a pool of the caller', async () => {
    const pool = new FakePool()
    const log = await openPostgresLog({ pool })
    await log.close!()
    expect(pool.ended).toBe(false)
  })
})

describe('an append', () => {
  const opened = async (answers: (Error | boolean)[], retries = 3) => {
    const pool = new FakePool(async () => {
      const next = answers.shift()
      if (next instanceof Error) throw next
      return [[next === true ? 't' : 'f', 'on']]
    })
    return { pool, log: await openPostgresLog({ pool, retries }) }
  }
  const bytes = new Uint8Array(30)

  test('is won or taken', async () => {
    const { log } = await opened([true, false])
    expect(await log.append(0, bytes)).toBe('won')
    expect(log.markOfOwn!(0)).not.toBeNull()
    expect(await log.append(1, bytes)).toBe('taken')
    expect(log.markOfOwn!(1)).toBeNull()
  })

  test.each([
    networkError(),
    networkError('EPIPE'),
    new Error('Connection terminated unexpectedly'),
    serverError('57P01', 'FATAL'),
    serverError('57014'),
    serverError('58030'),
    serverError('XX000'),
    serverError('08006'),
  ])('with a lost answer is Ambiguous, and is sent once: %s', async error => {
    const { log, pool } = await opened([error])
    await expect(log.append(1, bytes)).rejects.toBeInstanceOf(Ambiguous)
    expect(pool.statements).toHaveLength(1)
    expect(pool.released.at(-1)).toBe(true)
  })

  test.each([serverError('40001'), serverError('40P01'), serverError('55P03'), serverError('53200')])(
    'that the server rolled back is repeated: %s',
    async error => {
      const { log, pool } = await opened([error, error, true])
      expect(await log.append(1, bytes)).toBe('won')
      expect(pool.statements).toHaveLength(3)
    },
  )

  test.each([
    [serverError('25006'), 'ServiceUnavailable'],
    [serverError('42501'), 'PermissionDenied'],
    [serverError('42P01'), 'InvalidInput'],
    [serverError('53100'), 'ServiceUnavailable'],
  ])('that the server refused wrote nothing: %s', async (error, name) => {
    const { log } = await opened([error, error], 1)
    const thrown = await log.append(1, bytes).catch(reason => reason)
    expect(thrown).toMatchObject({ name })
    expect(thrown).not.toBeInstanceOf(Ambiguous)
  })

  test('without a connection is repeated, and wrote nothing', async () => {
    const { log, pool } = await opened([true], 2)
    pool.idle.length = 0
    pool.refusals.push(networkError('ECONNREFUSED'), serverError('57P03', 'FATAL'))
    expect(await log.append(1, bytes)).toBe('won')
    pool.idle.length = 0
    pool.refusals.push(...Array.from({ length: 3 }, () => networkError('ECONNREFUSED')))
    const thrown = await log.append(2, bytes).catch(reason => reason)
    expect(thrown).toMatchObject({
      name: 'ServiceUnavailable',
      message: expect.stringContaining('ECONNREFUSED'),
    })
    expect(thrown).not.toBeInstanceOf(Ambiguous)
    expect(pool.statements).toHaveLength(1)
  })
})

describe('a read', () => {
  test('is repeated after an error of the connection', async () => {
    let fails = 2
    const pool = new FakePool(async () => {
      if (fails-- > 0) throw networkError()
      return [['3', 'ff']]
    })
    const log = await openPostgresLog({ pool, retries: 2 })
    expect(await log.read(3)).toEqual(Buffer.of(255))
    fails = 3
    await expect(log.read(3)).rejects.toMatchObject({
      name: 'ServiceUnavailable',
      message: expect.stringMatching(/^cannot read slot 3 in postgres:\/\/db.example.*ECONNRESET/),
    })
  })

  test('ends after the time limit, and its connection is closed', async () => {
    const pool = new FakePool(() => new Promise(() => {}))
    const log = await openPostgresLog({ pool, timeoutMs: 20, retries: 1 })
    await expect(log.last()).rejects.toMatchObject({
      name: 'ServiceUnavailable',
      message: expect.stringContaining('no answer within 20 ms'),
    })
    expect(pool.statements).toHaveLength(2)
    expect(pool.released.slice(-2)).toEqual([true, true])
  })

  test('ends at once when the signal aborts', async () => {
    const pool = new FakePool(() => new Promise(() => {}))
    const log = await openPostgresLog({ pool })
    const stop = new AbortController()
    const reading = log.read(1, stop.signal)
    setTimeout(() => stop.abort('enough'), 20)
    await expect(reading).rejects.toBe('enough')
    expect(pool.released.at(-1)).toBe(true)
  })

  test('after close is refused', async () => {
    const pool = new FakePool()
    const log = await openPostgresLog({ pool })
    await log.close!()
    await expect(log.read(1)).rejects.toMatchObject({
      name: 'ServiceUnavailable',
      message: expect.stringContaining('the log is closed'),
    })
  })
})

describe('watch', () => {
  test('calls back for each notification, and again after a new connection', async () => {
    const pool = new FakePool()
    const log = await openPostgresLog({ pool })
    let calls = 0
    const client = pool.idle[0]!
    const stop = log.watch!(() => calls++)
    await expect.poll(() => calls).toBe(1)
    expect(pool.statements).toEqual([expect.stringMatching(/^LISTEN "sheaf_[0-9a-f]{32}"$/)])
    client.emit('notification')
    expect(calls).toBe(2)
    client.emit('error', networkError())
    client.emit('end')
    await expect.poll(() => calls).toBe(3)
    expect(pool.statements).toHaveLength(2)
    stop()
    await expect.poll(() => pool.released.at(-1)).toBe(true)
    client.emit('notification')
    expect(pool.statements).toHaveLength(2)
  })

  test('keeps one connection for all callers, until the last one stops', async () => {
    const pool = new FakePool()
    const log = await openPostgresLog({ pool })
    const client = pool.idle[0]!
    const calls = [0, 0]
    const stops = [log.watch!(() => calls[0]!++), log.watch!(() => calls[1]!++)]
    await expect.poll(() => calls).toEqual([1, 1])
    stops[0]!()
    stops[0]!()
    client.emit('notification')
    expect(calls).toEqual([1, 2])
    expect(pool.released).not.toContain(true)
    stops[1]!()
    await expect.poll(() => pool.released.at(-1)).toBe(true)
    expect(pool.statements).toHaveLength(1)
    log.watch!(() => calls[0]!++)
    await expect.poll(() => pool.statements.length).toBe(2)
    await log.close!()
  })

  test('ends when the log is closed', async () => {
    const pool = new FakePool()
    const log = await openPostgresLog({ pool })
    log.watch!(() => {})
    await expect.poll(() => pool.statements.length).toBe(1)
    await log.close!()
    await expect.poll(() => pool.released.at(-1)).toBe(true)
    expect(pool.idle).toEqual([])
  })
})

test.each([
  ['tabel=x', /the parameter "tabel"/],
  ['Root=x', /the parameter "Root"/],
  ['root=a&root=b', /"root" twice/],
])('the URL of a log with %s is refused', (parameters, message) => {
  expect(() => optionsOfUrl(`postgres://app@db/app?${parameters}`)).toThrow(message)
})

test('the URL of a log may have parameters of PostgreSQL', () => {
  const { config, root } = optionsOfUrl(
    'postgres:///app?host=/run/postgres&port=5433&sslmode=require&root=docs',
  )
  expect(root).toBe('docs')
  expect(config.connectionString).toContain('port=5433&sslmode=require')
})
