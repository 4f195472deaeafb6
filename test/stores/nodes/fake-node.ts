/** A node whose failures a test chooses. It counts requests by their header field `x-test`. */
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Called with each whole request, and the number of requests of the same test before it, on all nodes. */
export type Behaviour = (response: ServerResponse, attempt: number, bytes: number) => void

export class FakeNodes {
  readonly attempts = new Map<string, number>()
  readonly #servers: Server[] = []
  behave: Behaviour = response => response.end('ok')

  static async start(count: number): Promise<FakeNodes> {
    const nodes = new FakeNodes()
    for (let i = 0; i < count; i++) await nodes.#add()
    return nodes
  }

  get ports(): readonly number[] {
    return this.#servers.map(server => (server.address() as AddressInfo).port)
  }

  async stop(): Promise<void> {
    for (const server of this.#servers) {
      server.close()
      server.closeAllConnections()
    }
  }

  async #add(): Promise<void> {
    const server = createServer(async (request, response) => {
      if (request.url === '/readyz' || request.url === '/healthz') return response.end('ok')
      let bytes = 0
      for await (const chunk of request) bytes += chunk.length
      response.setHeader('x-node', (server.address() as AddressInfo).port)
      const name = String(request.headers['x-test'])
      const attempt = this.attempts.get(name) ?? 0
      this.attempts.set(name, attempt + 1)
      this.behave(response, attempt, bytes)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    this.#servers.push(server)
  }
}
