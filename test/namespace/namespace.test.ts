import { connect } from '../../src/index.js'
import { shipped } from '../adapters/built.js'
import { namespaceSuite } from '../suites/namespace.js'
import { openInMemory, openOverHttp } from '../support/doors.js'
import { temporaryRoots } from '../support/roots.js'

const freshRoot = temporaryRoots()

namespaceSuite('in memory', openInMemory)

namespaceSuite('in a directory', async () => {
  const ns = await connect(freshRoot())
  return { ns, close: () => ns.close() }
})

namespaceSuite('over HTTP', openOverHttp)

/** A worker cannot run TypeScript, so this is the adapter as it ships; `npm test` builds first. */
const { connectWorker } = await import(shipped('worker'))

namespaceSuite('in a worker', async () => {
  const ns = await connectWorker(freshRoot())
  return { ns, close: () => ns.close() }
})
