/** Adds the name of a computed column to errors of its expression. */
import { quote, SheafError } from '../errors.js'

/** Call `bind`. If it throws a SheafError, add the column's name to the message, unless the message already has it. */
export function inColumn<T>(name: string, bind: () => T): T {
  try {
    return bind()
  } catch (error) {
    if (!(error instanceof SheafError) || error.message.includes(`column ${quote(name)}`)) throw error
    const { code, message, hint, at } = error
    throw new SheafError(code, `column ${quote(name)}: ${message}`, { hint, at, cause: error })
  }
}
