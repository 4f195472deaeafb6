/**
 * A version of a table that a Lance engine keeps is decided by the log; its manifest gets its final name afterwards. A process
 * that died between the two once would have left a version that nobody can open.
 */
import { expect, test } from 'vitest'
import { connect } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { stage } from '../support/lance.js'
import { CrashingStore } from '../support/stores.js'

test('for a crash at any point, all versions that the next process lists can be opened', async () => {
  let crashes = 0
  for (const lastLands of [false, true]) {
    for (let survives = 0; ; survives++) {
      const store = new MemoryStore('memory://story')
      const first = await connect('memory://', { store })
      const { location } = await first.operations.declareTable({ id: ['t'] })
      await first.close()
      const staged = await stage(store, location!, 1)
      const crashing = new CrashingStore(store, survives, lastLands)
      const { version, manifest_path } = staged
      const writing = connect('memory://', { store: crashing, onWarning: () => {} }).then(({ operations }) =>
        operations.createTableVersion({ id: ['t'], version, manifest_path }),
      )
      const acknowledged = await writing.then(
        () => true,
        () => false,
      )
      const second = await connect('memory://', { store })
      const { versions } = await second.operations.listTableVersions({ id: ['t'] })
      if (acknowledged) expect(versions).toHaveLength(1)
      if (versions.length === 1) expect(await store.get(staged.final)).toEqual(staged.bytes)
      const next = await stage(store, location!, versions.length + 1)
      await second.operations.createTableVersion({
        id: ['t'],
        version: next.version,
        manifest_path: next.manifest_path,
      })
      expect(await store.get(next.final)).toEqual(next.bytes)
      await second.close()
      if (!crashing.dead) break
      crashes++
    }
  }
  expect(crashes).toBeGreaterThan(8)
})
