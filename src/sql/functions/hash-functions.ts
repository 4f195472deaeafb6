/** Declarations of the functions that compute digests and encodings. */
import type { DataType } from '../../arrow/types.js'
import { binary, utf8 } from '../values/types.js'
import { algorithmOf, decode, digest, digestBy, encode, encodingOf, md5 } from './hashes.js'
import { type Constants, type SqlFunction, shape } from './signature.js'

export const hashFunctions: readonly SqlFunction[] = [
  { name: 'md5', usage: 'md5(text or binary)', sign: shape('b', utf8), kernel: md5 },
  ...['sha224', 'sha256', 'sha384', 'sha512'].map(name => ({
    name,
    usage: `${name}(text or binary)`,
    sign: shape('b', binary),
    kernel: digestBy(name),
  })),
  {
    name: 'digest',
    usage: "digest(text or binary, 'sha256')",
    sign: (args, constants) => named(args, constants, binary, algorithmOf),
    kernel: digest,
    mayFail: true,
  },
  {
    name: 'encode',
    usage: "encode(text or binary, 'hex') or encode(text or binary, 'base64')",
    sign: (args, constants) => named(args, constants, utf8, encodingOf),
    kernel: encode,
    mayFail: true,
  },
  {
    name: 'decode',
    usage: "decode(text, 'hex') or decode(text, 'base64')",
    sign: (args, constants) => named(args, constants, binary, encodingOf),
    kernel: decode,
    mayFail: true,
  },
]

/**
 * Return the signature of a function of bytes and the name of an algorithm or encoding. `check`: throws for an unknown
 * name. A constant name is checked here, so that the error is reported when the call is bound.
 */
function named(
  args: readonly DataType[],
  constants: Constants,
  result: DataType,
  check: (name: string) => unknown,
) {
  const name = constants[1]
  if (typeof name === 'string') check(name)
  return shape('bt', result)(args, constants)
}
