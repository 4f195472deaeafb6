import { connectHttp } from '../../adapters/http/client.js'
import { serve } from '../../adapters/http/server.js'
import { connect } from '../../src/index.js'
import { versionsAndTagsModel } from '../suites/versions-and-tags.js'

versionsAndTagsModel(
  'direct',
  async () => {
    const ns = await connect('memory://')
    return { ns, close: () => ns.close() }
  },
  60,
)

versionsAndTagsModel(
  'over HTTP',
  async () => {
    const inner = await connect('memory://')
    const server = await serve(inner, { port: 0 })
    const ns = connectHttp(server.url)
    const close = async () => {
      await ns.close()
      await server.close()
      await inner.close()
    }
    return { ns, close }
  },
  30,
)
