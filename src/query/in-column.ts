/** Names the column in errors of an expression that computes a column. */
import { quote, SheafError } from '../errors.js'

/** Call `bind`. If it throws, add the column's name to the message, unless the message has it. */
export function inColumn<T>(name: string, bind: () => T): T {
  try {
    return bind()
  } catch (error) {
    if (!(error instanceof SheafError) || error.message.includes(`column ${quote(name)}`)) throw error
    const { code, message, hint, at } = error
    throw new SheafError(code, `column ${quote(name)}: ${message}`, { hint, at, cause: error })
  }
}
