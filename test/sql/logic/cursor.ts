import { NoStatement } from './skip.js'
import { closing, isSymbol, nameOf, slice, type Token, type Tokens } from './tokens.js'

/** A place in a list of tokens. */
export class Cursor {
  readonly tokens: Tokens
  index = 0

  constructor(tokens: Tokens) {
    this.tokens = tokens
  }

  get token(): Token | undefined {
    return this.tokens.list[this.index]
  }

  next(): void {
    this.index++
  }

  /** What has not been read, for messages. */
  rest(): string {
    return this.tokens.text.slice(this.token?.start ?? this.tokens.text.length)
  }

  /** Whether the keywords follow; passes over them. */
  take(...keywords: string[]): boolean {
    if (keywords.some((word, i) => this.tokens.list[this.index + i]?.keyword !== word)) return false
    this.index += keywords.length
    return true
  }

  expect(...keywords: string[]): void {
    if (!this.take(...keywords))
      throw new NoStatement(`${keywords.join(' ')} is missing before ${this.rest()}`)
  }

  takeSymbol(symbol: string): boolean {
    const isThere = isSymbol(this.token, symbol)
    if (isThere) this.index++
    return isThere
  }

  name(): string {
    const name = nameOf(this.token)
    if (name === null) throw new NoStatement(`a name is missing before ${this.rest()}`)
    this.index++
    return name
  }

  count(): number {
    const { value, kind } = this.token ?? {}
    if (kind !== 'integer') throw new NoStatement(`a number is missing before ${this.rest()}`)
    this.index++
    return Number(value)
  }

  /** What stands between the brackets here. */
  brackets(): Tokens {
    if (!isSymbol(this.token, '(')) throw new NoStatement(`( is missing before ${this.rest()}`)
    const close = closing(this.tokens, this.index)
    const inner = slice(this.tokens, this.index + 1, close)
    this.index = close + 1
    return inner
  }

  /** Everything up to one of the keywords outside of brackets, or the end. */
  until(...keywords: string[]): Tokens {
    const { list } = this.tokens
    const from = this.index
    const depth = list[from]?.depth
    while (this.index < list.length) {
      const { keyword, depth: here } = list[this.index]!
      // IS DISTINCT FROM
      const isOperator = keyword === 'FROM' && list[this.index - 1]?.keyword === 'DISTINCT'
      if (here === depth && keywords.includes(keyword) && !isOperator) break
      this.index++
    }
    return slice(this.tokens, from, this.index)
  }
}
