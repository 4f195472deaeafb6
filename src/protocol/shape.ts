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

/** One of some words; case, underscores and surrounding quotes do not matter. */
export interface EnumerationShape {
  readonly kind: 'enumeration'
  readonly values: readonly string[]
  /** Other words, and the value each stands for. */
  readonly synonyms: Readonly<Record<string, string>>
}

/** Finite numbers, checked in one typed loop. */
export interface VectorShape {
  readonly kind: 'vector'
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

/** An object with exactly one of these fields; `null` means absent. */
export interface ChoiceShape<F extends Fields = Fields> {
  readonly kind: 'choice'
  readonly fields: F
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
  )

/** A field of an object. Where it is optional, `null` means absent. */
export interface Field<T = unknown, R extends boolean = boolean> {
  readonly shape: Shape<T>
  readonly required: R
  readonly doc: string
  /** Other names: of a request, accepted too; of a reply, sent too. */
  readonly also: readonly string[]
}

export type Fields = Readonly<Record<string, Field>>

export interface ObjectRules {
  readonly exactlyOne?: readonly string[]
  readonly atLeastOne?: readonly string[]
  /** Pairs of fields that exclude each other. */
  readonly apart?: readonly (readonly [string, string])[]
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

export const vector: Shape<VectorValues> = { kind: 'vector' }

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
  return { kind: 'enumeration', values, synonyms }
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

export function choice<F extends Fields>(fields: F): Shape<ExactlyOne<{ [K in keyof F]: FieldType<F[K]> }>> {
  return { kind: 'choice', fields }
}

export function nullable<T>(shape: Shape<T>): Shape<T | null> {
  return { kind: 'nullable', shape }
}

export function accept<T>(shape: Shape<T>, forms: string, convert: (value: unknown) => unknown): Shape<T> {
  return { kind: 'accept', shape, forms, convert }
}

export function named<T>(name: string, shape: () => Shape<T>): Shape<T> {
  return { kind: 'named', name, shape }
}

export function required<T>(shape: Shape<T>, doc: string, also: readonly string[] = []): Field<T, true> {
  return { shape, required: true, doc, also }
}

export function optional<T>(shape: Shape<T>, doc: string, also: readonly string[] = []): Field<T, false> {
  return { shape, required: false, doc, also }
}
