/**
 * A minimal HTTP client, so that the benches measure the server and not the client. It sends prepared bytes and uses
 * the length of a reply to find its end.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export interface Reply {
  readonly status: number
  readonly type: string
  readonly body: Buffer
}

/** Return the bytes of a request. */
export function requestBytes(path: string, body: string): Buffer {
  const head = [
    `POST ${path} HTTP/1.1`,
    'host: localhost',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)
}

/** One connection that stays open. It sends one request at a time. */
export class Caller {
  readonly #socket: Socket
  #received: Buffer[] = []
  #waiting: ((reply: Reply) => void) | null = null

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', chunk => {
      this.#received.push(chunk)
      this.#look()
    })
  }

  static async dial(port: number): Promise<Caller> {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    return new Caller(socket)
  }

  ask(request: Buffer): Promise<Reply> {
    return new Promise(resolve => {
      this.#waiting = resolve
      this.#socket.write(request)
    })
  }

  end(): void {
    this.#socket.destroy()
  }

  #look(): void {
    const bytes = this.#received.length === 1 ? this.#received[0]! : Buffer.concat(this.#received)
    this.#received = [bytes]
    const end = bytes.indexOf('\r\n\r\n')
    if (end === -1) return
    const head = bytes.toString('latin1', 0, end)
    const length = Number(/content-length: (\d+)/i.exec(head)![1])
    if (bytes.length < end + 4 + length) return
    this.#received = []
    const reply = {
      status: Number(head.slice(9, 12)),
      type: /content-type: (.*)/i.exec(head)?.[1] ?? '',
      body: bytes.subarray(end + 4),
    }
    this.#waiting!(reply)
  }
}

/** Measure the time in milliseconds until `callers` together have got `count` replies. */
export async function timeOf(callers: readonly Caller[], request: Buffer, count: number): Promise<number> {
  let left = count
  const started = performance.now()
  await Promise.all(
    callers.map(async caller => {
      while (left-- > 0) {
        const { status } = await caller.ask(request)
        if (status !== 200) throw new Error(`the server replied with the status ${status}`)
      }
    }),
  )
  return performance.now() - started
}
