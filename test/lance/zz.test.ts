import { it } from 'vitest'
import { connect } from '../../src/index.js'
it('reads', async () => {
  for (const url of ['lance+file:///tmp/ld/db', 'lance+file:///tmp/ld/db/items.lance']) {
    const ns = await connect(url)
    console.log(await ns.tableNames?.() ?? await ns.listTables?.())
    const t = await ns.openTable('items')
    console.log(await t.version(), await t.countRows())
    console.log((await t.versions?.()) ?? (await t.listVersions()))
    console.log(await t.tags?.list?.())
    for (let v = 1; v <= 8; v++) { const o = await ns.openTable('items', { version: v }); console.log(v, await o.countRows(), JSON.stringify((await o.query().limit(1).toArray())[0])) }
    const first = await ns.openTable('items', { tag: 'first' })
    console.log(await first.countRows(), await t.stats?.())
    await t.delete('true').catch(e => console.log(e.message))
    await ns.close()
  }
})
