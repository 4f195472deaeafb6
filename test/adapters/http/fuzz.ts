/** Sends hostile requests, several at a time, and says what came of them. */
import { connect, type Socket } from 'node:net'
import { Hostile, type Shot } from './hostile.js'

/** Longer than any request may take. */
const hangMs = 30_000
/** Requests on their way at a time: connections, and requests on each. */
const lanes = 6
const inRow = 12

export interface Reply {
  readonly status: number
  readonly body: Buffer
}

export interface FuzzOptions {
  readonly url: string
  readonly seed: number
  readonly count: number
  /** Called after every hundred requests. */
  readonly between: () => Promise<void>
  /** What is wrong with the replies to a shot, if anything. */
  readonly judge: (shot: Shot, replies: readonly Reply[]) => string | undefined
}

export interface Outcome {
  /** How often each family got each status. */
  readonly statuses: ReadonlyMap<string, number>
  /** The first few things that were wrong, each with the bytes that were sent. */
  readonly faults: readonly string[]
}

export async function fuzz({ url, seed, count, between, judge }: FuzzOptions): Promise<Outcome> {
  const hostile = new Hostile(seed)
  const statuses = new Map<string, number>()
  const faults: string[] = []
  let made = 0
  let sinceLook = 0
  let looking = Promise.resolve()

  const note = (shot: Shot, replies: readonly Reply[], fault = judge(shot, replies)) => {
    for (const { status } of replies) {
      const key = `${shot.family} ${status}`
      statuses.set(key, (statuses.get(key) ?? 0) + 1)
    }
    if (fault !== undefined && faults.length < 10) {
      const sent = shot.bytes.subarray(0, 600).toString('latin1')
      const got = replies.map(({ status, body }) => `${status} ${body.toString().slice(0, 300)}`)
      faults.push(`${fault}\n${shot.family}: ${JSON.stringify(sent)}\n${got.join('\n')}`)
    }
    if (++sinceLook >= 100) {
      sinceLook = 0
      looking = looking.then(between)
    }
  }

  const lane = async () => {
    const line = new Line(url)
    while (made < count && faults.length < 10) {
      const row: Shot[] = []
      const broken: Shot[] = []
      while (row.length + broken.length < inRow && made < count) {
        made++
        const shot = hostile.next()
        if (shot.broken) broken.push(shot)
        else row.push(shot)
      }
      try {
        await Promise.all([
          row.length > 0 && line.volley(row, note),
          ...broken.map(async shot => note(shot, await alone(url, shot))),
        ])
      } catch (cause) {
        const sent = [...row, ...broken].map(({ bytes }) => bytes.subarray(0, 400).toString('latin1'))
        faults.push(`${String(cause)}\n${sent.join('\n----\n')}`)
      }
      await looking
    }
    line.end()
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  await looking
  return { statuses, faults }
}

function dial(url: string): Socket {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  socket.on('error', () => {})
  return socket
}

/** What a server says on a connection of which the client ends its side, until the server ends its own. */
async function alone(url: string, { bytes, method }: Shot): Promise<Reply[]> {
  const socket = dial(url)
  const replies = new Replies(() => method === 'HEAD')
  socket.on('data', chunk => replies.take(chunk))
  const closed = new Promise<void>(resolve => socket.once('close', () => resolve()))
  socket.end(bytes)
  await inTime(closed, socket)
  return replies.all
}

/** A connection that is kept open, and opened anew when the server ends it. */
class Line {
  readonly #url: string
  #socket: Socket | undefined

  constructor(url: string) {
    this.#url = url
  }

  /** Sends the shots at once. What the server does not answer because it ended the connection is sent again, one at a time. */
  async volley(
    shots: readonly Shot[],
    note: (shot: Shot, replies: readonly Reply[], fault?: string) => void,
  ) {
    const all = await this.#send(shots)
    shots.slice(0, all.length).forEach((shot, i) => {
      note(shot, [all[i]!])
    })
    for (const shot of shots.slice(all.length)) {
      const [reply] = await this.#send([shot])
      note(shot, reply === undefined ? [] : [reply], reply === undefined ? 'no reply' : undefined)
    }
  }

  async #send(shots: readonly Shot[]): Promise<readonly Reply[]> {
    const isOpen = this.#socket !== undefined && !this.#socket.destroyed && this.#socket.readable
    const socket = isOpen ? this.#socket! : dial(this.#url)
    this.#socket = socket
    const replies = new Replies(() => false)
    let take!: (chunk: Buffer) => void
    let stop!: () => void
    const done = new Promise<void>(resolve => {
      stop = resolve
      take = chunk => {
        replies.take(chunk)
        if (replies.all.length >= shots.length) resolve()
      }
    })
    socket.on('data', take)
    socket.once('close', stop)
    socket.write(Buffer.concat(shots.map(({ bytes }) => bytes)))
    await inTime(done, socket)
    socket.off('data', take)
    socket.off('close', stop)
    // Who is told that the connection ends waits for that.
    if (replies.isLast) {
      socket.destroy()
      this.#socket = undefined
    }
    return replies.all
  }

  end(): void {
    this.#socket?.destroy()
  }
}

async function inTime(done: Promise<void>, socket: Socket): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'late'>(resolve => {
    timer = setTimeout(() => resolve('late'), hangMs)
  })
  const which = await Promise.race([done, late])
  clearTimeout(timer)
  if (which !== 'late') return
  socket.destroy()
  throw new Error('the server does not answer')
}

/** The replies in what comes on a connection. */
export class Replies {
  readonly all: Reply[] = []
  /** The server said that it ends the connection. */
  isLast = false
  readonly #hasNoBody: () => boolean
  #rest: Buffer = Buffer.alloc(0)

  constructor(hasNoBody: () => boolean = () => false) {
    this.#hasNoBody = hasNoBody
  }

  take(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    for (;;) {
      const end = this.#rest.indexOf('\r\n\r\n')
      if (end === -1) return
      const head = this.#rest.toString('latin1', 0, end)
      const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1])
      if (!(status >= 100)) throw new Error(`no reply: ${head}`)
      const length =
        status < 200 || this.#hasNoBody() ? 0 : Number(/\r\ncontent-length: (\d+)/i.exec(head)![1])
      const from = end + 4
      if (this.#rest.length < from + length) return
      const body = this.#rest.subarray(from, from + length)
      this.#rest = this.#rest.subarray(from + length)
      if (status < 200) continue
      this.all.push({ status, body })
      if (/\r\nconnection: close/i.test(head)) this.isLast = true
    }
  }
}
