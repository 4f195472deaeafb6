/**
 * A table is dropped and one of the same name made. Wherever the process dies, the name is that of the old table, of the
 * new one, or free; never of a mixture, and nobody meets files of the other.
 */
import { expect, test } from 'vitest'
import { connect } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { CrashingStore } from '../support/stores.js'

/** Large enough for a data file. */
const rowsOf = (who: string) => [{ who, text: who.padEnd(70_000, '.') }]

test('a process that dies while it replaces a table leaves the old, the new, or none', async () => {
  const seen = new Set<string>()
  for (const lastLands of [false, true]) {
    for (let survives = 0; ; survives++) {
      const store = new MemoryStore('memory://story')
      const first = await connect('memory://', { store })
      await first.createTable('t', rowsOf('old'))
      await first.close()
      const crashing = new CrashingStore(store, survives, lastLands)
      const replace = async () => {
        const ns = await connect('memory://', { store: crashing, onWarning: () => {} })
        await ns.dropTable('t')
        await ns.createTable('t', rowsOf('new'))
      }
      await replace().catch(() => {})
      const second = await connect('memory://', { store })
      const [name] = await second.tableNames()
      const rows = name === undefined ? [] : await (await second.openTable(name)).query().toArray()
      const [row] = rows
      if (name !== undefined) expect(rows).toEqual(rowsOf(String(row!.who)))
      seen.add(row === undefined ? 'none' : String(row.who))
      const again = await second.createTable('t', rowsOf('again'), { mode: 'overwrite' })
      expect(await again.countRows()).toBe(1)
      await second.close()
      if (!crashing.dead) break
    }
  }
  expect([...seen].sort()).toEqual(['new', 'none', 'old'])
})
