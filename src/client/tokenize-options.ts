/** Options of `tokenize`. */
import { type CustomTokenizer, tokenizerShape } from '../indexes/text/analysis/analyzer.js'
import { type CallOptions, callFields } from '../protocol/calls.js'
import { array, options } from '../protocol/shape.js'
import { type TextIndexOptions, textFields } from './table-indexes.js'

/** What `createIndex` takes for an index of texts, as far as terms depend on it. */
export interface TokenizeOptions
  extends Omit<
    TextIndexOptions,
    'type' | 'name' | 'replace' | 'waitTimeoutMs' | 'withPosition' | keyof CallOptions
  > {
  /** Of which `baseTokenizer` may name one, as `connect` takes them. */
  readonly tokenizers?: readonly CustomTokenizer[]
}

export interface TokenizeColumnOptions extends CallOptions {
  /** Those that are registered where the index is, as far as it names one of them. */
  readonly tokenizers?: readonly CustomTokenizer[]
}

const tokenizers = array(tokenizerShape)

export const tokenizeShape = options<TokenizeOptions>()({ ...textFields, tokenizers })

export const tokenizeColumnShape = options<TokenizeColumnOptions>()({ tokenizers, ...callFields })
