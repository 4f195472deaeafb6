/**
 * One of several processes that commit to the same root, for the bench `commit`. Arguments: root, number of commits.
 */
import { connect } from 'sheaf'

const [root, commits] = process.argv.slice(2)
const ns = await connect(root, { create: false })
process.send('ready')
await new Promise(resolve => process.once('message', resolve))
const times = []
let refused = 0
for (let i = 0; i < Number(commits); i++) {
  const started = performance.now()
  try {
    await ns.operations.updateTableTag({ id: ['t'], tag: 'prod', version: 1 + (i % 2) })
  } catch (error) {
    if (error.status !== 409) throw error
    refused++
  }
  times.push(performance.now() - started)
}
process.send({ times, refused })
process.disconnect()
await ns.close()
