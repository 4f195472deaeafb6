import { connectHttp } from '../../adapters/http/client.js'
import { serve } from '../../adapters/http/server.js'
import { connect } from '../../src/index.js'
import { shipped } from '../adapters/built.js'
import { namespaceSuite } from '../suites/namespace.js'
import { temporaryRoots } from '../support/roots.js'

const freshRoot = temporaryRoots()

namespaceSuite('in memory', async () => {
  const ns = await connect('memory://')
  return { ns, close: () => ns.close() }
})

namespaceSuite('in a directory', async () => {
  const ns = await connect(freshRoot())
  return { ns, close: () => ns.close() }
})

namespaceSuite('over HTTP', async () => {
  const inner = await connect('memory://')
  const server = await serve(inner, { port: 0 })
  const ns = connectHttp(server.url)
  const close = async () => {
    await ns.close()
    await server.close()
    await inner.close()
  }
  return { ns, close }
})

/** A worker cannot run TypeScript, so this is the adapter as it ships; `npm test` builds first. */
const { connectWorker } = await import(shipped('worker'))

namespaceSuite('in a worker', async () => {
  const ns = await connectWorker(freshRoot())
  return { ns, close: () => ns.close() }
})
