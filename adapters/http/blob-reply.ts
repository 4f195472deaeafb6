/** Makes the reply with the bytes of one blob, or with a range of them (RFC 9110, section 14). */
import { isValid } from '../../src/arrow/column.js'
import { decodeIpc } from '../../src/arrow/decode-ipc.js'
import { concatChunks } from '../../src/arrow/encode-ipc.js'
import { invalidInput, type SheafError } from '../../src/errors.js'
import type { ArrowReply } from '../../src/protocol/calls.js'
import { type HeaderFields, type HttpReply, tableVersion } from './reply.js'

interface ByteRange {
  readonly offset: number
  /** Number of bytes. Absent: the range extends to the end of the blob. */
  readonly length?: number
}

/**
 * Parse a `Range` header field. Returns undefined if there is no range, and for ranges that a server may ignore:
 * several ranges, and a range that counts from the end. The reply is then the whole blob.
 */
export function readRange(header: string | undefined): ByteRange | undefined {
  const [, from, to] = /^bytes=(\d{1,15})-(\d{1,15})?$/.exec(header?.trim() ?? '') ?? []
  if (from === undefined) return undefined
  const offset = Number(from)
  if (to === undefined) return { offset }
  return Number(to) < offset ? undefined : { offset, length: Number(to) - offset + 1 }
}

/**
 * Return the reply for one blob. `answer`: an Arrow file with the bytes of the blob, already limited to the range, and
 * the size of the whole blob. `refused`: makes the reply for an error. A null blob gives the status 204.
 */
export function blobReply(
  answer: ArrowReply,
  range: ByteRange | undefined,
  refused: (error: SheafError, headers: HeaderFields) => HttpReply,
): HttpReply {
  const [batch] = decodeIpc(concatChunks(answer.chunks)).batches
  const [blob, sizes] = batch!.columns
  const always = ['accept-ranges', 'bytes', tableVersion, String(answer.version)]
  if (!isValid(blob!, 0)) return { status: 204, headers: always, body: '' }
  const headers = [...always, 'content-type', 'application/octet-stream']
  const bytes = (blob!.values as Uint8Array).subarray(blob!.offsets![0]!, blob!.offsets![1]!)
  if (range === undefined) return { status: 200, headers, body: [bytes] }
  const size = Number((sizes!.values as BigUint64Array)[0]!)
  if (bytes.length === 0) {
    const error = invalidInput(`the range begins at byte ${range.offset}, but the blob has ${size} bytes`, {
      status: 416,
    })
    return refused(error, [...always, 'content-range', `bytes */${size}`])
  }
  const end = range.offset + bytes.length - 1
  return {
    status: 206,
    headers: [...headers, 'content-range', `bytes ${range.offset}-${end}/${size}`],
    body: [bytes],
  }
}
