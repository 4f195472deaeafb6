/** The exports of `sheaf/flexsearch`. */

export {
  type FlexsearchEncoder,
  type FlexsearchTokenizerOptions,
  flexsearchTokenizer,
} from './flexsearch-tokenizer.js'
export { type FlexsearchParts, type ReadFlexsearchOptions, readFlexsearch } from './read-flexsearch.js'
