import type { Static, TSchema } from 'typebox'
import type { StandardSchema } from '../util/standard-schema.js'

/** A TypeBox type, a JSON schema as a plain object, or a Standard Schema, such as one of Zod, Valibot or ArkType. */
export type JsonSchema = TSchema | StandardSchema | Readonly<Record<string, unknown>>

/** Schemas by status. */
export type ResponseSchemas = Readonly<Record<number, JsonSchema>>

/**
 * The type that a schema describes. It is `any`, like the result of JSON.parse, if the type of the schema is not known at compile time,
 * such as that of a variable without `as const`.
 */
export type Described<S> = S extends StandardSchema<infer _, infer Output> ? Output : DescribedJson<S>

// biome-ignore lint/suspicious/noExplicitAny: see above
type DescribedJson<S> = S extends TSchema ? (IsOpen<S> extends true ? any : Static<S>) : any

type IsOpen<S> = string extends keyof S ? true : S extends { readonly type: infer T } ? (string extends T ? true : false) : false

/** The type of a part after validation: properties with a default are present. */
type Validated<S> = With<Described<S>, Defaulted<S>>

/** `T` with the fields `K` required. */
type With<T, K> = [K] extends [never] ? T : T & Required<Pick<T, Extract<keyof T, K>>>

type Defaulted<S> = S extends { readonly properties: infer P }
  ? { [K in keyof P]: P[K] extends { readonly default: unknown } ? K : never }[keyof P]
  : never

/** Parameters in the path are always present, as text unless the schema says otherwise. */
export type ParamsOf<S, Path extends string> = S extends undefined
  ? Readonly<Record<ParamNames<Path>, string>>
  : string extends Path
    ? Validated<S>
    : WithNames<Validated<S>, ParamNames<Path>>

type WithNames<T, Name extends string> = With<T, Name> & Readonly<Record<Exclude<Name, keyof T>, string>>

type ParamNames<Path extends string> = string extends Path
  ? string
  : Path extends `${infer Segment}/${infer Rest}`
    ? ParamName<Segment> | ParamNames<Rest>
    : ParamName<Path>

type ParamName<Segment extends string> = Segment extends `${string}:${infer Rest}`
  ? Word<Rest>
  : Segment extends `*${infer Name}`
    ? Name
    : never

/** Text up to one of the characters that end the name of a parameter. */
type Word<Text extends string> = Text extends `${infer Start}${'.' | '~' | '@' | '-'}${string}` ? Word<Start> : Text

/** A query without a schema has one value per name, or several. */
export type QueryOf<S> = S extends undefined ? Readonly<Record<string, string | readonly string[] | undefined>> : Validated<S>

/** A body without a schema is passed as it was parsed. */
export type BodyOf<S> = S extends undefined ? unknown : Validated<S>

/** What a handler may return for a schema: a Standard Schema may accept more than it makes of it. */
type Returned<S> = S extends StandardSchema<infer Input, infer _> ? Input : Described<S>

/** The return type of a handler: a value that serializes to one of the responses, or nothing. */
export type ResultOf<R> = R extends ResponseSchemas
  ? number extends keyof R
    ? unknown
    : Sendable<Returned<R[keyof R]>> | undefined | void
  : unknown

/**
 * A value that serializes to `T`: text may be a value that serializes to text, such as a date; lists and fields may be read-only, and an
 * optional field may be undefined.
 */
export type Sendable<T> = 0 extends 1 & T
  ? T
  : T extends string
    ? string extends T
      ? string | { toJSON(key?: string): string }
      : T
    : T extends readonly unknown[]
      ? { readonly [K in keyof T]: Sendable<T[K]> }
      : T extends object
        ? { readonly [K in keyof T]: Sendable<T[K]> | (Pick<T, K> extends Required<Pick<T, K>> ? never : undefined) }
        : T
