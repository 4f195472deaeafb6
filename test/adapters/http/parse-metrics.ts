/** The text format of Prometheus, 0.0.4, read as strictly as it is written down. */

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const kinds = ['counter', 'gauge', 'histogram', 'summary', 'untyped']
const label = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"/y
const number = /^[+-]?(\d+(\.\d+)?([eE][+-]?\d+)?|Inf)$/

/** Throws for what is not the format: families that come twice or untyped, samples that do, values that are none. */
export function parseMetrics(text: string): Sample[] {
  if (!text.endsWith('\n')) throw new Error('the last line has no end')
  const samples: Sample[] = []
  const families = new Set<string>()
  const seen = new Set<string>()
  let family: { readonly name: string; kind?: string } | undefined
  for (const line of text.slice(0, -1).split('\n')) {
    const fail = (what: string) => new Error(`${what}: ${line}`)
    const [, word, name, rest] = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line) ?? []
    if (word === 'HELP') {
      if (families.has(name!)) throw fail('a family comes twice')
      families.add(name!)
      family = { name: name! }
    } else if (word === 'TYPE') {
      if (family?.name !== name || family?.kind !== undefined || !kinds.includes(rest!)) throw fail('a type')
      family!.kind = rest!
    } else {
      const sample = parseSample(line, fail)
      const suffixes = family?.kind === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
      if (!suffixes.some(suffix => sample.name === family!.name + suffix)) throw fail('not of its family')
      const key = `${sample.name}${JSON.stringify(Object.entries(sample.labels).sort())}`
      if (seen.has(key)) throw fail('a sample comes twice')
      seen.add(key)
      samples.push(sample)
    }
  }
  return samples
}

function parseSample(line: string, fail: (what: string) => Error): Sample {
  const [, name, inner, text] = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
  if (name === undefined || !number.test(text!)) throw fail('no sample')
  const labels: Record<string, string> = {}
  for (let at = 0; inner !== undefined && at < inner.length; ) {
    label.lastIndex = at
    const found = label.exec(inner)
    if (found === null || found[1]! in labels) throw fail(`no label at ${at}`)
    labels[found[1]!] = found[2]!
    at = label.lastIndex
    if (at < inner.length && inner[at++] !== ',') throw fail('no comma')
  }
  return { name, labels, value: Number(text!.replace('Inf', 'Infinity')) }
}
