/** Faults of an expression that a column is given. */
import { quote, SheafError } from '../errors.js'

/** What `bind` gives. Its errors name the column, unless they do so by themselves. */
export function inColumn<T>(name: string, bind: () => T): T {
  try {
    return bind()
  } catch (error) {
    if (!(error instanceof SheafError) || error.message.includes(`column ${quote(name)}`)) throw error
    const { code, message, hint, at } = error
    throw new SheafError(code, `column ${quote(name)}: ${message}`, { hint, at, cause: error })
  }
}
