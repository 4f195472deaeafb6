/** How much a server takes on: of one request, of one caller, of all of them together. */
import { given, options } from '../../src/protocol/shape.js'
import { uploadBytesDefault } from '../upload-memory.js'

export interface Limits {
  /** Bytes of a request body; above it 413. Default 16 GiB: uploads are never held as a whole. JSON bodies have 16 MiB in any case. */
  readonly bodyBytes: number
  /** Bytes one message of an Arrow body may take, as sent and as decoded; above it 413. Default 1 GiB. */
  readonly messageBytes: number
  /**
   * Bytes that messages of Arrow bodies take while they are decoded, as sent and as decoded, of all callers together, and with them all rows
   * of merges. An upload that needs more than is left waits for others; a merge that already holds rows is refused with 503, above the limit with
   * 413. Default 1 GiB.
   */
  readonly uploadBytes: number
  /** Uploads in parts that one caller has open at a time; above it 429. Default 1000. */
  readonly openUploads: number
  /** Bytes of the files of all uploads in parts that one caller has open; above it 413. Default 1 TiB. */
  readonly openUploadBytes: number
  /** For how long this server takes parts for one upload, milliseconds; after it 400. Default 24 hours. */
  readonly openUploadMs: number
  /** Connections at a time; one more is closed unanswered. Default 10,000. */
  readonly connections: number
  /** Calls at a time of all callers, until their replies are out; above it 503. Default 1024: a call that waits takes a few kilobytes. */
  readonly inFlight: number
  /** Calls at a time of one caller, by principal, else by address; above it 429. Default: as many as `inFlight`. */
  readonly inFlightPerCaller: number
  /** Longest time for a call, whatever the client asks for in `x-request-timeout-ms`; above it 503. Default: no limit. */
  readonly requestMs: number
  /** Longest pause of a client in sending (408) or reading; after it the connection ends. Default 60 s. */
  readonly pauseMs: number
}

const amount = given<number>('a number > 0', value => typeof value === 'number' && value > 0)

export const limitsShape = options<Partial<Limits>>()({
  bodyBytes: amount,
  messageBytes: amount,
  uploadBytes: amount,
  openUploads: amount,
  openUploadBytes: amount,
  openUploadMs: amount,
  connections: amount,
  inFlight: amount,
  inFlightPerCaller: amount,
  requestMs: amount,
  pauseMs: amount,
})

const defaults: Limits = {
  bodyBytes: 16 * 2 ** 30,
  messageBytes: 2 ** 30,
  uploadBytes: uploadBytesDefault,
  openUploads: 1000,
  openUploadBytes: 2 ** 40,
  openUploadMs: 24 * 3_600_000,
  connections: 10_000,
  inFlight: 1024,
  inFlightPerCaller: Number.POSITIVE_INFINITY,
  requestMs: Number.POSITIVE_INFINITY,
  pauseMs: 60_000,
}

/** All limits, those that are not given by their defaults. */
export function settleLimits(limits: Partial<Limits>): Limits {
  return { ...defaults, ...limits }
}
