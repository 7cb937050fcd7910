import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runInNewContext } from 'node:vm'
import ts from 'typescript'
import { problemsOf, shapeOf } from '../../../scripts/testing/check-source.js'
import fc from '../../../scripts/testing/properties.js'
import { clientText, webClientText } from './client-text.js'
import { comment, literal } from './text.js'
import { webRuntime } from './web-runtime.js'

const ok = (schema: object) => ({ 200: { description: '', content: { 'application/json': { schema } } } })

/** Returns a document with one operation, `GET /x`, with this response schema. */
function responding(schema: object, schemas: object = {}): string {
  return clientText('demo', {
    openapi: '3.1.0',
    paths: { '/x': { get: { operationId: 'getX', responses: ok(schema) } } },
    components: { schemas },
  })
}

/** Returns the generated type for a schema. */
function typeOf(schema: object, schemas: object = {}): string {
  const source = responding(schema, schemas)
  assert.deepEqual(problemsOf(source), [], source)
  return (/ServiceSuccess<200, (?<type>[\s\S]*?)> \| ServiceFailure/.exec(source)?.groups?.type ?? source).replaceAll(/\s+/g, ' ')
}

describe('schemas as types', () => {
  const cases: readonly (readonly [schema: object, type: string])[] = [
    [{ type: 'string', format: 'date-time' }, 'string'],
    [{ type: 'integer' }, 'number'],
    [{ type: ['string', 'null'] }, 'string | null'],
    [{ type: 'boolean', nullable: true }, 'boolean | null'],
    [{ enum: ['a', "b'\\", 1, -1.5, true, null] }, "'a' | 'b\\'\\\\' | 1 | -1.5 | true | null"],
    [{ const: 'on' }, "'on'"],
    [{ type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'number' }] } }, 'readonly (string | number)[]'],
    [{ type: 'array', items: { type: 'array', items: { type: 'string' } } }, 'readonly (readonly string[])[]'],
    [{ type: 'array' }, 'readonly unknown[]'],
    [{ prefixItems: [{ type: 'string' }, { type: 'number' }], items: false }, 'readonly [string, number]'],
    [{ prefixItems: [{ type: 'string' }], items: { type: 'number' } }, 'readonly [string, ...number[]]'],
    [
      { type: 'object', properties: { a: { type: 'string' }, 'b-c': {} }, required: ['a'] },
      "{ readonly a: string; readonly 'b-c'?: unknown }",
    ],
    [{ type: 'object', properties: { a: { type: 'string', writeOnly: true }, b: { type: 'null' } } }, '{ readonly b?: null }'],
    [{ type: 'object' }, '{ readonly [key: string]: unknown }'],
    [{ type: 'object', additionalProperties: { type: 'number' } }, '{ readonly [key: string]: number }'],
    [{ type: 'object', patternProperties: { '^.*$': { type: 'number' } } }, '{ readonly [key: string]: number }'],
    [{ type: 'object', additionalProperties: false }, 'Readonly<Record<string, never>>'],
    [{ properties: { a: {} }, additionalProperties: { type: 'number' } }, '{ readonly a?: unknown; readonly [key: string]: unknown }'],
    [{ allOf: [{ properties: { a: { const: 1 } } }, { anyOf: [{ const: 1 }, { const: 2 }] }] }, '{ readonly a?: 1 } & (1 | 2)'],
    [{ anyOf: [{ const: 'known' }, { type: 'string' }] }, 'string'],
    [{ anyOf: [{ anyOf: [{ const: 'a' }, { type: 'number' }] }, { type: 'string' }] }, 'number | string'],
    [{ not: { type: 'string' } }, '/* not supported: the keyword not */ unknown'],
    [{ type: 'file' }, '/* not supported: the type file */ unknown'],
    [{ $ref: 'https://elsewhere.test/x.json#/y' }, '/* not supported: the reference https://elsewhere.test/x.json#/y */ unknown'],
    [{ anyOf: [{ type: 'string' }, { $dynamicRef: '#x' }] }, '/* not supported: the keyword $dynamicRef */ unknown'],
    [{ enum: [{ a: 1 }] }, '/* not supported: a constant that is an object */ unknown'],
  ]
  for (const [schema, type] of cases) it(`${JSON.stringify(schema)} is ${type}`, () => assert.equal(typeOf(schema), type))

  it('reference named ones, which may contain themselves in a property, but not directly', () => {
    const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
    const source = responding(ref('Tree'), {
      Tree: { type: 'object', properties: { leaves: { type: 'array', items: ref('Tree') }, other: ref("O'ther~1"), loop: ref('Loop') } },
      "O'ther/": { type: 'string' },
      Loop: { anyOf: [ref('Loop2'), { type: 'null' }] },
      Loop2: { allOf: [ref('Loop')] },
      Unused: {},
    })
    assert.deepEqual(problemsOf(source), [])
    assert.match(source, /ServiceSuccess<200, DemoSchemas\['Tree'\]>/)
    assert.match(source, /readonly leaves\?: readonly DemoSchemas\['Tree'\]\[\]/)
    assert.match(source, /readonly 'O\\'ther\/': string/)
    assert.match(source, /readonly Loop: \/\* not supported: a schema that contains itself directly \*\/ unknown/)
    assert.ok(!source.includes('Unused'))
  })

  it('become unknown when nested too deeply', () => {
    let schema: object = { type: 'string' }
    for (let depth = 0; depth < 500; depth++) schema = { type: 'array', items: schema }
    assert.match(responding(schema), /nested too deeply/)
  })
})

describe('a typed client', () => {
  const document = {
    openapi: '3.1.0',
    info: { title: 'x', version: '1.2.3' },
    paths: {
      '/users/{id}': {
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'integer' } }],
        get: {
          operationId: 'getUser',
          summary: 'A user',
          parameters: [
            { name: 'full', in: 'query', schema: { type: 'boolean' } },
            { name: 'page', in: 'query', required: true, schema: { type: 'integer', default: 1 } },
            { name: 'deep', in: 'query', required: true, style: 'deepObject', schema: { type: 'object' } },
            { name: 'x-tenant', in: 'header', required: true, schema: { type: 'string' } },
            { name: 'Authorization', in: 'header', required: true, schema: { type: 'string' } },
          ],
          responses: {
            ...ok({ type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }),
            404: { content: { 'text/plain': {} } },
          },
        },
        put: {
          requestBody: {
            required: true,
            content: {
              'application/json': { schema: { type: 'object', properties: { a: { type: 'string', default: 'x' } }, required: ['a'] } },
            },
          },
          responses: {
            204: {},
            default: {
              content: { 'application/json': { schema: { type: 'object', properties: { code: { type: 'string' } }, required: ['code'] } } },
            },
          },
        },
        delete: { responses: {} },
      },
      '//evil': { get: { responses: {} } },
      '/a/../b': { get: { responses: {} } },
    },
  }

  it('has the request and response types of each operation', () => {
    const source = clientText('user-notes', document)
    const uses = `
      declare const services: ServiceCalls
      declare function equal<A, B>(same: (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false): void
      const client: UserNotesClient = userNotesClient(services)
      type Get = typeof client.getUser extends (request: infer R) => Promise<infer S> ? [R, S] : never
      equal<Get[0]['params'], { readonly id: number }>(true)
      equal<Get[0]['query'], { readonly full?: boolean; readonly page?: number; readonly deep: string }>(true)
      equal<Get[0]['headers'], { readonly 'x-tenant': string }>(true)
      equal<(Get[1] & { ok: true })['data'], { readonly name: string }>(true)
      equal<(Get[1] & { ok: false; status: 404 })['data'], string>(true)
      type Put = typeof client.putUsersId extends (request: infer R) => Promise<infer S> ? [R, S] : never
      equal<Put[0]['body'], { readonly a?: string }>(true)
      equal<(Put[1] & { ok: true })['data'], undefined>(true)
      equal<(Put[1] & { ok: false })['data'], { readonly code: string }>(true)
      type Delete = typeof client.deleteUsersId extends (request: infer R) => Promise<infer S> ? [R, S] : never
      equal<(Delete[1] & { ok: true })['data'], unknown>(true)`
    assert.deepEqual(problemsOf(source, uses), [])
    assert.match(source, /^\/\/ Generated by `zin service:types user-notes`; changes are lost\.\n/)
    assert.match(source, /Left out, because it cannot be called: GET \/\/evil: its path must not begin with \/\//)
    assert.match(source, /Left out, because it cannot be called: GET \/a\/\.\.\/b/)
  })

  it('for a front end has the operations of the chosen paths, without WebSockets, and calls fetch', async () => {
    const paths = { ...document.paths, '/users/live': { get: { responses: { 101: {} } } }, '/usersx': { get: { responses: {} } } }
    const source = webClientText('user-notes', { ...document, paths }, ['/users'])
    assert.match(source, /^\/\/ Generated by `zin client:types user-notes`; changes are lost\.\n/)
    assert.match(source, /\/\/ Left out, because it cannot be called: GET \/users\/live: it is a WebSocket/)
    const operations = [...source.matchAll(/^ {2}readonly (\w+): Operation</gm)].map(([, name]) => name)
    assert.deepEqual(operations.sort(), ['deleteUsersId', 'getUser', 'putUsersId'])

    const { ModuleKind, transpile } = ts
    const code = transpile(source, { module: ModuleKind.ES2022, target: ts.ScriptTarget.ES2022 })
    const { userNotesClient } = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as {
      userNotesClient(url: string, send: unknown): Record<string, (request: object) => Promise<{ ok: boolean; data: unknown }>>
    }
    const sent: unknown[] = []
    const client = userNotesClient('https://api.example/', async (url: string, init: object) => {
      sent.push([url, init])
      return Response.json({ name: 'Ada' })
    })
    const got = await client.getUser?.({ params: { id: 'a/b' }, query: { full: true, tag: ['x', 'y'], none: undefined } })
    assert.deepEqual([got?.ok, got?.data], [true, { name: 'Ada' }])
    await client.putUsersId?.({ params: { id: 7 }, body: { a: 'x' }, headers: { 'x-csrf-token': 't' } })
    assert.deepEqual(sent, [
      ['https://api.example/users/a%2Fb?full=true&tag=x&tag=y', { method: 'GET', headers: {} }],
      [
        'https://api.example/users/7',
        { method: 'PUT', headers: { 'content-type': 'application/json', 'x-csrf-token': 't' }, body: '{"a":"x"}' },
      ],
    ])
    for (const id of [undefined, '', '.', '..'])
      await assert.rejects(client.getUser?.({ params: { id } }) ?? Promise.resolve(), { name: 'TypeError', message: /the parameter id/ })
  })

  it('for a front end has no faults with the options that front ends compile it with', () => {
    const source = webClientText('user-notes', document, ['/users'])
    const { ModuleKind, ModuleResolutionKind, ScriptTarget } = ts
    for (const more of [{}, { strict: true }, { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true }]) {
      const options: ts.CompilerOptions = {
        ...{ module: ModuleKind.ESNext, moduleResolution: ModuleResolutionKind.Bundler, target: ScriptTarget.ES2022, noEmit: true },
        ...{ lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'], types: [], skipLibCheck: true, ...more },
        ...{ noUnusedLocals: true, noUnusedParameters: true, isolatedModules: true, verbatimModuleSyntax: true },
      }
      const host = ts.createCompilerHost(options)
      const { getSourceFile } = host
      host.getSourceFile = (name, version) =>
        name === 'client.ts' ? ts.createSourceFile(name, source, version, true) : getSourceFile.call(host, name, version)
      const faults = ts.getPreEmitDiagnostics(ts.createProgram(['client.ts'], options, host))
      assert.deepEqual(
        faults.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
        [],
        JSON.stringify(more),
      )
    }
  })

  it('does not depend on the order of the document', () => {
    const turned = (value: unknown): unknown => {
      if (Array.isArray(value) || typeof value !== 'object' || value === null) return value
      return Object.fromEntries(
        Object.entries(value)
          .reverse()
          .map(([name, inner]) => [name, name === 'properties' ? inner : turned(inner)]),
      )
    }
    assert.equal(clientText('demo', turned(document) as typeof document), clientText('demo', document))
  })
})

describe('text of a document', () => {
  const nasty = [
    '*/ process.exit(1) /*',
    "'; process.exit(1) //",
    '"]: never }; process.exit(1)',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: must stay text
    '`${process.exit(1)}`',
    '\n// @ts-nocheck\n',
    '@ts-ignore',
    '\u2028process.exit(1)\u2029',
    '\\',
    "\\'",
    '*',
    '/',
    '__proto__',
    'constructor',
    'then',
    'toString',
    'import("fs")',
    '[computed]',
    '<script>',
    '\u202e evil \u0000',
    '\ud800',
    '#/components/schemas/*/',
    '{a}',
    '/x/{*/}',
    '',
  ]
  const text = fc.oneof(
    fc.constantFrom(...nasty),
    fc.tuple(fc.constantFrom(...nasty), fc.constantFrom(...nasty)).map((parts) => parts.join('')),
    fc.string({ unit: 'binary', maxLength: 12 }),
  )
  const scalar = fc.oneof(text, fc.integer(), fc.constant(null), fc.boolean(), fc.double())
  const { schema } = fc.letrec<{ schema: unknown }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 4 },
      fc.record({ type: text, description: text }),
      fc.record({ enum: fc.array(scalar, { maxLength: 4 }) }),
      fc.record({ const: scalar }),
      fc.record({
        $ref: fc.oneof(
          text,
          text.map((name) => `#/components/schemas/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`),
          scalar,
        ),
      }),
      fc.record(
        {
          type: fc.constant('object'),
          required: fc.array(text, { maxLength: 2 }),
          properties: fc.dictionary(text, tie('schema'), { maxKeys: 3 }),
          additionalProperties: tie('schema'),
        },
        { requiredKeys: ['type'] },
      ),
      fc.record(
        { type: fc.constant('array'), items: tie('schema'), prefixItems: fc.array(tie('schema'), { maxLength: 2 }) },
        { requiredKeys: ['type'] },
      ),
      fc.record({ anyOf: fc.array(tie('schema'), { maxLength: 3 }), nullable: fc.boolean() }),
      fc.record({ allOf: fc.array(tie('schema'), { maxLength: 3 }) }),
      scalar,
    ),
  }))
  const content = fc.dictionary(fc.oneof(text, fc.constantFrom('application/json', 'text/plain')), fc.record({ schema }), { maxKeys: 2 })
  const operation = fc.record(
    {
      operationId: fc.oneof(text, scalar),
      summary: fc.oneof(text, scalar),
      parameters: fc.array(
        fc.record(
          {
            name: text,
            in: fc.constantFrom('path', 'query', 'header', 'cookie', '*/'),
            required: fc.boolean(),
            description: text,
            style: fc.oneof(text, scalar),
            schema,
          },
          { requiredKeys: ['name', 'in'] },
        ),
        { maxLength: 3 },
      ),
      requestBody: fc.record({ required: fc.boolean(), content }),
      responses: fc.dictionary(fc.oneof(fc.constantFrom('200', '404', '5XX', 'default'), text), fc.record({ content }), { maxKeys: 3 }),
    },
    { requiredKeys: [] },
  )
  const paths = fc.dictionary(
    text.map((part) => `/${part}`),
    fc.dictionary(fc.constantFrom('get', 'put', 'post', 'parameters', 'trace'), operation, { maxKeys: 3 }),
    { maxKeys: 3 },
  )
  const document = fc.record({
    openapi: fc.constant('3.1.0'),
    info: fc.record({ version: text }),
    servers: fc.array(fc.record({ url: text }), { maxLength: 1 }),
    paths,
    components: fc.record({ schemas: fc.dictionary(text, schema, { maxKeys: 3 }) }),
  })
  /** As from a JSON parser, where `__proto__` is an ordinary property. */
  const parsed = document.map((value) => JSON.parse(JSON.stringify(value)) as Record<string, unknown>)

  it('cannot become code', () => {
    fc.assert(
      fc.property(parsed, (given) => {
        const source = clientText('demo', given)
        const { faults, runs, statements } = shapeOf(source)
        assert.equal(faults, 0, source)
        assert.deepEqual(runs, ['serviceClient'], source)
        assert.deepEqual(
          statements.filter((kind) => kind !== 'InterfaceDeclaration'),
          ['ImportDeclaration', 'FunctionDeclaration'],
          source,
        )
        const web = webClientText('demo', given, [])
        assert.ok(web.endsWith(webRuntime), web)
        const made = shapeOf(web.slice(0, -webRuntime.length))
        assert.deepEqual([made.faults, made.runs], [0, ['clientOf']], web)
        assert.deepEqual(
          made.statements.filter((kind) => kind !== 'InterfaceDeclaration'),
          ['FunctionDeclaration'],
          web,
        )
        for (const text of [source, web]) assert.doesNotMatch(text, /(?<!\\)@ts-(?:ignore|nocheck|expect-error)(?![^'\n]*')/)
        assert.doesNotMatch(web.slice(0, -webRuntime.length), /[\u0000-\u0009\u000b-\u001f\u007f\u2028\u2029\u202a-\u202e\u2066-\u2069]/)
        assert.doesNotMatch(source, /[\u0000-\u0009\u000b-\u001f\u007f\u2028\u2029\u202a-\u202e\u2066-\u2069]/)
      }),
      { numRuns: 500 },
    )
  })

  it('generates a client that compiles', () => {
    fc.assert(
      fc.property(parsed, (given) => {
        const source = clientText('demo', given)
        assert.deepEqual(problemsOf(source), [], source)
      }),
      { numRuns: 40 },
    )
  })

  it('is confined to literals and comments', () => {
    for (const given of nasty) {
      assert.equal(runInNewContext(literal(given)), given)
      assert.doesNotMatch(comment(given), /\*\/|\n|\u2028/)
    }
  })
})
