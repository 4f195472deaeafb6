/** Slots that can be read before their names are durable: nothing is answered from them, and nothing built on them. */
import { describe, expect, test } from 'vitest'
import { connect, SheafError } from '../../src/index.js'
import { Ambiguous } from '../../src/storage/blob-store.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { WrappedStore } from '../support/stores.js'

/** A disk that syncs when it is told to. What is in it can be read before. */
class SlowDisk {
  readonly files = new MemoryStore('memory://')
  syncs = 0
  #gate: Promise<void> = Promise.resolve()
  #open = () => {}

  hold(): void {
    this.#gate = new Promise(open => {
      this.#open = open
    })
  }

  release(): void {
    this.#open()
  }

  async sync(): Promise<void> {
    this.syncs++
    await this.#gate
  }
}

/** One process on that disk. */
class Process extends WrappedStore {
  readonly #disk: SlowDisk

  constructor(disk: SlowDisk) {
    super(disk.files)
    this.#disk = disk
    this.sync = () => disk.sync()
  }

  protected async around<T>(call: string, _conditional: boolean, run: () => Promise<T>, key: string) {
    const reply = await run()
    if (call === 'putIfAbsent' && reply === 'won' && key.startsWith('_log/')) await this.#disk.sync()
    return reply
  }
}

async function isPending(promise: Promise<unknown>): Promise<boolean> {
  let settled = false
  promise.then(
    () => (settled = true),
    () => (settled = true),
  )
  for (let i = 0; i < 50; i++) await new Promise(resolve => setImmediate(resolve))
  return !settled
}

describe('while a commit can be read and is not durable', () => {
  async function held() {
    const disk = new SlowDisk()
    const [a, b] = [
      await connect('memory://', { store: new Process(disk) }),
      await connect('memory://', { store: new Process(disk) }),
    ]
    await a.createNamespace('before')
    await b.namespaceNames()
    disk.hold()
    const first = a.createNamespace('x', { idempotencyKey: 'k1' })
    expect(await isPending(first)).toBe(true)
    return { disk, a, b, first }
  }

  test.each<[string, (ns: Awaited<ReturnType<typeof connect>>) => Promise<unknown>]>([
    ['the same call under its key', ns => ns.createNamespace('x', { idempotencyKey: 'k1' })],
    ['a call that asks for the same', ns => ns.createNamespace('x', { mode: 'exist_ok' })],
    ['a call that would be refused', ns => ns.createNamespace('x')],
    ['a reader', ns => ns.namespaceNames()],
    ['a commit after it', ns => ns.createNamespace('y')],
  ])('%s is not answered, by another process or its own', async (_, ask) => {
    const { disk, a, b, first } = await held()
    const asked = [ask(b), ask(a)]
    for (const each of asked) expect(await isPending(each)).toBe(true)
    disk.release()
    await first
    await Promise.allSettled(asked)
    expect(await b.namespaceNames()).toContain('x')
    await Promise.all([a.close(), b.close()])
  })

  test('a process that opens the root waits as well', async () => {
    const { disk, a, b, first } = await held()
    const opening = connect('memory://', { store: new Process(disk) })
    expect(await isPending(opening)).toBe(true)
    disk.release()
    await first
    await Promise.all([a.close(), b.close(), (await opening).close()])
  })
})

test('a single process syncs once per commit; a process that follows it syncs once for the slots it finds', async () => {
  const disk = new SlowDisk()
  const a = await connect('memory://', { store: new Process(disk) })
  const b = await connect('memory://', { store: new Process(disk), readOnly: true })
  disk.syncs = 0
  for (let i = 0; i < 10; i++) {
    await a.createNamespace(`n${i}`)
    await a.namespaceNames()
  }
  expect(disk.syncs).toBe(10)
  for (let i = 0; i < 3; i++) expect(await b.namespaceNames()).toHaveLength(10)
  expect(disk.syncs).toBeLessThanOrEqual(20)
  const { syncs } = disk
  await b.namespaceNames()
  expect(disk.syncs).toBe(syncs)
  await Promise.all([a.close(), b.close()])
})

test('a file that may not survive a power loss fails its call with a code', async () => {
  class Failing extends WrappedStore {
    protected async around<T>(call: string, _conditional: boolean, run: () => Promise<T>, key: string) {
      const reply = await run()
      if (call === 'putStream') throw new Ambiguous(`${key} is written, but may not survive a power loss`)
      return reply
    }
  }
  const ns = await connect('memory://', { store: new Failing(new MemoryStore('memory://')) })
  const table = await ns.createTable('t', [{ a: 1 }])
  const error = await table.add(Array.from({ length: 20_000 }, (_, a) => ({ a }))).catch(error => error)
  expect(error).toBeInstanceOf(SheafError)
  expect(error).toMatchObject({ code: 17, message: expect.stringContaining('may not survive a power loss') })
  expect(await table.countRows()).toBe(1)
  await ns.close()
})
