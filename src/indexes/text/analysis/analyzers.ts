/** Opens and caches the analyzers of a root, with built-in and registered tokenizers. */
import { SheafError } from '../../../errors.js'
import type { TextOptions } from '../options.js'
import type { Analyzer, CustomTokenizer } from './analyzer.js'
import { openAnalyzer } from './open-analyzer.js'

/** Maximum number of cached analyzers. Without a limit, requests with many different options would fill the memory. */
const keptMax = 64

/** The analyzers of one root. */
export class Analyzers {
  /** The registered tokenizers. */
  readonly custom: readonly CustomTokenizer[]
  readonly #opened = new Map<string, Analyzer>()
  /** Analyzers by options object. Queries of an index pass the same object again and again. */
  readonly #known = new WeakMap<TextOptions, Analyzer>()

  constructor(custom: readonly CustomTokenizer[] = []) {
    this.custom = custom
  }

  /** Return the analyzer for these options. Throws InvalidInput, for example if the tokenizer is not registered. */
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

  /** Return the analyzer for these options, or the error that `open` would throw. */
  find(options: TextOptions): Analyzer | SheafError {
    try {
      return this.open(options)
    } catch (error) {
      if (error instanceof SheafError) return error
      throw error
    }
  }
}
