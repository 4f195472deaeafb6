/** A network between client and server that can be told to fail. */
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach } from 'vitest'

/**
 * What becomes of a request: `pass`; `cut`: the server carries it out, but the connection ends before its reply; `drop`: the
 * connection ends before the server hears of it; a status: the server carries it out, and the client is told that instead;
 * `refuse`: 503, and the server hears nothing.
 */
export type Fate = 'pass' | 'cut' | 'drop' | 'refuse' | number

export interface Sent {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly requestId: string | undefined
  readonly headers: http.IncomingHttpHeaders
}

export interface Network {
  readonly url: string
  /** All requests so far whose path ends like this, whatever became of them. */
  sent(end?: string): Sent[]
  /** What becomes of the next requests whose path ends so, one after the other; later ones pass. */
  next(end: string, ...fates: Fate[]): void
}

/** Call at the top of a test file: what it gives stands before a server until the test ends. */
export function networks(): (target: string) => Promise<Network> {
  const running: http.Server[] = []
  afterEach(() => {
    for (const server of running.splice(0)) {
      server.close()
      server.closeAllConnections()
    }
  })
  return async target => {
    const seen: Sent[] = []
    const fates: { readonly end: string; readonly fate: Fate }[] = []
    const server = http.createServer((request, response) => {
      const path = request.url!.replace(/\?.*/, '')
      const requestId = request.headers['x-request-id'] as string | undefined
      seen.push({ method: request.method!, path, requestId, headers: request.headers })
      const at = fates.findIndex(({ end }) => path.endsWith(end))
      void meet(target, request, response, at < 0 ? 'pass' : fates.splice(at, 1)[0]!.fate)
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    running.push(server)
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      sent: (end = '') => seen.filter(({ path }) => path.endsWith(end)),
      next: (end, ...more) => fates.push(...more.map(fate => ({ end, fate }))),
    }
  }
}

async function meet(
  target: string,
  request: IncomingMessage,
  response: ServerResponse,
  fate: Fate,
): Promise<void> {
  const body = await whole(request)
  if (fate === 'drop') return void request.socket.destroy()
  if (fate === 'refuse') return void response.writeHead(503).end('busy')
  const reply = await exchange(target, request, body)
  if (fate === 'cut') return void request.socket.destroy()
  if (typeof fate === 'number') return void response.writeHead(fate).end('the reply is lost')
  response.writeHead(reply.status, reply.headers).end(reply.body)
}

async function exchange(target: string, { url, method, headers }: IncomingMessage, body: Buffer) {
  const { 'transfer-encoding': _, ...fields } = headers
  return await new Promise<{ status: number; headers: http.IncomingHttpHeaders; body: Buffer }>(
    (resolve, reject) => {
      const outgoing = http.request(
        target + url,
        { method: method!, headers: { ...fields, 'content-length': body.length }, agent: false },
        reply => {
          whole(reply).then(
            bytes => resolve({ status: reply.statusCode!, headers: reply.headers, body: bytes }),
            reject,
          )
        },
      )
      outgoing.on('error', reject).end(body)
    },
  )
}

async function whole(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
