/** The messages between a program and the worker thread that runs its engine. */
import type { MessagePort } from 'node:worker_threads'
import { ErrorCode, SheafError } from '../../src/errors.js'
import type { Optimized, Verification, VerifyProgress } from '../../src/index.js'
import type { ArrowReply, ServerCallOptions } from '../../src/protocol/calls.js'
import { type ErrorBody, errorBody, errorFrom } from '../../src/protocol/errors-wire.js'
import type { OperationName } from '../../src/protocol/operations.js'
import type { FewRows } from './few-rows.js'

export interface CallMessage {
  readonly kind: 'call'
  /** Number of the call, which the program chooses. The answers repeat it. */
  readonly id: number
  readonly name: OperationName
  readonly request: Readonly<Record<string, unknown>>
  /** Arrow data: the whole data, or a port from which it is read (see body.ts). */
  readonly body: Uint8Array | MessagePort | undefined
  readonly options: Omit<ServerCallOptions, 'signal' | 'memory' | 'skipped'>
  /**
   * Whether the program may abort the call. False for a call without a signal; sending such a call takes about half the
   * time.
   */
  readonly abortable: boolean
  /**
   * Number of the snapshot or transaction attempt to which the call belongs. Absent: the call belongs to the namespace
   * itself.
   */
  readonly held?: number
}

/** Requests that are not operations. `ask`: the fields of the request. `answer`: the type of its single answer. */
export interface Questions {
  /** Opens a snapshot. The answer is its number, for `CallMessage.held`. */
  readonly snapshot: { readonly ask: object; readonly answer: number }
  readonly release: { readonly ask: { readonly held: number }; readonly answer: undefined }
  readonly begin: { readonly ask: object; readonly answer: TransactionStep }
  readonly end: { readonly ask: EndOfWork; readonly answer: TransactionStep }
  /** Waits until the newest slot is not `than`. The answer is the newest slot. */
  readonly watch: { readonly ask: { readonly than: number }; readonly answer: number }
  readonly optimize: { readonly ask: object; readonly answer: Optimized }
  readonly tableAt: { readonly ask: { readonly location: string }; readonly answer: readonly string[] | null }
  readonly verify: {
    readonly ask: { readonly repair: boolean; readonly tellsProgress: boolean }
    readonly answer: Verification
  }
}

export type Question = keyof Questions

/** The end of the function of a transaction attempt. */
export interface EndOfWork {
  /** Number of the transaction attempt. */
  readonly held: number
  /** Code of the error that the function threw. Undefined if it returned. */
  readonly threw: ErrorCode | undefined
  /** Whether the signal of the transaction had aborted by then. */
  readonly aborted: boolean
}

/**
 * The next step of a transaction: the number of an attempt, whose function must run now, or the end. `thrown`: the
 * transaction ended because its function threw.
 */
export type TransactionStep = { readonly held: number } | 'committed' | 'thrown'

export interface AskMessage<Q extends Question = Question> {
  readonly kind: 'ask'
  /** Number of the question. Calls and questions are numbered in one sequence. */
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
  /** The engine is open. Calls are answered from now on. */
  | { readonly kind: 'open' }
  /** The engine could not be opened. */
  | { readonly kind: 'refused'; readonly error: ErrorBody }
  | { readonly kind: 'reply'; readonly id: number; readonly reply: unknown }
  /** A reply to a query with few rows (see few-rows.ts). */
  | { readonly kind: 'rows'; readonly id: number; readonly rows: FewRows }
  /** The beginning of a reply. The bytes after `chunks` are read from `rest` (see body.ts). */
  | { readonly kind: 'begun'; readonly id: number; readonly reply: ArrowReply; readonly rest: MessagePort }
  | { readonly kind: 'failure'; readonly id: number; readonly error: ErrorBody }
  /** Progress of a verification. May be sent many times before the reply. */
  | { readonly kind: 'progress'; readonly id: number; readonly progress: VerifyProgress }
  /** The call ended because the program aborted it. */
  | { readonly kind: 'aborted'; readonly id: number }
  | { readonly kind: 'closed' }

/** Convert an error to plain data. Only the name and message are kept of an error that is not a SheafError. */
export function packError(cause: unknown): ErrorBody {
  const error = cause instanceof SheafError ? cause : new SheafError(ErrorCode.Internal, String(cause))
  return errorBody(error, '')
}

export function unpackError(body: ErrorBody): SheafError {
  return errorFrom(body.status, body)
}
