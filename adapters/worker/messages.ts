/** The messages between a program and the worker with its engine. */
import type { MessagePort } from 'node:worker_threads'
import { ErrorCode, SheafError } from '../../src/errors.js'
import type { Optimized, Verification, VerifyProgress } from '../../src/index.js'
import type { ArrowReply, ServerCallOptions } from '../../src/protocol/calls.js'
import { type ErrorBody, errorBody, errorFrom } from '../../src/protocol/errors-wire.js'
import type { OperationName } from '../../src/protocol/operations.js'
import type { FewRows } from './few-rows.js'

export interface CallMessage {
  readonly kind: 'call'
  /** Chosen by the program; the answers repeat it. */
  readonly id: number
  readonly name: OperationName
  readonly request: Readonly<Record<string, unknown>>
  /** Arrow data: all of it, or the port from which it is read (see body.ts). */
  readonly body: Uint8Array | MessagePort | undefined
  readonly options: Omit<ServerCallOptions, 'signal' | 'memory' | 'skipped'>
  /** Whether the call may be aborted. Without a signal a call takes about half as long on its way. */
  readonly abortable: boolean
  /** Number of the snapshot or transaction attempt to which the call belongs; absent: the root. */
  readonly held?: number
}

/** Questions to a namespace in addition to its operations. Each has one answer. */
export interface Questions {
  /** The answer is the number of the snapshot, for `CallMessage.held`. */
  readonly snapshot: { readonly ask: object; readonly answer: number }
  readonly release: { readonly ask: { readonly held: number }; readonly answer: undefined }
  readonly begin: { readonly ask: object; readonly answer: TransactionStep }
  readonly end: { readonly ask: EndOfWork; readonly answer: TransactionStep }
  /** Answers with the newest slot, once it is not `than`. */
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
  /** Number of the attempt. */
  readonly held: number
  /** Code of the error that the work threw. */
  readonly threw: ErrorCode | undefined
  /** Whether the transaction was aborted by then. */
  readonly aborted: boolean
}

/** The next step of a transaction: an attempt, for which the work is to run, or its end. `thrown`: the work threw. */
export type TransactionStep = { readonly held: number } | 'committed' | 'thrown'

export interface AskMessage<Q extends Question = Question> {
  readonly kind: 'ask'
  /** Calls and questions share one sequence of numbers. */
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
  /** A reply to a query with few rows. */
  | { readonly kind: 'rows'; readonly id: number; readonly rows: FewRows }
  /** The beginning of a reply; what follows `chunks` is read from `rest` (see body.ts). */
  | { readonly kind: 'begun'; readonly id: number; readonly reply: ArrowReply; readonly rest: MessagePort }
  | { readonly kind: 'failure'; readonly id: number; readonly error: ErrorBody }
  /** Sent any number of times before the reply. */
  | { readonly kind: 'progress'; readonly id: number; readonly progress: VerifyProgress }
  /** The call ended because the program aborted it. */
  | { readonly kind: 'aborted'; readonly id: number }
  | { readonly kind: 'closed' }

/** Convert an error to data. Of an unexpected error that is not a SheafError, name and message remain. */
export function packError(cause: unknown): ErrorBody {
  const error = cause instanceof SheafError ? cause : new SheafError(ErrorCode.Internal, String(cause))
  return errorBody(error, '')
}

export function unpackError(body: ErrorBody): SheafError {
  return errorFrom(body.status, body)
}
