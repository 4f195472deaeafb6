/**
 * JSON shapes as plain data: what a value must look like, in words a program can read.
 *
 * One description serves as TypeScript type (`Infer`), as validation (`parse.ts`), and as the source of routes, proxies and
 * documents. A shape that accepts several spellings has one normal form, and the normal form is itself accepted.
 */

/** Key of the type a shape describes; no value has it. */
export declare const typed: unique symbol

/** Carries the type of the normal form; nothing at run time. */
export interface Typed<T> {
  readonly [typed]?: T
}

/** Numbers of one vector. Over JSON always an array. */
export type VectorValues = readonly number[] | Float32Array | Float64Array | Int8Array | Uint8Array

export interface StringShape {
  readonly kind: 'string'
  /** `nonEmpty`: not `""`; `nonBlank`: more than white space. */
  readonly demand: 'any' | 'nonEmpty' | 'nonBlank'
  /** Throws a SheafError when the text breaks a rule of its own; `where` names the place for the message. */
  readonly check: ((text: string, where: string) => void) | undefined
}

export interface BooleanShape {
  readonly kind: 'boolean'
}

/** A finite number. */
export interface NumberShape {
  readonly kind: 'number'
}

export interface IntegerShape {
  readonly kind: 'integer'
  readonly min: number
  readonly max: number
  /** Whether a larger integer means `max` instead of an error. */
  readonly saturates: boolean
}

/** One of some words; case, underscores and surrounding quotes do not matter, and synonyms count, unless it is `exact`. */
export interface EnumerationShape {
  readonly kind: 'enumeration'
  readonly values: readonly string[]
  readonly exact: boolean
  /** Other words, and the value each stands for. */
  readonly synonyms: Readonly<Record<string, string>>
}

/** Finite numbers, checked in one typed loop. */
export interface VectorShape {
  readonly kind: 'vector'
  /** The fewest numbers. */
  readonly min: number
}

export interface ArrayShape {
  readonly kind: 'array'
  readonly item: Shape
  readonly min: number
  /** What two items must not share; absent: nothing. */
  readonly distinct: ((item: never) => string) | undefined
}

export interface TupleShape {
  readonly kind: 'tuple'
  readonly items: readonly Shape[]
}

/** Any names, values of one shape, at most `maxLength` characters of names and strings. */
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

/** An object with exactly one of these fields; `null` means absent, and so does an empty value beside one that is not. */
export interface ChoiceShape<F extends Fields = Fields> {
  readonly kind: 'choice'
  readonly fields: F
  /** The field that a value without the name of one is meant for; undefined: none, the value must be the object. */
  readonly bare: ((value: unknown) => (keyof F & string) | undefined) | undefined
}

export interface NullableShape {
  readonly kind: 'nullable'
  readonly shape: Shape
}

/**
 * Accepts other forms too: `convert` turns them into the form of `shape`, or into undefined for what means absent, and
 * returns what it does not know unchanged.
 */
export interface AcceptShape {
  readonly kind: 'accept'
  readonly shape: Shape
  /** The other forms, for people; empty where they are not worth telling. */
  readonly forms: string
  readonly convert: (value: unknown) => unknown
  /** An other form with fields of its own: it is read by its own shape before it is converted. */
  readonly other: Alternative | undefined
}

/** A shape with a name; what makes recursion possible. */
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
 * The options of a call of the library, or an object that is part of them. Unlike in an object of the wire, null is a value like
 * any other, and a name that is not known is refused whatever its value is.
 */
export interface OptionsShape {
  readonly kind: 'options'
  readonly fields: Readonly<Record<string, Shape>>
  /** Names of fields that must be there. */
  readonly needed: readonly string[]
  /** Whether the object itself is handed on, because it has methods; one that is made by a class may have more names. */
  readonly kept: boolean
  readonly hints: NameHints
}

/** What callers mean by names that other engines have, beside those that are near to a known one. */
export type NameHints = Readonly<Record<string, string>>

/** One of several shapes: the first one that `is` says a value is meant for. */
export interface EitherShape {
  readonly kind: 'either'
  readonly alternatives: readonly Alternative[]
}

export interface Alternative {
  readonly is: (value: unknown) => boolean
  readonly shape: Shape
}

/** What is kept as it is, like a function, or an object with methods. */
export interface GivenShape {
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

/** A field of an object. Where it is optional, `null` means absent, and so does an empty value unless the field says otherwise. */
export interface Field<T = unknown, R extends boolean = boolean> {
  readonly shape: Shape<T>
  readonly required: R
  readonly doc: string
  /** Other names: of a request, accepted too; of a reply, sent too. */
  readonly also: readonly string[]
  /** `none`: clients send it, it is checked, and it changes nothing here, for the reason that `doc` gives. */
  readonly effect: 'served' | 'none'
  /**
   * What `[]` and `{}` are in a request where the field is optional. `absent`: the same as no field, because generated clients write
   * them for what their callers did not set. `value`: they have a meaning, which `doc` gives.
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
  /** Says what is wrong with the fields together, or undefined. */
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

/** An object with exactly one of the fields of `T`; the others can be read, and are undefined. */
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

/** Of one number or more. */
export const filledVector: Shape<VectorValues> = { kind: 'vector', min: 1 }

/** An integer in `min .. max`; without `max`, up to 2^53 - 1, beyond which a double no longer tells integers apart. */
export function integer(min: number, max: number = Number.MAX_SAFE_INTEGER): Shape<number> {
  return { kind: 'integer', min, max, saturates: false }
}

/** As `integer`, but what is larger than `max` means `max`. */
export function saturatingInteger(min: number, max: number = Number.MAX_SAFE_INTEGER): Shape<number> {
  return { kind: 'integer', min, max, saturates: true }
}

export function enumeration<const V extends string>(
  values: readonly V[],
  synonyms: Readonly<Record<string, V>> = {},
): Shape<V> {
  return { kind: 'enumeration', values, synonyms, exact: false }
}

/** The words of an enumeration of the wire exactly as they are, as options of the library have it. */
export function exactly<T>(shape: Shape<T>): Shape<T> {
  return shape.kind === 'enumeration' ? { ...shape, exact: true } : shape
}

/** One of these words exactly, as options of the library have it. */
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

/** A field of a request that changes nothing here; `doc` says what it is and why. */
export function withoutEffect<T>(shape: Shape<T>, doc: string): Field<T, false> {
  return { shape, required: false, doc, also: [], effect: 'none', empty: 'absent' }
}

/** An optional field in which `[]` or `{}` has a meaning of its own. */
export function optionalEvenEmpty<T>(shape: Shape<T>, doc: string): Field<T, false> {
  return { ...optional(shape, doc), empty: 'value' }
}

// ---- options of the library

/** Keys of `T` that must be there. */
type NeededKeys<T> = { [K in keyof T]-?: object extends Pick<T, K> ? never : K }[keyof T]

/** A shape for each key of `T`, for no value that the key does not allow. */
type ShapesOf<T> = { readonly [K in keyof T]-?: Shape<Exclude<T[K], undefined>> }

/** `F` where it has no key that `T` lacks, and each shape allows every value that the key does; else a type that no value has. */
type Exactly<T, F> = {
  readonly [K in keyof F]: K extends keyof T
    ? [Exclude<T[K], undefined>] extends [Infer<F[K]>]
      ? F[K]
      : never
    : never
}

/**
 * Declares the options of `T`: `options<AddOptions>()({ mode: ... })`. What the type allows and what the shapes allow is the same, or
 * it does not compile.
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

/** The fields of options that others include: with them in a literal, `options` checks all together. */
export function optionFields<T extends object>(): <F extends ShapesOf<T>>(fields: F & Exactly<T, F>) => F {
  return fields => fields
}

/** Options of which errors tell what is meant by names that other engines have. */
export function withHints<S extends OptionsShape>(shape: S, hints: NameHints): S {
  return { ...shape, hints }
}

/** An object with methods, like a tokenizer: it is checked, and handed on as it is. */
export function kept<T>(shape: Typed<T> & OptionsShape): Typed<T> & OptionsShape {
  return { ...shape, kept: true }
}

/** Options that have one of these names are meant by a value with it. */
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
