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
}

interface Difference {
  readonly rows: string
  readonly reason: string
}

const numbers = 'integers and decimals compare as numbers'
const dialect = 'syntax or a function of the dialect'

/** LanceDB refused these; Sheaf gives the rows that a reader expects. */
export const acceptedOnPurpose: Readonly<Record<string, Difference>> = {
  'a = 1.0': { rows: '1', reason: numbers },
  'a > 1.5': { rows: '2,3,4,5', reason: numbers },
  'big > 1e18': { rows: '', reason: numbers },
  "d = '2021-01-01'": { rows: '1,2,4,5', reason: 'an ISO 8601 text is read as a date beside one' },
  "cast(a as varchar)='1'": { rows: '1', reason: 'varchar and text are names of the string type' },
  'ceil(x)=1': { rows: '1,5', reason: dialect },
  'floor(x)=1': { rows: '1', reason: dialect },
  'a & 1 = 1': { rows: '1,3,5', reason: dialect },
  'a | 1 = 1': { rows: '1', reason: dialect },
  "labels @> ['a']": { rows: '1,2,5', reason: dialect },
  "ts at time zone 'UTC' > timestamp '2020-01-01'": { rows: '1,2,4,5', reason: dialect },
  'a is distinct from 1': { rows: '2,3,4,5', reason: dialect },
  'case when a=1 then 2 else 3 end = 2': { rows: '1', reason: dialect },
  'extract(year from d) = 2021': { rows: '1,2,4,5', reason: dialect },
  "position('a' in s) = 1": { rows: '1', reason: dialect },
  "s ~ 'a'": { rows: '1', reason: dialect },
  "trim(s)='a'": { rows: '1', reason: dialect },
  'x = +1': { rows: '1', reason: dialect },
}
