/** Opens analyzers with Sheaf's stemmers, stop words and ASCII folding. */
import type { TextOptions } from '../options.js'
import type { Analyzer, CustomTokenizer } from './analyzer.js'
import { baseTokenizerOf } from './base-tokenizers.js'
import { asciiFolded, foldIdentity } from './fold.js'
import { Pipeline, type Words } from './pipeline.js'
import { stemIdentity, stemmerOf } from './stem.js'
import { stopWordsIdentity, stopWordsOf } from './stop-words.js'

const words: Words = {
  stemmerOf,
  stopWordsOf,
  folded: asciiFolded,
  identity: { stemmer: stemIdentity, stopWords: stopWordsIdentity, folded: foldIdentity },
}

/**
 * Open an analyzer. `custom`: the registered tokenizers, which `checkTokenizers` has checked. Opening takes
 * microseconds, but callers should reuse an analyzer, because it caches stems. Throws InvalidInput if the base
 * tokenizer is unknown or the n-gram lengths are invalid.
 */
export function openAnalyzer(options: TextOptions, custom: readonly CustomTokenizer[]): Analyzer {
  return new Pipeline(options, baseTokenizerOf(options, custom), words)
}
