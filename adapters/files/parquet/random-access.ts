/** Reads ranges of bytes of a file: from a path, from a URL, or from bytes in memory. */
import { fileURLToPath } from 'node:url'
import { concatBytes } from '../../../src/arrow/concat-bytes.js'
import { ErrorCode, invalidInput, quote, SheafError } from '../../../src/errors.js'
import { LocalFile } from '../../../src/storage/local-file.js'
import { type FileSource, isPacked, readChunks } from '../source.js'
import { brokenParquet } from './fault.js'

/**
 * The source of a Parquet file: a path, a URL, the bytes, or chunks of bytes. A text that begins with `http://` or
 * `https://` is a URL. Of a path and a URL, only the needed ranges are read.
 */
export type ParquetSource = FileSource | URL | Uint8Array

/** A file of which ranges can be read. */
export interface RangeFile {
  readonly size: number
  /** Bytes to read at least, because a request for few bytes takes about as long. */
  readonly readAhead: number
  read(offset: number, length: number): Promise<Uint8Array>
  close(): Promise<void>
}

/** Maximum bytes of a file that comes in chunks. */
const maxHeldBytes = 2 ** 31 - 1

/** Open a source. Throws InvalidInput for a value that is not a source, and for a file that does not exist. */
export async function openRanges(source: ParquetSource, signal: AbortSignal | undefined): Promise<RangeFile> {
  if (source instanceof Uint8Array) return memory(source)
  if (source instanceof URL || (typeof source === 'string' && /^https?:\/\//i.test(source))) {
    const url = new URL(source)
    if (url.protocol === 'file:') return openPath(fileURLToPath(url), signal)
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      throw invalidInput(
        `the source must have the protocol http:, https: or file:, got ${quote(url.protocol)}`,
      )
    return openUrl(url, signal)
  }
  if (typeof source === 'string') return openPath(source, signal)
  return memory(await allBytes(source, signal))
}

function memory(bytes: Uint8Array): RangeFile {
  return {
    size: bytes.length,
    readAhead: 0,
    read: async (offset, length) => {
      if (offset + length > bytes.length) throw brokenParquet('the file is cut off', bytes.length)
      return new Uint8Array(bytes.buffer, bytes.byteOffset + offset, length)
    },
    close: async () => {},
  }
}

async function openPath(path: string, signal: AbortSignal | undefined): Promise<RangeFile> {
  if (isPacked(path)) return memory(await allBytes(path, signal))
  const file = await LocalFile.open(path)
  return {
    size: file.size,
    readAhead: 0,
    read: (offset, length) => file.read(offset, length),
    close: () => file.close(),
  }
}

async function allBytes(source: FileSource, signal: AbortSignal | undefined): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of readChunks(source, signal)) {
    length += chunk.length
    if (length > maxHeldBytes)
      throw invalidInput(`a Parquet file in chunks may have at most ${maxHeldBytes} bytes`, {
        hint: 'write the chunks to a file, and pass its path',
      })
    chunks.push(chunk)
  }
  return concatBytes(chunks)
}

/** Bytes at the end of a file that are requested first, because the metadata is there. */
const tailBytes = 64 * 1024

async function openUrl(url: URL, signal: AbortSignal | undefined): Promise<RangeFile> {
  const tail = await requestRange(url, `bytes=-${tailBytes}`, {}, signal)
  const { size, first, etag } = tail
  const held = tail.bytes
  const headers: Record<string, string> = etag === null ? {} : { 'if-match': etag }
  return {
    size,
    readAhead: 64 * 1024,
    read: async (offset, length) => {
      if (length === 0) return new Uint8Array(0)
      if (offset >= first && offset + length <= size)
        return held.subarray(offset - first, offset - first + length)
      const range = await requestRange(url, `bytes=${offset}-${offset + length - 1}`, headers, signal)
      if (range.size !== size || range.first !== offset || range.bytes.length !== length)
        throw unavailable(url, 'the server sent another range than requested, or the file changed')
      return range.bytes
    },
    close: async () => {},
  }
}

interface Range {
  readonly bytes: Uint8Array
  readonly first: number
  readonly size: number
  readonly etag: string | null
}

async function requestRange(
  url: URL,
  range: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal | undefined,
): Promise<Range> {
  let response: Response
  try {
    response = await fetch(url, {
      // Compressed content would have other ranges.
      headers: { ...headers, range, 'accept-encoding': 'identity' },
      ...(signal !== undefined && { signal }),
    })
  } catch (cause) {
    signal?.throwIfAborted()
    throw unavailable(url, 'the request failed', cause)
  }
  const place = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(response.headers.get('content-range') ?? '')
  if (response.status !== 206 || place === null) {
    await response.body?.cancel().catch(() => {})
    throw refused(url, response.status)
  }
  const [first, last, size] = place.slice(1).map(Number) as [number, number, number]
  const bytes = await bodyOf(url, response, last - first + 1, signal)
  const etag = response.headers.get('etag')
  return { bytes, first, size, etag: etag?.startsWith('"') ? etag : null }
}

async function bodyOf(url: URL, response: Response, length: number, signal: AbortSignal | undefined) {
  const parts: Uint8Array[] = []
  let got = 0
  try {
    for await (const part of response.body ?? []) {
      got += part.length
      if (got > length) break
      parts.push(part)
    }
  } catch (cause) {
    signal?.throwIfAborted()
    throw unavailable(url, 'the answer was interrupted', cause)
  }
  if (got !== length) throw unavailable(url, `the answer has ${got} instead of ${length} bytes`)
  return concatBytes(parts)
}

function refused(url: URL, status: number): SheafError {
  const name = shown(url)
  if (status === 404 || status === 410) return invalidInput(`there is no file ${name}`)
  if (status === 401 || status === 403)
    return new SheafError(
      ErrorCode.PermissionDenied,
      `the server refuses access to ${name} (status ${status})`,
      { hint: 'pass the body of your own request: readParquet((await fetch(url, { headers })).body)' },
    )
  if (status === 412) return unavailable(url, 'the file changed during reading')
  if (status === 416) return invalidInput(`${name} is empty, so it is not a Parquet file`)
  if (status === 200 || status === 206)
    return invalidInput(`the server of ${name} does not answer requests for ranges of bytes`, {
      hint: 'pass the body of the response: readParquet((await fetch(url)).body)',
    })
  return unavailable(url, `the server answered with the status ${status}`)
}

function unavailable(url: URL, what: string, cause?: unknown): SheafError {
  return new SheafError(ErrorCode.ServiceUnavailable, `cannot read ${shown(url)}: ${what}`, { cause })
}

/** Return a URL for messages, without its secrets. */
function shown(url: URL): string {
  return quote(`${url.origin}${url.pathname}`)
}
