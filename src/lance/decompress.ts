/** Decodes bytes that Lance compressed with LZ4 or Zstandard. Each buffer begins with the length of its content. */
import { decodeLz4Block } from '../arrow/lz4.js'
import { runAtOnce } from '../arrow/steps.js'
import { decodeZstdFrame } from '../arrow/zstd.js'
import { invalidInput } from '../errors.js'
import type { Scheme } from './encoding.js'

/** Maximum length of the content of a buffer. */
const maxBytes = 2 ** 31 - 1

/** Maximum ratio of content to buffer in LZ4. */
const maxLz4Ratio = 255

/** Maximum ratio of content to buffer in ZSTD: a block of 4 bytes has at most 128 KiB. */
const maxZstdRatio = 32_768

const zstdMagic = 0xfd2fb528

/** Return the content of a buffer. Throws InvalidInput if the buffer is damaged. */
export function decompress(scheme: Scheme, bytes: Uint8Array): Uint8Array {
  return scheme === 'lz4' ? decompressLz4(bytes) : decompressZstd(bytes)
}

function decompressLz4(bytes: Uint8Array): Uint8Array {
  if (bytes.length < 4) throw invalidInput(`a buffer in LZ4 has only ${bytes.length} bytes`)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const length = view.getUint32(0, true)
  if (length > maxBytes || length > bytes.length * maxLz4Ratio) {
    throw invalidInput(`a buffer in LZ4 of ${bytes.length} bytes cannot contain ${length} bytes`)
  }
  return decodeLz4Block(bytes.subarray(4), length)
}

function decompressZstd(bytes: Uint8Array): Uint8Array {
  if (bytes.length === 0) return bytes
  if (bytes.length < 9) throw invalidInput(`a buffer in ZSTD has only ${bytes.length} bytes`)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const length = view.getUint32(0, true) + view.getUint32(4, true) * 2 ** 32
  // The first versions of Lance wrote no length. Then the buffer begins with the frame.
  if (view.getUint32(0, true) === zstdMagic && (view.getUint8(4) & 0x10) === 0 && length > maxBytes) {
    throw invalidInput('a buffer in ZSTD does not begin with the length of its content', {
      hint: "rewrite the table with a newer version of LanceDB's optimize",
    })
  }
  if (length > maxBytes || length > bytes.length * maxZstdRatio) {
    throw invalidInput(`a buffer in ZSTD of ${bytes.length} bytes cannot contain ${length} bytes`)
  }
  return runAtOnce(decodeZstdFrame(bytes.subarray(8), length, 8))
}
