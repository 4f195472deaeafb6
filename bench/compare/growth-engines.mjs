/**
 * The table of the growth bench in Sheaf and in LanceDB, with a common interface. An engine opens its own path.
 * `nearest` returns ids; its second parameter is the refine factor. `byKey` and `offsets` return rows with all columns.
 */
import { tableFromIPC } from 'apache-arrow'
import { ipcOf } from '../../dist/bench/growth-data.js'
import { connect } from '../../dist/src/index.js'
import { openLance } from './stores.mjs'

/** Number of batches that are passed to LanceDB together. */
const batchesAtOnce = 32

export const engines = {
  /** The cache is smaller than the vectors of a million rows, because LanceDB does not cache columns. */
  async 'sheaf, cacheBytes 256 MiB'(path) {
    const ns = await connect(path, { cacheBytes: 256 * 1024 ** 2, maintenance: { compact: false } })
    const build = async (column, type) => {
      const { name } = await (await ns.openTable('rows')).createIndex(column, { type })
      await (await ns.openTable('rows')).waitForIndex(name)
    }
    const table = ns.table('rows')
    return {
      ingest: batches => ns.createTable('rows', batches),
      buildVector: () => build('vector', 'IVF_PQ'),
      buildKey: () => build('key', 'BTREE'),
      async nearest(query, refineFactor) {
        const search = table.search(query).select(['id']).limit(10)
        return idsOf(
          await (refineFactor === undefined ? search : search.refineFactor(refineFactor)).toArray(),
        )
      },
      byKey: key => table.query().where('key = ?', [key]).toArray(),
      offsets: offsets => table.takeOffsets(offsets).toArray(),
      update: async (key, g) => (await table.update({ g }, 'key = ?', [key])).rows,
      append: async row => void (await table.add([row])),
      close: () => ns.close(),
    }
  },
  /** The index has the same number of codes per vector as Sheaf's. The default refine factor is 10. */
  async 'lancedb, not synced'(path) {
    const { lancedb, db } = await openLance(path)
    const hasRows = (await db.tableNames()).includes('rows')
    const table = hasRows ? await db.openTable('rows') : null
    return {
      async ingest(batches) {
        let [made, some] = [null, []]
        const write = async () => {
          const rows = tableFromIPC(ipcOf(some))
          if (made === null) made = await db.createTable('rows', rows)
          else await made.add(rows)
          some = []
        }
        for (const batch of batches) if (some.push(batch) === batchesAtOnce) await write()
        if (some.length > 0) await write()
      },
      async buildVector() {
        const { type } = (await table.schema()).fields.find(({ name }) => name === 'vector')
        const numSubVectors = type.listSize / 8
        await table.createIndex('vector', {
          config: lancedb.Index.ivfPq({ distanceType: 'l2', numSubVectors }),
        })
      },
      buildKey: () => table.createIndex('key', { config: lancedb.Index.btree() }),
      async nearest(query, refineFactor = 10) {
        const search = table.query().nearestTo(query).refineFactor(refineFactor)
        return idsOf(await search.select(['id', '_distance']).limit(10).toArray())
      },
      byKey: key => table.query().where(`key = ${key}`).toArray(),
      offsets: offsets => table.takeOffsets(offsets).toArray(),
      update: async (key, g) => (await table.update({ where: `key = ${key}`, values: { g } })).rowsUpdated,
      async append({ id, key, vector, ...row }) {
        await table.add([{ id: BigInt(id), key: BigInt(key), ...row, vector: Array.from(vector) }])
      },
      close: () => db.close(),
    }
  },
}

function idsOf(rows) {
  return Array.from(rows, ({ id }) => Number(id))
}
