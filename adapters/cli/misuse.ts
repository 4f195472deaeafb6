/**
 * Invalid arguments, or invalid content of a file that an argument names. The message says what is wrong, and contains
 * no secrets.
 */
export class Misuse extends Error {
  override readonly name = 'Misuse'
}
