/** Values that stand beside the text of an expression, for `?`, `$1` and `:name`. */
import { cut, invalidInput, quote, type SourceSpan } from '../../errors.js'
import { constantsOf } from '../syntax/constant-list.js'
import type { ConstantList, ParameterExpr } from '../syntax/syntax.js'
import { integerLiteral, literalOf, numberOfScript } from '../values/literal.js'
import type { LiteralNode } from '../values/literal-node.js'
import { timestampType } from '../values/types.js'

/**
 * By position or by name. A value is a number (a safe integer counts as an integer, one beyond 2^53 is taken beside floats
 * only: pass a bigint), bigint, string, boolean, null, Date (a timestamp in milliseconds), Uint8Array, or an array of such for IN and list functions.
 */
export type Parameters = readonly unknown[] | Readonly<Record<string, unknown>>

/** Bytes of values that are handed out again. */
const maxRepeated = 2 ** 28

/**
 * Hands out parameters and notes which were asked for. One list may serve all the expressions of a request: each is
 * bound with it, and whoever made it calls `checkUsed` once, after the last. `?` counts through one text only, so only
 * one of them may have it.
 */
export class ParameterList {
  readonly #used = new Set<number | string>()
  /** Bytes, roughly, of what was handed out again. */
  #repeated = 0
  readonly #values: Parameters | undefined
  #style: ParameterExpr['style'] | null = null
  /** The `?` that asked for each value. */
  readonly #questionMarks: ParameterExpr[] = []

  constructor(values: Parameters | undefined) {
    this.#values = values
  }

  /** The constant, or for an array one per element. Throws code 13 for a missing or unusable value. */
  take(parameter: ParameterExpr): LiteralNode | readonly LiteralNode[] {
    const value = this.#valueOf(parameter)
    const items = itemsOf(value)
    return items === null
      ? literalOfValue(value, nameOf(parameter), parameter.at)
      : literals(items, parameter)
  }

  /** As `take`, with a long array of whole numbers or texts as one list. */
  takeMembers(parameter: ParameterExpr): LiteralNode | readonly LiteralNode[] | ConstantList {
    const value = this.#valueOf(parameter)
    const items = itemsOf(value)
    if (items === null) return literalOfValue(value, nameOf(parameter), parameter.at)
    const values = constantsOf(items)
    return values === null ? literals(items, parameter) : { kind: 'constants', values, at: parameter.at }
  }

  /** Throws code 13 where a value was given that nothing asked for: by position for a `?`, or by a name. */
  checkUsed(): void {
    const values = this.#values
    if (values === undefined) return
    if (Array.isArray(values)) {
      const used = this.#questionMarks.length
      if (this.#style !== '$' && values.length > used) {
        throw invalidInput(`${values.length} parameters are given, ${used} are used`)
      }
      return
    }
    const stray = Object.keys(values).find(name => !this.#used.has(name))
    if (stray === undefined) return
    throw invalidInput(`the parameter :${cut(stray)} is given, and no expression uses it`, {
      hint: 'named parameters stand as :name in the text; options of a call are its last argument',
    })
  }

  #valueOf(parameter: ParameterExpr): unknown {
    const { key, style, at } = parameter
    if (this.#style !== null && this.#style !== style) {
      throw invalidInput(`parameters are written ${this.#style} and ${style} in one request; use one way`, {
        at,
      })
    }
    this.#style = style
    if (style === '?') {
      this.#questionMarks[key as number] ??= parameter
      if (this.#questionMarks[key as number] !== parameter) {
        throw invalidInput('? stands in more than one expression of a request', {
          hint: 'write $1 or :name',
          at,
        })
      }
    }
    return this.#lookUp(parameter)
  }

  /** Each use of a value is work of its own, which a short text can ask for any number of times. */
  #repeat(value: unknown, parameter: ParameterExpr): void {
    this.#repeated += sizeOf(value)
    if (this.#repeated <= maxRepeated) return
    throw invalidInput(`${nameOf(parameter)} is large, and stands in too many places of a request`, {
      hint: `values that are used again may have ${maxRepeated / 2 ** 20} MiB in all`,
      at: parameter.at,
    })
  }

  #lookUp(parameter: ParameterExpr): unknown {
    const { key, style, at } = parameter
    const values = this.#values
    if (values === undefined) throw invalidInput(`no value is given for ${nameOf(parameter)}`, { at })
    if (Array.isArray(values) !== (style !== ':')) {
      const [given, wanted] = style === ':' ? ['an array', 'an object'] : ['an object', 'an array']
      throw invalidInput(`parameters are given as ${given}; ${nameOf(parameter)} needs ${wanted}`, { at })
    }
    if (!Object.hasOwn(values, key)) {
      throw invalidInput(`no value is given for ${nameOf(parameter)}`, { at })
    }
    const value = (values as Readonly<Record<string | number, unknown>>)[key]
    if (this.#used.has(key)) this.#repeat(value, parameter)
    this.#used.add(key)
    return value
  }
}

/** What a value takes, roughly; 0 for those that take little. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (ArrayBuffer.isView(value)) return value.byteLength
  return Array.isArray(value) ? value.reduce<number>((sum, item) => sum + 8 + sizeOf(item), 0) : 0
}

function nameOf({ key, style }: ParameterExpr): string {
  return style === ':' ? `:${cut(key as string)}` : `parameter ${(key as number) + 1}`
}

/** The elements of an array or typed array other than bytes, else null. */
function itemsOf(value: unknown): ArrayLike<unknown> | null {
  if (Array.isArray(value)) return value
  const isNumbers =
    ArrayBuffer.isView(value) && !(value instanceof Uint8Array) && !(value instanceof DataView)
  return isNumbers ? (value as Float64Array) : null
}

function literals(items: ArrayLike<unknown>, parameter: ParameterExpr): readonly LiteralNode[] {
  const name = nameOf(parameter)
  return Array.from(items, (item, i) => literalOfValue(item, `element ${i} of ${name}`, parameter.at))
}

function literalOfValue(value: unknown, name: string, at: SourceSpan): LiteralNode {
  switch (typeof value) {
    case 'number':
      return numberOfScript(value, name, at)
    case 'string':
      if (!value.isWellFormed()) {
        const hint = 'cut texts between characters; toWellFormed() puts U+FFFD in place of each half'
        throw invalidInput(`${name} holds half of a surrogate pair`, { at, hint })
      }
      return literalOf(value)
    case 'bigint':
      return integerLiteral(value, at)
    case 'boolean':
      return literalOf(value)
    default:
      if (value === null) return literalOf(null)
      if (value instanceof Uint8Array) return literalOf(new Uint8Array(value))
      if (value instanceof Date && !Number.isNaN(value.getTime())) {
        return { kind: 'literal', type: timestampType('ms'), value: BigInt(value.getTime()) }
      }
      throw invalidInput(`${name} is ${describe(value)}, which is no value of an expression`, {
        hint: 'pass a number, bigint, string, boolean, null, Date, Uint8Array or an array of them',
        at,
      })
  }
}

function describe(value: unknown): string {
  return value instanceof Date ? 'an invalid Date' : typeof value === 'function' ? 'a function' : quote(value)
}
