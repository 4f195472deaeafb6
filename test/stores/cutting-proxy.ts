/** A proxy for TCP connections that closes a connection instead of passing on an answer. */
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

export class CuttingProxy {
  /** Whether to close the connection instead of passing on the next answer to `request`. */
  cuts: (request: Buffer) => boolean = () => false
  /** Number of closed connections. */
  cut = 0
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(server: Server) {
    this.#server = server
  }

  static async start(port: number): Promise<CuttingProxy> {
    const server = createServer(incoming => proxy.#accept(incoming, port)).listen(0, '127.0.0.1')
    const proxy = new CuttingProxy(server)
    await once(server, 'listening')
    return proxy
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
  }

  #accept(incoming: Socket, port: number): void {
    const outgoing = connect(port, '127.0.0.1')
    let isCut = false
    const end = () => {
      for (const socket of [incoming, outgoing]) {
        socket.destroy()
        this.#sockets.delete(socket)
      }
    }
    for (const socket of [incoming, outgoing]) {
      this.#sockets.add(socket)
      socket.on('error', end).on('close', end)
    }
    incoming.on('data', request => {
      isCut ||= this.cuts(request)
      outgoing.write(request)
    })
    outgoing.on('data', answer => {
      // The server has executed the statement when it answers.
      if (!isCut) incoming.write(answer)
      else {
        this.cut++
        end()
      }
    })
  }
}
