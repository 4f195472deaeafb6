/**
 * JSON shapes as plain data: a machine-readable description of valid values.
 *
 * One description serves as TypeScript type (`Infer`), for validation (`parse.ts`), and as the source of routes, proxies and documents. A
 * shape may accept several forms of a value. It has one normal form, which is itself accepted.
 */

/** Key that carries the type of a shape; no value has this key. */
declare const typed: unique symbol

/** Carries the type of the normal form. It has no effect at run time. */
export interface Typed<T> {
  readonly [typed]?: T
}

/** The numbers of one vector. In JSON always an array. */
export type VectorValues = readonly number[] | Float32Array | Float64Array | Int8Array | Uint8Array

export interface StringShape {
  readonly kind: 'string'
  /** `nonEmpty`: not `""`. `nonBlank`: not only white space. */
  readonly demand: 'any' | 'nonEmpty' | 'nonBlank'
  /** Throws a SheafError for a text that breaks a further rule. `where` names the position for the message. */
  readonly check: ((text: string, where: string) => void) | undefined
}

interface BooleanShape {
  readonly kind: 'boolean'
}

/** A finite number. */
interface NumberShape {
  readonly kind: 'number'
}

export interface IntegerShape {
  readonly kind: 'integer'
  readonly min: number
  readonly max: number
  /** Whether a larger integer means `max` instead of an error. */
  readonly saturates: boolean
}

/** One of several words. Unless it is `exact`, synonyms count, and case, underscores and surrounding quotes do not matter. */
export interface EnumerationShape {
  readonly kind: 'enumeration'
  readonly values: readonly string[]
  readonly exact: boolean
  /** Other words, and the value that each means. */
  readonly synonyms: Readonly<Record<string, string>>
}

/** Finite numbers, checked in one typed loop. */
export interface VectorShape {
  readonly kind: 'vector'
  /** The least number of elements. */
  readonly min: number
}

export interface ArrayShape {
  readonly kind: 'array'
  readonly item: Shape
  readonly min: number
  /** The property that no two items may share; undefined: items may be equal. */
  readonly distinct: ((item: never) => string) | undefined
}

export interface TupleShape {
  readonly kind: 'tuple'
  readonly items: readonly Shape[]
}

/** An object with any names and values of one shape. Names and string values have at most `maxLength` characters in all. */
export interface RecordShape {
  readonly kind: 'record'
  readonly value: Shape
  readonly maxLength: number
}

export interface ObjectShape<F extends Fields = Fields> {
  readonly kind: 'object'
  readonly fields: F
  readonly rules: ObjectRules
}

/** An object with exactly one of these fields. `null` means absent, and so does an empty value next to one that is not empty. */
export interface ChoiceShape<F extends Fields = Fields> {
  readonly kind: 'choice'
  readonly fields: F
  /** Returns the field that is meant by a value without the name of a field; undefined: none, the value must be the object. */
  readonly bare: ((value: unknown) => (keyof F & string) | undefined) | undefined
}

interface NullableShape {
  readonly kind: 'nullable'
  readonly shape: Shape
}

/**
 * Accepts other forms, too. `convert` turns another form into a value of `shape`, or into undefined if it means absent. It returns a form
 * that it does not know unchanged.
 */
export interface AcceptShape {
  readonly kind: 'accept'
  readonly shape: Shape
  /** The other forms in words, for messages; empty if they are not worth mentioning. */
  readonly forms: string
  readonly convert: (value: unknown) => unknown
  /** Another form that is an object: it is read by its own shape before it is converted. */
  readonly other: Alternative | undefined
}

/** A shape with a name. Recursive shapes need one. */
export interface NamedShape {
  readonly kind: 'named'
  readonly name: string
  readonly shape: () => Shape
}

/** Any JSON value, or any array or object. */
export interface JsonShape {
  readonly kind: 'json'
  readonly demand: 'any' | 'container'
}

/**
 * The options of a function of the library, or an object within them. Unlike in a request object, null is an ordinary value here, and an
 * unknown name is refused whatever its value is.
 */
export interface OptionsShape {
  readonly kind: 'options'
  readonly fields: Readonly<Record<string, Shape>>
  /** Names of required fields. */
  readonly needed: readonly string[]
  /** Whether the object itself is passed on, because it has methods. An instance of a class may then have further names. */
  readonly kept: boolean
  readonly hints: NameHints
}

/** For names that other engines use: the known name that the caller means. Names similar to a known name need no entry. */
export type NameHints = Readonly<Record<string, string>>

/** One of several shapes: the first whose `is` returns true for the value. */
export interface EitherShape {
  readonly kind: 'either'
  readonly alternatives: readonly Alternative[]
}

interface Alternative {
  readonly is: (value: unknown) => boolean
  readonly shape: Shape
}

/** A value that is kept unchanged, such as a function or an object with methods. */
interface GivenShape {
  readonly kind: 'given'
  /** As the end of the sentence "must be ...". */
  readonly what: string
  readonly is: (value: unknown) => boolean
}

export type Shape<T = unknown> = Typed<T> &
  (
    | StringShape
    | BooleanShape
    | NumberShape
    | IntegerShape
    | EnumerationShape
    | VectorShape
    | ArrayShape
    | TupleShape
    | RecordShape
    | ObjectShape
    | ChoiceShape
    | NullableShape
    | AcceptShape
    | NamedShape
    | JsonShape
    | OptionsShape
    | EitherShape
    | GivenShape
  )

/** A field of an object. If it is optional, `null` means absent, and so does an empty value unless the field says otherwise. */
export interface Field<T = unknown, R extends boolean = boolean> {
  readonly shape: Shape<T>
  readonly required: R
  readonly doc: string
  /** Other names of the field. A request may use them; a reply has the value under all of them. */
  readonly also: readonly string[]
  /** `none`: the field is accepted and checked, and has no effect here; `doc` gives the reason. */
  readonly effect: 'served' | 'none'
  /**
   * What `[]` and `{}` mean in an optional field of a request. `absent`: the same as no field, because generated clients write them for
   * fields that their caller did not set. `value`: they have a meaning, which `doc` gives.
   */
  readonly empty: 'absent' | 'value'
}

export type Fields = Readonly<Record<string, Field>>

export interface ObjectRules {
  readonly exactlyOne?: readonly string[]
  readonly atLeastOne?: readonly string[]
  /** Pairs of fields that exclude each other. */
  readonly apart?: readonly (readonly [string, string])[]
  readonly hints?: NameHints
  /** Returns what is wrong with the combination of fields, or undefined. */
  readonly check?: (value: Readonly<Record<string, unknown>>) => string | undefined
}

/** The TypeScript type of a shape's normal form. */
export type Infer<S> = S extends { readonly [typed]?: infer T } ? T : never

type Flat<T> = { [K in keyof T]: T[K] }
type FieldType<F> = F extends Field<infer T> ? T : never
type RequiredNames<F> = { [K in keyof F]: F[K] extends Field<unknown, true> ? K : never }[keyof F]

type FromFields<F> = Flat<
  { readonly [K in RequiredNames<F>]: FieldType<F[K]> } & {
    readonly [K in Exclude<keyof F, RequiredNames<F>>]?: FieldType<F[K]> | undefined
  }
>

/** An object with exactly one of the fields of `T`. The others may be read, and are undefined. */
export type ExactlyOne<T> = {
  [K in keyof T]: Flat<{ readonly [P in K]: T[P] } & { readonly [P in Exclude<keyof T, K>]?: undefined }>
}[keyof T]

export function string(demand: StringShape['demand'] = 'any', check?: StringShape['check']): Shape<string> {
  return { kind: 'string', demand, check }
}

export const boolean: Shape<boolean> = { kind: 'boolean' }

export const number: Shape<number> = { kind: 'number' }

export const json: Shape<unknown> = { kind: 'json', demand: 'any' }

export const container: Shape<readonly unknown[] | Readonly<Record<string, unknown>>> = {
  kind: 'json',
  demand: 'container',
}

export const vector: Shape<VectorValues> = { kind: 'vector', min: 0 }

/** A vector of at least one number. */
export const filledVector: Shape<VectorValues> = { kind: 'vector', min: 1 }

/** An integer in `min .. max`. Without `max`, up to 2^53 - 1: beyond that, doubles cannot represent every integer. */
export function integer(min: number, max: number = Number.MAX_SAFE_INTEGER): Shape<number> {
  return { kind: 'integer', min, max, saturates: false }
}

/** As `integer`, but a value larger than `max` means `max`. */
export function saturatingInteger(min: number, max: number = Number.MAX_SAFE_INTEGER): Shape<number> {
  return { kind: 'integer', min, max, saturates: true }
}

export function enumeration<const V extends string>(
  values: readonly V[],
  synonyms: Readonly<Record<string, V>> = {},
): Shape<V> {
  return { kind: 'enumeration', values, synonyms, exact: false }
}

/** An enumeration of the wire without synonyms and other spellings, for options of the library. */
export function exactly<T>(shape: Shape<T>): Shape<T> {
  return shape.kind === 'enumeration' ? { ...shape, exact: true } : shape
}

/** Exactly one of these words, for options of the library. */
export function oneOf<const V extends string>(...values: readonly V[]): Shape<V> {
  return { kind: 'enumeration', values, synonyms: {}, exact: true }
}

export function array<T>(
  item: Shape<T>,
  { min = 0, distinct }: { min?: number; distinct?: (item: T) => string } = {},
): Shape<readonly T[]> {
  return { kind: 'array', item, min, distinct }
}

export function tuple<A, B>(first: Shape<A>, second: Shape<B>): Shape<readonly [A, B]> {
  return { kind: 'tuple', items: [first, second] }
}

export function record<T>(value: Shape<T>, maxLength = 65_536): Shape<Readonly<Record<string, T>>> {
  return { kind: 'record', value, maxLength }
}

export function object<F extends Fields>(
  fields: F,
  rules: ObjectRules = {},
): Typed<FromFields<F>> & ObjectShape<F> {
  return { kind: 'object', fields, rules }
}

export function choice<F extends Fields>(
  fields: F,
  bare?: (value: unknown) => (keyof F & string) | undefined,
): Shape<ExactlyOne<{ [K in keyof F]: FieldType<F[K]> }>> {
  return { kind: 'choice', fields, bare }
}

export function nullable<T>(shape: Shape<T>): Shape<T | null> {
  return { kind: 'nullable', shape }
}

export function accept<T>(
  shape: Shape<T>,
  forms: string,
  convert: (value: unknown) => unknown,
  other?: Alternative,
): Shape<T> {
  return { kind: 'accept', shape, forms, convert, other }
}

export function named<T>(name: string, shape: () => Shape<T>): Shape<T> {
  return { kind: 'named', name, shape }
}

export function required<T>(shape: Shape<T>, doc: string, also: readonly string[] = []): Field<T, true> {
  return { shape, required: true, doc, also, effect: 'served', empty: 'value' }
}

export function optional<T>(shape: Shape<T>, doc: string, also: readonly string[] = []): Field<T, false> {
  return { shape, required: false, doc, also, effect: 'served', empty: 'absent' }
}

/** A request field that has no effect here. `doc` says what it is, and why. */
export function withoutEffect<T>(shape: Shape<T>, doc: string): Field<T, false> {
  return { shape, required: false, doc, also: [], effect: 'none', empty: 'absent' }
}

/** An optional field in which `[]` or `{}` has a meaning. */
export function optionalEvenEmpty<T>(shape: Shape<T>, doc: string): Field<T, false> {
  return { ...optional(shape, doc), empty: 'value' }
}

// ---- options of the library

/** The required keys of `T`. */
type NeededKeys<T> = { [K in keyof T]-?: object extends Pick<T, K> ? never : K }[keyof T]

/** A shape for each key of `T` that allows no value beyond those of the key's type. */
type ShapesOf<T> = { readonly [K in keyof T]-?: Shape<Exclude<T[K], undefined>> }

/** `F` if it has no key that `T` lacks, and each shape allows every value of its key; otherwise a type that no value has. */
type Exactly<T, F> = {
  readonly [K in keyof F]: K extends keyof T
    ? [Exclude<T[K], undefined>] extends [Infer<F[K]>]
      ? F[K]
      : never
    : never
}

/**
 * Declare the shape of the options `T`: `options<AddOptions>()({ mode: ... })`. It compiles only if the type and the shapes allow the same
 * values.
 */
export function options<T extends object>(): <F extends ShapesOf<T>>(
  fields: F & Exactly<T, F>,
  ...needed: [NeededKeys<T>] extends [never] ? [] : [needed: Readonly<Record<NeededKeys<T>, true>>]
) => Typed<T> & OptionsShape {
  return (fields, ...[needed = {}]) => ({
    kind: 'options',
    fields,
    needed: Object.keys(needed),
    kept: false,
    hints: {},
  })
}

/** Declare option fields that several options include. Spread into a literal, `options` checks all fields together. */
export function optionFields<T extends object>(): <F extends ShapesOf<T>>(fields: F & Exactly<T, F>) => F {
  return fields => fields
}

/** Add hints for names that other engines use. */
export function withHints<S extends OptionsShape>(shape: S, hints: NameHints): S {
  return { ...shape, hints }
}

/** An object with methods, such as a tokenizer: it is checked, and passed on unchanged. */
export function kept<T>(shape: Typed<T> & OptionsShape): Typed<T> & OptionsShape {
  return { ...shape, kept: true }
}

/** An alternative for values that have one of these names. */
export function having(names: readonly string[], shape: Shape): Alternative {
  return {
    is: value => typeof value === 'object' && value !== null && names.some(name => name in value),
    shape,
  }
}

export function either<T>(...alternatives: readonly Alternative[]): Shape<T> {
  return { kind: 'either', alternatives }
}

export function given<T>(what: string, is: (value: unknown) => boolean): Shape<T> {
  return { kind: 'given', what, is }
}

// biome-ignore lint/suspicious/noExplicitAny: functions of any type
export function callback<T extends (...args: any[]) => unknown>(): Shape<T> {
  return given('a function', value => typeof value === 'function')
}
