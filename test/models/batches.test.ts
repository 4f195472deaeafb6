/**
 * Batches are all or none, whoever is at work at the same time: several openers of one store write one generation to several
 * tables at once, and others read, in an order that the seed decides. The store answers late, twice, or not at all.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ErrorCode } from '../../src/errors.js'
import { connect, type Namespace } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { SeededClock } from '../support/clock.js'
import { type Faults, FaultyStore } from '../support/stores.js'

const tables = ['a', 'b', 'c'] as const
const writers = 3
const generations = 3

/** What each table says its versions are: number and generation. */
async function generationsIn(ns: Namespace): Promise<string[][]> {
  return Promise.all(
    tables.map(async id => {
      const { versions } = await ns.operations.listTableVersions({ id: [id] })
      return versions.map(({ version, metadata }) => `${version}: ${metadata!.generation}`)
    }),
  )
}

/** Calls until the store answers. A write must have a key: it may have landed. */
async function answered<T>(clock: SeededClock, call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if ((error as { code?: number }).code !== ErrorCode.ServiceUnavailable) throw error
      await clock.sleep(100 * clock.random())
    }
  }
}

/** Writes one generation to all tables as their next version, whichever that is in the end. */
async function write({ operations: ops }: Namespace, clock: SeededClock, generation: string): Promise<void> {
  for (;;) {
    const newest = { id: ['a'], descending: true, limit: 1 }
    const { versions } = await answered(clock, () => ops.listTableVersions(newest))
    const version = (versions[0]?.version ?? 0) + 1
    const entries = tables.map(id => ({
      id: [id],
      version,
      manifest_path: `${id}/${version}`,
      metadata: { generation },
    }))
    const operations = entries.map(entry => ({ create_table_version: entry }))
    const options = { idempotencyKey: `${generation} as ${version}` }
    const commit = (): Promise<unknown> =>
      version % 2 === 0
        ? ops.batchCommitTables({ operations }, options)
        : ops.batchCreateTableVersions({ entries }, options)
    try {
      await answered(clock, commit)
      return
    } catch (error) {
      if ((error as { code?: number }).code !== ErrorCode.ConcurrentModification) throw error
    }
  }
}

async function history(seed: number, faults: Faults): Promise<void> {
  const clock = new SeededClock(seed)
  const inner = new MemoryStore('shared', clock)
  const opened: { readonly ns: Namespace; readonly store: FaultyStore }[] = []
  for (let i = 0; i < writers + 1; i++) {
    const store = new FaultyStore(inner, clock, {})
    opened.push({ ns: await connect('shared', { store, clock }), store })
  }
  const [reader, ...others] = opened.map(({ ns }) => ns)
  for (const id of tables) await reader!.operations.declareTable({ id: [id] })
  for (const { store } of opened) store.faults = faults

  let writing = others.length
  const read = async () => {
    let seen: string[] = []
    while (writing > 0) {
      const snapshot = await answered(clock, () => reader!.snapshot())
      const [a, b, c] = await generationsIn(snapshot)
      await snapshot.close()
      expect([b, c]).toEqual([a, a])
      // What was there stays, and without a snapshot too whoever looks later sees no less.
      expect(a!.slice(0, seen.length)).toEqual(seen)
      const later = await answered(clock, () => generationsIn(reader!))
      for (const list of later) expect(list.slice(0, a!.length)).toEqual(a)
      seen = a!
      await clock.sleep(20 * clock.random())
    }
  }
  const run = async (ns: Namespace, writer: number) => {
    for (let i = 0; i < generations; i++) await write(ns, clock, `${writer}-${i}`)
    writing--
  }
  await Promise.all([read(), ...others.map(run)])

  for (const { store } of opened) store.faults = {}
  const later = await connect('shared', { store: new FaultyStore(inner, clock, {}), clock })
  for (const ns of [later, ...opened.map(({ ns }) => ns)]) {
    const [a, b, c] = await generationsIn(ns)
    expect([b, c]).toEqual([a, a])
    const written = a!.map(text => text.split(': ')[1])
    const asked = others.flatMap((_, writer) =>
      Array.from({ length: generations }, (_, i) => `${writer}-${i}`),
    )
    expect([...written].sort()).toEqual(asked.sort())
    await ns.close()
  }
}

test('A-134 A-143 batches of several writers are all or none for every reader, in any order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), seed => history(seed, { delay: 0.2 })),
    { numRuns: 30 },
  )
})

test('A-134 A-166 the same holds on a store that loses requests and replies, and each lands once', async () => {
  const faults = { delay: 0.1, dropRequest: 0.1, dropReply: 0.1, late: 0.05, duplicate: 0.1, refuse: 0.02 }
  await fc.assert(
    fc.asyncProperty(fc.nat(), seed => history(seed, faults)),
    { numRuns: 30 },
  )
})
