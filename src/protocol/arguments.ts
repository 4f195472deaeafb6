/**
 * Refuses calls with more arguments than a function has, because an argument without effect is a mistake of the caller.
 */
import { invalidInput, quote, type SheafError } from '../errors.js'

type Method = (...args: never[]) => unknown

/** For each method of `T`: the maximum number of arguments, and optionally a hint for callers that pass more. */
type MostArguments<T> = {
  readonly [K in keyof T & string as T[K] extends Method ? K : never]:
    | number
    | readonly [most: number, hint: string]
}

/**
 * Make the methods of a class refuse further arguments with InvalidInput. Asynchronous methods reject, other methods
 * throw. `most`: the maximum number of arguments of each method.
 */
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

/** Like `takeNoMore`, for a function that has `most` parameters. `more`: the arguments beyond the parameters. */
export function refuseMore(name: string, most: number, more: readonly unknown[]): void {
  if (more.length > 0) throw tooMany(name, [...new Array(most), ...more], most)
}

/** Throw InvalidInput if the first argument is an array, because the names must be separate arguments. */
export function refuseArray(name: string, [first]: readonly unknown[]): void {
  if (!Array.isArray(first)) return
  throw invalidInput(`${name} takes names as separate arguments, got ${quote(first)}`, {
    hint: `write ${name}(${first.map(each => quote(each)).join(', ')})`,
  })
}

function tooMany(name: string, given: readonly unknown[], most: number, hint?: string): SheafError {
  const first = quote(given[most])
  if (most === 0) return invalidInput(`${name} takes no arguments, got ${first}`, { hint })
  const takes = most === 1 ? 'one argument' : `at most ${most} arguments`
  return invalidInput(`${name} takes ${takes}, got ${given.length}: ${first} would have no effect`, { hint })
}
