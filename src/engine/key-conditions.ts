/** Parses filters that select rows by a key. Filters with parameters are parsed once. */
import { type Binding, binding } from '../query/binding.js'
import { type KeyCondition, keyConditionOf } from '../query/key-condition.js'

/** Maximum number of filters that are kept. */
const filtersMax = 256
/** Filters without parameters are mostly used once. Only those that begin like a condition on a key are parsed. */
const keyFilter = /^\s*[\w`"]+\s*(=|in\b)/i

/** By text of the filter. Null: the filter is not a condition on a key, or is not valid. */
const conditions = new Map<string, KeyCondition | null>()

/**
 * Return the condition of a filter on a key. Returns null for other filters and for filters that are not valid. Returns
 * null without the binder, which is then loaded.
 */
export function keyConditionIn(filter: string): KeyCondition | null {
  const known = conditions.get(filter)
  if (known !== undefined) return known
  const hasParameters = /[?$:]/.test(filter)
  const bind = hasParameters || keyFilter.test(filter) ? binder() : null
  if (bind === null) return null
  const condition = parsed(filter, bind)
  if (!hasParameters) return condition
  if (conditions.size === filtersMax) conditions.delete(conditions.keys().next().value!)
  conditions.set(filter, condition)
  return condition
}

function parsed(filter: string, bind: Binding): KeyCondition | null {
  try {
    return keyConditionOf(bind.parseFilter(filter))
  } catch {
    // The request reports the error in the filter.
    return null
  }
}

/** Return the binder, or null and begin to load it. A request waits for it, and reports an error. */
function binder(): Binding | null {
  const bind = binding()
  if (!(bind instanceof Promise)) return bind
  bind.catch(() => {})
  return null
}
