/** Resolves the options of a text index from a request (rules ). */
import { typeName } from '../../arrow/type-name.js'
import type { DataType } from '../../arrow/types.js'
import { invalidInput, quote, type SheafError } from '../../errors.js'
import type { CreateIndexRequest } from '../../protocol/index-shapes.js'
import { textKind } from './kind.js'
import { defaultTextOptions, type TextOptions } from './options.js'

/** Wire names of the options. Responses list the options in this order. */
export const textWireNames = {
  positions: 'with_position',
  baseTokenizer: 'base_tokenizer',
  language: 'language',
  maxTokenLength: 'max_token_length',
  lowerCase: 'lower_case',
  stem: 'stem',
  removeStopWords: 'remove_stop_words',
  customStopWords: 'custom_stop_words',
  asciiFolding: 'ascii_folding',
  ngramMin: 'ngram_min_length',
  ngramMax: 'ngram_max_length',
  prefixOnly: 'prefix_only',
} as const satisfies Record<keyof TextOptions, keyof CreateIndexRequest>

const optionNames = Object.keys(textWireNames) as readonly (keyof TextOptions)[]

/** Fields that clients send with every text index, and their values that have no effect. Other values are rejected. */
const ignoredFields: { readonly [name in keyof CreateIndexRequest]?: readonly unknown[] } = {
  block_size: [128, 256],
  lance_tokenizer: ['text'],
  index_operators: [false],
  preserve_original: [false],
  split_identifiers: [false],
  split_on_numerics: [false],
}

/** The request fields that only text indexes accept. */
export const textFields: readonly (keyof CreateIndexRequest)[] = [
  ...Object.values(textWireNames),
  ...(Object.keys(ignoredFields) as (keyof CreateIndexRequest)[]),
]

/**
 * Defaults for n-grams. Because n-grams are parts of words, they have no stems, and equal a stop word only by chance.
 */
const ngramDefaults: Partial<TextOptions> = { stem: false, removeStopWords: false }

/**
 * Resolve all options of a request. The index stores the result, so that later changes of the defaults do not affect
 * existing indexes. Throws InvalidInput for an unsupported value of an ignored field.
 */
export function textDefinition(request: CreateIndexRequest): TextOptions {
  for (const [name, accepted] of Object.entries(ignoredFields)) {
    const value = request[name as keyof CreateIndexRequest]
    if (value === undefined || accepted.includes(value)) continue
    throw invalidInput(
      `${name} of an ${textKind} index must be ${accepted.join(' or ')}, got ${quote(value)}`,
      {
        hint: `leave out ${name}`,
      },
    )
  }
  const given = optionNames.flatMap(name => {
    const value = request[textWireNames[name]]
    return value === undefined ? [] : [[name, value] as const]
  })
  const defaults = request.base_tokenizer === 'ngram' ? ngramDefaults : {}
  return { ...defaultTextOptions, ...defaults, ...Object.fromEntries(given) }
}

/** Return the InvalidInput error for a column type that text indexes do not support. */
export function holdsNoText(column: string, type: DataType): SheafError {
  return invalidInput(
    `column ${quote(column)} is of type ${typeName(type)}: an ${textKind} index cannot be built on it`,
    {
      hint: `${textKind} indexes are for texts (utf8 or large_utf8, also dictionary-encoded) and for lists of texts`,
    },
  )
}

/** Return whether two indexes have equal text options. `undefined` stands for an index that is not a text index. */
export function isSameText(a: TextOptions | undefined, b: TextOptions | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return optionNames.every(name => JSON.stringify(a[name]) === JSON.stringify(b[name]))
}

/** Return the options in the form in which `index_details` returns them to clients. */
export function textJson(options: TextOptions): Readonly<Record<string, unknown>> {
  return Object.fromEntries(optionNames.map(name => [jsonNames[name] ?? textWireNames[name], options[name]]))
}

/** Names of options in `index_details` that differ from the names in requests. */
const jsonNames: { readonly [name in keyof TextOptions]?: string } = {
  ngramMin: 'min_ngram_length',
  ngramMax: 'max_ngram_length',
}
