/** Calls with more arguments than they take: what would have no effect is refused. */
import { invalidInput, quote, type SheafError } from '../errors.js'

type Method = (...args: never[]) => unknown

/** Of each method of `T`: how many arguments it takes at most, and where what else callers may mean is to be said. */
export type MostArguments<T> = {
  readonly [K in keyof T & string as T[K] extends Method ? K : never]:
    | number
    | readonly [most: number, hint: string]
}

/** Makes the methods of a class refuse further arguments (code 13): asynchronous ones reject, others throw. */
export function takeNoMore<T extends object>(prototype: T, most: MostArguments<T>): void {
  for (const [name, said] of Object.entries<number | readonly [number, string]>(most)) {
    const [count, hint] = typeof said === 'number' ? [said] : said
    const { value: method, ...property } = Object.getOwnPropertyDescriptor(prototype, name)!
    const isAsync = method[Symbol.toStringTag] === 'AsyncFunction'
    const checked = function (this: unknown, ...given: unknown[]): unknown {
      if (given.length <= count) return method.apply(this, given)
      const error = tooMany(name, given, count, hint)
      if (isAsync) return Promise.reject(error)
      throw error
    }
    const { name: called, length } = method
    Object.defineProperties(checked, {
      name: { value: called },
      length: { value: length },
      toString: { value: () => String(method) },
    })
    Object.defineProperty(prototype, name, { ...property, value: checked })
  }
}

/** As `takeNoMore`, for what a function is given beside its arguments. */
export function refuseMore(name: string, most: number, more: readonly unknown[]): void {
  if (more.length > 0) throw tooMany(name, [...new Array(most), ...more], most)
}

/** Names that come one by one, and not in an array (code 13). */
export function refuseArray(name: string, [first]: readonly unknown[]): void {
  if (!Array.isArray(first)) return
  throw invalidInput(`${name} takes names one by one, got ${quote(first)}`, {
    hint: `write ${name}(${first.map(each => quote(each)).join(', ')})`,
  })
}

function tooMany(name: string, given: readonly unknown[], most: number, hint?: string): SheafError {
  const first = quote(given[most])
  if (most === 0) return invalidInput(`${name} takes nothing, got ${first}`, { hint })
  const takes = most === 1 ? 'one argument' : `${most} arguments at most`
  return invalidInput(`${name} takes ${takes}, got ${given.length}: ${first} would have no effect`, { hint })
}
