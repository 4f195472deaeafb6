/** Options of `tokenize`. */
import { type CustomTokenizer, tokenizerShape } from '../indexes/text/analysis/analyzer.js'
import { type CallOptions, callFields } from '../protocol/calls.js'
import { array, options } from '../protocol/shape.js'
import { type TextIndexOptions, textFields } from './table-indexes.js'

/** Options of `tokenize`: the options of a text index (`createIndex`) that affect its terms. */
export interface TokenizeOptions
  extends Omit<
    TextIndexOptions,
    'type' | 'name' | 'replace' | 'waitTimeoutMs' | 'withPosition' | keyof CallOptions
  > {
  /** Custom tokenizers for `baseTokenizer`, like the option `tokenizers` of `connect`. Default: none. */
  readonly tokenizers?: readonly CustomTokenizer[]
}

/** Options of `Table.tokenize`. */
export interface TokenizeColumnOptions extends CallOptions {
  /** Custom tokenizers. Required if the index uses a custom tokenizer. Default: none. */
  readonly tokenizers?: readonly CustomTokenizer[]
}

const tokenizers = array(tokenizerShape)

export const tokenizeShape = options<TokenizeOptions>()({ ...textFields, tokenizers })

export const tokenizeColumnShape = options<TokenizeColumnOptions>()({ tokenizers, ...callFields })
