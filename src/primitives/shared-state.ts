/**
 * State and classes that all copies of Sheaf in one thread share. A program that both imports and requires Sheaf loads two copies: the
 * ES module build and the CommonJS build.
 */

/** Grows when the type of a shared value changes, so that copies of different versions do not share it. */
const version = 1

const key = Symbol.for(`sheaf.shared-state.${version}`)

/** Return the shared value named `name`. The first copy that asks for the value creates it. */
export function sharedState<T>(name: string, create: () => T): T {
  const holder = globalThis as { [key]?: Map<string, unknown> }
  holder[key] ??= new Map()
  if (!holder[key].has(name)) holder[key].set(name, create())
  return holder[key].get(name) as T
}

/**
 * Make `instanceof` true for objects of the same class in other copies, and of its subclasses. Subclasses themselves keep the usual
 * `instanceof`.
 */
export function shareClass(shared: abstract new (...args: never[]) => object, name: string): void {
  const brand = Symbol.for(`sheaf.${name}`)
  Object.defineProperty(shared.prototype, brand, { value: true })
  Object.defineProperty(shared, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      if (this !== shared) return Function.prototype[Symbol.hasInstance].call(this as () => void, value)
      return typeof value === 'object' && value !== null && brand in value
    },
  })
}
