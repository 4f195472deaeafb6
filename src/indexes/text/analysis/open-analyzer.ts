/** Opens analyzers. */
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
 * Open an analyzer. `custom`: the registered tokenizers, checked by `checkTokenizers`. Takes microseconds; reuse an analyzer anyway,
 * because it caches stems. Throws InvalidInput if the base tokenizer is unknown or the n-gram lengths are invalid.
 */
export function openAnalyzer(options: TextOptions, custom: readonly CustomTokenizer[]): Analyzer {
  return new Pipeline(options, baseTokenizerOf(options, custom), words)
}
