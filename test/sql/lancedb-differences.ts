/**
 * Where Sheaf means to answer differently from LanceDB 0.39, with the reason. Everything not listed is either
 * refused by both or gives the same rows.
 */

/** LanceDB ran these; Sheaf refuses them. */
export const refusedOnPurpose: Readonly<Record<string, string>> = {
  'a=1 garbage': 'what follows an expression is never ignored',
  'a=1;': 'what follows an expression is never ignored',
  'a=1; drop table t': 'what follows an expression is never ignored',
  "s = 'a' 'b'": 'two strings side by side are a typing mistake',
  's = "a"': 'the table has a column named a, so "a" is that column (A-058), an int64',
  'x = 1 / 0': 'an integer divided by zero is an error, whatever it is compared with',
}

/** LanceDB refused these; Sheaf gives the rows that a reader expects. */
export const acceptedOnPurpose: Readonly<Record<string, { readonly rows: string; readonly reason: string }>> =
  {
    'a = 1.0': { rows: '1', reason: 'integers and decimals compare as numbers' },
    'a > 1.5': { rows: '2,3,4,5', reason: 'integers and decimals compare as numbers' },
    'big > 1e18': { rows: '', reason: 'integers and decimals compare as numbers' },
    "d = '2021-01-01'": { rows: '1,2,4,5', reason: 'an ISO 8601 text is read as a date beside one' },
    "cast(a as varchar)='1'": { rows: '1', reason: 'varchar and text are names of the string type' },
    'ceil(x)=1': { rows: '1,5', reason: 'a function of the dialect' },
    'floor(x)=1': { rows: '1', reason: 'a function of the dialect' },
  }

/** LanceDB ran these; Sheaf does not have the function, type or syntax yet, and says so. */
export const notYet: readonly string[] = [
  "array_has_any(labels, make_array('a'))",
  'cardinality(labels)=2',
  "contains_tokens(s,'a')",
  "date_trunc('month', ts) = timestamp '2021-01-01 00:00:00'",
  "dc = decimal(8,3) '1.000'",
  'is_valid(x)',
  "ltrim(s)='a'",
  'octet_length(s)=1',
  'power(a,2)=1',
  'random() >= 0',
  "regexp_like(s,'^a')",
  "regexp_match(s,'^a')",
  "regexp_match(s,'^a') is not null",
  'struct(a) is not null',
  "ts > to_timestamp('2021-01-01')",
]
