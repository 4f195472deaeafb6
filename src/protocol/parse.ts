/**
 * Checks a value by a shape. Returns a copy in normal form, or throws a SheafError with the position, the expectation
 * and the actual value.
 *
 * - The copy shares no memory with the input, so the caller may reuse its buffers immediately. Only `given` values are
 *   not copied.
 * - An unknown name is an error. The message lists the known names and suggests the most similar name. In requests and
 *   replies, a name with the value null counts as absent, even if the name is unknown. The name `__proto__` is always
 *   refused.
 * - In requests, `[]` and `{}` count as absent, like null, unless the field gives them a meaning. The reason is that
 *   clients for typed languages write them for every field that their caller did not set. In replies, they are values.
 * - The depth is limited, so a cyclic value leads to an ordinary error.
 */
import { isDeepStrictEqual } from 'node:util'
import { cut, invalidInput, nearestName, quote, type SheafError, shortList } from '../errors.js'
import { isRounded } from './json.js'
import {
  type AcceptShape,
  type ArrayShape,
  type ChoiceShape,
  type EitherShape,
  type EnumerationShape,
  type Field,
  type Fields,
  type IntegerShape,
  type JsonShape,
  json,
  type NameHints,
  number,
  type ObjectRules,
  type ObjectShape,
  type OptionsShape,
  type RecordShape,
  type Shape,
  type StringShape,
  type TupleShape,
  type VectorShape,
  type VectorValues,
} from './shape.js'

/** Maximum levels of nesting. A full-text query needs three levels per operator. */
const maxDepth = 100

/**
 * Return the normal form of `value`. `label` is the name of the value. Messages begin with it, for example
 * `queryTable: k must be an integer >= 0, got -1`, or `queryTable needs id: an array`.
 *
 * Throws InvalidInput, and the errors of `StringShape.check`.
 */
export function parse<T>(shape: Shape<T>, value: unknown, label: string): T {
  return read(shape, value, new Place(label, null)) as T
}

/** Like `parse`, but skip unknown names, and add the paths of the first 100 unknown names to `skipped`. */
export function parseKnown<T>(shape: Shape<T>, value: unknown, label: string, skipped: string[]): T {
  return read(shape, value, new Place(label, skipped)) as T
}

/**
 * Read a reply. `[]` and `{}` are values. Unknown names are skipped, because a newer server may send further fields.
 */
export function parseReply<T>(shape: Shape<T>, value: unknown, label: string): T {
  return read(shape, value, new Place(label, [], true)) as T
}

/** Throw the same InvalidInput as `parse` for a name that is not in `known`. */
export function refuseName(name: string, known: readonly string[], label: string): never {
  throw new Place(label, null).unknown(name, known, 'parameter')
}

/** The current position in the value. Creates errors whose messages have this position. */
class Place {
  /** Array to which the paths of unknown names are added. Null: unknown names are errors. */
  readonly skipped: string[] | null
  /** Whether `[]` and `{}` are values in every field. */
  readonly keepsEmpty: boolean
  readonly #label: string
  readonly #keys: (string | number)[] = []

  constructor(label: string, skipped: string[] | null, keepsEmpty = false) {
    this.#label = label
    this.skipped = skipped
    this.keepsEmpty = keepsEmpty
  }

  enter(key: string | number): void {
    this.#keys.push(key)
    if (this.#keys.length > maxDepth) {
      throw invalidInput(
        `${this.#label}: the value is nested deeper than ${maxDepth} levels at ${this.#path().slice(0, 80)}`,
      )
    }
  }

  leave(): void {
    this.#keys.pop()
  }

  error(problem: string, hint?: string): SheafError {
    return invalidInput(`${this.toString()} ${problem}`, { hint })
  }

  mismatch(shape: Shape, value: unknown): SheafError {
    return this.error(`must be ${expectation(shape)}, got ${quote(value)}`)
  }

  /** Return the error for an unknown name. `kind`: `field`, `option` or `parameter`. */
  unknown(name: string, known: readonly string[], kind: string, hints: NameHints = {}): SheafError {
    const near = Object.hasOwn(hints, name) ? hints[name] : nearestName(name, known)
    const hint = near === undefined ? undefined : `did you mean ${near}?`
    const message = `${this.#label}: ${this.pathTo(name)} is not a known ${kind}; known: ${shortList(known, 60)}`
    return invalidInput(message, { hint })
  }

  pathTo(name: string): string {
    return joined(this.#path(), name)
  }

  toString(): string {
    const path = this.#path()
    return path === '' ? this.#label : `${this.#label}: ${path}`
  }

  #path(): string {
    return this.#keys.reduce<string>(joined, '')
  }
}

function joined(path: string, key: string | number): string {
  if (typeof key === 'number') return `${path}[${key}]`
  if (!/^[\w$]+$/.test(key)) return `${path}[${quote(key)}]`
  const name = cut(key)
  return path === '' ? name : `${path}.${name}`
}

function read(shape: Shape, value: unknown, place: Place): unknown {
  switch (shape.kind) {
    case 'string':
      return readString(shape, value, place)
    case 'boolean':
      if (typeof value !== 'boolean') throw place.mismatch(shape, value)
      return value
    case 'number':
      if (typeof value !== 'number' || !Number.isFinite(value)) throw place.mismatch(shape, value)
      return value
    case 'integer':
      return readInteger(shape, value, place)
    case 'enumeration':
      return readEnumeration(shape, value, place)
    case 'vector':
      return readVector(shape, value, place)
    case 'array':
      return readArray(shape, value, place)
    case 'tuple':
      return readTuple(shape, value, place)
    case 'record':
      return readRecord(shape, value, place)
    case 'object':
      return readObject(shape, value, place)
    case 'choice':
      return readChoice(shape, value, place)
    case 'nullable':
      return value === null ? null : read(shape.shape, value, place)
    case 'accept':
      return readAccepted(shape, value, place)
    case 'named':
      return read(shape.shape(), value, place)
    case 'json':
      return readJson(shape, value, place)
    case 'options':
      return readOptions(shape, value, place)
    case 'either':
      return readEither(shape, value, place)
    case 'given':
      if (!shape.is(value)) throw place.mismatch(shape, value)
      return value
  }
}

function readAccepted(shape: AcceptShape, value: unknown, place: Place): unknown {
  const form = shape.other?.is(value) ? read(shape.other.shape, value, place) : value
  const converted = shape.convert(form)
  return converted === undefined ? undefined : read(shape.shape, converted, place)
}

function readString(shape: StringShape, value: unknown, place: Place): string {
  if (typeof value !== 'string') throw place.mismatch(shape, value)
  if (shape.demand === 'nonEmpty' && value === '') throw place.mismatch(shape, value)
  if (shape.demand === 'nonBlank' && value.trim() === '') throw place.mismatch(shape, value)
  shape.check?.(value, place.toString())
  return value
}

/**
 * Check an integer. JSON.parse converts an integer above 2^53 - 1 to a double that is above 2^53 - 1 too. So comparing
 * the double with the maximum detects all integers that are too large.
 */
function readInteger(shape: IntegerShape, value: unknown, place: Place): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < shape.min)
    throw place.mismatch(shape, value)
  if (value <= shape.max) return value
  if (shape.saturates) return shape.max
  throw place.mismatch(shape, value)
}

function readEnumeration(shape: EnumerationShape, value: unknown, place: Place): string {
  if (typeof value !== 'string') throw place.mismatch(shape, value)
  if (shape.values.includes(value)) return value
  const word = plainWord(value)
  const synonym = Object.keys(shape.synonyms).find(each => plainWord(each) === word)
  const meant =
    shape.values.find(known => plainWord(known) === word) ??
    (synonym === undefined ? undefined : shape.synonyms[synonym])
  if (meant !== undefined && !shape.exact) return meant
  const near = meant ?? nearestName(value, shape.values)
  throw place.error(
    `must be ${expectation(shape)}, got ${quote(value)}`,
    near === undefined ? undefined : `did you mean ${near}?`,
  )
}

/** Normalize the spelling of a word. Some clients send a mode as `"\"ExistOk\""`, others send it as `exist_ok`. */
function plainWord(word: string): string {
  return word
    .replace(/^"(.*)"$/, '$1')
    .replaceAll('_', '')
    .toLowerCase()
}

function readVector(shape: VectorShape, value: unknown, place: Place): VectorValues {
  const copy = copyOfNumbers(value)
  if (copy === undefined || copy.length < shape.min) throw place.mismatch(shape, value)
  for (let i = 0; i < copy.length; i++) {
    if (Number.isFinite(copy[i])) continue
    place.enter(i)
    throw place.mismatch(number, copy[i])
  }
  return copy
}

function copyOfNumbers(value: unknown): VectorValues | undefined {
  if (Array.isArray(value)) return value.slice()
  if (value instanceof Float32Array) return new Float32Array(value)
  if (value instanceof Float64Array) return new Float64Array(value)
  if (value instanceof Int8Array) return new Int8Array(value)
  if (value instanceof Uint8Array) return new Uint8Array(value)
  return undefined
}

function readArray(shape: ArrayShape, value: unknown, place: Place): unknown[] {
  if (!Array.isArray(value) || value.length < shape.min) throw place.mismatch(shape, value)
  const items: unknown[] = []
  for (let i = 0; i < value.length; i++) {
    place.enter(i)
    items.push(read(shape.item, value[i], place))
    place.leave()
  }
  if (shape.distinct !== undefined) refuseDuplicates(items, shape.distinct, place)
  return items
}

function refuseDuplicates(items: unknown[], keyOf: (item: never) => string, place: Place): void {
  const seen = new Set<string>()
  for (const item of items) {
    const key = keyOf(item as never)
    if (seen.has(key)) throw place.error(`must not contain ${quote(key)} twice`)
    seen.add(key)
  }
}

function readTuple(shape: TupleShape, value: unknown, place: Place): unknown[] {
  if (!Array.isArray(value) || value.length !== shape.items.length) throw place.mismatch(shape, value)
  return shape.items.map((item, i) => {
    place.enter(i)
    const element = read(item, value[i], place)
    place.leave()
    return element
  })
}

function readRecord(shape: RecordShape, value: unknown, place: Place): Record<string, unknown> {
  if (!isObject(value)) throw place.mismatch(shape, value)
  const result: Record<string, unknown> = {}
  let length = 0
  for (const key of Object.keys(value)) {
    place.enter(key)
    if (key === '__proto__') throw place.error('is not allowed as a name')
    const item = read(shape.value, value[key], place)
    if (!key.isWellFormed() || (typeof item === 'string' && !item.isWellFormed())) {
      throw place.error('has half of a surrogate pair', 'cut texts between characters, or use toWellFormed()')
    }
    place.leave()
    length += key.length + (typeof item === 'string' ? item.length : 0)
    if (length > shape.maxLength) throw place.error(`must have at most ${shape.maxLength} characters`)
    result[key] = item
  }
  return result
}

function readObject(shape: ObjectShape, value: unknown, place: Place): Record<string, unknown> {
  if (!isObject(value)) throw place.mismatch(shape, value)
  const result = readFields(shape.fields, value, place, 'required', shape.rules.hints)
  applyRules(shape.rules, result, place)
  return result
}

/** Read a choice. If the caller left out the name of the field, the paths in messages do not have this name. */
function readChoice(shape: ChoiceShape, value: unknown, place: Place): Record<string, unknown> {
  const bare = shape.bare?.(value)
  if (bare !== undefined) return { [bare]: read(shape.fields[bare]!.shape, value, place) }
  if (!isObject(value)) throw place.mismatch(shape, value)
  const result = readFields(shape.fields, withoutEmpty(value), place, 'any')
  if (Object.keys(result).length !== 1) requireOne(Object.keys(shape.fields), result, place)
  return result
}

/**
 * Return the fields that are not null. If one of them is not empty, return only fields that are not empty, because some
 * clients also write the fields that their caller did not set.
 */
function withoutEmpty(value: Record<string, unknown>): Record<string, unknown> {
  const keys = Object.keys(value)
  if (keys.length === 1 && value[keys[0]!] !== null && value[keys[0]!] !== undefined) return value
  const entries = Object.entries(value).filter(([, item]) => item !== null && item !== undefined)
  const filled = entries.filter(([, item]) => !isEmpty(item))
  return Object.fromEntries(filled.length === 0 ? entries : filled)
}

function readFields(
  fields: Fields,
  value: Record<string, unknown>,
  place: Place,
  need: 'required' | 'any' = 'required',
  hints?: NameHints,
): Record<string, unknown> {
  checkNames(fields, value, place, hints)
  const result: Record<string, unknown> = {}
  for (const name in fields) {
    const field = fields[name]!
    const given = present(name, field, value, place)
    if (given === undefined) {
      if (need === 'any' || !field.required) continue
      throw place.error(`needs ${name}: ${expectation(field.shape)}`)
    }
    place.enter(given)
    const item = read(field.shape, value[given], place)
    place.leave()
    if (field.also.length > 0) refuseContradiction(name, given, field, value, place)
    if (item !== undefined && field.effect !== 'none') result[name] = item
  }
  return result
}

/** Throw InvalidInput if a field is given under two of its names with different values. */
function refuseContradiction(
  name: string,
  given: string,
  field: Field,
  value: Record<string, unknown>,
  place: Place,
): void {
  for (const other of [name, ...field.also]) {
    if (other === given || !isPresent(other, field, value, place)) continue
    if (!isDeepStrictEqual(value[other], value[given]))
      throw place.error(
        `must not have both ${given} and ${other} with different values, because they are names of the same field`,
      )
  }
}

/** Maximum number of unknown names that are collected. */
const mostSkipped = 100

function checkNames(fields: Fields, value: Record<string, unknown>, place: Place, hints?: NameHints): void {
  for (const name in value) {
    if (Object.hasOwn(fields, name) || value[name] === null || value[name] === undefined) continue
    // Ignore empty fields: a newer client may write fields that its caller did not set.
    if (!place.keepsEmpty && isEmpty(value[name])) continue
    const known = namesOf(fields)
    if (known.includes(name)) continue
    if (place.skipped === null) throw place.unknown(name, known, 'field', hints)
    if (place.skipped.length < mostSkipped) place.skipped.push(place.pathTo(name))
  }
}

/** Return all names of the fields, including the other names (`also`). */
export function namesOf(fields: Fields): string[] {
  return Object.entries(fields).flatMap(([name, { also }]) => [name, ...also])
}

/** Return the name under which a field is given. Undefined if the field is absent. */
function present(
  name: string,
  field: Field,
  value: Record<string, unknown>,
  place: Place,
): string | undefined {
  if (isPresent(name, field, value, place)) return name
  return field.also.length === 0 ? undefined : field.also.find(other => isPresent(other, field, value, place))
}

function isPresent(name: string, field: Field, value: Record<string, unknown>, place: Place): boolean {
  // This cheap check comes first, because most fields are absent.
  if (value[name] === undefined || !Object.hasOwn(value, name)) return false
  if (value[name] === null) return field.required || takesNull(field.shape)
  return field.empty === 'value' || place.keepsEmpty || !isNothing(field.shape, value[name])
}

/**
 * Return whether a value counts as absent. This is `[]` or `{}` for a shape of arrays or objects; some languages write
 * both in the same way. It is also a choice without any field. For texts and numbers, `[]` and `{}` are errors, because
 * a predicate `[]` must not mean all rows.
 */
function isNothing(shape: Shape, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  switch (shape.kind) {
    case 'nullable':
    case 'accept':
      return isNothing(shape.shape, value)
    case 'named':
      return isNothing(shape.shape(), value)
    case 'array':
    case 'vector':
    case 'tuple':
    case 'record':
    case 'object':
    case 'json':
      return isEmpty(value)
    case 'choice':
      return isEmpty(value) || (isObject(value) && givesNone(shape.fields, value))
    default:
      return false
  }
}

function givesNone(fields: Fields, value: Record<string, unknown>): boolean {
  return Object.keys(value).every(name => Object.hasOwn(fields, name) && isNullOrEmpty(value[name]))
}

function isNullOrEmpty(value: unknown): boolean {
  return value === null || value === undefined || isEmpty(value)
}

function takesNull(shape: Shape): boolean {
  return shape.kind === 'nullable' || (shape.kind === 'accept' && takesNull(shape.shape))
}

function applyRules(rules: ObjectRules, value: Record<string, unknown>, place: Place): void {
  if (rules.exactlyOne !== undefined) requireOne(rules.exactlyOne, value, place)
  if (rules.atLeastOne !== undefined && !rules.atLeastOne.some(name => Object.hasOwn(value, name))) {
    throw place.error(`needs at least one of ${rules.atLeastOne.join(', ')}`)
  }
  for (const [a, b] of rules.apart ?? []) {
    if (Object.hasOwn(value, a) && Object.hasOwn(value, b))
      throw place.error(`must not have both ${a} and ${b}`)
  }
  const problem = rules.check?.(value)
  if (problem !== undefined) throw place.error(problem)
}

function requireOne(names: readonly string[], value: Record<string, unknown>, place: Place): void {
  const given = names.filter(name => Object.hasOwn(value, name))
  if (given.length === 1) return
  throw place.error(
    `needs exactly one of ${names.join(', ')}, got ${given.length === 0 ? 'none' : given.join(' and ')}`,
  )
}

function readOptions(shape: OptionsShape, value: unknown, place: Place): object {
  if (!isObject(value)) {
    const isBuiltIn = typeof value === 'object' && value !== null && !Array.isArray(value)
    const got = isBuiltIn ? Object.prototype.toString.call(value) : quote(value)
    throw place.error(`takes ${expectation(shape)}, got ${got}`)
  }
  const options: Record<string, unknown> = value
  const { fields, needed, kept } = shape
  const isOwn = isPlain(options)
  if (!kept || isOwn) refuseUnknownOptions(shape, options, place)
  const result: Record<string, unknown> = {}
  // Iterate over the names of the object, not over all known names: this is faster, because most options are absent.
  for (const name of Object.keys(isOwn ? options : fields)) {
    const item = options[name]
    if (item === undefined) continue
    place.enter(name)
    result[name] = read(fields[name]!, item, place)
    place.leave()
  }
  for (const name of needed) {
    if (result[name] === undefined) throw place.error(`needs ${name}: ${expectation(fields[name]!)}`)
  }
  return kept ? options : result
}

/** Throw InvalidInput for unknown options, including options that the object inherits from its prototypes. */
function refuseUnknownOptions({ fields, hints }: OptionsShape, options: object, place: Place): void {
  for (const name in options) {
    if (Object.hasOwn(fields, name)) continue
    if (Object.hasOwn(options, name) || !(name in Object.prototype))
      throw place.unknown(name, Object.keys(fields), 'option', hints)
  }
}

function readEither(shape: EitherShape, value: unknown, place: Place): unknown {
  const meant = shape.alternatives.find(({ is }) => is(value))
  if (meant !== undefined) return read(meant.shape, value, place)
  const known = shape.alternatives.flatMap(({ shape }) =>
    shape.kind === 'options' ? Object.keys(shape.fields) : [],
  )
  const stray = isObject(value) ? Object.keys(value).find(name => !known.includes(name)) : undefined
  throw stray === undefined || known.length === 0
    ? place.mismatch(shape, value)
    : place.unknown(stray, [...new Set(known)], 'option')
}

function readJson(shape: JsonShape, value: unknown, place: Place): unknown {
  if (Array.isArray(value)) return readJsonArray(value, place)
  if (isObject(value) && isPlain(value)) return readRecord(jsonObject, value, place)
  if (shape.demand === 'container') throw place.mismatch(shape, value)
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value !== 'number' || !Number.isFinite(value)) throw place.mismatch(shape, value)
  if (isRounded(value)) {
    const hint =
      'send the number as a string; for a parameter of SQL, write {"$int": "9007199254740993"} or {"$float": "1e300"}'
    throw place.error(`is beyond 2^53, where JSON numbers are not exact: ${value}`, hint)
  }
  return value
}

/** Read a JSON array. For numbers and texts, no position is tracked, because long arrays consist of them. */
function readJsonArray(value: readonly unknown[], place: Place): unknown[] {
  const items: unknown[] = []
  for (let i = 0; i < value.length; i++) {
    const item = value[i]
    const isPlain =
      typeof item === 'string' || (typeof item === 'number' && Number.isFinite(item) && !isRounded(item))
    if (isPlain) {
      items.push(item)
      continue
    }
    place.enter(i)
    items.push(read(json, item, place))
    place.leave()
  }
  return items
}

const jsonObject: RecordShape = { kind: 'record', value: json, maxLength: Number.POSITIVE_INFINITY }

/** Return whether a value is `[]` or `{}`. */
function isEmpty(value: unknown): boolean {
  if (Array.isArray(value) || ArrayBuffer.isView(value))
    return (value as unknown as ArrayLike<unknown>).length === 0
  return isObject(value) && Object.keys(value).length === 0
}

/** Return whether a value is an object with fields: not an array, and not a built-in object such as a Date or a Map. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return Object.prototype.toString.call(value) === '[object Object]'
}

/** Return whether an object is neither a Date, a Map or the like, nor an instance of a class. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** Return a description of the values that a shape accepts, as the end of the sentence "must be ...". */
export function expectation(shape: Shape): string {
  switch (shape.kind) {
    case 'string':
      return {
        any: 'a string',
        nonEmpty: 'a string that is not empty',
        nonBlank: 'a string that is not blank',
      }[shape.demand]
    case 'boolean':
      return 'true or false'
    case 'number':
      return 'a finite number'
    case 'integer':
      if (shape.saturates || shape.max === Number.MAX_SAFE_INTEGER) {
        return shape.saturates ? `an integer >= ${shape.min}` : `an integer >= ${shape.min} and < 2^53`
      }
      return `an integer from ${shape.min} to ${shape.max}`
    case 'enumeration':
      return `one of ${shape.values.join(', ')}`
    case 'vector':
      return shape.min === 0 ? 'an array of numbers' : 'a vector: an array of numbers that is not empty'
    case 'array':
      return shape.min === 0
        ? 'an array'
        : `an array of at least ${shape.min} element${shape.min === 1 ? '' : 's'}`
    case 'tuple':
      return `an array of exactly ${shape.items.length} elements`
    case 'record':
    case 'object':
      return 'an object'
    case 'choice':
      return `an object with one of ${Object.keys(shape.fields).join(', ')}`
    case 'nullable':
      return `${expectation(shape.shape)} or null`
    case 'accept':
      return shape.forms === '' ? expectation(shape.shape) : `${expectation(shape.shape)} (or ${shape.forms})`
    case 'named':
      return expectation(shape.shape())
    case 'json':
      return shape.demand === 'any' ? 'a JSON value' : 'an array or an object'
    case 'options':
      return `options in an object (${shortList(Object.keys(shape.fields), 60)})`
    case 'either':
      return shape.alternatives.map(({ shape }) => expectation(shape)).join(' or ')
    case 'given':
      return shape.what
  }
}
