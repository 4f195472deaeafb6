/** Declarations of JSON functions. They take JSON as utf8 or as binary with UTF-8. */
import type { DataType } from '../../arrow/types.js'
import { castable } from '../kernels/cast.js'
import { boolType, float64, int64, uint64, utf8 } from '../values/types.js'
import {
  jsonArrayContains,
  jsonArrayLength,
  jsonExists,
  jsonExtract,
  jsonGet,
  jsonGetBool,
  jsonGetFloat,
  jsonGetInteger,
  jsonGetString,
} from './json-kernels.js'
import { parseJsonPath } from './json-path.js'
import { type Constants, isText, type Sign, type Signature, type SqlFunction } from './signature.js'

export const jsonFunctions: readonly SqlFunction[] = [
  {
    name: 'json_extract',
    usage: "json_extract(json, '$.path')",
    sign: withPath(utf8),
    kernel: jsonExtract,
    mayFail: true,
  },
  { name: 'json_get', usage: 'json_get(json, key)', sign: withKey(utf8), kernel: jsonGet, mayFail: true },
  {
    name: 'json_get_string',
    usage: 'json_get_string(json, key)',
    sign: withKey(utf8),
    kernel: jsonGetString,
    mayFail: true,
  },
  {
    name: 'json_get_int',
    usage: 'json_get_int(json, key)',
    sign: withKey(int64),
    kernel: jsonGetInteger,
    mayFail: true,
  },
  {
    name: 'json_get_uint',
    usage: 'json_get_uint(json, key)',
    sign: withKey(uint64),
    kernel: jsonGetInteger,
    mayFail: true,
  },
  {
    name: 'json_get_float',
    usage: 'json_get_float(json, key)',
    sign: withKey(float64),
    kernel: jsonGetFloat,
    mayFail: true,
  },
  {
    name: 'json_get_bool',
    usage: 'json_get_bool(json, key)',
    sign: withKey(boolType),
    kernel: jsonGetBool,
    mayFail: true,
  },
  {
    name: 'json_exists',
    usage: "json_exists(json, '$.path')",
    sign: withPath(boolType),
    kernel: jsonExists,
    mayFail: true,
  },
  {
    name: 'json_array_contains',
    usage: "json_array_contains(json, '$.path', value)",
    sign: pathAndValue,
    kernel: jsonArrayContains,
    mayFail: true,
  },
  {
    name: 'json_array_length',
    usage: "json_array_length(json) or json_array_length(json, '$.path')",
    sign: jsonAlone,
    kernel: jsonArrayLength,
    mayFail: true,
  },
]

function isJson(type: DataType): boolean {
  return isText(type) || type.kind === 'binary'
}

function jsonType(type: DataType): DataType {
  return type.kind === 'binary' ? type : utf8
}

function withKey(result: DataType): Sign {
  return args =>
    args.length === 2 && isJson(args[0]!) && isText(args[1]!)
      ? { args: [jsonType(args[0]!), utf8], result }
      : null
}

/**
 * Return a signature with a path. A constant path is checked here, so that binding the call reports an invalid path.
 */
function withPath(result: DataType): Sign {
  return (args, constants) => {
    const signature = withKey(result)(args, constants)
    const path = constants[1]
    if (signature !== null && typeof path === 'string') parseJsonPath(path)
    return signature
  }
}

/** Return the signature of a function of JSON with an optional path. */
function jsonAlone(args: readonly DataType[], constants: Constants): Signature | null {
  if (args.length !== 1) return withPath(int64)(args, constants)
  return isJson(args[0]!) ? { args: [jsonType(args[0]!)], result: int64 } : null
}

/** Return the signature of a function of JSON, a path, and a value of any type that can be cast to a string. */
function pathAndValue(args: readonly DataType[], constants: Constants): Signature | null {
  const signature = withPath(boolType)(args.slice(0, 2), constants)
  const value = args[2]
  if (signature === null || value === undefined || args.length > 3 || !castable(value, utf8)) return null
  return { ...signature, args: [...signature.args, value] }
}
