/** A load balancer for tests: sends each request to one of several servers, chosen by a hash of a header field. */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Returns the number of the server that gets a request, or null to close the connection. May wait. */
type Route = (request: IncomingMessage, chosen: number) => number | null | Promise<number | null>

export interface HashProxy {
  readonly url: string
  /** The servers to which requests with the header field `x-sheaf-shard` went. */
  readonly sent: { readonly shard: string; readonly server: number }[]
  /** Replaces the choice of the hash. */
  route: Route
  close(): Promise<void>
}

/** Start a proxy before `servers`, the URLs of servers. The list may grow later. Requests without a shard go to the first server. */
export async function hashProxy(servers: readonly string[]): Promise<HashProxy> {
  const sent: HashProxy['sent'][number][] = []
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const shard = request.headers['x-sheaf-shard'] as string | undefined
    const hash = shard === undefined ? 0 : createHash('sha1').update(shard).digest().readUInt32BE()
    const server = await proxy.route(request, hash % servers.length)
    if (server === null) {
      request.socket.destroy()
      return
    }
    if (shard !== undefined) sent.push({ shard, server })
    const { method, url, headers } = request
    const inner = send(servers[server]! + url, { method, headers }, reply => {
      response.writeHead(reply.statusCode!, reply.headers)
      reply.pipe(response)
    })
    inner.on('error', () => response.destroy())
    response.on('close', () => inner.destroy())
    request.pipe(inner)
  }
  const listening = createServer((request, response) => void serve(request, response))
  await new Promise<void>(resolve => listening.listen(0, '127.0.0.1', resolve))
  const proxy: HashProxy = {
    url: `http://127.0.0.1:${(listening.address() as AddressInfo).port}`,
    sent,
    route: (_, chosen) => chosen,
    close: () =>
      new Promise(resolve => {
        listening.close(() => resolve())
        listening.closeAllConnections()
      }),
  }
  return proxy
}
