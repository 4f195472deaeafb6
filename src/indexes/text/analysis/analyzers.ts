/** The analyzers of a root: of the tokenizers there are, and of those its caller has registered. */
import { SheafError } from '../../../errors.js'
import type { TextOptions } from '../options.js'
import type { Analyzer, CustomTokenizer } from './analyzer.js'
import { openAnalyzer } from './open-analyzer.js'

/** Analyzers that are kept: requests can name any options, and most that are asked for are those of a few indexes. */
const keptMax = 64

export class Analyzers {
  /** Those that callers have registered. */
  readonly custom: readonly CustomTokenizer[]
  readonly #opened = new Map<string, Analyzer>()
  /** The same for those who come with the same object again, as every query does with that of its index. */
  readonly #known = new WeakMap<TextOptions, Analyzer>()

  constructor(custom: readonly CustomTokenizer[] = []) {
    this.custom = custom
  }

  /** Throws code 13 where there is none here, as with a tokenizer that is not registered. */
  open(options: TextOptions): Analyzer {
    const known = this.#known.get(options)
    if (known !== undefined) return known
    const key = JSON.stringify(options)
    let analyzer = this.#opened.get(key)
    if (analyzer === undefined) {
      analyzer = openAnalyzer(options, this.custom)
      const [oldest] = this.#opened.keys()
      if (oldest !== undefined && this.#opened.size >= keptMax) this.#opened.delete(oldest)
      this.#opened.set(key, analyzer)
    }
    this.#known.set(options, analyzer)
    return analyzer
  }

  /** As `open`, or why it cannot be had. */
  find(options: TextOptions): Analyzer | SheafError {
    try {
      return this.open(options)
    } catch (error) {
      if (error instanceof SheafError) return error
      throw error
    }
  }
}
