/** Which functions a record must not need, to be run. */
import { functionNames } from '../../../src/sql/functions/functions.js'
import { Skip } from './skip.js'
import { isSymbol, type Tokens } from './tokens.js'

/** What the dialect was given as its functions: missing ones among them are failures. */
const promised = [
  ...'array_has array_has_any array_has_all array_contains make_array array_length cardinality'.split(' '),
  ...'regexp_match regexp_like regexp_replace regexp_count contains contains_tokens starts_with ends_with'.split(
    ' ',
  ),
  ...'lower upper length octet_length ltrim strpos replace split_part left concat md5'.split(' '),
  ...'abs round power sqrt coalesce nullif ifnull nvl greatest isnan is_valid random struct'.split(' '),
  ...'date_part date_trunc to_timestamp to_date now current_date arrow_cast arrow_typeof'.split(' '),
  ...'json_extract json_exists json_get json_get_string json_get_int json_get_float json_get_bool'.split(' '),
  ...'json_array_contains json_array_length extract trim substr substring floor ceil position'.split(' '),
  ...'count sum min max avg cast try_cast'.split(' '),
]

/** What the binder knows by itself. */
const rewritten = 'current_timestamp current_time today nvl2 get_field'.split(' ')

const inside = new Set([...promised, ...rewritten, ...functionNames])

/** Words that stand before a bracket and call nothing. */
const words = new Set([
  ...'AND OR NOT IS IN LIKE ILIKE BETWEEN CASE WHEN THEN ELSE DISTINCT ALL FROM FOR VALUES ARRAY'.split(' '),
  ...'DECIMAL NUMERIC VARCHAR CHAR TIMESTAMP TIME DATETIME INTERVAL'.split(' '),
])

/** Throws Skip when an expression calls a function that is no part of the dialect. */
export function refuseFunctions({ list }: Tokens): void {
  for (let i = 0; i + 1 < list.length; i++) {
    const { kind, value, keyword } = list[i]!
    if (kind !== 'name' || !isSymbol(list[i + 1], '(') || words.has(keyword)) continue
    if (!inside.has(value.toLowerCase())) throw new Skip(`function ${value.toLowerCase()}`)
  }
}
