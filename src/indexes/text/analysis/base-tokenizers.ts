/** Base tokenizers by their names. */
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

/** Whether there is a tokenizer of that name without anybody registering one. */
export function isBuiltIn(name: string): boolean {
  return Object.hasOwn(builtIn, name)
}

/** Refuses tokenizers that could not be called by their names (code 13): where they are registered. */
export function checkTokenizers(custom: readonly CustomTokenizer[]): void {
  const names = new Set(Object.keys(builtIn))
  for (const { name } of custom) {
    if (names.has(name))
      throw invalidInput(`there is a tokenizer named ${quote(name)} already: choose another name`)
    names.add(name)
  }
}

/** Throws invalid input (code 13) where nobody knows the name, or its n-grams have no length. */
export function baseTokenizerOf(options: TextOptions, custom: readonly CustomTokenizer[]): BaseTokenizer {
  const { baseTokenizer } = options
  if (isBuiltIn(baseTokenizer)) return builtIn[baseTokenizer]!(options)
  const registered = custom.find(({ name }) => name === baseTokenizer)
  if (registered !== undefined) return customTokenizer(registered)
  const names = [...Object.keys(builtIn), ...custom.map(({ name }) => name)]
  throw invalidInput(`no base tokenizer named ${quote(baseTokenizer)}; there are: ${names.join(', ')}`, {
    hint: 'register one of that name, or use icu for scripts without spaces',
  })
}

function ngramsBy({ ngramMin, ngramMax, prefixOnly, maxTokenLength }: TextOptions): BaseTokenizer {
  if (!(ngramMin >= 1)) throw invalidInput(`n-grams must have at least 1 character, got ${ngramMin}`)
  if (!(ngramMin <= ngramMax)) {
    throw invalidInput(`n-grams of at least ${ngramMin} and at most ${ngramMax} characters: there are none`)
  }
  // Longer ones are dropped, so they need not be cut.
  const max = maxTokenLength === null ? ngramMax : Math.min(ngramMax, maxTokenLength - 1)
  return ngramTokenizer({ min: ngramMin, max, prefixOnly })
}
