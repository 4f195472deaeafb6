/** Declarations of functions that build structs. */
import type { DataType, Field } from '../../arrow/types.js'
import type { Constants, Signature, SqlFunction } from './signature.js'
import { namedStruct, struct } from './structs.js'

export const structFunctions: readonly SqlFunction[] = [
  { name: 'struct', usage: 'struct(value, ...)', sign: numbered, kernel: struct, aliases: ['row'] },
  {
    name: 'named_struct',
    usage: "named_struct('name', value, ...)",
    sign: named,
    kernel: namedStruct,
  },
]

/** Return the signature of `struct`, whose result has the fields `c0`, `c1` and so on. */
function numbered(args: readonly DataType[]): Signature | null {
  if (args.length === 0) return null
  return { args, result: { kind: 'struct', children: args.map((type, i) => field(`c${i}`, type)) } }
}

/**
 * Return the signature of `named_struct`. Each name is followed by its value. Names must be constant, not empty, and
 * unique.
 */
function named(args: readonly DataType[], constants: Constants): Signature | null {
  if (args.length === 0 || args.length % 2 === 1) return null
  const children: Field[] = []
  for (let i = 0; i < args.length; i += 2) {
    const name = constants[i]
    if (typeof name !== 'string' || name === '' || children.some(child => child.name === name)) return null
    children.push(field(name, args[i + 1]!))
  }
  return { args, result: { kind: 'struct', children } }
}

function field(name: string, type: DataType): Field {
  return { name, type, nullable: true }
}
