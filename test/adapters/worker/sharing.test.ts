/** Loaded data in memory that several engines see: who loads, who is given it, and that they really read it there. */
import { closeSync, openSync, readdirSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, test } from 'vitest'
import { Directory, type FromDirectory } from '../../../adapters/worker/directory.js'
import type * as publicModule from '../../../adapters/worker/public.js'
import { PortSharing } from '../../../adapters/worker/sharing.js'
import { Team } from '../../../adapters/worker/team.js'
import { ErrorCode } from '../../../src/errors.js'
import type * as sheaf from '../../../src/index.js'
import { temporaryRoots } from '../../support/roots.js'
import { shipped } from '../built.js'

const { connect, Namespace } = (await import(shipped('index'))) as typeof sheaf
const freshRoot = temporaryRoots()
const ports: { close(): void }[] = []

afterEach(() => {
  for (const port of ports.splice(0)) port.close()
})

function engine(directory: Directory) {
  const port = directory.join()
  ports.push(port)
  return { port, sharing: new PortSharing(port, { workerIndex: 0, workerCount: 2, pins: false }) }
}

const vector = (id: number) => Array.from({ length: 16 }, (_, i) => (id * (i + 3)) % 101)

const bytes = (value: number) => {
  const memory = new SharedArrayBuffer(8)
  new Uint8Array(memory).fill(value)
  return memory
}

const unasked = () => Promise.reject(new Error('loaded again'))

describe('the directory', () => {
  test('lets one thread load, and gives all the same memory', async () => {
    const directory = new Directory()
    const engines = [1, 2, 3].map(() => engine(directory).sharing)
    let loads = 0
    const load = async () => bytes(++loads)
    const [a, b, c] = await Promise.all(engines.map(sharing => sharing.once('k', load)))
    expect(loads).toBe(1)
    new Uint8Array(a!)[3] = 77
    expect([b!, c!].map(memory => new Uint8Array(memory)[3])).toEqual([77, 77])
    expect(new Uint8Array(await engine(directory).sharing.once('k', unasked))[3]).toBe(77)
  })

  test('shares one request per engine among all its callers', async () => {
    const { sharing } = engine(new Directory())
    let loads = 0
    const load = async () => bytes(++loads)
    const [a, b] = await Promise.all([sharing.once('k', load), sharing.once('k', load)])
    expect(a).toBe(b)
    expect(loads).toBe(1)
  })

  test('lets the next thread load if a load fails, and fails only that load', async () => {
    const directory = new Directory()
    const [first, second] = [engine(directory).sharing, engine(directory).sharing]
    const broken = first.once('k', () => Promise.reject(new Error('unreadable')))
    const whole = second.once('k', async () => bytes(2))
    await expect(broken).rejects.toThrow('unreadable')
    expect(new Uint8Array(await whole)[0]).toBe(2)
    expect(new Uint8Array(await first.once('k', unasked))[0]).toBe(2)
  })

  test('lets the next thread load if the loading thread ends, and no thread waits for it', async () => {
    const directory = new Directory()
    const [dying, next] = [engine(directory), engine(directory)]
    let begun = () => {}
    const isLoading = new Promise<void>(resolve => {
      begun = resolve
    })
    void dying.sharing.once('k', () => {
      begun()
      return new Promise<SharedArrayBuffer>(() => {})
    })
    await isLoading
    const coming = next.sharing.once('k', async () => bytes(3))
    dying.port.close()
    expect(new Uint8Array(await coming)[0]).toBe(3)
    expect(directory.size).toBe(1)
  })

  test('forgets memory that no thread uses any more', async () => {
    const directory = new Directory()
    const [asked, other] = [directory.join(), directory.join()]
    ports.push(asked, other)
    const heard = (port: typeof asked) =>
      new Promise<FromDirectory>(resolve => port.once('message', message => resolve(message)))
    const want = async (port: typeof asked, key = 'k') => {
      port.postMessage({ kind: 'want', key })
      return (await heard(port)).memory
    }
    expect(await want(asked)).toBe(undefined)
    asked.postMessage({ kind: 'loaded', key: 'k', memory: bytes(4) })
    asked.postMessage({ kind: 'gone', key: 'never heard of' })
    expect(await want(asked)).toBeInstanceOf(SharedArrayBuffer)
    expect(await want(other)).toBeInstanceOf(SharedArrayBuffer)
    // It saw it twice.
    asked.postMessage({ kind: 'gone', key: 'k' })
    other.postMessage({ kind: 'gone', key: 'k' })
    expect(await want(other, 'other')).toBe(undefined)
    expect(directory.size).toBe(2)
    asked.postMessage({ kind: 'gone', key: 'k' })
    expect(await want(asked)).toBe(undefined)
    asked.close()
    await expect.poll(() => directory.size).toBe(1)
    other.close()
    await expect.poll(() => directory.size).toBe(0)
  })
})

describe('several workers', () => {
  /** What lies in the middle of each file, far from its footer, is made unreadable: most of what is loaded of it. */
  function spoil(root: string): void {
    let spoiled = 0
    for (const file of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
      const path = join(root, file)
      if (!/(data|indexes)\/[^/]+$/.test(file) || !statSync(path).isFile()) continue
      const descriptor = openSync(path, 'r+')
      const noise = new Uint8Array(100).fill(0xee)
      writeSync(descriptor, noise, 0, noise.length, statSync(path).size >>> 1)
      closeSync(descriptor)
      spoiled++
    }
    expect(spoiled).toBeGreaterThan(0)
  }

  test('read columns, search vectors, and probe indexes that one of them has loaded', async () => {
    const { connectWorker } = (await import(shipped('worker'))) as typeof publicModule
    const root = freshRoot()
    const direct = await connect(root, { buildThreads: 1 })
    const rows = Array.from({ length: 5000 }, (_, id) => {
      const v = vector(id)
      return { id, name: `row ${id % 700}`, v: id % 50 === 7 ? null : v, lists: v, graphs: v }
    })
    const table = await direct.createTable('t', rows, { vectorColumns: ['v', 'lists', 'graphs'] })
    await table.createIndex('lists', { type: 'IVF_PQ' })
    await table.createIndex('graphs', { type: 'IVF_HNSW_SQ' })
    await table.waitForIndex(['lists_idx', 'graphs_idx'])
    const ask = async (ns: sheaf.Namespace) => {
      const search = ns.table('t').search(new Float32Array(16).fill(40)).limit(20)
      const answers = [await ns.table('t').query().where("name LIKE '%99' AND id > 100").limit(50).toIpc()]
      for (const column of ['v', 'lists', 'graphs']) {
        const near = search.column(column)
        answers.push(await near.toIpc())
        answers.push(await near.where('id % 5 = 2').toIpc())
        answers.push(await near.where('id % 5 = 3').toIpc())
      }
      return Buffer.concat(answers).toString('base64')
    }
    const answer = await ask(direct)
    await direct.close()
    const ns = await connectWorker(root, { workers: 2, readOnly: true })
    expect(await ask(ns)).toBe(answer)
    spoil(root)
    expect(await Promise.all([ask(ns), ask(ns)])).toEqual([answer, answer])
    await ns.close()
  })

  test('read the lists of an index into shared memory, each at its first use', async () => {
    const { connectWorker } = (await import(shipped('worker'))) as typeof publicModule
    const root = freshRoot()
    const direct = await connect(root, { buildThreads: 1 })
    const vectorOf = (id: number) => Array.from({ length: 64 }, (_, i) => ((id % 300) * (i + 3)) % 101)
    // More bytes than are read at once.
    const rows = Array.from({ length: 6000 }, (_, id) => ({ id, v: vectorOf(id).map(x => x + (id % 7) / 9) }))
    const table = await direct.createTable('t', rows, { vectorColumns: ['v'] })
    await table.createIndex('v', { type: 'IVF_FLAT', partitions: 60, waitTimeoutMs: 60_000 })
    const ask = async (ns: sheaf.Namespace, n: number) => {
      const near = ns.table('t').search(vectorOf(n)).nprobes(4).limit(10).select(['id'])
      const rows = await (n % 3 === 0 ? near.where('id % 2 = 0') : near).toArray()
      return rows.map(({ id }) => id)
    }
    const all = Array.from({ length: 60 }, (_, n) => n)
    const answers = []
    for (const n of all) answers.push(await ask(direct, n))
    await direct.close()
    for (let round = 0; round < 3; round++) {
      const ns = await connectWorker(root, { workers: 2, readOnly: true })
      expect(await Promise.all(all.map(n => ask(ns, n)))).toEqual(answers)
      await ns.close()
    }
  })

  test('give the right rows or an error while one after another dies, and loads continue', async () => {
    const path = freshRoot()
    const direct = await connect(path)
    for (const from of [0, 5000, 10_000]) {
      const rows = Array.from({ length: 5000 }, (_, i) => ({ id: from + i, v: vector(from + i) }))
      if (from === 0) await direct.createTable('t', rows, { vectorColumns: ['v'] })
      else await direct.table('t').add(rows)
    }
    const ask = (ns: sheaf.Namespace) => ns.table('t').search(new Float32Array(16).fill(40)).limit(20).toIpc()
    const answer = Buffer.from(await ask(direct))
    await direct.close()
    const directory = new Directory()
    const workers: Worker[] = []
    const hire = (workerIndex: number) => {
      const port = directory.join()
      const workerData = { path, options: { readOnly: true }, sharing: { port, workerIndex, workerCount: 3 } }
      workers[workerIndex] = new Worker(shipped('engine-worker'), { workerData, transferList: [port] })
      return workers[workerIndex]
    }
    const team = await Team.open(path, hire, { workers: 3 })
    const ns = new Namespace(team.operations, () => team.close())
    for (const workerIndex of [0, 1, 2]) {
      const asked = Array.from({ length: 6 }, () =>
        ask(ns).then(
          given => Buffer.from(given).equals(answer),
          error => error.code === ErrorCode.ServiceUnavailable,
        ),
      )
      for (let turn = 0; turn < 5 * workerIndex; turn++) await new Promise(setImmediate)
      await workers[workerIndex]!.terminate()
      expect(await Promise.all(asked)).toEqual(new Array(6).fill(true))
      expect(Buffer.from(await ask(ns)).equals(answer)).toBe(true)
    }
    await ns.close()
    await expect.poll(() => directory.size).toBe(0)
  })
})
