/**
 * Answers one request of a server, in these steps:
 *
 * 1. `checkHead` checks the rules of HTTP.
 * 2. `Pages` answers preflight requests of browsers (`pages.ts`). `systemReply` answers requests about the server
 * itself (`system.ts`).
 * 3. `Handling` answers all other requests (`handling.ts`), within the limits on calls (`admission.ts`, `patience.ts`).
 * 4. `send` sends the reply (`reply.ts`). Then the place and the timers of the call are freed, and the request is
 * logged.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ErrorCode, invalidInput, quote, SheafError } from '../../src/errors.js'
import { whenAborted } from '../../src/primitives/abort.js'
import type { OperationName } from '../../src/protocol/operations.js'
import { presentable } from '../calls.js'
import type { Admission, Leave } from './admission.js'
import { RequestBody } from './body.js'
import type { Handling } from './handling.js'
import type { Limits } from './limits.js'
import type { Expects } from './listener.js'
import type { RequestRecord } from './options.js'
import type { Pages } from './pages.js'
import type { Particulars } from './particulars.js'
import { patienceFor } from './patience.js'
import { errorReply, type HttpReply, isGone, send } from './reply.js'
import { readTarget, type Target } from './request.js'
import { type Found, findRoute } from './routes.js'
import { type System, systemReply } from './system.js'

/** The parts of a server that answer requests. */
export interface Answering {
  /** Path before all routes, without a slash at its end. */
  readonly basePath: string
  readonly limits: Limits
  readonly pages: Pages
  readonly system: System
  readonly handling: Handling
  readonly admission: Admission
  /** Fires when the server begins to close. */
  readonly closing: AbortSignal
  /** Count and log a request. Never throws. */
  readonly log: (record: RequestRecord) => void
}

const unknown: Found = { kind: 'unknown' }

/** This error appears only in the log, because the client is gone. */
const clientGone = invalidInput('the client did not wait for the reply', { status: 499 })

/** One request and its reply. */
export class Answer {
  readonly #server: Answering
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #expects: Expects
  readonly #begun = performance.now()
  readonly #target: Target
  readonly #found: Found
  readonly #body: RequestBody
  readonly #particulars: Particulars = {}
  readonly #atEnd: (() => void)[] = []
  #error: unknown
  #isRecorded = false

  constructor(server: Answering, request: IncomingMessage, response: ServerResponse, expects: Expects) {
    this.#server = server
    this.#request = request
    this.#response = response
    this.#expects = expects
    this.#target = readTarget(request.url ?? '', server.basePath)
    const { route } = this.#target
    this.#found = route === null ? unknown : findRoute(request.method ?? '', route)
    const sendContinue = expects === 'to be told to send' ? () => response.writeContinue() : undefined
    this.#body = new RequestBody(request, server.limits, sendContinue)
  }

  /** Answer the request. Resolves after the last byte of the reply is sent, or when the client is gone. */
  async run(): Promise<void> {
    const { limits, system } = this.#server
    const reply = await this.#reply()
    try {
      await send(this.#request, this.#response, reply, {
        last: system.isClosing(),
        pauseMs: limits.pauseMs,
        sent: this.#body,
        requestId: this.#particulars.requestId,
        ending: (bytesOut, cut) => this.#record(reply.status, bytesOut, cut),
      })
    } catch (cause) {
      this.#error = cause
      this.#response.destroy()
    } finally {
      for (const end of this.#atEnd) end()
      this.#record(reply.status, 0)
    }
  }

  async #reply(): Promise<HttpReply> {
    const { pages, system, handling } = this.#server
    const request = this.#request
    const target = this.#target
    let reply: HttpReply
    try {
      checkHead(request, this.#expects)
      reply =
        pages.answer(request, target, this.#found) ??
        (await (systemReply(target.route, system, () => handling.admit(request, this.#particulars)) ??
          this.#call()))
    } catch (cause) {
      this.#error = cause
      const shown = isGone(request, this.#response) ? clientGone : presentable(cause)
      reply = errorReply(shown, target.path, target.dialect, this.operation)
    }
    return { ...reply, headers: [...reply.headers, ...pages.fieldsFor(request)] }
  }

  /** The operation of the path. Undefined if the path belongs to none. */
  get operation(): OperationName | undefined {
    return this.#found.kind === 'operation' ? this.#found.name : undefined
  }

  get #recordedAs(): RequestRecord['operation'] {
    return this.#found.kind === 'changes' ? 'tableChanges' : this.operation
  }

  /** Let `Handling` answer the request. The place and the timers of the call are freed after the reply is sent. */
  #call(): Promise<HttpReply> {
    const { limits, admission, handling, closing } = this.#server
    const request = this.#request
    const atEnd = this.#atEnd
    const patience = patienceFor(request, limits.requestMs)
    atEnd.push(patience.end)
    const address = `address ${request.socket.remoteAddress}`
    const callerOf = (principal: string | undefined) =>
      principal === undefined ? address : `principal ${principal}`
    let leave: Leave | undefined
    const admit = (principal: string | undefined): undefined => {
      leave = admission.enter(callerOf(principal))
      atEnd.push(leave)
    }
    const becomeStream = (principal: string | undefined, gone: AbortSignal) => {
      atEnd.push(admission.enterStream(callerOf(principal)))
      leave?.()
      patience.extend()
      const end = new AbortController()
      const abort = () => end.abort()
      atEnd.push(whenAborted(closing, abort), whenAborted(gone, abort), abort)
      if (closing.aborted || gone.aborted) abort()
      return end.signal
    }
    return handling.reply({
      request,
      body: this.#body,
      target: this.#target,
      found: this.#found,
      signal: patience.signal,
      endsAt: this.#begun + patience.ms,
      admit,
      admitUnidentified: () => admission.enterUnidentified(address),
      becomeStream,
      isClosing: () => closing.aborted,
      failed: cause => {
        this.#error = cause
      },
      ended: () => new Promise<void>(resolve => atEnd.push(resolve)),
      particulars: this.#particulars,
    })
  }

  /** Log the request; later calls do nothing. `cut`: the error that ended the reply early. */
  #record(status: number, bytesOut: number, cut?: unknown): void {
    if (this.#isRecorded) return
    this.#isRecorded = true
    const { principal, database, requestId, context, skipped } = this.#particulars
    this.#server.log({
      method: this.#request.method ?? '',
      path: this.#target.path,
      operation: this.#recordedAs,
      status,
      principal: principal?.name,
      database,
      requestId,
      context,
      ...(skipped !== undefined && skipped.length > 0 && { skipped }),
      durationMs: performance.now() - this.#begun,
      bytesIn: this.#body.bytes,
      bytesOut,
      error: cut ?? this.#error,
    })
  }
}

/**
 * Check the head of a request against the rules of HTTP. Throws InvalidInput, or Internal if another handler has read
 * the body.
 */
function checkHead(request: IncomingMessage, expects: Expects): void {
  const { headers, rawHeaders, httpVersion } = request
  // This happens only if the handler is mounted in another server.
  if (request.readableDidRead) {
    throw new SheafError(ErrorCode.Internal, 'another handler has read the body of this request', {
      hint: 'mount the handler of Sheaf before parsers of bodies such as express.json()',
    })
  }
  if (headers.host === undefined && httpVersion === '1.1') {
    throw invalidInput('the request is not valid HTTP: it has no header field Host')
  }
  // Two Host fields are an error: a proxy might use one of them and this server the other (RFC 9112, 3.2).
  if (isRepeated('host', rawHeaders))
    throw invalidInput('the request is not valid HTTP: it has the header field Host twice')
  // Node joins repeated fields to one value, and no client sent this value.
  if (isRepeated('idempotency-key', rawHeaders))
    throw invalidInput('the request has the header field idempotency-key twice', { hint: 'send one key' })
  if (expects === 'something else') {
    throw invalidInput(`the server does not support the expectation ${quote(headers.expect)}`, {
      status: 417,
    })
  }
}

/** Return whether a header field occurs more than once. `rawHeaders` alternates names and values. */
function isRepeated(name: string, rawHeaders: readonly string[]): boolean {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const given = rawHeaders[i]!
    if (given.length === name.length && given.toLowerCase() === name) count++
  }
  return count > 1
}
