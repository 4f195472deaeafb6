/** Uses every part of the package. It requires nothing, so that ES modules, CommonJS modules and bundles can all use it. */

const words = ['arrows', 'wheat', 'quivers', 'mills']

function rowsOf(count) {
  return Array.from({ length: count }, (_, id) => ({
    id,
    text: `${words[id % 4]} in ${words[(id * 7 + 1) % 4]} ${id}`,
    vector: Float32Array.from({ length: 16 }, (_, k) => Math.sin(id * (k + 1))),
  }))
}

async function useTable(ns, { assert }) {
  const rows = rowsOf(2_000)
  const table = await ns.createTable('docs', rows.slice(0, 1_990), { mode: 'overwrite' })
  await table.add(rows.slice(1_990))
  assert.equal(await table.countRows(), 2_000)
  await table.createIndex('vector', { type: 'IVF_HNSW_FLAT' })
  await table.createIndex('text', { type: 'FTS' })
  const near = await table.search(rows[1_995].vector).limit(3).toArray()
  assert.equal(near[0].id, 1_995)
  const found = await table.search('quivers 1994').limit(2).toArray()
  assert.equal(found[0].id, 1_994)
  const both = await table.search(rows[7].vector).fullText('mills').limit(5).toArray()
  assert.equal(both.length, 5)
  assert.equal(both[0].id, 7)
}

async function useSql(ns, { sql }, { assert }) {
  const table = await ns.openTable('docs')
  assert.equal(await table.countRows(sql`id < ${10} AND text LIKE 'arrows%'`), 3)
  const groups = await table.query().select({ rows: 'count(*)', most: 'max(id)' }).toArray()
  assert.deepEqual(groups.map(row => [Number(row.rows), Number(row.most)]), [[2_000, 1_999]])
  const arrow = await table.query().where('id = 3').toArrow()
  assert.equal(arrow.numRows, 1)
}

async function useRegexp(ns, _, { assert }) {
  const table = await ns.openTable('docs')
  assert.equal(await table.countRows("id < 10 AND regexp_like(text, '^(arrows|wheat)s? .n')"), 5)
}

async function useTransaction(ns, { SheafError, ErrorCode }, { assert }) {
  await ns.transaction(async tx => {
    await (await tx.openTable('docs')).update({ text: 'changed' }, 'id = 1')
    await tx.createTable('other', [{ id: 1 }], { mode: 'overwrite' })
  })
  assert.equal(await (await ns.openTable('docs')).countRows("text = 'changed'"), 1)
  const error = await ns.openTable('missing').catch(reason => reason)
  assert.ok(error instanceof SheafError && error instanceof Error)
  assert.deepEqual([error.name, error.code], ['TableNotFound', ErrorCode.TableNotFound])
}

async function useHttp(ns, { serve, connectHttp }, { assert }) {
  const server = await serve(ns, { port: 0 })
  const remote = connectHttp(server.url)
  const table = await remote.openTable('docs')
  assert.equal(await table.countRows(), 2_000)
  const error = await remote.openTable('missing').catch(reason => reason)
  assert.equal(error.name, 'TableNotFound')
  await remote.close()
  await server.close()
}

async function useWorker(path, { connectWorker }, { assert }) {
  const ns = await connectWorker(path, { workers: 2 })
  const table = await ns.openTable('docs')
  const [nearest] = await table.search(rowsOf(3)[2].vector).limit(1).toArray()
  assert.equal(nearest.id, 2)
  await table.add(rowsOf(1))
  await ns.close()
}

async function useFiles(ns, folder, { readCsv, writeCsv, writeArrow, readArrow }, { assert, join }) {
  const csv = join(folder, 'rows.csv')
  await writeCsv(csv, [{ id: 1, name: 'a' }, { id: 2, name: 'b' }])
  const table = await ns.createTable('csv', readCsv(csv), { mode: 'overwrite' })
  await writeArrow(join(folder, 'rows.arrow'), table.query().batches())
  const again = await ns.createTable('arrow', readArrow(join(folder, 'rows.arrow')), { mode: 'overwrite' })
  assert.equal(await again.countRows(), 2)
}

/** `node`: the modules `assert` and `join` of Node. Returns what passed; throws at the first difference. */
exports.everyPart = async function everyPart({ sheaf, http, worker, files, protocol }, node, folder) {
  const path = node.join(folder, 'root')
  const ns = await sheaf.connect(path, { buildThreads: 2 })
  await useTable(ns, node)
  await useSql(ns, sheaf, node)
  await useTransaction(ns, sheaf, node)
  await useHttp(ns, http, node)
  await useFiles(ns, folder, files, node)
  node.assert.ok(Object.keys(protocol.operations).length > 50)
  const passed = ['create, add, indexes, vector, text, hybrid, SQL, transaction, HTTP, files']
  passed.push(await unlessBundled('regular expressions', () => useRegexp(ns, sheaf, node)))
  await ns.close()
  passed.push(await unlessBundled('worker', () => useWorker(path, worker, node)))
  return passed.join(', ')
}

/** Run what needs files of the package at run time. A bundle that runs without the package must say so. */
async function unlessBundled(part, use) {
  try {
    await use()
    return part
  } catch (error) {
    if (!String(error.hint).includes('mark sheaf as external')) throw error
    return `no ${part}`
  }
}
