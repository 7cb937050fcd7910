import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { defineMiddleware, defineRoute, type JsonSchema, type PluginContext, Type } from 'zin'

declare module 'zin' {
  interface MiddlewareState {
    'types-tenant': { tenant: { readonly id: string } }
    'types-user': { user: { readonly sub: number } }
  }
}

const base = { method: 'POST', summary: 'x' } as const
const user = {
  type: 'object',
  required: ['id', 'tags'],
  properties: {
    id: { type: 'integer' },
    name: { type: 'string' },
    tags: { type: 'array', items: { type: 'string' } },
    role: { enum: ['admin', 'user'] },
  },
} as const

/** Never run: the compiler checks it. */
export function middlewareOfPluginRoutes({ route }: PluginContext): void {
  const guard = defineMiddleware({ key: 'types-guard', handler: (_ctx, next) => next() })
  route({
    ...base,
    path: '/plugin',
    use: ['types-user', guard],
    handler: ({ request, state }) => {
      request.user.sub.toFixed()
      // @ts-expect-error no middleware sets it
      return state.other
    },
  })
}

/** Never run: the compiler checks it. */
export function listedMiddleware(): void {
  const guard = defineMiddleware({ key: 'types-guard', handler: (_ctx, next) => next() })
  const tenant = defineMiddleware({ key: 'types-tenant', state: ['tenant'], handler: (_ctx, next) => next() })
  defineRoute({
    ...base,
    path: '/listed',
    use: ['types-user', guard, tenant],
    handler: ({ request, state }) => {
      request.user.sub.toFixed()
      state.tenant.id.concat()
      // @ts-expect-error it is a number
      request.user.sub.concat()
      // @ts-expect-error no middleware sets it
      return state.other
    },
  })
}

/** Never run: the compiler checks it. */
export function plainSchemas(): void {
  defineRoute({
    ...base,
    path: '/users/:id/files/:file.json',
    query: { type: 'object', properties: { limit: { type: 'integer', default: 20 }, tag: { type: 'array', items: { type: 'string' } } } },
    body: {
      type: 'object',
      required: ['email'],
      properties: { email: { type: 'string' }, age: { type: ['integer', 'null'] }, kind: { enum: ['a', 'b'] } },
    },
    handler: ({ input: { params, query, body } }) => {
      params.id.concat(params.file)
      query.limit.toFixed()
      query.tag?.at(0)?.concat()
      body.email.concat()
      const age: number | null | undefined = body.age
      const kind: 'a' | 'b' | undefined = body.kind
      // @ts-expect-error the path has no such parameter
      params.name.concat()
      // @ts-expect-error it is a number
      query.limit.concat()
      // @ts-expect-error it may be absent
      query.tag.at(0)
      // @ts-expect-error the schema has no such property
      body.mail.concat()
      // @ts-expect-error it may be null
      body.age.toFixed()
      return [age, kind]
    },
  })
}

/** Never run: the compiler checks it. */
export function otherSchemas(wide: JsonSchema): void {
  defineRoute({
    ...base,
    path: '/items/:id/*rest',
    params: { type: 'object', properties: { id: { type: 'integer' } } },
    query: Type.Object({ limit: Type.Integer({ default: 20 }), all: Type.Optional(Type.Boolean()) }),
    body: Type.Object({ at: Type.String() }),
    handler: ({ input: { params, query, body } }) => {
      params.id.toFixed()
      query.limit.toFixed()
      body.at.concat()
      // @ts-expect-error it is a number
      params.id.concat()
      // @ts-expect-error it may be absent
      query.all.valueOf()
      // @ts-expect-error the schema has no such property
      body.until.concat()
    },
  })
  const variable = { type: 'object', properties: { a: { type: 'string' } } }
  defineRoute({ ...base, path: '/wide', body: wide, query: variable, handler: ({ input }) => [input.body.a.b.c, input.query.a.b.c] })
  defineRoute({
    ...base,
    path: '/none',
    handler: ({ input }) => {
      const tag: string | readonly string[] | undefined = input.query.tag
      // @ts-expect-error the body has no schema
      input.body.a
      // @ts-expect-error the path has no parameter
      input.params.id
      return tag
    },
  })
}

/** Never run: the compiler checks it. */
export function forms(): void {
  defineRoute({
    ...base,
    path: '/form',
    bodyType: 'form',
    body: Type.Object({ n: Type.Integer() }),
    files: { one: {}, some: { maxCount: 3 }, maybe: { optional: true }, few: { maxCount: 2, optional: true } },
    handler: ({ input, request: { files } }) => {
      input.body.n.toFixed()
      void files.one.moveTo(files.one.filepath)
      files.some.at(0)?.size.toFixed()
      files.maybe?.mimetype.concat()
      files.few?.length.toFixed()
      // @ts-expect-error it may be absent
      files.maybe.size
      // @ts-expect-error it is a list
      files.some.size
      // @ts-expect-error the route has no such field
      files.other
    },
  })
  defineRoute({
    ...base,
    path: '/any-files',
    bodyType: 'form',
    streamFile: ({ field, signal }) => (field === 'a' && signal.aborted ? undefined : undefined),
    handler: ({ request: { files } }) => [files.a ?? []].flat().map(({ size }) => size.toFixed()),
  })
  // @ts-expect-error it has no form
  defineRoute({ ...base, path: '/json', handler: ({ request }) => request.files })
}

/** Never run: the compiler checks it. */
export function results(now: Date, list: readonly string[]): void {
  const path = '/users'
  const response = {
    200: user,
    404: { type: 'object', required: ['gone'], properties: { gone: { type: 'string', format: 'date-time' } } },
  } as const
  defineRoute({ ...base, path, response, handler: () => ({ id: 1, tags: list, name: undefined, role: 'admin' }) })
  defineRoute({ ...base, path, response, handler: async () => ({ gone: now }) })
  defineRoute({ ...base, path, response, handler: (ctx) => void (ctx.body = { any: 'thing' }) })
  defineRoute({ ...base, path, response, handler: async (ctx) => (ctx.status === 404 ? undefined : { id: 1, tags: [] }) })
  defineRoute({ ...base, path, handler: () => Readable.from([]) })
  defineRoute({ ...base, path, response: { 200: Type.Object({ ok: Type.Literal(true) }) }, handler: async () => ({ ok: true }) })
  defineRoute({
    ...base,
    path,
    response: { 200: { type: 'array', items: { type: 'object', properties: { n: { type: 'number' } } } } },
    handler: () => [{ n: 1 }],
  })
  // @ts-expect-error the id is a number
  defineRoute({ ...base, path, response, handler: () => ({ id: '1', tags: [] }) })
  // @ts-expect-error a required property is missing
  defineRoute({ ...base, path, response, handler: async () => ({ id: 1 }) })
  // @ts-expect-error the value is not one of the list
  defineRoute({ ...base, path, response, handler: (ctx) => ({ id: ctx.length, tags: [], role: 'owner' }) })
  // @ts-expect-error the response says true
  defineRoute({ ...base, path, response: { 200: Type.Object({ ok: Type.Literal(true) }) }, handler: () => ({ ok: false }) })
}

/** Never run: the compiler checks it. */
export function inPlugins({ route }: PluginContext): void {
  route({
    ...base,
    path: '/users/:id',
    body: user,
    response: { 200: user },
    handler: ({ input }) => ({ ...input.body, id: Number(input.params.id) }),
  })
  // @ts-expect-error the path has no such parameter
  route({ ...base, path: '/users/:id', handler: ({ input }) => input.params.name })
  // @ts-expect-error the id is a number
  route({ ...base, path: '/users/:id', response: { 200: user }, handler: ({ input }) => ({ id: input.params.id, tags: [] }) })
}

/** Never run: the compiler checks it. */
export function requestState({ route, middleware }: PluginContext, keys: readonly string[]): void {
  const path = '/state'
  route({
    ...base,
    path,
    use: ['types-user', 'types-tenant'],
    handler: ({ state, request }) => {
      state.tenant.id.concat()
      state.user.sub.toFixed()
      request.user.sub.toFixed()
      // @ts-expect-error none of its middleware sets that
      state.tenants
    },
  })
  defineRoute({
    ...base,
    path,
    use: ['types-tenant', 'of-nobody'],
    handler: ({ state, request }) => {
      state.tenant.id.concat()
      state.whatever.it.sets
      // @ts-expect-error no middleware of the route attaches a user
      request.user
    },
  })
  // @ts-expect-error the route has no middleware that attaches a user
  route({ ...base, path, handler: ({ request }) => request.user })
  // @ts-expect-error this middleware sets no user
  route({ ...base, path, use: ['types-tenant'], handler: ({ state }) => state.user })
  route({ ...base, path, use: keys, handler: ({ state }) => state.any.thing })
  middleware({
    key: 'types-tenant',
    state: ['tenant'],
    handler: (ctx, next) => {
      // @ts-expect-error it is not set yet
      ctx.state.tenant.id
      // @ts-expect-error the id is text
      ctx.state.tenant = { id: 1 }
      ctx.state.tenant = { id: 'a' }
      return next()
    },
  })
  // @ts-expect-error it has no such state
  middleware({ key: 'types-tenant', state: ['tenants'], handler: (_ctx, next) => next() })
  // @ts-expect-error it has no such state
  defineMiddleware({ key: 'types-tenant', state: ['tenants'], handler: (_ctx, next) => next() })
  middleware(defineMiddleware({ key: 'of-nobody', state: ['whatever'], handler: (ctx, next) => ((ctx.state.whatever = 1), next()) }))
}

test('defineRoute returns the declaration', () => {
  const handler = (): object => ({})
  assert.deepEqual(defineRoute({ ...base, path: '/x', body: user, handler }), { ...base, path: '/x', body: user, handler })
})
