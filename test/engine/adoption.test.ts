/** A Lance engine writes final manifests without asking the catalog: by Lance's rules each is a commit, so the catalog records it before it answers. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { connect, ErrorCode, type Namespace, SheafError } from '../../src/index.js'
import type { Operations } from '../../src/protocol/calls.js'
import { Ambiguous } from '../../src/storage/blob-store.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { failure } from '../support/failure.js'
import { commitPast, folderOf, manifestOf, requestOf, stage } from '../support/lance.js'
import { CrashingStore, WrappedStore } from '../support/stores.js'

const id = ['t']
const conflict = { code: 14, status: 409 }

/** Does something once, right after a write whose key fits. */
class MeddlingStore extends WrappedStore {
  #pattern: RegExp | null = null
  #meddle: () => Promise<unknown> = async () => {}

  /** `meddle` runs after the next conditional write to a key that fits `pattern`. */
  after(pattern: RegExp, meddle: () => Promise<unknown>): void {
    this.#pattern = pattern
    this.#meddle = meddle
  }

  protected async around<T>(call: string, _: boolean, run: () => Promise<T>, key: string): Promise<T> {
    const reply = await run()
    if (call === 'putIfAbsent' && this.#pattern?.test(key)) {
      this.#pattern = null
      await this.#meddle()
    }
    return reply
  }
}

let disk: MemoryStore
let ns: Namespace
let ops: Operations
let location: string
let opened: Namespace[]

const open = async (store = disk as ConstructorParameters<typeof WrappedStore>[0], options = {}) => {
  const next = await connect('memory://', { store, ...options })
  opened.push(next)
  return next
}

beforeEach(async () => {
  opened = []
  disk = new MemoryStore('memory://adoption')
  ns = await open()
  ops = ns.operations
  location = (await ops.declareTable({ id })).location!
})

afterEach(async () => {
  await Promise.all(opened.map(each => each.close()))
})

const versionsOf = async (of: Operations = ops, table = id) =>
  (await of.listTableVersions({ id: table })).versions.map(({ version }) => version)

const commit = async (version: number, of: Operations = ops) => {
  const staged = await stage(disk, location, version)
  return of.createTableVersion({ id, ...requestOf(staged) })
}

/** Operations in the log that made versions of the table, in order. */
async function recorded(): Promise<string[]> {
  const made: string[] = []
  for await (const { key } of disk.list('_log/')) {
    const header = JSON.parse(
      Buffer.from((await disk.get(key))!)
        .toString()
        .split('\n')[0]!,
    )
    for (const { ops: all } of header.entries ?? []) {
      for (const op of all) if (op.op === 'version' || op.op === 'taken') made.push(`${op.op} ${op.v}`)
    }
  }
  return made
}

describe('versions that an engine wrote without the catalog are recorded', () => {
  test.each<[string, (of: Operations) => Promise<unknown>]>([
    ['list', of => of.listTableVersions({ id, limit: 1, descending: true })],
    ['describe', of => of.describeTableVersion({ id })],
    ['describe of a number', of => of.describeTableVersion({ id, version: 3 })],
    ['table describe', of => of.describeTable({ id })],
    ['exists', of => of.tableExists({ id, version: 3 })],
    ['create', async of => failure(commit(3, of))],
    [
      'a batch',
      async of =>
        failure(
          of.batchCommitTables({
            operations: [{ create_table_version: { id, ...requestOf(await stage(disk, location, 3)) } }],
          }),
        ),
    ],
  ])('before the answer to %s', async (_, ask) => {
    await commit(1)
    for (const version of [2, 3]) await commitPast(disk, location, version)
    await ask(ops)
    expect(await recorded()).toEqual(['version 1', 'version 2', 'version 3'])
    expect(await versionsOf()).toEqual([1, 2, 3])
    expect(await ops.describeTable({ id })).toMatchObject({ version: 3 })
  })

  test.each(['V1', 'V2'] as const)('in a table that was only declared, names of scheme %s', async scheme => {
    const bytes = await commitPast(disk, location, 1, { scheme })
    expect(await ops.describeTable({ id })).toMatchObject({ version: 1, is_only_declared: false })
    const { version } = await ops.describeTableVersion({ id })
    expect(version).toMatchObject({ version: 1, manifest_size: bytes.length })
    const next = await stage(disk, location, 2, { scheme })
    await ops.createTableVersion({ id, ...requestOf(next) })
    expect(await versionsOf()).toEqual([1, 2])
  })

  test('and a writer that lost the number to the engine succeeds at the next attempt', async () => {
    await commit(1)
    const foreign = await commitPast(disk, location, 2)
    expect(await failure(commit(2))).toMatchObject({ ...conflict, hint: 'the next version is 3' })
    const { version } = await ops.describeTableVersion({ id, version: 2 })
    expect(version.manifest_size).toBe(foreign.length)
    expect((await commit(3)).version.version).toBe(3)
  })

  test('except staged and detached manifests, and files that are not manifests', async () => {
    await commit(1)
    await stage(disk, location, 2)
    const folder = `${folderOf(location)}/_versions`
    await disk.put(`${folder}/d9223372036854775810.manifest`, manifestOf('detached'))
    await disk.put(`${folder}/9223372036854775807.manifest`, manifestOf('beyond'))
    await commitPast(disk, location, 2, { bytes: new TextEncoder().encode('not of Lance') })
    expect(await versionsOf()).toEqual([1])
    await failure(ops.describeTableVersion({ id, version: 9 }))
    expect(await recorded()).toEqual(['version 1'])
  })

  test('with missing numbers, which the engine cleaned up: they count as deleted', async () => {
    await commit(1)
    for (const version of [4, 6]) await commitPast(disk, location, version)
    // Nothing says so yet: the next one is missing, the newest is there.
    expect(await versionsOf()).toEqual([1])
    await disk.delete(`${folderOf(location)}/_versions/18446744073709551614.manifest`)
    expect(await versionsOf()).toEqual([4, 6])
    const error = await failure(ops.describeTableVersion({ id, version: 5 }))
    expect(error).toMatchObject({ code: 11, message: expect.stringContaining('deleted') })
    expect(await failure(commit(5))).toMatchObject(conflict)
    expect((await commit(7)).version.version).toBe(7)
  })

  test.each<[string, () => Promise<unknown>]>([
    ['described', async () => ops.describeTableVersion({ id, version: 5 })],
    ['made', () => commit(6)],
  ])('when a version beyond the next is %s', async (_, ask) => {
    await commit(1)
    await commitPast(disk, location, 5)
    await ask()
    expect((await versionsOf()).slice(0, 2)).toEqual([1, 5])
  })

  test('when the table is registered again', async () => {
    await commit(1)
    await ops.deregisterTable({ id })
    for (const version of [2, 4]) await commitPast(disk, location, version)
    await ops.registerTable({ id: ['back'], location })
    expect(await recorded()).toEqual(['version 1', 'version 2', 'version 4'])
    expect(await versionsOf(ops, ['back'])).toEqual([1, 2, 4])
  })

  test('once each, for any number of concurrent finders', async () => {
    await commit(1)
    const others = [ns, await open(), await open()]
    for (let version = 2; version <= 5; version++) await commitPast(disk, location, version)
    const seen = await Promise.all(
      others.flatMap(({ operations }) => [versionsOf(operations), versionsOf(operations)]),
    )
    for (const versions of seen) expect(versions).toEqual([1, 2, 3, 4, 5])
    expect(await recorded()).toEqual([1, 2, 3, 4, 5].map(version => `version ${version}`))
  })

  test('but not in a read-only root, a snapshot or a transaction: these answer from the log', async () => {
    await commit(1)
    const snapshot = await ns.snapshot()
    await commitPast(disk, location, 2)
    const reader = await open(disk, { readOnly: true })
    expect(await versionsOf(reader.operations)).toEqual([1])
    expect(await versionsOf(snapshot.operations)).toEqual([1])
    await ns.transaction(async tx => expect(await versionsOf(tx.operations)).toEqual([1]))
    expect(await recorded()).toEqual(['version 1'])
    await disk.delete(`${folderOf(location)}/_versions/18446744073709551614.manifest`)
    const gone = await failure(reader.operations.listTableVersions({ id }))
    expect(gone).toMatchObject({ code: 17, hint: expect.stringContaining('with write access') })
    expect(await versionsOf()).toEqual([2])
    expect(await versionsOf(reader.operations)).toEqual([2])
    await snapshot.close()
  })

  test('or the error says that the location cannot be read, with the versions in the log', async () => {
    await commit(1)
    class Closed extends WrappedStore {
      protected async around<T>(call: string, _: boolean, run: () => Promise<T>, key: string): Promise<T> {
        if (call === 'stat' && key.includes('/_versions/')) throw forbidden
        return run()
      }
    }
    const forbidden = await failure(ops.describeNamespace({ id: ['none'] }))
    const { operations } = await open(new Closed(disk))
    const error = await failure(operations.describeTable({ id }))
    expect(error.message).toMatch(/cannot be read at its location \(the newest in the log is 1\)/)
  })
})

describe('a single version has its final name before its slot', () => {
  test('a writer that dies anywhere: the version exists or not, and the same call makes it once', async () => {
    let crashes = 0
    for (const lastLands of [false, true]) {
      for (let survives = 0; ; survives++) {
        disk = new MemoryStore('memory://adoption')
        const founder = await open()
        location = (await founder.operations.declareTable({ id })).location!
        const staged = await stage(disk, location, 1)
        const request = { id, ...requestOf(staged) }
        const crashing = new CrashingStore(disk, survives, lastLands)
        await connect('memory://', { store: crashing, onWarning: () => {} })
          .then(({ operations }) => operations.createTableVersion(request))
          .catch(() => {})
        const next = await open()
        const isThere = (await disk.get(staged.final)) !== null
        expect(await versionsOf(next.operations)).toEqual(isThere ? [1] : [])
        const { version } = await next.operations.createTableVersion(request)
        expect(version).toMatchObject({ version: 1, manifest_size: staged.manifest_size })
        expect(await disk.get(staged.final)).toEqual(staged.bytes)
        expect(await recorded()).toEqual(['version 1'])
        if (!crashing.dead) break
        crashes++
      }
    }
    expect(crashes).toBeGreaterThan(8)
  })

  test('another server records it first: the call succeeds, and the version exists once', async () => {
    const store = new MeddlingStore(disk)
    const other = await open()
    const { operations } = await open(store)
    store.after(/_versions/, () => versionsOf(other.operations))
    const staged = await stage(disk, location, 1)
    const { version } = await operations.createTableVersion({ id, ...requestOf(staged) })
    expect(version).toMatchObject({ version: 1, manifest_size: staged.manifest_size })
    expect(await recorded()).toEqual(['version 1'])
    expect(await versionsOf()).toEqual([1])
  })

  test('whose table was of Sheaf, and is replaced by a declared table meanwhile, is refused', async () => {
    const named = ['rows']
    await ns.createTable('rows', [{ id: 1 }])
    let release = () => {}
    const released = new Promise<void>(resolve => {
      release = resolve
    })
    class Slow extends WrappedStore {
      protected async around<T>(call: string, _: boolean, run: () => Promise<T>, key: string): Promise<T> {
        if (call === 'putIfAbsent' && key.startsWith('_log/')) await released
        return run()
      }
    }
    const slow = (await open(new Slow(disk))).operations
    const old = (await slow.describeTable({ id: named })).location!
    const replacing = slow.batchCommitTables({
      operations: [{ deregister_table: { id: named } }, { declare_table: { id: named } }],
    })
    const refused = failure(slow.createTableVersion({ id: named, ...requestOf(await stage(disk, old, 2)) }))
    // Nothing is awaited but memory: the version is prepared on the old table by then.
    await new Promise(resolve => setImmediate(resolve))
    release()
    await replacing
    expect(await refused).toMatchObject({ ...conflict, message: expect.stringContaining('replaced') })
    expect(await versionsOf(slow, named)).toEqual([])
  })

  test('whose table is dropped meanwhile has an unknown outcome, and comes back with its table', async () => {
    const store = new MeddlingStore(disk)
    const { operations } = await open(store)
    store.after(/_versions/, () => ops.deregisterTable({ id }))
    const staged = await stage(disk, location, 1)
    const error = await failure(operations.createTableVersion({ id, ...requestOf(staged) }))
    expect(error).toMatchObject({ kind: 'commit-state-unknown' })
    await ops.registerTable({ id, location })
    expect(await versionsOf()).toEqual([1])
  })
})

describe('a batch has its slot before its final names', () => {
  const other = ['other']
  let elsewhere: string
  beforeEach(async () => {
    elsewhere = (await ops.declareTable({ id: other })).location!
  })

  /** Two versions of the table and one of another, and an engine that takes the name of version `taken` right behind the slot. */
  const takenBatch = async (taken: number, numbers: readonly number[], key?: string) => {
    const store = new MeddlingStore(disk)
    const { operations } = await open(store)
    const entries = [{ id: other, ...requestOf(await stage(disk, elsewhere, 1)) }]
    for (const version of numbers) entries.push({ id, ...requestOf(await stage(disk, location, version)) })
    store.after(/_log/, () => commitPast(disk, location, taken))
    const options = key === undefined ? {} : { idempotencyKey: key }
    const send = () => operations.batchCreateTableVersions({ entries }, options)
    return { send, operations, error: await failure(send()) }
  }

  test('an engine takes one of the names: the number is the engine’s, and the error says which tables changed', async () => {
    const { send, error } = await takenBatch(1, [1], 'k')
    expect(error).toMatchObject({
      ...conflict,
      message: expect.stringMatching(/version 1 of table "t".* the batch changed table "other"/),
    })
    expect(await recorded()).toEqual(['version 1', 'version 1', 'taken 1'])
    expect(await versionsOf()).toEqual([1])
    expect(await versionsOf(ops, other)).toEqual([1])
    const { version } = await ops.describeTableVersion({ id })
    expect(version.manifest_size).toBe(manifestOf('foreign 1').length)
    // Sent again under its key it says the same, and changes nothing.
    expect(await failure(send())).toMatchObject({ ...conflict, message: error.message })
    expect((await commit(2)).version.version).toBe(2)
    expect(await recorded()).toHaveLength(4)
  })

  test('a single version through the same server does not come between', async () => {
    for (let delay = 0; delay < 60; delay += 3) {
      const table = [`t${delay}`]
      const place = (await ops.declareTable({ id: table })).location!
      const create = async () => {
        for (let i = 0; i < delay; i++) await null
        return ops.createTableVersion({ id: table, ...requestOf(single) })
      }
      const single = await stage(disk, place, 1)
      const entries = [{ id: table, ...requestOf(await stage(disk, place, 1)) }]
      const made = await Promise.allSettled([ops.batchCreateTableVersions({ entries }), create()])
      expect(made.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    }
    expect((await recorded()).filter(op => op.startsWith('taken'))).toEqual([])
  })

  test('a batch that loses a number says so, also where the location cannot be read right after that', async () => {
    await commit(1)
    class Unreadable extends WrappedStore {
      isLost = false
      protected async around<T>(call: string, _: boolean, run: () => Promise<T>, key: string): Promise<T> {
        const isSlot = call === 'putIfAbsent' && key.startsWith('_log/')
        if (isSlot && !this.isLost) {
          this.isLost = true
          await commit(2)
        } else if (this.isLost && key.includes('/_versions')) {
          throw new SheafError(ErrorCode.ServiceUnavailable, 'the store does not answer')
        }
        return run()
      }
    }
    const { operations } = await open(new Unreadable(disk))
    const entries = [{ id, ...requestOf(await stage(disk, location, 2)) }]
    expect(await failure(operations.batchCreateTableVersions({ entries }))).toMatchObject({
      ...conflict,
      message: expect.stringMatching(/^entries\[0\]: /),
    })
  })

  test('a batch that the store refuses fails with the index of the operation, and with the error of the store as a cause', async () => {
    const first = await stage(disk, location, 1)
    await ops.createTableVersion({ id, ...requestOf(first) })
    // The staged manifest could not be deleted, so the next process gives the version its name again.
    await disk.put(first.key, first.bytes)
    const refusal = new Ambiguous('the reply was lost')
    class Refusing extends WrappedStore {
      protected async around<T>(call: string, _: boolean, run: () => Promise<T>, key: string): Promise<T> {
        if (call === 'putIfAbsent' && key.includes('/_versions/')) throw refusal
        return run()
      }
    }
    const { operations } = await open(new Refusing(disk))
    const entries = [{ id, ...requestOf(await stage(disk, location, 2)) }]
    const refused = await failure(operations.batchCreateTableVersions({ entries }))
    expect(refused.message).toBe('entries[0]: the reply was lost')
    expect(refused.cause).toBe(refusal)
  })

  test('versions that the batch made after that are removed with their tags, and their numbers are free', async () => {
    await takenBatch(1, [1, 2])
    expect(await versionsOf()).toEqual([1])
    expect(await failure(ops.describeTableVersion({ id, version: 2 }))).toMatchObject({ code: 11 })
    const next = await commit(2)
    expect(next.version.version).toBe(2)
    const fresh = await open()
    expect(await versionsOf(fresh.operations)).toEqual([1, 2])
    expect((await fresh.operations.describeTableVersion({ id, version: 2 })).version).toEqual(next.version)
    await ops.createTableTag({ id, tag: 'x', version: 2 })
  })

  test('the server dies before the names: the next request links them, or finds that an engine was first', async () => {
    for (const isTaken of [false, true]) {
      const table = [`t${isTaken}`]
      const place = (await ops.declareTable({ id: table })).location!
      const staged = await stage(disk, place, 1)
      class Dying extends WrappedStore {
        protected async around<T>(call: string, _: boolean, run: () => Promise<T>, key: string): Promise<T> {
          if (call === 'putIfAbsent' && key.includes('/_versions/'))
            throw await failure(ops.describeNamespace({ id: ['none'] }))
          return run()
        }
      }
      const dying = await open(new Dying(disk))
      const entries = [{ id: table, ...requestOf(staged) }]
      const unknown = await failure(dying.operations.batchCreateTableVersions({ entries }))
      expect(unknown).toMatchObject({ kind: 'commit-state-unknown' })
      const foreign = isTaken ? await commitPast(disk, place, 1) : staged.bytes
      const askers = [await open(), await open()]
      const seen = await Promise.all(
        askers.map(({ operations }) => operations.describeTableVersion({ id: table })),
      )
      for (const { version } of seen) expect(version.manifest_size).toBe(foreign.length)
      expect(await disk.get(staged.final)).toEqual(foreign)
    }
    expect((await recorded()).filter(op => op.startsWith('taken'))).toEqual(['taken 1'])
  })
})
