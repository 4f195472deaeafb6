/** Ways to reach a fresh, empty namespace. */
import { connectHttp } from '../../adapters/http/client.js'
import { serve } from '../../adapters/http/server.js'
import { connect } from '../../src/index.js'
import type { OpenedNamespace } from '../suites/namespace.js'

export async function openInMemory(): Promise<OpenedNamespace> {
  const ns = await connect('memory://')
  return { ns, close: () => ns.close() }
}

export async function openOverHttp(): Promise<OpenedNamespace> {
  const inner = await connect('memory://')
  const server = await serve(inner, { port: 0 })
  const ns = connectHttp(server.url)
  const close = async () => {
    await ns.close()
    await server.close()
    await inner.close()
  }
  return { ns, close }
}
