/** HTTP as seen from the wire: requests exactly as written, replies exactly as they came. */
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { connect, type Socket } from 'node:net'

export interface RawReply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  readonly text: string
  /** The parsed body; undefined where it is no JSON. */
  readonly json: unknown
}

export interface RawRequest {
  readonly method?: string
  /** Sent as it is: no part of it is normalised. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string | string[]>>
  readonly body?: string | Uint8Array
}

/** One request on a connection of its own. */
export function ask(
  base: string,
  { method = 'POST', path, headers = {}, body }: RawRequest,
): Promise<RawReply> {
  const { hostname, port } = new URL(base)
  return new Promise((resolve, reject) => {
    const request = httpRequest({ hostname, port, method, path, headers, agent: false }, async response => {
      const chunks: Buffer[] = []
      try {
        for await (const chunk of response) chunks.push(chunk)
      } catch (cause) {
        return reject(cause)
      }
      resolve(replyOf(response.statusCode!, response.headers, Buffer.concat(chunks)))
    })
    request.once('error', reject)
    request.end(body)
  })
}

/** `ask` with a JSON body. */
export function askJson(base: string, path: string, body: unknown, headers = {}): Promise<RawReply> {
  const json = { 'content-type': 'application/json', ...headers }
  return ask(base, { path, body: JSON.stringify(body), headers: json })
}

/** A connection that sends what a test writes. */
export function dial(base: string): Socket {
  const { hostname, port } = new URL(base)
  return connect({ host: hostname, port: Number(port) })
}

/** Sends bytes, and resolves with the replies that came until the server ended the connection. */
export async function sendRaw(base: string, bytes: string): Promise<RawReply[]> {
  const socket = dial(base)
  socket.write(bytes)
  return repliesOf(socket)
}

/** The replies on a connection until it ends. A connection that is reset ends too. */
export async function repliesOf(socket: Socket): Promise<RawReply[]> {
  const chunks: Buffer[] = []
  await new Promise<void>(resolve => {
    socket.on('data', chunk => chunks.push(chunk))
    socket.once('error', () => resolve())
    socket.once('close', () => resolve())
  })
  return parseReplies(Buffer.concat(chunks))
}

function parseReplies(bytes: Buffer): RawReply[] {
  const replies: RawReply[] = []
  let from = 0
  while (from < bytes.length) {
    const headEnd = bytes.indexOf('\r\n\r\n', from)
    const [statusLine = '', ...lines] = bytes.subarray(from, headEnd).toString('latin1').split('\r\n')
    const headers = Object.fromEntries(
      lines.map(line => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
      }),
    )
    const bodyStart = headEnd + 4
    const bodyEnd = bodyStart + Number(headers['content-length'] ?? 0)
    replies.push(replyOf(Number(statusLine.split(' ')[1]), headers, bytes.subarray(bodyStart, bodyEnd)))
    from = bodyEnd
  }
  return replies
}

function replyOf(status: number, headers: IncomingHttpHeaders, bytes: Buffer): RawReply {
  const text = bytes.toString()
  return { status, headers, bytes, text, json: jsonOf(text) }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
