/**
 * Opens a root from a disk cache in a new process, and runs one search, for the bench `far`. Before, it runs a search in
 * memory, which loads the code. Its store refuses every request. Prints the time in milliseconds from the call of `connect` to the answer, and the ids of the rows. Arguments:
 * address of the store, folder of the cache, elements of the query.
 */
import { connect } from 'sheaf'

const [address, cacheDir, elements] = process.argv.slice(2)
const refuse = async () => {
  throw new Error('the process sent a request')
}
const store = new Proxy(
  { name: address, address, replace: refuse },
  {
    get: (known, name) =>
      name in known ? known[name] : /^(get|read|put|stat|list|delete)/.test(name) ? refuse : undefined,
  },
)
// The code is part of the start of the process.
const warmUp = await connect('memory://')
const { length } = JSON.parse(elements)
const warmed = await warmUp.createTable(
  't',
  Array.from({ length: 300 }, (_, id) => ({
    id,
    v: Float32Array.from({ length }, (_, i) => Math.sin(id * i)),
  })),
)
await warmed.createIndex('v', { type: 'IVF_PQ', waitTimeoutMs: 60_000 })
await warmed.search(new Float32Array(length)).select(['id']).limit(10).toArray()
await warmUp.close()

const begun = process.hrtime.bigint()
const ns = await connect('far', { store, readOnly: true, cacheDir, maxStalenessMs: 36_000_000 })
const query = new Float32Array(JSON.parse(elements))
const rows = await ns.table('t').search(query).nprobes(10).refineFactor(40).select(['id']).limit(10).toArray()
const milliseconds = Number(process.hrtime.bigint() - begun) / 1e6
process.stdout.write(JSON.stringify({ milliseconds, ids: rows.map(({ id }) => id) }))
await ns.close()
