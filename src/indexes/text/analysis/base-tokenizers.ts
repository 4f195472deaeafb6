/** Finds base tokenizers by name. */
import { invalidInput, quote } from '../../../errors.js'
import type { TextOptions } from '../options.js'
import type { CustomTokenizer } from './analyzer.js'
import {
  type BaseTokenizer,
  ngramTokenizer,
  rawTokenizer,
  simpleTokenizer,
  whitespaceTokenizer,
} from './base-tokenizer.js'
import { customTokenizer } from './custom-tokenizer.js'
import { icuTokenizer } from './icu.js'

const builtIn: Readonly<Record<string, (options: TextOptions) => BaseTokenizer>> = {
  simple: () => simpleTokenizer,
  whitespace: () => whitespaceTokenizer,
  raw: () => rawTokenizer,
  ngram: ngramsBy,
  icu: icuTokenizer,
}

/** Return whether a built-in tokenizer has this name. */
export function isBuiltIn(name: string): boolean {
  return Object.hasOwn(builtIn, name)
}

/**
 * Check the tokenizers that a caller registers. Throws InvalidInput if two have the same name, or one has a built-in
 * name.
 */
export function checkTokenizers(custom: readonly CustomTokenizer[]): void {
  const names = new Set(Object.keys(builtIn))
  for (const { name } of custom) {
    if (names.has(name))
      throw invalidInput(`a tokenizer named ${quote(name)} already exists. Choose another name`)
    names.add(name)
  }
}

/**
 * Return the base tokenizer that the options name. `custom`: the registered tokenizers. Throws InvalidInput if the name
 * is unknown or the n-gram lengths are invalid.
 */
export function baseTokenizerOf(options: TextOptions, custom: readonly CustomTokenizer[]): BaseTokenizer {
  const { baseTokenizer } = options
  if (isBuiltIn(baseTokenizer)) return builtIn[baseTokenizer]!(options)
  const registered = custom.find(({ name }) => name === baseTokenizer)
  if (registered !== undefined) return customTokenizer(registered)
  const names = [...Object.keys(builtIn), ...custom.map(({ name }) => name)]
  throw invalidInput(
    `there is no base tokenizer named ${quote(baseTokenizer)}; available: ${names.join(', ')}`,
    {
      hint: 'register a tokenizer with this name, or use icu for scripts without spaces',
    },
  )
}

function ngramsBy({ ngramMin, ngramMax, prefixOnly, maxTokenLength }: TextOptions): BaseTokenizer {
  if (!(ngramMin >= 1)) throw invalidInput(`n-grams must have at least 1 character, got ${ngramMin}`)
  if (!(ngramMin <= ngramMax)) {
    throw invalidInput(
      `the minimum n-gram length must not exceed the maximum, got ${ngramMin} and ${ngramMax}`,
    )
  }
  // Do not produce longer n-grams, because the analyzer would drop them.
  const max = maxTokenLength === null ? ngramMax : Math.min(ngramMax, maxTokenLength - 1)
  return ngramTokenizer({ min: ngramMin, max, prefixOnly })
}
