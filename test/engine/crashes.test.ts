/**
 * A-134 A-166: a process dies at any point of any write. Whoever opens the root next finds all of the write or nothing, and the
 * same call under the same key then commits it once.
 */
import { expect, test } from 'vitest'
import type { CatalogOp } from '../../src/catalog/ops.js'
import { connect, type Namespace } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { samples, written } from '../suites/idempotency.js'
import { SeededClock } from '../support/clock.js'
import { CrashingStore } from '../support/stores.js'

const options = { idempotencyKey: 'k' }

/** A root with what the operation needs, and its call. */
async function prepared(name: (typeof written)[number]) {
  const clock = new SeededClock(1)
  const store = new MemoryStore('root', clock)
  const ns = await connect('root', { store, clock })
  const source = await ns.createTable(
    'source',
    Array.from({ length: 3000 }, (_, id) => ({ id, text: `${id}` })),
  )
  const rows = await source.query().toIpc()
  const { call } = await samples[name]!({ ops: ns.operations, store, at: [], rows })
  await ns.close()
  return { clock, store, call }
}

/** Everything there is, as text; only what tells one history from another. */
async function contentsOf({ operations: ops }: Namespace): Promise<string> {
  const { tables } = await ops.listAllTables({})
  const shown = await Promise.all(
    tables.map(async name => {
      const { version, properties, metadata } = await ops.describeTable({ id: [name] })
      const { versions } = await ops.listTableVersions({ id: [name] })
      const { tags } = await ops.listTableTags({ id: [name] })
      const paths = versions.map(({ manifest_path }) => manifest_path.replace(/[0-9a-f-]{36}/, ''))
      const rows = metadata === undefined ? null : await ops.countTableRows({ id: [name] })
      return { name, version, properties, metadata, paths, tags, rows }
    }),
  )
  return JSON.stringify([await ops.listNamespaces({ id: [] }), shown])
}

/** Whether an entry records a manifest that had its final name when the process died: whoever looked first did so, and knew no key. */
function isAdoption({ ops }: { readonly ops: readonly CatalogOp[] }): boolean {
  return ops.some(op => op.op === 'version' && op.kind === 'lance' && op.manifest.staged === undefined)
}

/** What a job does comes some time after the call that queued it; how jobs are interrupted is for test/jobs. */
const jobs: readonly string[] = [
  'alterTableBackfillColumns',
  'refreshMaterializedView',
  'createTableIndex',
  'createTableScalarIndex',
]
/** What these do does not show among the contents of tables; that they happened once is seen by their replies. */
const unseen: readonly string[] = ['alterTransaction', 'createTableUpload', 'abortTableUpload']
const atOnce = written.filter(name => !jobs.includes(name))

test.each(atOnce)(
  'A-134 A-166 %s, interrupted anywhere, is done or not done, and can be repeated',
  async name => {
    const undisturbed = await prepared(name)
    const { store: lasting, clock: steady } = undisturbed
    const ns = await connect('root', { store: lasting, clock: steady })
    const before = await contentsOf(ns)
    const counting = new CrashingStore(lasting, Number.MAX_SAFE_INTEGER, true)
    const counted = await connect('root', { store: counting, clock: steady })
    const opening = counting.operations
    await undisturbed.call(counted.operations, options)
    const after = await contentsOf(ns)
    if (!unseen.includes(name)) expect(after).not.toBe(before)

    let died = true
    for (let survives = opening; died; survives++) {
      for (const lastLands of [false, true]) {
        const { clock, store, call } = await prepared(name)
        const crashing = new CrashingStore(store, survives, lastLands)
        // What maintenance had to do meanwhile may make opening it longer than it was.
        const outcome = await connect('root', { store: crashing, clock, onWarning: () => {} })
          .then(dying => call(dying.operations, options))
          .catch(error => error)
        died = crashing.dead
        const next = await connect('root', { store, clock })
        const found = await contentsOf(next)
        expect([before, after]).toContain(found)
        const reply = await call(next.operations, options)
        expect(await contentsOf(next)).toBe(after)
        expect(await call(next.operations, options)).toEqual(reply)
        if (!(outcome instanceof Error)) expect(reply).toEqual(outcome)
        const slots = []
        for await (const { key } of store.list('_log/')) slots.push(key)
        const committed = await Promise.all(slots.slice(1).map(key => store.get(key)))
        const headers = committed.map(bytes => JSON.parse(Buffer.from(bytes!).toString().split('\n')[0]!))
        const entries = headers.flatMap(({ entries }) => entries)
        const withKey = entries.filter(({ key }) => key === 'k')
        expect(withKey).toHaveLength(entries.some(isAdoption) ? 0 : 1)
        await next.close()
        clock.stop()
      }
    }
    undisturbed.clock.stop()
  },
)
