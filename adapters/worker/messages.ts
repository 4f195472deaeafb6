/** What passes between a program and the worker that holds its engine. */
import type { MessagePort } from 'node:worker_threads'
import { ErrorCode, SheafError } from '../../src/errors.js'
import type { CallOptions } from '../../src/protocol/calls.js'
import { type ErrorBody, errorBody, errorFrom } from '../../src/protocol/errors-wire.js'
import type { OperationName } from '../../src/protocol/operations.js'

export interface CallMessage {
  readonly kind: 'call'
  /** Chosen by the program; answers carry it. */
  readonly id: number
  readonly name: OperationName
  readonly request: Readonly<Record<string, unknown>>
  /** Arrow data: all of it, or the port from which it is drawn (see body.ts). */
  readonly body: Uint8Array | MessagePort | undefined
  readonly options: Omit<CallOptions, 'signal'>
  /** Whether it may be told to give up: a signal costs as much as half the way. */
  readonly abortable: boolean
}

export type ToWorker =
  | CallMessage
  | { readonly kind: 'abort'; readonly id: number }
  | { readonly kind: 'close' }

export type FromWorker =
  /** The engine is open, and calls are answered from now on. */
  | { readonly kind: 'open' }
  /** The engine could not be opened. */
  | { readonly kind: 'refused'; readonly error: ErrorBody }
  | { readonly kind: 'reply'; readonly id: number; readonly reply: unknown }
  | { readonly kind: 'failure'; readonly id: number; readonly error: ErrorBody }
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
