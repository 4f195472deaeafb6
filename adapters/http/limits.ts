/** The limits of a server: per request, per caller, and in total. */
import { given, options } from '../../src/protocol/shape.js'
import { uploadBytesDefault } from '../upload-memory.js'

export interface Limits {
  /**
   * Bytes of a request body; above it 413. Default 16 GiB: uploads are never kept as a whole. The limit of JSON bodies is always 16 MiB.
   */
  readonly bodyBytes: number
  /** Bytes of one message of an Arrow body, as sent and as decoded; above it 413. Default 1 GiB. */
  readonly messageBytes: number
  /**
   * Bytes that the decoding of Arrow bodies and the rows of merges may take, of all callers together. Default 1 GiB. An upload that needs
   * more than is left waits for others. A merge that already has rows in memory is refused with 503, and above the whole limit with 413.
   */
  readonly uploadBytes: number
  /** Open uploads in parts of one caller; above it 429. Default 1000. */
  readonly openUploads: number
  /** Bytes of the files of all open uploads in parts of one caller; above it 413. Default 1 TiB. */
  readonly openUploadBytes: number
  /** How long this server takes parts for one upload, milliseconds; after it 400. Default 24 hours. */
  readonly openUploadMs: number
  /** Open connections; one more is closed without an answer. Default 10,000. */
  readonly connections: number
  /**
   * Calls in progress of all callers, until their replies are sent; above it 503. Default 1024. A call that waits takes a few kilobytes.
   */
  readonly inFlight: number
  /** Calls in progress of one caller, by principal or else by address; above it 429. Default: no limit besides `inFlight`. */
  readonly inFlightPerCaller: number
  /**
   * Open streams of changes of all callers; above it 503. Default 256. An open stream is not a call in progress, but `inFlightPerCaller` also
   * limits the streams of one caller.
   */
  readonly openStreams: number
  /** Longest time for a call, milliseconds, whatever the client asks for in `x-request-timeout-ms`; above it 503. Default: no limit. */
  readonly requestMs: number
  /** Longest pause of a client in sending (408) or reading, milliseconds; after it the connection ends. Default 60 s. */
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

/** Return all limits, with defaults for those that are not given. */
export function resolveLimits(limits: Partial<Limits>): Limits {
  return { ...defaults, ...limits }
}
