/**
 * Opens a root in a new process and runs one search, for the bench `open-cold`. Arguments: module to import, root,
 * dimension.
 */
const [module, root, dimension] = process.argv.slice(2)
const { connect } = await import(module)
const ns = await connect(root, { create: false })
const table = await ns.openTable('vectors')
const query = new Float32Array(Number(dimension)).fill(1)
const hits = await table.search(query).select(['id']).limit(10).toArray()
await ns.close()
process.stdout.write(JSON.stringify(hits.map(hit => hit.id)))
