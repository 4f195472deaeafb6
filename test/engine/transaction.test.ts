import { expect, test } from 'vitest'
import { connect } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { transactionsSuite } from '../suites/transactions.js'
import { temporaryRoots } from '../support/roots.js'
import { CrashingStore } from '../support/stores.js'
import { doors } from '../support/transports.js'

for (const door of doors(temporaryRoots())) transactionsSuite(door)

test.each([true, false])(
  'a crash at any step leaves all of it or nothing; the step lands: %s',
  async lands => {
    for (let survives = 0, died = true; died; survives++) {
      const store = new MemoryStore()
      const setup = await connect('memory://', { store })
      await setup.createTable('a', [{ id: 1, n: 1 }])
      await setup.createTable('b', [{ id: 1, n: 1 }])
      await setup.close()
      const crashing = new CrashingStore(store, survives, lands)
      const rows = Array.from({ length: 9000 }, (_, id) => ({ id, n: 2 }))
      const done = await connect('memory://', { store: crashing, onWarning: () => {} })
        .then(async ns => {
          await ns.transaction(async tx => {
            await tx.table('a').add(rows)
            await tx.table('b').update({ n: 2 })
          })
          return true
        })
        .catch(() => false)
      died = crashing.dead
      const after = await connect('memory://', { store })
      const [a, b] = [await after.table('a').countRows('n = 2'), await after.table('b').countRows('n = 2')]
      expect([0, 9000]).toContain(a)
      expect(b).toBe(a === 0 ? 0 : 1)
      if (done) expect(a).toBe(9000)
      await after.close()
    }
  },
)
