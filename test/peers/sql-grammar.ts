/**
 * Random expressions that two engines understand, each in its own words: rules say how an expression of a type is made
 * of others, trees are what came of them.
 */

export const kinds = ['bool', 'int', 'wide', 'float', 'text', 'date', 'time', 'decimal'] as const
export type Kind = (typeof kinds)[number]

export interface Column {
  readonly name: string
  readonly kind: Kind
}

/** Columns c1 and c2 of every kind; c3 of text is a dictionary. */
export const columns: readonly Column[] = [
  ...kinds.flatMap(kind => [1, 2].map(n => ({ name: `${kind}${n}`, kind }))),
  { name: 'int3', kind: 'int' },
  { name: 'text3', kind: 'text' },
]

/** `{}` in a template stands for the next part, `{2}` for the second. */
interface Rule {
  readonly kind: Kind
  readonly parts: readonly Kind[]
  readonly ours: string
  readonly theirs: string
}

export interface Tree {
  readonly rule: Rule
  readonly parts: readonly Tree[]
}

export type Side = 'ours' | 'theirs'

export function render({ rule, parts }: Tree, side: Side): string {
  let next = 0
  return rule[side].replace(/\{(\d*)\}/g, (_, number: string) => {
    return render(parts[number === '' ? next++ : Number(number) - 1]!, side)
  })
}

/** `{kind}` in `ours` is a part; `theirs` has the same parts in the same order, unless it names them by number. */
function rule(kind: Kind, ours: string, theirs?: string): Rule {
  const parts: Kind[] = []
  const template = ours.replace(/\{(\w+)\}/g, (_, part: Kind) => {
    parts.push(part)
    return '{}'
  })
  return { kind, parts, ours: template, theirs: theirs ?? template }
}

function leaf(kind: Kind, ours: string, theirs = ours): Rule {
  return { kind, parts: [], ours, theirs }
}

/** What a value of a kind may be written as. Small integers, so that sums and products of a few fit 32 bits. */
export const literals: Readonly<Record<Kind, readonly Rule[]>> = {
  bool: ['TRUE', 'FALSE'].map(text => leaf('bool', text)),
  int: ['0', '1', '2', '-1', '-3', '7', '12', '50'].map(text => leaf('int', text)),
  wide: ['0', '9007199254740993', '-9007199254740993', '9223372036854775807', '4294967296'].map(text =>
    leaf('wide', text),
  ),
  float: ['0.0', '0.5', '-1.5', '2.5', '1e10', '-0.1'].map(text => leaf('float', `CAST(${text} AS DOUBLE)`)),
  text: ['', 'a', 'b', 'ab', 'A', 'É', '🎉', 'a%', 'abcdefgh', 'abcdefghi', ' b '].map(text =>
    leaf('text', `'${text}'`),
  ),
  date: ['2024-02-29', '1970-01-01', '1969-12-31', '2021-01-01'].map(text => leaf('date', `DATE '${text}'`)),
  time: ['2024-02-29 12:34:56.789012', '1970-01-01 00:00:00', '1969-12-31 23:59:59.999999'].map(text =>
    leaf('time', `TIMESTAMP '${text}'`),
  ),
  decimal: ['0', '1.5', '-2.125', '99999.999'].map(text =>
    leaf('decimal', `CAST('${text}' AS DECIMAL(18, 3))`),
  ),
}

const typeNames: Readonly<Record<Kind, string>> = {
  bool: 'BOOLEAN',
  int: 'BIGINT',
  wide: 'BIGINT',
  float: 'DOUBLE',
  text: 'VARCHAR',
  date: 'DATE',
  time: 'TIMESTAMP',
  decimal: 'DECIMAL(18, 3)',
}

export function typeNameOf(kind: Kind): string {
  return typeNames[kind]
}

/** What holds for values of every kind. */
const general: readonly Rule[] = kinds.flatMap(kind => [
  ...['=', '<>', '<', '<=', '>', '>='].map(op => rule('bool', `({${kind}} ${op} {${kind}})`)),
  rule('bool', `({${kind}} BETWEEN {${kind}} AND {${kind}})`),
  rule('bool', `({${kind}} NOT BETWEEN {${kind}} AND {${kind}})`),
  rule('bool', `({${kind}} IS NULL)`),
  rule('bool', `({${kind}} IS NOT NULL)`),
  rule('bool', `({${kind}} IS DISTINCT FROM {${kind}})`),
  rule('bool', `({${kind}} IS NOT DISTINCT FROM {${kind}})`),
  rule('bool', `({${kind}} IN ({${kind}}, {${kind}}))`),
  rule('bool', `({${kind}} IN ({${kind}}, {${kind}}, NULL, {${kind}}))`),
  rule('bool', `({${kind}} NOT IN ({${kind}}, {${kind}}, {${kind}}))`),
  rule('bool', `({${kind}} NOT IN ({${kind}}, NULL))`),
  ...membership(kind),
  rule(kind, `CASE WHEN {bool} THEN {${kind}} ELSE {${kind}} END`),
  rule(kind, `CASE WHEN {bool} THEN {${kind}} WHEN {bool} THEN {${kind}} END`),
  rule(kind, `CASE {int} WHEN {int} THEN {${kind}} WHEN {int} THEN {${kind}} ELSE {${kind}} END`),
  rule(kind, `COALESCE({${kind}}, {${kind}})`),
  rule(kind, `COALESCE({${kind}}, {${kind}}, {${kind}})`),
  rule(kind, `NULLIF({${kind}}, {${kind}})`),
  ...(kind === 'bool'
    ? []
    : [rule(kind, `greatest({${kind}}, {${kind}})`), rule(kind, `least({${kind}}, {${kind}}, {${kind}})`)]),
])

/** Lists of constants, without and with NULL. */
function membership(kind: Kind): Rule[] {
  const list = literals[kind].map(({ ours }) => ours)
  return [
    rule('bool', `({${kind}} IN (${list.slice(0, 2).join(', ')}))`),
    rule('bool', `({${kind}} IN (${list.join(', ')}))`),
    rule('bool', `({${kind}} NOT IN (${list.slice(1).join(', ')}))`),
    rule('bool', `({${kind}} IN (${list.slice(1, 4).join(', ')}, NULL))`),
    rule('bool', `({${kind}} NOT IN (NULL, ${list[0]}))`),
  ]
}

const logic: readonly Rule[] = [
  rule('bool', '({bool} AND {bool})'),
  rule('bool', '({bool} OR {bool})'),
  rule('bool', '({bool} AND {bool} AND {bool})'),
  rule('bool', '({bool} OR {bool} OR {bool})'),
  rule('bool', '(NOT {bool})'),
  ...['TRUE', 'FALSE', 'NOT TRUE', 'NOT FALSE'].map(what => rule('bool', `({bool} IS ${what})`)),
  rule('bool', '({bool} IS UNKNOWN)', '({} IS NULL)'),
]

const patterns = [
  'a%',
  '%b',
  '%a%',
  'a_',
  '_',
  '%',
  '',
  'a%b',
  '%b%a%',
  'É%',
  '_🎉%',
  'abcdefgh%',
  '%efghi',
  'a!%%',
]

const texts: readonly Rule[] = [
  ...patterns.flatMap(pattern => [
    rule('bool', `({text} LIKE '${pattern}' ESCAPE '!')`),
    rule('bool', `({text} NOT LIKE '${pattern}' ESCAPE '!')`),
    rule('bool', `({text} ILIKE '${pattern}' ESCAPE '!')`),
  ]),
  rule('bool', '({text} LIKE {text})'),
  rule('bool', '({text} NOT ILIKE {text})'),
  rule('bool', 'starts_with({text}, {text})'),
  rule('bool', 'ends_with({text}, {text})'),
  rule('bool', 'contains({text}, {text})'),
  rule('bool', "regexp_like({text}, '^a.*[b-i]$')", "regexp_matches({}, '^a.*[b-i]$')"),
  rule('text', '({text} || {text})'),
  rule('text', 'lower({text})'),
  rule('text', 'upper({text})'),
  rule('text', 'reverse({text})'),
  rule('text', 'concat({text}, {text}, {text})'),
  rule('text', "concat_ws('-', {text}, {text})"),
  rule('text', 'ltrim({text})'),
  rule('text', 'rtrim({text})'),
  rule('text', 'trim({text})'),
  rule('text', "btrim({text}, 'a ')", "trim({}, 'a ')"),
  rule('text', "replace({text}, 'a', {text})"),
  rule('text', "replace({text}, 'ab', '🎉')"),
  rule('text', "translate({text}, 'abÉ', 'xy')"),
  ...['0', '1', '2', '-1', '20'].map(count => rule('text', `left({text}, ${count})`)),
  ...['0', '1', '2', '-1', '20'].map(count => rule('text', `right({text}, ${count})`)),
  ...['1', '2', '5'].map(from => rule('text', `substr({text}, ${from})`)),
  ...['1, 1', '2, 3', '3, 0', '1, 30'].map(range => rule('text', `substr({text}, ${range})`)),
  ...['1', '3', '9'].map(size => rule('text', `lpad({text}, ${size}, 'xy')`)),
  ...['0', '3', '9'].map(size => rule('text', `rpad({text}, ${size}, '🎉')`)),
  ...['1', '2', '3'].map(part => rule('text', `split_part({text}, 'b', ${part})`)),
  rule('text', 'repeat({text}, 2)', 'repeat(CAST({} AS VARCHAR), 2)'),
  rule('text', 'CAST({int} AS VARCHAR)'),
  rule('text', 'CAST({bool} AS VARCHAR)'),
  rule('text', 'CAST({date} AS VARCHAR)'),
  rule('text', 'CAST({wide} AS VARCHAR)'),
  rule('int', 'length({text})'),
  rule('int', 'octet_length({text})', 'strlen({})'),
  rule('int', 'strpos({text}, {text})'),
  rule('int', 'ascii({text})'),
  rule(
    'int',
    'TRY_CAST({text} AS BIGINT)',
    "CASE WHEN regexp_full_match({}, '-?[0-9]+') THEN TRY_CAST({1} AS BIGINT) END",
  ),
]

const numbers: readonly Rule[] = [
  ...['+', '-'].flatMap(op => [
    rule('int', `({int} ${op} {int})`),
    rule('float', `({float} ${op} {float})`),
    rule('float', `({int} ${op} {float})`),
    rule('decimal', `(decimal1 ${op} {decimal})`),
  ]),
  rule('int', '(int1 * {int})'),
  rule('int', '(-{int})'),
  rule('float', '({float} * {float})'),
  rule('float', '({float} / {float})'),
  rule('float', '({int} * {float})'),
  rule('float', '(-{float})'),
  rule('decimal', '(decimal1 * decimal2)'),
  ...['1', '2', '-3', '7'].flatMap(divisor => [
    rule('int', `({int} / ${divisor})`, `({} // ${divisor})`),
    rule('int', `({int} % ${divisor})`),
  ]),
  rule('int', '({int} / coalesce(nullif(int3, 0), 5))', '({} // coalesce(nullif(int3, 0), 5))'),
  rule('int', '({int} % coalesce(nullif(int2, 0), -5))'),
  rule('int', 'abs({int})'),
  rule('float', 'signum({int})', 'CAST(sign({}) AS DOUBLE)'),
  rule('int', 'greatest({int}, {int}, 3)'),
  rule('float', 'abs({float})'),
  rule('float', 'floor({float})'),
  rule('float', 'ceil({float})'),
  rule('float', 'round({float})'),
  rule('float', 'trunc({float})'),
  rule('float', 'sqrt(abs({float}))'),
  rule('bool', 'isnan({float})'),
  rule('decimal', 'abs({decimal})'),
  rule('float', 'CAST({int} AS DOUBLE)'),
  rule('float', 'CAST({decimal} AS DOUBLE)'),
  rule('int', 'CAST({bool} AS BIGINT)'),
  rule('bool', 'CAST({int} AS BOOLEAN)'),
  rule('decimal', 'CAST({int} AS DECIMAL(18, 3))'),
  rule('bool', '({int} < {float})'),
  rule('bool', '({int} = {float})'),
  rule('bool', '({float} >= {int})'),
  rule('bool', '({wide} > {int})'),
  rule('bool', '({int} <> {wide})'),
  rule('bool', '({decimal} <= {int})'),
  rule('bool', '({int} = {decimal})'),
  rule('bool', '({decimal} > 1.25)'),
  rule('bool', '({int} > 1.5)'),
  rule('bool', '({int} IN (1, 2.0, 2.5))'),
  rule('bool', '({float} IN (1, 2, 0.5))'),
]

const instants: readonly Rule[] = [
  ...['year', 'month', 'day', 'quarter', 'week', 'dow', 'doy'].flatMap(part => [
    rule('int', `date_part('${part}', {date})`),
    rule('int', `date_part('${part}', {time})`),
    rule('int', `EXTRACT(${part} FROM {time})`),
  ]),
  ...['hour', 'minute', 'second'].map(part => rule('int', `date_part('${part}', {time})`)),
  ...['year', 'quarter', 'month', 'week', 'day', 'hour', 'minute', 'second'].map(unit =>
    rule('time', `date_trunc('${unit}', {time})`),
  ),
  rule('date', 'CAST({time} AS DATE)'),
  rule('time', 'CAST({date} AS TIMESTAMP)'),
  rule('bool', '({date} < {time})'),
  rule('bool', '({time} >= {date})'),
  rule('bool', "({time} > '2024-02-29 00:00:00')"),
  rule('bool', "({date} = '1970-01-01')"),
  ...["'3' DAY", "'1' MONTH", "'90' MINUTE", "'2' YEAR"].flatMap(interval => [
    rule('time', `({time} + INTERVAL ${interval})`),
    rule('time', `({time} - INTERVAL ${interval})`),
  ]),
  ...["'3' DAY", "'1' MONTH", "'13' MONTH"].map(interval =>
    rule('date', `({date} + INTERVAL ${interval})`, `CAST({} + INTERVAL ${interval} AS DATE)`),
  ),
  rule('bool', "({time} - {time} > INTERVAL '36' HOUR)"),
]

/** Rules of a kind; one in ten of those for conditions is about logic. */
const rulesOf = new Map<Kind, readonly Rule[]>(
  kinds.map(kind => {
    const all = [...general, ...logic, ...texts, ...numbers, ...instants].filter(each => each.kind === kind)
    return [kind, all]
  }),
)

/** A random tree of at most `depth` levels of rules above columns and constants. */
export function randomTree(kind: Kind, depth: number, random: () => number): Tree {
  const choose = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!
  const grow = (kind: Kind, depth: number): Tree => {
    if (depth > 0 && random() < 0.9) {
      const rule = kind === 'bool' && random() < 0.3 ? choose(logic) : choose(rulesOf.get(kind)!)
      return { rule, parts: rule.parts.map(part => grow(part, depth - 1)) }
    }
    const chance = random()
    if (chance < 0.05) return { rule: leaf(kind, `CAST(NULL AS ${typeNames[kind]})`), parts: [] }
    if (chance < 0.25) return { rule: choose(literals[kind]), parts: [] }
    const { name } = choose(columns.filter(column => column.kind === kind))
    return { rule: leaf(kind, name), parts: [] }
  }
  return grow(kind, depth)
}

/** Smaller trees of the same kind, the smallest first. */
export function* smaller(tree: Tree): Generator<Tree> {
  const { rule, parts } = tree
  if (parts.length === 0) return
  for (const column of columns) {
    if (column.kind === rule.kind) yield { rule: leaf(rule.kind, column.name), parts: [] }
  }
  for (const literal of literals[rule.kind].slice(0, 2)) yield { rule: literal, parts: [] }
  for (const part of parts) if (part.rule.kind === rule.kind) yield part
  for (const [i, part] of parts.entries()) {
    for (const less of smaller(part)) yield { rule, parts: parts.with(i, less) }
  }
}

/** Nodes of a tree. */
export function sizeOf({ parts }: Tree): number {
  return parts.reduce((sum, part) => sum + sizeOf(part), 1)
}
