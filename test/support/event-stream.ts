/** Server-sent events as a client reads them (HTML Standard, 9.2.6). */

export interface ReceivedEvent {
  readonly type: string
  readonly data: string
  readonly id: string
}

/** Reads the text of a stream in pieces that may be cut anywhere. */
export class EventParser {
  /** The value of `Last-Event-ID` that a client sends when it connects again. */
  lastEventId = ''
  retryMs: number | undefined
  comments: string[] = []
  readonly #decoder = new TextDecoder()
  #rest = ''
  #type = ''
  #data: string[] = []
  #id = ''

  read(bytes: Uint8Array): ReceivedEvent[] {
    const events: ReceivedEvent[] = []
    const lines = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split('\n')
    this.#rest = lines.pop()!
    for (const line of lines) {
      if (line === '') this.#dispatch(events)
      else this.#field(line)
    }
    return events
  }

  #dispatch(events: ReceivedEvent[]): void {
    this.lastEventId = this.#id
    if (this.#data.length > 0) {
      events.push({ type: this.#type || 'message', data: this.#data.join('\n'), id: this.lastEventId })
    }
    this.#type = ''
    this.#data = []
  }

  #field(line: string): void {
    const colon = line.indexOf(':')
    const name = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (name === '') this.comments.push(value)
    else if (name === 'event') this.#type = value
    else if (name === 'data') this.#data.push(value)
    else if (name === 'id' && !value.includes('\0')) this.#id = value
    else if (name === 'retry' && /^\d+$/.test(value)) this.retryMs = Number(value)
  }
}

/** A reply whose body is read on demand. */
export interface OpenReply {
  readonly status: number
  readonly headers: Headers
  readonly body: ReadableStream<Uint8Array> | null
}

/** A stream of events that is open. */
export class EventStream {
  readonly reply: OpenReply
  readonly parser = new EventParser()
  readonly #chunks: AsyncIterator<Uint8Array>
  readonly #waiting: ReceivedEvent[] = []

  constructor(reply: OpenReply) {
    this.reply = reply
    this.#chunks = chunksOf(reply.body)
  }

  /** The next event; undefined at the end of the stream. */
  async next(): Promise<ReceivedEvent | undefined> {
    while (this.#waiting.length === 0) if (!(await this.readMore())) return undefined
    return this.#waiting.shift()
  }

  /** The data of the next `count` changes. */
  async changes(count: number): Promise<Change[]> {
    const changes: Change[] = []
    for (let i = 0; i < count; i++) {
      const event = await this.next()
      if (event?.type !== 'change') throw new Error(`no change, but ${JSON.stringify(event)}`)
      changes.push(JSON.parse(event.data))
      if (event.id !== String(changes.at(-1)!.version)) throw new Error(`a change with id ${event.id}`)
    }
    return changes
  }

  /** Read until the client knows the position. */
  async position(version: number): Promise<void> {
    while (this.parser.lastEventId !== String(version)) {
      if (!(await this.readMore())) throw new Error(`the stream ended before position ${version}`)
    }
  }

  /** Read one piece. Returns whether there was one. */
  async readMore(): Promise<boolean> {
    const { done, value } = await this.#chunks.next()
    if (done === true) return false
    this.#waiting.push(...this.parser.read(value))
    return true
  }

  /** Read that many bytes, or until the position is at least `until`; then cut the connection. Returns the events. */
  async cutAfter(bytes: number, until: number): Promise<ReceivedEvent[]> {
    for (let left = bytes; left > 0 && Number(this.parser.lastEventId || -1) < until; ) {
      const { done, value } = await this.#chunks.next()
      if (done === true) break
      this.#waiting.push(...this.parser.read(value.subarray(0, left)))
      left -= value.length
    }
    await this.cut()
    return this.#waiting.splice(0)
  }

  /** Stop reading, and end the connection. */
  async cut(): Promise<void> {
    await this.#chunks.return?.()
  }
}

async function* chunksOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  if (body !== null) yield* body as unknown as AsyncIterable<Uint8Array>
}

export interface ChangedRow {
  readonly _rowid: number
}

export interface Change {
  readonly version: number
  readonly previous: number
  readonly timestamp: string
  readonly operation: string
  readonly added: number
  readonly removed: number
  readonly changed: number
  readonly rows?: {
    readonly added: readonly ChangedRow[]
    readonly removed: readonly ChangedRow[]
    readonly changed: readonly { readonly before: ChangedRow; readonly after: ChangedRow }[]
  } | null
  readonly rows_omitted?: string
}
