/**
 * State and classes that all copies of Sheaf in one thread share. A program that both imports and requires Sheaf loads
 * two copies: the ES module build and the CommonJS build.
 */

/**
 * Version of the shared values. It is increased when the type of a value changes, so that old and new copies do not
 * share.
 */
const version = 1

const key = Symbol.for(`sheaf.shared-state.${version}`)

/** Return the shared value `name`. If no copy of Sheaf has created the value yet, `create` creates it. */
export function sharedState<T>(name: string, create: () => T): T {
  const holder = globalThis as { [key]?: Map<string, unknown> }
  holder[key] ??= new Map()
  if (!holder[key].has(name)) holder[key].set(name, create())
  return holder[key].get(name) as T
}

/**
 * Make `x instanceof shared` true also for objects of the same class, or of its subclasses, from other copies of Sheaf.
 * `instanceof` with a subclass on the right side works as usual. `name`: the name of the class in all copies.
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
