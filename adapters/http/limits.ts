/** The limits of a server: per request, per caller, and for all requests together. */
import { given, options } from '../../src/protocol/shape.js'
import { uploadBytesDefault } from '../upload-memory.js'

export interface Limits {
  /**
   * Maximum bytes of a request body; above it the status is 413. Default 16 GiB, because an upload is never in memory
   * as a whole. The limit for JSON bodies is always 16 MiB.
   */
  readonly bodyBytes: number
  /**
   * Maximum bytes of one message of an Arrow body, both as sent and as decoded; above it the status is 413. Default 1
   * GiB.
   */
  readonly messageBytes: number
  /**
   * Maximum memory in bytes for decoding Arrow bodies and for the rows of merges, of all callers together. Default 1
   * GiB. An upload waits until enough memory is free. A merge that already has rows in memory does not wait: it is
   * refused with 503, or with 413 if it alone needs more than the limit.
   */
  readonly uploadBytes: number
  /** Maximum number of open uploads in parts per caller; above it the status is 429. Default 1000. */
  readonly openUploads: number
  /** Maximum bytes of the files of all open uploads in parts, per caller; above it the status is 413. Default 1 TiB. */
  readonly openUploadBytes: number
  /**
   * Time for which the server accepts parts of one upload, milliseconds; later parts get the status 400. Default 24
   * hours.
   */
  readonly openUploadMs: number
  /** Maximum number of open connections. Further connections are closed without a reply. Default 10,000. */
  readonly connections: number
  /**
   * Maximum number of calls in progress, of all callers together; above it the status is 503. Default 1024. A call is
   * in progress until its reply is sent. A waiting call takes a few kilobytes.
   */
  readonly inFlight: number
  /**
   * Maximum number of calls in progress per caller; above it the status is 429. A caller is a principal, or a network
   * address without `auth`. Default: only `inFlight` applies.
   */
  readonly inFlightPerCaller: number
  /**
   * Maximum number of open streams of changes of all callers; above it the status is 503. Default 256. An open stream is
   * not a call in progress, but `inFlightPerCaller` also limits the streams of one caller.
   */
  readonly openStreams: number
  /**
   * Time limit for a call, milliseconds; after it the status is 503. A client can ask for less time with
   * `x-request-timeout-ms`, but not for more. Default: no limit.
   */
  readonly requestMs: number
  /**
   * Maximum time in milliseconds for which a client may stop sending or reading. Then the connection ends; a client
   * that was sending gets the status 408. Default 60 s.
   */
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
  openStreams: amount,
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
  openStreams: 256,
  requestMs: Number.POSITIVE_INFINITY,
  pauseMs: 60_000,
}

/** Return all limits. Limits that are not given have their defaults. */
export function resolveLimits(limits: Partial<Limits>): Limits {
  return { ...defaults, ...limits }
}
