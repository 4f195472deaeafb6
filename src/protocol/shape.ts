/**
 * JSON shapes as plain data: a machine-readable description of valid values.
 *
 * A shape defines the TypeScript type of its values (`Infer`). `parse.ts` validates values by their shape. Routes,
 * proxies and documents are derived from shapes. A shape may accept several forms of a value; parsing returns the
 * normal form, which the shape accepts too.
 */

/** Key under which the type system stores the type of a shape's values. No object has this key at run time. */
declare const typed: unique symbol

/** Stores the type `T` of the normal form for `Infer`. It has no effect at run time. */
export interface Typed<T> {
  readonly [typed]?: T
}

/** The elements of one vector. In JSON, a vector is always an array. */
export type VectorValues = readonly number[] | Float32Array | Float64Array | Int8Array | Uint8Array

export interface StringShape {
  readonly kind: 'string'
  /** Required content: `any` string, `nonEmpty` (not `""`), or `nonBlank` (not only white space). */
  readonly demand: 'any' | 'nonEmpty' | 'nonBlank'
  /**
   * Function that throws a SheafError for a text that breaks a further rule. `where`: position of the text, for
   * messages.
   */
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
  /** Whether an integer above `max` is read as `max`. If false, it is an error. */
  readonly saturates: boolean
}

/**
 * One of several words. With `exact`, only these spellings are accepted. Otherwise synonyms are accepted too, and case,
 * underscores and surrounding quotes are ignored.
 */
export interface EnumerationShape {
  readonly kind: 'enumeration'
  readonly values: readonly string[]
  readonly exact: boolean
  /** Synonyms: by word, the value with the same meaning. */
  readonly synonyms: Readonly<Record<string, string>>
}

/** An array of finite numbers, for example a vector. */
export interface VectorShape {
  readonly kind: 'vector'
  /** Minimum number of elements. */
  readonly min: number
}

export interface ArrayShape {
  readonly kind: 'array'
  readonly item: Shape
  readonly min: number
  /** Function that returns the key of an item. Two items must not have the same key. Undefined: any items. */
  readonly distinct: ((item: never) => string) | undefined
}

export interface TupleShape {
  readonly kind: 'tuple'
  readonly items: readonly Shape[]
}

/**
 * An object with any names, and values of one shape. All names and strings together have at most `maxLength`
 * characters.
 */
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

/**
 * An object with exactly one of the fields. A field with null counts as absent. A field with an empty value counts as
 * absent if another field has a value that is not empty.
 */
export interface ChoiceShape<F extends Fields = Fields> {
  readonly kind: 'choice'
  readonly fields: F
  /**
   * Function for values that a caller gives without the object, for example `[1, 2]` instead of `{ single_vector: [1,
   * 2] }`. It returns the name of the field to which the value belongs. It returns undefined if the value must be the
   * object.
   */
  readonly bare: ((value: unknown) => (keyof F & string) | undefined) | undefined
}

interface NullableShape {
  readonly kind: 'nullable'
  readonly shape: Shape
}

/**
 * A shape that also accepts other forms of a value. `convert` returns the equivalent value of `shape`, or undefined if
 * the value counts as absent. It returns unknown forms unchanged.
 */
export interface AcceptShape {
  readonly kind: 'accept'
  readonly shape: Shape
  /** Description of the other forms for error messages. Empty: messages do not mention the other forms. */
  readonly forms: string
  readonly convert: (value: unknown) => unknown
  /** Shape of another form that is an object. The object is checked by this shape before it is converted. */
  readonly other: Alternative | undefined
}

/** A shape with a name, to which other shapes and itself can refer. Recursive shapes must be named. */
export interface NamedShape {
  readonly kind: 'named'
  readonly name: string
  readonly shape: () => Shape
}

/** Any JSON value (`any`), or any array or object (`container`). */
export interface JsonShape {
  readonly kind: 'json'
  readonly demand: 'any' | 'container'
}

/**
 * The options of a function of the library, or an object inside of options. There are two differences from an object of
 * a request: null does not mean absent, and an unknown name is refused even if its value is null.
 */
export interface OptionsShape {
  readonly kind: 'options'
  readonly fields: Readonly<Record<string, Shape>>
  /** Names of required fields. */
  readonly needed: readonly string[]
  /**
   * Whether parsing returns the object itself, because it has methods. An instance of a class may have further names.
   */
  readonly kept: boolean
  readonly hints: NameHints
}

/** Hints for names that other engines use: the known name with the same meaning. Similar names need no entry. */
export type NameHints = Readonly<Record<string, string>>

/** One of several shapes. The first alternative whose `is` returns true for the value is used. */
export interface EitherShape {
  readonly kind: 'either'
  readonly alternatives: readonly Alternative[]
}

interface Alternative {
  readonly is: (value: unknown) => boolean
  readonly shape: Shape
}

/** A value that parsing returns without a copy, for example a function or an object with methods. */
interface GivenShape {
  readonly kind: 'given'
  /** Description of the allowed values, as the end of the sentence "must be ...". */
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

/**
 * A field of an object. In an optional field, null counts as absent. `empty` defines whether `[]` and `{}` do so too.
 */
export interface Field<T = unknown, R extends boolean = boolean> {
  readonly shape: Shape<T>
  readonly required: R
  readonly doc: string
  /** Other names of the field. A request may use them; a reply has the value under all of them. */
  readonly also: readonly string[]
  /**
   * Whether the engine uses the field. `none`: the field is only checked, and has no effect; `doc` gives the reason.
   */
  readonly effect: 'served' | 'none'
  /**
   * Meaning of `[]` and `{}` in an optional field of a request. `absent`: the field counts as absent, because generated
   * clients write empty values for fields that their caller did not set. `value`: an empty value has a meaning, which
   * `doc` gives.
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
  /** Function that returns an error message for a combination of fields that is not allowed, or undefined. */
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

/** An object with exactly one of the fields of `T`. Reading another field of `T` compiles, and returns undefined. */
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

/**
 * An integer from `min` to `max`. Default for `max`: 2^53 - 1, because doubles cannot represent every larger integer.
 */
export function integer(min: number, max: number = Number.MAX_SAFE_INTEGER): Shape<number> {
  return { kind: 'integer', min, max, saturates: false }
}

/** Like `integer`, but a value larger than `max` is read as `max`. */
export function saturatingInteger(min: number, max: number = Number.MAX_SAFE_INTEGER): Shape<number> {
  return { kind: 'integer', min, max, saturates: true }
}

export function enumeration<const V extends string>(
  values: readonly V[],
  synonyms: Readonly<Record<string, V>> = {},
): Shape<V> {
  return { kind: 'enumeration', values, synonyms, exact: false }
}

/** Return an enumeration of a request as a shape for options of the library: without synonyms and other spellings. */
export function exactly<T>(shape: Shape<T>): Shape<T> {
  return shape.kind === 'enumeration' ? { ...shape, exact: true } : shape
}

/** Exactly one of the given words, for options of the library. */
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

/** A request field that has no effect in Sheaf. `doc` describes the field and gives the reason. */
export function withoutEffect<T>(shape: Shape<T>, doc: string): Field<T, false> {
  return { shape, required: false, doc, also: [], effect: 'none', empty: 'absent' }
}

/** Return a field that the Lance Namespace specification does not have. Its documentation says so. */
export function extension<F extends Field>(field: F): F {
  return { ...field, doc: `${field.doc} Extension of Sheaf.` }
}

/** An optional field in which `[]` or `{}` has a meaning of its own, which `doc` gives. */
export function optionalEvenEmpty<T>(shape: Shape<T>, doc: string): Field<T, false> {
  return { ...optional(shape, doc), empty: 'value' }
}

// ---- options of the library

/** The required keys of `T`. */
type NeededKeys<T> = { [K in keyof T]-?: object extends Pick<T, K> ? never : K }[keyof T]

/** A shape for each key of `T`. The shape allows only values of the key's type. */
type ShapesOf<T> = { readonly [K in keyof T]-?: Shape<Exclude<T[K], undefined>> }

/**
 * `F`, if `F` has only keys of `T`, and the shape of each key allows every value of the key's type. Otherwise a type
 * that no value has, so that the code does not compile.
 */
type Exactly<T, F> = {
  readonly [K in keyof F]: K extends keyof T
    ? [Exclude<T[K], undefined>] extends [Infer<F[K]>]
      ? F[K]
      : never
    : never
}

/**
 * Declare the shape of the options `T`, for example `options<AddOptions>()({ mode: ... })`. The call compiles only if
 * the type `T` and the shapes of its keys allow the same values.
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

/**
 * Declare fields for several option shapes. Spread the result into the argument of `options`, which checks all fields.
 */
export function optionFields<T extends object>(): <F extends ShapesOf<T>>(fields: F & Exactly<T, F>) => F {
  return fields => fields
}

/** Add hints to the error messages for option names that other engines use. */
export function withHints<S extends OptionsShape>(shape: S, hints: NameHints): S {
  return { ...shape, hints }
}

/**
 * A shape for an object with methods, for example a tokenizer. Parsing checks the object and returns it without a copy.
 */
export function kept<T>(shape: Typed<T> & OptionsShape): Typed<T> & OptionsShape {
  return { ...shape, kept: true }
}

/** An alternative for objects that have at least one of the given names. */
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
