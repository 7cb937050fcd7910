import type { Context } from 'koa'

/** Makes the body of a refusal. It gets the reason value only, never which check failed. */
export type Responder = (ctx: Context, reason: string) => unknown
export type Responders = Readonly<Record<string, Responder | undefined>>
