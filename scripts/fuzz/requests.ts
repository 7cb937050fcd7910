import fc from 'fast-check'
import { hostileText, type Json, nearly, oddEncoded, oddIds, oddJson, type Schema, textOf, valuesOf } from './values.js'

/** One request, before it is signed. */
export interface FuzzRequest {
  readonly method: string
  /** Path and query as they are sent. */
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** `latin1`: each character of the body is sent as one byte, so that it can be invalid UTF-8. Default: UTF-8. */
  readonly encoding?: 'latin1'
  /** Sends the body in chunks, without its length. */
  readonly chunked?: true
  /** Whether the client's device signs it. */
  readonly signed: boolean
}

interface Parameter {
  readonly in: string
  readonly name: string
  readonly required?: boolean
  readonly schema?: Schema
}

interface Operation {
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: Schema }>> }
}

/** The parts of `/openapi.json` from which requests are generated. */
export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

/** Names that exist, or that an earlier request may have created, so that requests get past the lookup. */
export interface Known {
  readonly names: readonly string[]
  readonly versions: readonly string[]
  readonly ids: readonly string[]
}

/** Arbitrary requests for one route. */
export interface Route {
  readonly title: string
  readonly requests: fc.Arbitrary<FuzzRequest>
}

/** A route for each operation, and routes for hidden pages, unknown paths and wrong methods. */
export function routesOf(document: Document, known: Known): readonly Route[] {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => route(method.toUpperCase(), path, operation, known)),
  )
  const others = ['/openapi.json', '/docs', '/{x}', '/api/workers/{name}/{x}'].flatMap((path) =>
    ['GET', 'HEAD', 'POST'].map((method) => route(method, path, unknownOperation, known)),
  )
  return [...operations, ...others]
}

const unknownOperation: Operation = { requestBody: { content: { 'application/json': {} } } }

function route(method: string, path: string, operation: Operation, known: Known): Route {
  const requests = fc
    .record({
      path: pathOf(path, operation, known),
      query: queryOf(operation),
      headers: oddHeaders,
      body: bodyOf(method, operation, known),
      signed: path.startsWith('/api/workers') ? fc.integer({ min: 0, max: 9 }).map((n) => n === 0) : fc.boolean(),
    })
    .map(({ path: filled, query, headers, body, signed }) => ({
      method,
      target: `${filled}${query}`,
      headers: { ...body.headers, ...headers },
      ...(body.text !== undefined && { body: body.text }),
      ...(body.encoding !== undefined && { encoding: body.encoding }),
      ...(body.chunked !== undefined && { chunked: body.chunked }),
      signed,
    }))
  return { title: `${method} ${path}`, requests }
}

/** Percent-encodes bytes, including invalid UTF-16. */
function encode(text: string): string {
  return Buffer.from(text).reduce(
    (sum, byte) => sum + (/[\w.~-]/.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : percent(byte)),
    '',
  )
}

const percent = (byte: number): string => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`

function pathOf(path: string, operation: Operation, known: Known): fc.Arbitrary<string> {
  const parts = path.split(/(\{\w+\})/).map((part) => {
    if (!part.startsWith('{')) return fc.constant(part)
    const name = part.slice(1, -1)
    const existing = { name: known.names, version: known.versions }[name] ?? known.ids
    const schema = operation.parameters?.find((parameter) => parameter.in === 'path' && parameter.name === name)?.schema ?? {}
    return fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...existing) },
      { weight: 2, arbitrary: valuesOf(schema).map((value) => encode(textOf(value))) },
      { weight: 2, arbitrary: hostileText.map(encode) },
      { weight: 2, arbitrary: fc.constantFrom('%', '%zz', '%2e%2e', '%2F', ';', 'a%20b', ...oddEncoded) },
    )
  })
  return fc.tuple(...parts).map((filled) => filled.join(''))
}

function queryOf({ parameters = [] }: Operation): fc.Arbitrary<string> {
  const own = parameters
    .filter((parameter) => parameter.in === 'query')
    .map(({ name, schema = {} }) =>
      fc
        .oneof(valuesOf(schema).map(textOf).map(encode), hostileText.map(encode), fc.constantFrom(...oddEncoded))
        .map((value) => `${name}=${value}`),
    )
  const odd = fc.oneof(
    hostileText.map((text) => `x=${encode(text)}`),
    fc.constantFrom('%', 'a=%zz', 'a&a&a=1', '__proto__=1', 'constructor[prototype]=1', '=', '&&', 'a[]=1&a[]=2', '\\'),
  )
  const parts = fc.array(own.length === 0 ? odd : fc.oneof({ weight: 5, arbitrary: fc.oneof(...own) }, odd), { maxLength: 4 })
  // Does not wait for operations: a request that is applied late would delay all that follow.
  const wait = parameters.some(({ name }) => name === 'wait') ? ['wait=0'] : []
  return fc.oneof({ weight: 2, arbitrary: fc.constant([] as string[]) }, parts).map((some) => {
    const all = [...wait, ...some.filter((part) => !part.startsWith('wait='))]
    return all.length === 0 ? '' : `?${all.join('&')}`
  })
}

interface Body {
  readonly headers: Readonly<Record<string, string>>
  readonly text?: string
  readonly encoding?: 'latin1'
  readonly chunked?: true
}

function bodyOf(method: string, operation: Operation, known: Known): fc.Arbitrary<Body> {
  const none = fc.constant<Body>({ headers: {} })
  const schema = operation.requestBody?.content['application/json']?.schema
  const fitting = fc.oneof({ weight: 1, arbitrary: valuesOf(schema ?? {}) }, { weight: 4, arbitrary: plausible(schema ?? {}, known) })
  const json = nearly(fitting).map((value) => jsonBody(JSON.stringify(value)))
  const odd = oddJson(fitting).map((text) => ({ ...jsonBody(text), encoding: 'latin1' as const }))
  const chunked = fc.oneof(
    fc.constant<Body>({ headers: {}, text: '', chunked: true }),
    json.map((body) => ({ ...body, chunked: true as const })),
    fc.constant<Body>({ ...jsonBody(''), chunked: true }),
  )
  const broken = fc.oneof(
    fc.constantFrom('{', '[1,', '{"a":1,"a":2}', '\ufeff{}', 'nul', '"', '{"a":\u0000}', `${'['.repeat(100_000)}`).map(jsonBody),
    hostileText.map((text) => ({ headers: { 'content-type': 'text/plain' }, text })),
    hostileText.map((text) => ({ headers: { 'content-type': 'application/x-www-form-urlencoded' }, text: `a=${text}&a[b]=1` })),
    fc
      .constantFrom('gzip', 'br', 'x')
      .map((encoding) => ({ headers: { 'content-type': 'application/json', 'content-encoding': encoding }, text: '{}' })),
    fc.constant({
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
      text: '--x\r\ncontent-disposition: form-data; name="__proto__"\r\n\r\n1\r\n--x--',
    }),
    fc.constant({ headers: { 'content-type': 'multipart/form-data' }, text: '--x' }),
    fc.constantFrom(200_000, 2_000_000).map((length) => jsonBody(JSON.stringify({ data: 'x'.repeat(length) }))),
  )
  if (method === 'GET' || method === 'HEAD')
    return fc.oneof({ weight: 20, arbitrary: none }, { weight: 1, arbitrary: json }, { weight: 1, arbitrary: chunked })
  return fc.oneof(
    { weight: 1, arbitrary: none },
    { weight: schema === undefined ? 1 : 6, arbitrary: json },
    { weight: schema === undefined ? 1 : 4, arbitrary: odd },
    { weight: 1, arbitrary: chunked },
    { weight: 1, arbitrary: broken },
  )
}

const jsonBody = (text: string): Body => ({ headers: { 'content-type': 'application/json' }, text })

/** Bodies that get past validation: values that a schema cannot express, such as an existing processor, come from the hints. */
function plausible(schema: Schema, known: Known): fc.Arbitrary<Json> {
  const hints = hintsFor(known)
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>)
  const required = new Set(['processor', ...((schema.required ?? []) as readonly string[])])
  const parts = Object.fromEntries(properties.map(([name, property]) => [name, hints[name] ?? valuesOf(property)]))
  const requiredKeys = Object.keys(parts).filter((name) => required.has(name))
  return fc.record(parts, { requiredKeys }) as fc.Arbitrary<Json>
}

function hintsFor({ names, versions }: Known): Readonly<Record<string, fc.Arbitrary<Json>>> {
  const from = (...values: readonly Json[]): fc.Arbitrary<Json> => fc.constantFrom(...values)
  return {
    name: from(...names),
    queueName: from(...names),
    version: from(...versions),
    processor: from('processors/email-sender.ts'),
    healthCheck: from('processors/email-sender.ts', 'processors/none.ts'),
    concurrency: from(1, 5, 0),
    activeStatus: from(true, true, false),
    autoStart: from(true, null),
    features: from({}, { healthMonitoring: true }, { canary: true }),
    infrastructure: from({}, { persistence: { driver: 'db' } }, { persistence: { driver: 'memory' } }),
    rateLimit: from(null, { max: 5, duration: 1_000 }),
    jobOptions: from({}, { attempts: 2 }, { attempts: 2, backoff: { type: 'fixed', delay: 10 } }),
    isolation: from('inline', { mode: 'thread' }),
    placement: from({}, { nodes: 1 }),
    data: from({ to: 'ada@example.com' }, null, '\ud800'),
    options: from(
      {},
      { priority: 'High' },
      { attempts: 2, delay: 60_000 },
      { deduplication: { id: 'a' } },
      ...oddIds.map((jobId) => ({ jobId })),
    ),
    children: from([], [{ worker: names[0] ?? '', data: 1 }]),
    pattern: from('0 0 1 1 *', '61 * * * *'),
    every: from(60_000),
    tz: from('Europe/Berlin', 'Mars/Base'),
    startDate: from('2030-01-01T00:00:00Z'),
    endDate: from('2031-01-01T00:00:00Z'),
    limit: from(1),
    query: from('{ __typename }', '{ __proto__ }', '{ queues { constructor } }', '\ud800', '{'),
    column: from('one', '__proto__', 'constructor', 'toString'),
    value: from('text', true, 1, null, '\ud800', 'a\0b'),
    email: from('demo@example.com', '日本@x', 'a@b'),
    password: from('wrong', 'é'.repeat(64)),
  }
}

const oddHeaders: fc.Arbitrary<Readonly<Record<string, string>>> = fc.oneof(
  { weight: 12, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Readonly<Record<string, string>>>(
      { authorization: 'Bearer ' },
      { authorization: `Bearer ${'a'.repeat(5_000)}` },
      { authorization: 'Bearer eyJhbGciOiJub25lIn0.e30.' },
      { 'x-sig-key-id': '../..', 'x-sig-timestamp': 'NaN', 'x-sig-nonce': 'x', 'x-sig-body-sha256': 'x', 'x-sig-signature': 'x' },
      { accept: 'text/html' },
      { accept: 'application/health+json' },
      { 'accept-encoding': 'gzip, br' },
      { cookie: 'a=b' },
      { 'early-data': '1' },
      { expect: '100-continue' },
      { 'x-request-id': 'a'.repeat(2_000) },
      { 'x-forwarded-for': '1.2.3.4', 'x-forwarded-host': 'evil.example' },
      { 'x-http-method-override': 'DELETE' },
      { range: 'bytes=0-1' },
      { 'if-none-match': '*' },
    ),
  },
)
