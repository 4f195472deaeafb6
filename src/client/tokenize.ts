/** Shows the terms that text search derives from a text. */
import { ErrorCode, invalidInput, quote, SheafError } from '../errors.js'
import type { CustomTokenizer, Token } from '../indexes/text/analysis/analyzer.js'
import { checkTokenizers, isBuiltIn } from '../indexes/text/analysis/base-tokenizers.js'
import { openAnalyzer } from '../indexes/text/analysis/open-analyzer.js'
import { textDefinition } from '../indexes/text/definition.js'
import { textKind } from '../indexes/text/kind.js'
import { refuseMore } from '../protocol/arguments.js'
import type { Operations } from '../protocol/calls.js'
import { type CreateIndexRequest, createIndexRequest } from '../protocol/index-shapes.js'
import { parse } from '../protocol/parse.js'
import { string } from '../protocol/shape.js'
import { textFieldsOf } from './table-indexes.js'
import { type TokenizeColumnOptions, type TokenizeOptions, tokenizeShape } from './tokenize-options.js'

export type { Token as TextToken } from '../indexes/text/analysis/analyzer.js'

/**
 * Return the terms that a text index with the given options would derive from a text, in order, with their positions. A
 * query searches for the terms of its text. Default: the default options of `createIndex`.
 *
 * Runs synchronously: a text of one megabyte takes up to a second. Throws `InvalidInput` for options that `createIndex`
 * refuses.
 */
export function tokenize(text: string, options?: TokenizeOptions): readonly Token[]
export function tokenize(
  text: string,
  options: TokenizeOptions = {},
  ...more: readonly unknown[]
): readonly Token[] {
  refuseMore('tokenize', 2, more)
  const { tokenizers = [], ...indexOptions } = parse(tokenizeShape, options, 'tokenize')
  return tokensOf(text, textFieldsOf(indexOptions), tokenizers)
}

/**
 * Return the terms that the text index of a column derives from `text`. If the column has several text indexes, the
 * first index by name is used. Throws `IndexNotFound` if the column has no text index.
 */
export async function tokenizeAs(
  operations: Operations,
  at: { readonly id: readonly string[]; readonly version?: number },
  column: string,
  text: string,
  { tokenizers = [], ...call }: TokenizeColumnOptions,
): Promise<readonly Token[]> {
  parse(string('nonEmpty'), column, 'tokenize: the column')
  checkText(text)
  const { indexes } = await operations.listTableIndices(at, call)
  const index = indexes.find(({ columns, index_type }) => index_type === textKind && columns[0] === column)
  if (index === undefined) {
    throw new SheafError(
      ErrorCode.IndexNotFound,
      `there is no ${textKind} index of column ${quote(column)}`,
      {
        hint: 'call the function tokenize(text) to get the terms without an index',
      },
    )
  }
  const { reason: _, ...indexOptions } = JSON.parse(index.index_details!) as CreateIndexRequest & {
    reason?: string
  }
  const name = indexOptions.base_tokenizer!
  if (!isBuiltIn(name) && !tokenizers.some(given => given.name === name)) {
    throw invalidInput(
      `index ${quote(index.index_name)} uses the tokenizer ${quote(name)}, which is not in tokenizers`,
      { hint: 'pass the tokenizer in the option tokenizers, like in connect' },
    )
  }
  return tokensOf(text, indexOptions, tokenizers)
}

function tokensOf(
  text: string,
  indexOptions: Partial<CreateIndexRequest>,
  tokenizers: readonly CustomTokenizer[],
): readonly Token[] {
  checkText(text)
  checkTokenizers(tokenizers)
  // Check the options by the shape of a request to create an index, so that both calls accept the same options.
  const request = { id: ['text'], column: 'text', index_type: textKind, ...indexOptions }
  const options = textDefinition(parse(createIndexRequest, request, 'tokenize'))
  return openAnalyzer(options, tokenizers).tokens(text)
}

function checkText(text: unknown): void {
  if (typeof text !== 'string') throw invalidInput(`the text must be a string, got ${quote(text)}`)
}
