/**
 * Functions of other SQL dialects (SQLite, PostgreSQL, MySQL, DuckDB, DataFusion) that do not exist here, with the
 * expression to write instead.
 */

/** Parts of a date that other dialects read with a function of their own, with the names that `extract` takes. */
const dateParts: Readonly<Record<string, string>> = {
  year: 'year',
  isoyear: 'isoyear',
  quarter: 'quarter',
  month: 'month',
  week: 'week',
  weekofyear: 'week',
  day: 'day',
  dayofmonth: 'day',
  dayofweek: 'dow',
  isodow: 'isodow',
  weekday: 'dow',
  dayofyear: 'doy',
  hour: 'hour',
  minute: 'minute',
  second: 'second',
  millisecond: 'millisecond',
  microsecond: 'microsecond',
  epoch: 'epoch',
}

/** Replacement by function name. In the replacements, `x`, `y` and `z` stand for the arguments. */
const replacements: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(dateParts).map(([name, part]) => [name, `extract(${part} from x)`] as const),
  ),
  // Dates and times
  strftime: "to_char(x, '%Y-%m-%d')",
  monthname: "to_char(x, '%B')",
  dayname: "to_char(x, '%A')",
  strptime: "to_timestamp(x, '%Y-%m-%d')",
  str_to_date: "to_date(x, '%Y-%m-%d')",
  datetime: 'CAST(x AS timestamp)',
  timestamp: 'CAST(x AS timestamp)',
  date: 'CAST(x AS date)',
  time: 'CAST(x AS time)',
  julianday: 'extract(epoch from x) / 86400.0 + 2440587.5',
  unixepoch: 'to_unixtime(x)',
  unix_timestamp: 'to_unixtime(x)',
  epoch_ms: 'to_timestamp_millis(x)',
  curdate: 'current_date()',
  curtime: 'current_time()',
  getdate: 'now()',
  sysdate: 'now()',
  localtimestamp: 'now()',
  datediff: 'extract(day from x - y)',
  date_diff: 'extract(day from x - y)',
  timestampdiff: 'extract(second from x - y)',
  age: 'x - y',
  dateadd: "x + INTERVAL '1 day'",
  date_add: "x + INTERVAL '1 day'",
  adddate: "x + INTERVAL '1 day'",
  datesub: "x - INTERVAL '1 day'",
  date_sub: "x - INTERVAL '1 day'",
  subdate: "x - INTERVAL '1 day'",
  last_day: "date_trunc('month', x) + INTERVAL '1 month' - INTERVAL '1 day'",
  time_bucket: "date_bin(INTERVAL '15 minutes', x)",
  // Texts
  len: 'length(x)',
  strlen: 'octet_length(x)',
  ucase: 'upper(x)',
  lcase: 'lower(x)',
  mid: 'substr(x, 1, 3)',
  locate: 'strpos(x, y)',
  charindex: 'strpos(x, y)',
  substring_index: "split_part(x, ',', 1)",
  string_split: "split_part(x, ',', 1)",
  str_split: "split_part(x, ',', 1)",
  string_to_array: "split_part(x, ',', 1)",
  char: 'chr(65)',
  ord: 'ascii(x)',
  unicode: 'ascii(x)',
  printf: 'concat(x, y)',
  format: 'concat(x, y)',
  hex: "encode(x, 'hex')",
  unhex: "decode(x, 'hex')",
  to_base64: "encode(x, 'base64')",
  from_base64: "decode(x, 'base64')",
  startswith: 'starts_with(x, y)',
  endswith: 'ends_with(x, y)',
  prefix: 'starts_with(x, y)',
  suffix: 'ends_with(x, y)',
  glob: "x LIKE 'a%'",
  regexp: "regexp_like(x, 'a+')",
  regexp_matches: "regexp_like(x, 'a+')",
  regexp_extract: "regexp_match(x, '(a+)')[1]",
  regexp_substr: "regexp_match(x, '(a+)')[1]",
  sha2: 'sha256(x)',
  // Conditions
  if: 'CASE WHEN x THEN y ELSE z END',
  iif: 'CASE WHEN x THEN y ELSE z END',
  isnull: 'x IS NULL',
  // Numbers and types
  ceiling: 'ceil(x)',
  truncate: 'trunc(x)',
  mod: 'x % y',
  rand: 'random()',
  typeof: 'arrow_typeof(x)',
  pg_typeof: 'arrow_typeof(x)',
  convert: 'CAST(x AS int)',
  to_number: 'CAST(x AS double)',
  gen_random_uuid: 'uuid()',
  newid: 'uuid()',
  // JSON and lists
  json_value: "json_get_string(x, 'key')",
  json_extract_string: "json_get_string(x, 'key')",
  json_extract_path_text: "json_get_string(x, 'key')",
  json_contains: "json_array_contains(x, '$.key', y)",
  array_size: 'array_length(x)',
  // Aggregates
  percentile_cont: 'percentile(x, 0.9)',
  quantile_cont: 'percentile(x, 0.9)',
  quantile: 'percentile(x, 0.9)',
  approx_percentile_cont: 'percentile(x, 0.9)',
  approx_quantile: 'percentile(x, 0.9)',
  approx_median: 'median(x)',
  approx_count_distinct: 'count(DISTINCT x), which is exact',
  count_if: 'count(*) FILTER (WHERE x)',
  countif: 'count(*) FILTER (WHERE x)',
  total: 'coalesce(sum(x), 0)',
  std: 'stddev(x)',
  stddev_samp: 'stddev(x)',
  var_samp: 'variance(x)',
  bool_and: 'min(x)',
  bool_or: 'max(x)',
  every: 'min(x)',
  group_concat: "string_agg(x, ',')",
  listagg: "string_agg(x, ',')",
  list: 'array_agg(x)',
  json_group_array: 'array_agg(x)',
  first_value: 'first(x)',
  last_value: 'last(x)',
  any_value: 'first(x) FILTER (WHERE x IS NOT NULL)',
  arbitrary: 'first(x) FILTER (WHERE x IS NOT NULL)',
}

const vectorSearch = 'search by vector: table.search(vector) adds the column _distance'
const textSearch = "search by text: table.search('words') adds the column _score"

/** Hints for functions that no expression replaces, by function name. */
const otherWays: Readonly<Record<string, string>> = {
  array_distance: vectorSearch,
  array_cosine_distance: vectorSearch,
  list_distance: vectorSearch,
  cosine_distance: vectorSearch,
  l2_distance: vectorSearch,
  vec_distance_l2: vectorSearch,
  vec_distance_cosine: vectorSearch,
  match: textSearch,
  bm25: textSearch,
  match_bm25: textSearch,
  to_tsvector: textSearch,
  to_tsquery: textSearch,
}

/** Return the hint for a function of another dialect, in any case. Return undefined for an unknown name. */
export function otherDialectHint(name: string): string | undefined {
  const folded = name.toLowerCase()
  if (Object.hasOwn(replacements, folded)) return `write ${replacements[folded]}`
  return Object.hasOwn(otherWays, folded) ? otherWays[folded] : undefined
}

/** Names of the functions that an expression replaces. */
export const replacedNames: readonly string[] = Object.keys(replacements)
