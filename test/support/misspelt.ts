/** Every name that a shape declares, misspelt where it stands: what a caller mistypes, and what is then to be told. */
import { nearestName } from '../../src/errors.js'
import { namesOf } from '../../src/protocol/parse.js'
import type { Fields, Shape } from '../../src/protocol/shape.js'

export interface Misspelling {
  /** A value of the shape, with one name in it misspelt. */
  readonly value: unknown
  /** Where it stands, as messages have it. */
  readonly path: string
  /** Names that may stand there. */
  readonly known: readonly string[]
  /** The one that is nearest, if any is near. */
  readonly near: string | undefined
}

/** A part of a value, and how the whole is put together around it. */
type Around = (part: unknown) => unknown

/** At most so many operators within operators. */
const depthMost = 2

export function misspellings(shape: Shape): Misspelling[] {
  return [...walk(shape, value => value, '', [])]
}

function* walk(
  shape: Shape,
  around: Around,
  path: string,
  within: readonly string[],
): Generator<Misspelling> {
  switch (shape.kind) {
    case 'object': {
      const sample = sampleFields(shape.fields, shape.rules.exactlyOne)
      yield* namesMisspelt(namesOf(shape.fields), sample, around, path)
      for (const [name, field] of Object.entries(shape.fields)) {
        // Beside one of several that exclude each other none of the others stands.
        const others = shape.rules.exactlyOne?.includes(name)
          ? without(sample, shape.rules.exactlyOne)
          : sample
        yield* walk(field.shape, part => around({ ...others, [name]: part }), joined(path, name), within)
      }
      return
    }
    case 'choice':
      for (const [name, field] of Object.entries(shape.fields)) {
        yield* namesMisspelt(namesOf(shape.fields), { [name]: sampleOf(field.shape) }, around, path)
        yield* walk(field.shape, part => around({ [name]: part }), joined(path, name), within)
      }
      return
    case 'options': {
      const needed = Object.fromEntries(shape.needed.map(name => [name, sampleOf(shape.fields[name]!)]))
      yield* namesMisspelt(Object.keys(shape.fields), needed, around, path)
      for (const [name, field] of Object.entries(shape.fields)) {
        yield* walk(field, part => around({ ...needed, [name]: part }), joined(path, name), within)
      }
      return
    }
    case 'either':
      for (const alternative of shape.alternatives) yield* walk(alternative.shape, around, path, within)
      return
    case 'array':
      yield* walk(shape.item, part => around([part]), `${path}[0]`, within)
      return
    case 'record':
      yield* walk(shape.value, part => around({ any: part }), joined(path, 'any'), within)
      return
    case 'tuple':
      for (const [i, item] of shape.items.entries()) {
        const sample = shape.items.map(sampleOf)
        yield* walk(item, part => around(sample.with(i, part)), `${path}[${i}]`, within)
      }
      return
    case 'nullable':
      yield* walk(shape.shape, around, path, within)
      return
    case 'accept':
      yield* walk(shape.shape, around, path, within)
      if (shape.other !== undefined) yield* walk(shape.other.shape, around, path, within)
      return
    case 'named':
      if (within.filter(name => name === shape.name).length < depthMost)
        yield* walk(shape.shape(), around, path, [...within, shape.name])
      return
  }
}

function* namesMisspelt(
  known: readonly string[],
  sample: object,
  around: Around,
  path: string,
): Generator<Misspelling> {
  for (const name of known) {
    const wrong = misspelt(name, known)
    const value = around({ ...sample, [wrong]: 'anything' })
    yield { value, path: joined(path, wrong), known, near: nearestName(wrong, known) }
  }
}

/** With its last letter doubled, or a letter more where that is another name. */
function misspelt(name: string, known: readonly string[]): string {
  return [`${name}${name.at(-1)}`, `${name}zz`].find(wrong => !known.includes(wrong))!
}

function joined(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

function without(value: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)))
}

function sampleFields(fields: Fields, exactlyOne: readonly string[] = []): object {
  const names = Object.keys(fields).filter(name => fields[name]!.required || name === exactlyOne[0])
  return Object.fromEntries(names.map(name => [name, sampleOf(fields[name]!.shape)]))
}

/** A value that the shape takes. */
export function sampleOf(shape: Shape): unknown {
  switch (shape.kind) {
    case 'string':
      return ['main', '30s', 'name'].find(text => passes(shape.check, text))
    case 'boolean':
      return true
    case 'number':
      return 1
    case 'integer':
      return Math.max(1, shape.min)
    case 'enumeration':
      return shape.values[0]
    case 'vector':
      return [1, 2]
    case 'array':
      return [sampleOf(shape.item)]
    case 'tuple':
      return shape.items.map(sampleOf)
    case 'record':
      return {}
    case 'object':
      return sampleFields(shape.fields, shape.rules.exactlyOne)
    case 'choice': {
      const [name, field] = Object.entries(shape.fields)[0]!
      return { [name]: sampleOf(field.shape) }
    }
    case 'nullable':
    case 'accept':
      return sampleOf(shape.shape)
    case 'named':
      return sampleOf(shape.shape())
    case 'json':
      return []
    case 'options':
      return Object.fromEntries(shape.needed.map(name => [name, sampleOf(shape.fields[name]!)]))
    case 'either':
      return sampleOf(shape.alternatives[0]!.shape)
    case 'given':
      return givenSamples.find(shape.is)
  }
}

const givenSamples = [() => {}, 1, {}, [], 'name', AbortSignal.any([])]

function passes(check: ((text: string, where: string) => void) | undefined, text: string): boolean {
  try {
    check?.(text, '')
    return true
  } catch {
    return false
  }
}
