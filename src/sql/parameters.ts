/** Values that stand beside the text of an expression, for `?`, `$1` and `:name`. */
import { invalidInput, quote, type SourceSpan } from '../errors.js'
import type { LiteralNode } from './bound.js'
import { integerLiteral, literalOf } from './literal.js'
import type { ParameterExpr } from './syntax.js'
import { timestampType } from './types.js'

/**
 * By position or by name. A value is a number (one that is a safe integer counts as an integer), bigint, string,
 * boolean, null, Date (a timestamp in milliseconds), Uint8Array, or an array of such for IN and list functions.
 */
export type Parameters = readonly unknown[] | Readonly<Record<string, unknown>>

/** Hands out parameters and notes which were asked for. */
export class ParameterList {
  readonly #values: Parameters | undefined
  #style: ParameterExpr['style'] | null = null
  #questionMarks = 0

  constructor(values: Parameters | undefined) {
    this.#values = values
  }

  /** The constant, or for an array one per element. Throws code 13 for a missing or unusable value. */
  take(parameter: ParameterExpr): LiteralNode | readonly LiteralNode[] {
    const { key, style, at } = parameter
    if (this.#style !== null && this.#style !== style) {
      throw invalidInput(
        `parameters are written ${this.#style} and ${style} in one expression; use one way`,
        { at },
      )
    }
    this.#style = style
    if (style === '?') this.#questionMarks = Math.max(this.#questionMarks, (key as number) + 1)
    const value = this.#lookUp(parameter)
    const items = itemsOf(value)
    return items === null
      ? literalOfValue(value, nameOf(parameter), at)
      : items.map((item, i) => literalOfValue(item, `element ${i} of ${nameOf(parameter)}`, at))
  }

  /** Throws code 13 when there are positional values that no `?` asked for. */
  checkUsed(): void {
    const given = Array.isArray(this.#values) ? this.#values.length : 0
    if (this.#style !== '$' && given > this.#questionMarks) {
      throw invalidInput(`${given} parameters are given, the expression uses ${this.#questionMarks}`)
    }
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
    return (values as Readonly<Record<string | number, unknown>>)[key]
  }
}

function nameOf({ key, style }: ParameterExpr): string {
  return style === ':' ? `:${key}` : `parameter ${(key as number) + 1}`
}

/** The elements of an array or typed array other than bytes, else null. */
function itemsOf(value: unknown): readonly unknown[] | null {
  if (Array.isArray(value)) return value
  const isNumbers =
    ArrayBuffer.isView(value) && !(value instanceof Uint8Array) && !(value instanceof DataView)
  return isNumbers ? Array.from(value as Float64Array) : null
}

function literalOfValue(value: unknown, name: string, at: SourceSpan): LiteralNode {
  switch (typeof value) {
    case 'number':
      return Number.isSafeInteger(value) && !Object.is(value, -0)
        ? integerLiteral(BigInt(value))
        : literalOf(value)
    case 'string':
      if (/\p{Surrogate}/u.test(value)) throw invalidInput(`${name} holds half of a surrogate pair`, { at })
      return literalOf(value)
    case 'bigint':
    case 'boolean':
      return literalOf(value)
    default:
      if (value === null) return literalOf(null)
      if (value instanceof Uint8Array) return literalOf(value.slice())
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
