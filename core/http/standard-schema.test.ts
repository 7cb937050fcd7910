import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type } from 'arktype'
import * as v from 'valibot'
import { defineOptions, definePlugin, defineRoute, type Route, type StandardSchema } from 'zin'
import { createTestHost } from 'zin/testing'
import { z } from 'zod'

/** The same order in three libraries: an amount with a default, and text that becomes shorter. */
const libraries = {
  zod: {
    order: z.object({ product: z.string().trim().min(1), amount: z.number().int().min(1).default(1) }),
    params: z.object({ id: z.number().int() }),
    query: z.object({ tags: z.array(z.string()).default([]), page: z.number().int().min(1).default(1) }),
    reply: z.object({ id: z.number(), total: z.number() }),
  },
  valibot: {
    order: v.object({
      product: v.pipe(v.string(), v.trim(), v.minLength(1)),
      amount: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1)), 1),
    }),
    params: v.object({ id: v.pipe(v.unknown(), v.transform(Number), v.integer()) }),
    query: v.object({
      tags: v.optional(
        v.pipe(
          v.union([v.string(), v.array(v.string())]),
          v.transform((one) => [one].flat()),
        ),
        [],
      ),
      page: v.optional(v.pipe(v.unknown(), v.transform(Number), v.integer(), v.minValue(1)), 1),
    }),
    reply: v.object({ id: v.number(), total: v.number() }),
  },
  arktype: {
    order: type({ product: 'string.trim |> string >= 1', amount: 'number.integer >= 1 = 1' }),
    params: type({ id: 'string.integer.parse | number.integer' }),
    query: type({ 'tags?': 'string[]', page: 'number.integer >= 1 = 1' }),
    reply: type({ id: 'number', total: 'number' }),
  },
}

const hostOf = (route: Route) =>
  createTestHost({ plugins: [definePlugin({ name: 'orders', version: '1.0.0', setup: ({ route: add }) => void add(route) })()] })

describe('schemas of other libraries', () => {
  for (const [name, { order, params, query, reply }] of Object.entries(libraries)) {
    it(`of ${name} validate and convert params, query and body, and refuse with 400`, async () => {
      const host = await hostOf(
        defineRoute({
          method: 'POST',
          path: '/orders/:id',
          summary: 'Order',
          params: params as StandardSchema<unknown, { id: number }>,
          query: query as StandardSchema<unknown, { tags?: string[]; page: number }>,
          body: order as StandardSchema<unknown, { product: string; amount: number }>,
          response: { 200: reply as StandardSchema<{ id: number; total: number }> },
          handler: ({ input }) => ({ id: input.params.id, total: input.body.amount, input }),
        }),
      )
      try {
        const post = async (path: string, body: string) => {
          const response = await host.inject({ method: 'POST', path, headers: { 'content-type': 'application/json' }, body })
          return { status: response.status, body: response.body as Record<string, unknown> }
        }
        const fine = await post('/orders/7?tags=a&page=2', '{"product":" chair "}')
        assert.equal(fine.status, 200, JSON.stringify(fine.body))
        assert.deepEqual(fine.body.input, {
          params: { id: 7 },
          query: { tags: ['a'], page: 2 },
          body: { product: 'chair', amount: 1 },
        })
        const wrong = await post('/orders/7?page=0', '{"product":"","amount":0.5}')
        assert.deepEqual([wrong.status, wrong.body.code], [400, 'VALIDATION_FAILED'])
        const fields = [...new Set((wrong.body.details as { field: string }[]).map(({ field }) => field))]
        assert.deepEqual(fields.toSorted(), ['body.amount', 'body.product', 'query.page'])
        for (const amount of ['1e999', '9007199254740993']) {
          const inexact = await post('/orders/7', `{"product":"chair","amount":${amount}}`)
          assert.deepEqual([inexact.status, inexact.body.code], [400, 'VALIDATION_FAILED'], amount)
        }
        assert.equal((await post('/orders/x', '{"product":"chair"}')).status, 400)
        assert.equal(host.logs.filter(({ level }) => level === 'error').length, 0)
      } finally {
        await host.stop()
      }
    })
  }

  it('type the input and the result of a handler', async () => {
    const { order } = libraries.zod
    const route = defineRoute({
      method: 'POST',
      path: '/typed',
      summary: 'Typed',
      body: order,
      response: { 200: z.object({ at: z.coerce.date() }) },
      handler({ input }) {
        const { amount, product }: { amount: number; product: string } = input.body
        // @ts-expect-error it is no number
        const wrong: number = input.body.product
        return { at: `${product}${amount}${wrong}` }
      },
    })
    assert.equal(route.path, '/typed')
  })

  it('may answer later, and in the context of the request', async () => {
    const taken = z.object({ name: z.string().refine(async (name) => (await Promise.resolve(name)) !== 'ann', 'is taken') })
    const host = await hostOf(
      defineRoute({ method: 'POST', path: '/users', summary: 'Add', body: taken, handler: ({ input }) => ({ name: input.body.name }) }),
    )
    try {
      const post = async (name: string) => host.inject({ method: 'POST', path: '/users', body: { name } })
      assert.deepEqual((await post('bob')).body, { name: 'bob' })
      const refused = await post('ann')
      assert.deepEqual(
        [refused.status, (refused.body as { details: object[] }).details],
        [400, [{ field: 'body.name', code: 'SCHEMA', message: 'is taken' }]],
      )
    } finally {
      await host.stop()
    }
  })

  it('that throw are an error of the app, and fail the request only', async () => {
    const broken = z.string().transform(() => {
      throw new Error('broken schema')
    })
    const host = await hostOf(
      defineRoute({ method: 'POST', path: '/broken', summary: 'Broken', body: z.object({ a: broken }), handler: () => ({ ok: true }) }),
    )
    try {
      assert.equal((await host.inject({ method: 'POST', path: '/broken', body: { a: 'x' } })).status, 500)
    } finally {
      await host.stop()
    }
  })

  it('refuse a body of any depth without a fault of the app, and name an inexact number in it', async () => {
    const host = await hostOf(
      defineRoute({ method: 'POST', path: '/deep', summary: 'Deep', body: z.object({ a: z.any() }), handler: () => ({ ok: true }) }),
    )
    try {
      const post = async (body: string) =>
        host.inject({ method: 'POST', path: '/deep', headers: { 'content-type': 'application/json' }, body })
      assert.equal((await post(`{"a":${'['.repeat(400_000)}${']'.repeat(400_000)}}`)).status, 400)
      const refused = await post('{"a":{"b":[0,{"c":1e999}]}}')
      assert.deepEqual([refused.status, (refused.body as { details: { field: string }[] }).details[0]?.field], [400, 'body.a.b[1].c'])
    } finally {
      await host.stop()
    }
  })

  it('convert forms as JSON schemas do', async () => {
    const form = z.object({ n: z.number().int(), ok: z.boolean(), tags: z.array(z.string()) })
    const host = await hostOf(
      defineRoute({ method: 'POST', path: '/form', summary: 'Form', bodyType: 'form', body: form, handler: ({ input }) => input.body }),
    )
    try {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const { body } = await host.inject({ method: 'POST', path: '/form', headers, body: 'n=5&ok=true&tags=a' })
      assert.deepEqual(body, { n: 5, ok: true, tags: ['a'] })
    } finally {
      await host.stop()
    }
  })

  it('appear in the OpenAPI document where their library can say what they are', async () => {
    const { order, query, reply } = libraries.zod
    const host = await hostOf(
      defineRoute({
        method: 'POST',
        path: '/orders',
        summary: 'Order',
        query,
        body: order,
        response: { 200: reply, 201: v.object({ id: v.number() }) },
        serialize: 'json',
        handler: () => ({ id: 1, total: 2 }),
      }),
    )
    try {
      const { body } = await host.inject({ method: 'GET', path: '/openapi.json' })
      const { post } = (body as { paths: Record<string, Record<string, Record<string, unknown>>> }).paths['/orders'] ?? {}
      const parameters = post?.parameters as { name: string; required: boolean; schema: { type: string } }[]
      assert.deepEqual(
        parameters.map((one) => [one.name, one.required, one.schema.type]),
        [
          ['tags', false, 'array'],
          ['page', false, 'integer'],
        ],
      )
      const content = (post?.requestBody as { content: Record<string, { schema: Record<string, unknown> }> }).content['application/json']
      assert.deepEqual(content?.schema.required, ['product'])
      assert.equal(content?.schema.$schema, undefined)
      const responses = post?.responses as Record<string, { content: Record<string, { schema: Record<string, unknown> }> }>
      assert.deepEqual(responses['200']?.content['application/json']?.schema.required, ['id', 'total'])
      assert.ok(responses['201']?.content['application/json']?.schema)
    } finally {
      await host.stop()
    }
  })

  it('compile to serializers where their library can say what they are; others are refused at the start', async () => {
    const routeOf = (reply: StandardSchema<{ id: number }>) =>
      defineRoute({
        method: 'GET',
        path: '/one',
        summary: 'One',
        response: { 200: reply },
        serialize: 'schema',
        handler: () => ({ id: 1, secret: 'x' }),
      })
    const host = await hostOf(routeOf(z.object({ id: z.number() })))
    assert.deepEqual((await host.inject({ method: 'GET', path: '/one' })).body, { id: 1 })
    await host.stop()
    const unknown: StandardSchema<{ id: number }> = {
      '~standard': { version: 1, vendor: 'mine', validate: (value) => ({ value: value as { id: number } }) },
    }
    await assert.rejects(hostOf(routeOf(unknown)), /GET \/one of plugin "orders": no serializer .* has no JSON schema/)
  })

  it('warn of a response that does not match, outside production', async () => {
    const host = await hostOf(
      defineRoute({
        method: 'GET',
        path: '/one',
        summary: 'One',
        response: { 200: z.object({ id: z.number().max(5, 'is at most 5') }) },
        handler: () => ({ id: 7 }),
      }),
    )
    try {
      await host.inject({ method: 'GET', path: '/one' })
      const line = host.logs.find(({ msg }) => msg === 'the response does not match its schema')
      assert.deepEqual(line?.problems, ['id: is at most 5'])
    } finally {
      await host.stop()
    }
  })

  it('declare options: types, defaults, and a boot that names what is wrong', async () => {
    const plugin = definePlugin({
      name: 'mail',
      version: '1.0.0',
      options: defineOptions(z.object({ url: z.url(), retries: z.number().int().min(0).default(3) })),
      setup({ options, route }) {
        const retries: number = options.retries
        route({ method: 'GET', path: '/options', summary: 'Options', handler: () => ({ url: options.url, retries }) })
      },
    })
    const host = await createTestHost({ plugins: [plugin({ url: 'https://mail.example' })] })
    assert.deepEqual((await host.inject({ method: 'GET', path: '/options' })).body, { url: 'https://mail.example', retries: 3 })
    await host.stop()
    await assert.rejects(createTestHost({ plugins: [plugin({ url: 'mail', retries: -1 })] }), (error: Error) => {
      assert.match(error.message, /mail: option "url" is invalid: .*\(zin\.config\.ts: mail\(\{ url: … \}\)\)/)
      assert.match(error.message, /mail: option "retries" is invalid: /)
      return true
    })
  })
})
