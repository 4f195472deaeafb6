/** A proxy that delivers requests, and drops some of the replies. */
import { once } from 'node:events'
import { createServer, request, type Server } from 'node:http'

export class DroppingProxy {
  readonly url: string
  readonly #server: Server
  /** Return whether the reply to a request is dropped. Default: none is. */
  drops: (method: string) => boolean = () => false
  /** Number of replies that were dropped. */
  dropped = 0

  private constructor(server: Server, url: string) {
    this.#server = server
    this.url = url
  }

  static async start(port: number): Promise<DroppingProxy> {
    const server = createServer((incoming, outgoing) => {
      const { method = '', url: path = '', headers } = incoming
      const drop = proxy.drops(method)
      const forwarded = request({ host: '127.0.0.1', port, method, path, headers }, reply => {
        if (!drop) {
          outgoing.writeHead(reply.statusCode!, reply.headers)
          reply.pipe(outgoing)
          return
        }
        // The server has executed the request when its reply has ended.
        reply.resume().on('end', () => {
          proxy.dropped++
          outgoing.destroy()
        })
      })
      forwarded.on('error', () => outgoing.destroy())
      outgoing.on('error', () => {})
      incoming.pipe(forwarded)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port: own } = server.address() as { port: number }
    const proxy = new DroppingProxy(server, `http://127.0.0.1:${own}`)
    return proxy
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}
