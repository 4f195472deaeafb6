/** Functions of other dialects get a hint, and the expression of each hint works. */
import { afterAll, expect, test } from 'vitest'
import { connect } from '../../../src/index.js'
import { otherDialectHint, replacedNames } from '../../../src/sql/binding/other-dialects.js'

/** The operands that stand for `x`, `y` and `z` in the hints. Functions that are not listed have `timeOperands`. */
const timeOperands = ['t', 'u', 's']
const otherOperands: readonly (readonly [operands: readonly string[], names: string])[] = [
  [['s', "'b'", 's'], 'strptime str_to_date len strlen ucase lcase mid locate charindex substring_index'],
  [['s', "'b'", 's'], 'string_split str_split string_to_array char ord unicode printf format hex to_base64'],
  [['s', "'b'", 's'], 'startswith endswith prefix suffix glob regexp regexp_matches regexp_extract'],
  [['s', "'b'", 's'], 'regexp_substr sha2 isnull typeof pg_typeof group_concat listagg'],
  [["'6162'"], 'unhex'],
  [["'aGk='"], 'from_base64'],
  [['j', '1'], 'json_value json_extract_string json_extract_path_text json_contains'],
  [['l'], 'array_size'],
  [['b', 's', 's'], 'if iif count_if countif bool_and bool_or every'],
  [['n', '2'], 'ceiling truncate mod convert to_number epoch_ms total std stddev_samp var_samp quantile'],
  [['n'], 'percentile_cont quantile_cont approx_percentile_cont approx_quantile approx_median list'],
  [['n'], 'approx_count_distinct json_group_array first_value last_value any_value arbitrary'],
]

/** Return the expression of the hint for a function, with operands instead of its letters. */
function replacementOf(name: string): string {
  const listed = otherOperands.find(([, names]) => names.split(' ').includes(name))
  const [x, y, z] = listed?.[0] ?? timeOperands
  const operands: Readonly<Record<string, string | undefined>> = { x, y, z }
  return otherDialectHint(name)!
    .replace(/^write /, '')
    .replace(', which is exact', '')
    .replace(/\b[xyz]\b/g, letter => operands[letter]!)
}

const row = {
  t: new Date('2026-03-05T17:08:09Z'),
  u: new Date('2026-03-01T17:08:09Z'),
  s: '2026-03-05',
  j: '{"key":[1]}',
  l: [1],
  b: true,
  n: 7,
}
const ns = await connect('memory://other-dialects')
const table = await ns.createTable('t', [row, row])
afterAll(() => ns.close())

const evaluated = async (expression: string) =>
  (await table.query().select({ value: expression }).limit(1).toArray())[0]!.value

test.each(replacedNames)('%s does not exist, and the expression of its hint works', async name => {
  await expect(evaluated(`${name}(t)`)).rejects.toThrow(
    expect.objectContaining({ code: 13, hint: expect.stringMatching(/^write /) }),
  )
  await expect(evaluated(replacementOf(name))).resolves.toBeDefined()
})

test.each([
  ['year', 2026],
  ['week', 10],
  ['dayofyear', 64],
  ['strftime', '2026-03-05'],
  ['monthname', 'March'],
  ['last_day', new Date('2026-03-31')],
  ['datediff', 4],
  ['julianday', 2_461_105.2139930557],
  ['len', 10],
  ['mod', 1],
  ['count_if', 2],
])('the replacement of %s is %s', async (name, value) => {
  expect(await evaluated(replacementOf(name))).toEqual(value)
})

test('functions of search have a hint that names the method', async () => {
  await expect(evaluated('l2_distance(l, l)')).rejects.toMatchObject({
    hint: 'search by vector: table.search(vector) adds the column _distance',
  })
  await expect(evaluated("MATCH(s, 'a')")).rejects.toMatchObject({
    hint: "search by text: table.search('words') adds the column _score",
  })
})

test.each([
  ['YYYY-MM', '%Y-%m'],
  ['DD Mon YYYY HH24:MI:SS.MS', '%d %b %Y %H:%M:%S.%3f'],
  ['yyyy-MM-dd HH:mm:ss', '%Y-%m-%d %H:%M:%S'],
  ['none', '%Y-%m-%d'],
])('to_char with the format %s shows the format of strftime', async (format, written) => {
  await expect(evaluated(`to_char(t, '${format}')`)).rejects.toMatchObject({
    code: 13,
    message: expect.stringContaining('has no conversion such as %Y'),
    hint: `write the conversions of strftime, for example '${written}'`,
  })
  await expect(evaluated(`to_char(t, '${written}')`)).resolves.toBeTypeOf('string')
})
