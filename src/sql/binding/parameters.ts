/** Values for the parameters `?`, `$1` and `:name` of an expression. */
import { cut, invalidInput, quote, type SourceSpan } from '../../errors.js'
import { constantsOf } from '../syntax/constant-list.js'
import type { ConstantList, ParameterExpr } from '../syntax/syntax.js'
import { integerLiteral, literalOf, numberOfScript } from '../values/literal.js'
import { LiteralNode } from '../values/literal-node.js'
import { timestampType } from '../values/types.js'

/**
 * Parameter values by position (an array, for `?` and `$1`) or by name (an object, for `:name`).
 *
 * A value is a number, bigint, string, boolean, null, Date (a timestamp in milliseconds) or Uint8Array. Arrays and
 * typed arrays of these values are for IN and list functions. A safe integer becomes an int64. A number
 * beyond the safe integers may have lost digits, so it is accepted only where it is compared with floats or cast to
 * double. Pass a bigint instead.
 */
export type Parameters = readonly unknown[] | Readonly<Record<string, unknown>>

/** Maximum bytes of parameter values that a request uses again. Each use after the first one counts the whole value. */
const maxRepeated = 2 ** 28

/**
 * Provides parameter values and tracks which of them were used. All expressions of a request may share one list. The
 * owner of the list calls `checkUsed` once, after the last expression is bound. `?` is numbered within a single text,
 * so only one expression of a request may use it.
 */
export class ParameterList {
  readonly #used = new Set<number | string>()
  /** Approximate bytes of values that were used again. Each use after the first one counts. */
  #repeated = 0
  readonly #values: Parameters | undefined
  #style: ParameterExpr['style'] | null = null
  /** By position of a value: the `?` in the text that used it. Detects a second expression that uses `?`. */
  readonly #questionMarks: ParameterExpr[] = []

  constructor(values: Parameters | undefined) {
    this.#values = values
  }

  /**
   * Return the value of a parameter as a constant. For an array, return one constant per element. Throws `InvalidInput`
   * if the value is missing or has an unsupported type.
   */
  take(parameter: ParameterExpr): LiteralNode | readonly LiteralNode[] {
    const value = this.#valueOf(parameter)
    const items = itemsOf(value)
    return items === null
      ? literalOfValue(value, nameOf(parameter), parameter.at)
      : literals(items, parameter)
  }

  /** Return the value as `take` does, but return a long array of numbers or strings as one `ConstantList`. */
  takeMembers(parameter: ParameterExpr): LiteralNode | readonly LiteralNode[] | ConstantList {
    const value = this.#valueOf(parameter)
    const items = itemsOf(value)
    if (items === null) return literalOfValue(value, nameOf(parameter), parameter.at)
    const values = constantsOf(items)
    return values === null ? literals(items, parameter) : { kind: 'constants', values, at: parameter.at }
  }

  /**
   * Check that the expressions used all values. Throws `InvalidInput` for an unused value for `?` or `:name`. Unused
   * values for `$1` are allowed.
   */
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
    const unused = Object.keys(values).find(name => !this.#used.has(name))
    if (unused === undefined) return
    throw invalidInput(`the parameter :${cut(unused)} is given, but no expression uses it`, {
      hint: `write it as :${cut(unused)} in the text; if it is an option of the call, pass it in the last argument`,
    })
  }

  #valueOf(parameter: ParameterExpr): unknown {
    const { key, style, at } = parameter
    if (this.#style !== null && this.#style !== style) {
      throw invalidInput(`parameters are written ${this.#style} and ${style} in one request; use one style`, {
        at,
      })
    }
    this.#style = style
    if (style === '?') {
      this.#questionMarks[key as number] ??= parameter
      if (this.#questionMarks[key as number] !== parameter) {
        throw invalidInput('? is used in more than one expression of a request', {
          hint: 'write $1 or :name',
          at,
        })
      }
    }
    return this.#lookUp(parameter)
  }

  /**
   * Count a repeated use of a value. Throws `InvalidInput` above `maxRepeated`, because each use takes time and memory,
   * and a short text can use a large value many times.
   */
  #repeat(value: unknown, parameter: ParameterExpr): void {
    this.#repeated += sizeOf(value)
    if (this.#repeated <= maxRepeated) return
    throw invalidInput(`${nameOf(parameter)} is large and is used too often in one request`, {
      hint: `values that are used more than once may take ${maxRepeated / 2 ** 20} MiB in total`,
      at: parameter.at,
    })
  }

  #lookUp(parameter: ParameterExpr): unknown {
    const { key, style, at } = parameter
    const values = this.#values
    if (values === undefined) {
      const written =
        style === ':'
          ? `an object, for example where(sql, { ${cut(key as string)}: value })`
          : 'an array, for example where(sql, [value])'
      throw invalidInput(`no value is given for ${nameOf(parameter)}`, {
        hint: `pass the values in ${written}`,
        at,
      })
    }
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

/** Return the approximate size of a value in bytes. Return 0 for values of fixed size, such as numbers. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (ArrayBuffer.isView(value)) return value.byteLength
  return Array.isArray(value) ? value.reduce<number>((sum, item) => sum + 8 + sizeOf(item), 0) : 0
}

function nameOf({ key, style }: ParameterExpr): string {
  return style === ':' ? `:${cut(key as string)}` : `parameter ${(key as number) + 1}`
}

/**
 * Return the elements of an array or typed array. Return null for a Uint8Array, which is one value, and for other
 * values.
 */
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
        const hint =
          'do not cut a string inside a character, or call toWellFormed(), which replaces each unpaired half with U+FFFD'
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
        return new LiteralNode(timestampType('ms'), BigInt(value.getTime()))
      }
      throw invalidInput(`${name} is ${describe(value)}, which is not a valid parameter value`, {
        hint: 'pass a number, bigint, string, boolean, null, Date, Uint8Array or an array of them',
        at,
      })
  }
}

function describe(value: unknown): string {
  return value instanceof Date ? 'an invalid Date' : typeof value === 'function' ? 'a function' : quote(value)
}
