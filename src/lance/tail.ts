/** Reads the last bytes of a manifest of Lance, which give the position of its message. */
import { invalidInput } from '../errors.js'

/** Bytes at the end of a manifest: the position of its message, two version numbers, and the magic. */
const tailBytes = 16

/** The last bytes of every Lance file. */
const magic = 'LANC'

/**
 * Return the message of a manifest. The file ends with the position of the message (int64), two version numbers (uint16)
 * and `LANC`. The message begins with its length (uint32). `name`: the name of the file, for errors.
 */
export function manifestMessage(bytes: Uint8Array, name: string): Uint8Array {
  const end = bytes.length - tailBytes
  if (end < 4 || String.fromCharCode(...bytes.subarray(-magic.length)) !== magic) {
    throw invalidInput(`${name} is not a Lance manifest: it does not end with ${magic}`)
  }
  return messageAt(bytes.subarray(0, end), view(bytes).getBigInt64(end, true), name)
}

/** Return the message at a position of a manifest. It begins with its length. */
export function messageAt(bytes: Uint8Array, position: bigint, name: string): Uint8Array {
  if (position < 0n || position > BigInt(bytes.length - 4)) {
    throw invalidInput(
      `${name} is damaged: it refers to a message at byte ${position}, but has ${bytes.length} bytes`,
    )
  }
  const start = Number(position) + 4
  const length = view(bytes).getUint32(start - 4, true)
  if (length > bytes.length - start) {
    throw invalidInput(`${name} is damaged: a message at byte ${position} has ${length} bytes`)
  }
  return bytes.subarray(start, start + length)
}

function view({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength)
}
