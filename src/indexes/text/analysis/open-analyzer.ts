/** Analyzers by their options. */
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
 * `custom`: the tokenizers that are registered, as `checkTokenizers` has let them pass. Costs microseconds, but an analyzer learns stems, so who analyzes
 * often keeps it. Throws invalid input (code 13) where the base tokenizer is not known or its n-grams have no length.
 */
export function openAnalyzer(options: TextOptions, custom: readonly CustomTokenizer[]): Analyzer {
  return new Pipeline(options, baseTokenizerOf(options, custom), words)
}
