/**
 * Commits in a new process, and measures the parts of the time of a commit, for the bench `commit`. Arguments: the root,
 * the kind of commit (`append` or `move`), and the numbers of commits of each group as JSON. Prints the mean of each
 * group as JSON: wall time, CPU time and time in syncs in milliseconds, and the number of syncs.
 */
import { syncs } from './sync-meter.mjs'

const [root, kind, groups] = process.argv.slice(2)
const { connect } = await import('sheaf')
const ns = await connect(root, { maintenance: { compact: false } })
const table = await ns.createTable(kind, [{ id: 0, name: 'first' }])
await table.add([{ id: 1, name: 'second' }])
await ns.operations.createTableTag({ id: [kind], tag: 'prod', version: 1 })
let commits = 0
const works = {
  append: () => table.add([{ id: 2 + commits++, name: 'another' }]),
  move: () => ns.operations.updateTableTag({ id: [kind], tag: 'prod', version: 1 + (commits++ % 2) }),
}
const means = []
for (const count of JSON.parse(groups)) {
  const before = { ...syncs }
  const cpu = process.cpuUsage()
  const started = performance.now()
  for (let i = 0; i < count; i++) await works[kind]()
  const milliseconds = (performance.now() - started) / count
  const { user, system } = process.cpuUsage(cpu)
  means.push({
    milliseconds,
    cpuMs: (user + system) / 1000 / count,
    syncMs: (syncs.milliseconds - before.milliseconds) / count,
    syncs: (syncs.count - before.count) / count,
  })
}
await ns.close()
process.stdout.write(JSON.stringify(means))
