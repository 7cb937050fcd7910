import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ServiceCall, ServiceCalls, ServiceResponse } from '../contract.js'
import { type ServiceFailure, type ServiceOperation, type ServiceSuccess, serviceClient } from './service-client.js'

interface NotesClient {
  readonly list: ServiceOperation<{ readonly query?: object }, ServiceSuccess<200, string> | ServiceFailure<number, unknown>>
  readonly get: ServiceOperation<{ readonly params: object }, ServiceSuccess<200, string> | ServiceFailure<404, { why: string }>>
  readonly put: ServiceOperation<{ readonly body?: unknown }, ServiceSuccess<204, undefined>>
  readonly upload: ServiceOperation<{ readonly body: Uint8Array }, ServiceSuccess<204, undefined>>
}

function client(status = 200): { readonly notes: NotesClient; readonly calls: ServiceCall[] } {
  const calls: ServiceCall[] = []
  const services: ServiceCalls = {
    callService: async <T>(name: string, call: ServiceCall) => {
      assert.equal(name, 'notes')
      calls.push(call)
      return { status, headers: {}, data: 'data' } as ServiceResponse<T>
    },
    injectHeaders: (headers = {}) => ({ ...headers }),
    continueTrace: (_headers, task) => task(),
  }
  const notes = serviceClient<NotesClient>(services, 'notes', {
    list: { method: 'GET', path: '/notes' },
    get: { method: 'GET', path: '/notes/{id}/{part}' },
    put: { method: 'PUT', path: '/notes', body: 'application/json' },
    upload: { method: 'PUT', path: '/file', body: 'image/png' },
  })
  return { notes, calls }
}

describe('a typed client', () => {
  it('encodes values in path and query', async () => {
    const { calls, notes } = client()
    await notes.get({ params: { id: 'a/b?c#d', part: 7 } })
    await notes.list({ query: { tag: ['a&b', 'c'], page: 0, none: undefined, nothing: null } })
    await notes.list()
    assert.deepEqual(
      calls.map(({ path }) => path),
      ['/notes/a%2Fb%3Fc%23d/7', '/notes?tag=a%26b&tag=c&page=0', '/notes'],
    )
  })

  it('refuses a missing or empty path parameter', async () => {
    const { calls, notes } = client()
    for (const params of [{}, { id: '', part: 1 }, { id: undefined, part: 1 }, Object.create({ id: 1, part: 1 }) as object])
      await assert.rejects(notes.get({ params }), { code: 'SERVICE_INVALID_TARGET', message: /the parameter id .* is missing or empty/ })
    assert.equal(calls.length, 0)
  })

  it('encodes bodies as the operation expects, and passes headers and timeout', async () => {
    const { calls, notes } = client()
    await notes.put({ body: 'text', headers: { 'X-Trace-Id': 't' }, timeout: 50 })
    await notes.put()
    const bytes = new Uint8Array([1])
    await notes.upload({ body: bytes })
    assert.deepEqual(calls, [
      { method: 'PUT', path: '/notes', headers: { 'content-type': 'application/json', 'x-trace-id': 't' }, timeout: 50, body: '"text"' },
      { method: 'PUT', path: '/notes', headers: {} },
      { method: 'PUT', path: '/file', headers: { 'content-type': 'image/png' }, body: bytes },
    ])
  })

  it('reports whether a call succeeded', async () => {
    assert.equal((await client(299).notes.list()).ok, true)
    const failed = await client(404).notes.get({ params: { id: 1, part: 2 } })
    assert.ok(!failed.ok)
    assert.deepEqual([failed.status, failed.data], [404, 'data'])
  })
})
