/** What passes between a program and the worker that holds its engine. */
import type { MessagePort } from 'node:worker_threads'
import { ErrorCode, SheafError } from '../../src/errors.js'
import type { Optimized, Verification, VerifyProgress } from '../../src/index.js'
import type { ArrowReply, ServerCallOptions } from '../../src/protocol/calls.js'
import { type ErrorBody, errorBody, errorFrom } from '../../src/protocol/errors-wire.js'
import type { OperationName } from '../../src/protocol/operations.js'
import type { FewRows } from './few-rows.js'

export interface CallMessage {
  readonly kind: 'call'
  /** Chosen by the program; answers carry it. */
  readonly id: number
  readonly name: OperationName
  readonly request: Readonly<Record<string, unknown>>
  /** Arrow data: all of it, or the port from which it is drawn (see body.ts). */
  readonly body: Uint8Array | MessagePort | undefined
  readonly options: Omit<ServerCallOptions, 'signal' | 'memory' | 'skipped'>
  /** Whether it may be told to give up: a signal costs as much as half the way. */
  readonly abortable: boolean
  /** The snapshot or attempt it is for; absent: the root. */
  readonly held?: number
}

/** What is asked of a namespace beside its operations. Each has one answer. */
export interface Questions {
  /** The answer names the snapshot, in `CallMessage.held`. */
  readonly snapshot: { readonly ask: object; readonly answer: number }
  readonly release: { readonly ask: { readonly held: number }; readonly answer: undefined }
  readonly begin: { readonly ask: object; readonly answer: TransactionStep }
  readonly end: { readonly ask: EndOfWork; readonly answer: TransactionStep }
  /** The newest slot, once it is another than `than`. */
  readonly watch: { readonly ask: { readonly than: number }; readonly answer: number }
  readonly optimize: { readonly ask: object; readonly answer: Optimized }
  readonly tableAt: { readonly ask: { readonly location: string }; readonly answer: readonly string[] | null }
  readonly verify: {
    readonly ask: { readonly repair: boolean; readonly tellsProgress: boolean }
    readonly answer: Verification
  }
}

export type Question = keyof Questions

/** How the work of a transaction ended. */
export interface EndOfWork {
  /** The attempt it had. */
  readonly held: number
  /** What it threw. */
  readonly threw: ErrorCode | undefined
  /** Whether the transaction had been given up by then. */
  readonly aborted: boolean
}

/** What a transaction has come to: an attempt, for which the work is to be done, or its end; `thrown`: by the work. */
export type TransactionStep = { readonly held: number } | 'committed' | 'thrown'

export interface AskMessage<Q extends Question = Question> {
  readonly kind: 'ask'
  /** Of the same numbers as those of calls. */
  readonly id: number
  readonly question: Q
  readonly ask: Questions[Q]['ask']
}

export type ToWorker =
  | CallMessage
  | AskMessage
  | { readonly kind: 'abort'; readonly id: number }
  | { readonly kind: 'close' }

export type FromWorker =
  /** The engine is open, and calls are answered from now on. */
  | { readonly kind: 'open' }
  /** The engine could not be opened. */
  | { readonly kind: 'refused'; readonly error: ErrorBody }
  | { readonly kind: 'reply'; readonly id: number; readonly reply: unknown }
  /** The reply to a query that found little. */
  | { readonly kind: 'rows'; readonly id: number; readonly rows: FewRows }
  /** A reply that is begun; what follows `chunks` is drawn from `rest` (see body.ts). */
  | { readonly kind: 'begun'; readonly id: number; readonly reply: ArrowReply; readonly rest: MessagePort }
  | { readonly kind: 'failure'; readonly id: number; readonly error: ErrorBody }
  /** Comes any number of times before the reply. */
  | { readonly kind: 'progress'; readonly id: number; readonly progress: VerifyProgress }
  /** The call gave up because it was told to. */
  | { readonly kind: 'aborted'; readonly id: number }
  | { readonly kind: 'closed' }

/** An error as data. Of one that is no SheafError, which is a fault of ours, name and message remain. */
export function packError(cause: unknown): ErrorBody {
  const error = cause instanceof SheafError ? cause : new SheafError(ErrorCode.Internal, String(cause))
  return errorBody(error, '')
}

export function unpackError(body: ErrorBody): SheafError {
  return errorFrom(body.status, body)
}
