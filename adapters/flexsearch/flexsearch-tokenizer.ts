/** Makes encoders of FlexSearch usable as tokenizers. This file does not import the package: the caller has the encoder. */
import { createHash } from 'node:crypto'
import { invalidInput, quote } from '../../src/errors.js'
import type { CustomTokenizer } from '../../src/index.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import { parse } from '../../src/protocol/parse.js'
import { options as shape, string } from '../../src/protocol/shape.js'

/** An `Encoder` of FlexSearch 0.8. */
export interface FlexsearchEncoder {
  encode(text: string): string[]
}

export interface FlexsearchTokenizerOptions {
  /** The name for `baseTokenizer`. Default `flexsearch`. */
  readonly name?: string | undefined
  /**
   * Change the version whenever you change the options of the encoder. Rows indexed with another version count as
   * unindexed.
   */
  readonly version: string
}

const tokenizerOptionsShape = shape<FlexsearchTokenizerOptions>()(
  { name: string('nonEmpty'), version: string() },
  { version: true },
)

/** A text whose tokens change when FlexSearch changes its steps. */
const sample = 'The Running cafés of Zürich: 1234567 balloons, phone+case 東京 Привет'

/**
 * Return a tokenizer for the option `tokenizers` of `connect` that uses an encoder of FlexSearch 0.8. Create the index
 * with `stem: false`, `removeStopWords: false` and `maxTokenLength: null` to keep the tokens of the encoder.
 *
 * The version of the tokenizer also follows from the tokens of a sample, so it changes if another release of FlexSearch
 * splits texts differently. Do not change the encoder afterwards.
 *
 * ```js
 * const ns = await connect('./data', { tokenizers: [flexsearchTokenizer(new Encoder(Charset.LatinBalance), { version: '1' })] })
 * ```
 * @throws InvalidInput if `encoder` is not an encoder.
 */
export function flexsearchTokenizer(
  encoder: FlexsearchEncoder,
  options: FlexsearchTokenizerOptions,
): CustomTokenizer
export function flexsearchTokenizer(
  encoder: FlexsearchEncoder,
  options: FlexsearchTokenizerOptions,
  ...more: readonly unknown[]
): CustomTokenizer {
  refuseMore('flexsearchTokenizer', 2, more)
  const { name = 'flexsearch', version } = parse(tokenizerOptionsShape, options, 'flexsearchTokenizer')
  if (typeof encoder !== 'object' || encoder === null || typeof encoder.encode !== 'function') {
    throw invalidInput(`encoder must be an Encoder of FlexSearch, got ${quote(encoder)}`, {
      hint: "import { Encoder } from 'flexsearch', and pass new Encoder(options)",
    })
  }
  const facts = JSON.stringify([version, encoder.encode(sample)])
  const digest = createHash('sha256').update(facts).digest('hex').slice(0, 16)
  return { name, version: digest, tokenize: text => encoder.encode(text) }
}
