import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Client, FuzzResponse } from './client.js'
import { type Document, type FuzzRequest, routesOf } from './requests.js'
import { fuzz } from './run.js'

const document: Document = {
  paths: {
    '/things/{name}': {
      put: {
        requestBody: {
          content: { 'application/json': { schema: { type: 'object', properties: { size: { type: 'integer', minimum: 1 } } } } },
        },
      },
    },
  },
}
const routes = routesOf(document, { names: ['one'], versions: ['1.0.0'], ids: ['1'] }).filter(({ title }) => title.startsWith('PUT'))
const refused: FuzzResponse = {
  status: 400,
  headers: { 'content-type': 'application/json' },
  body: '{"error":"Bad request","message":"no","code":"NO"}',
}

const clientOf = (respond: (request: FuzzRequest) => FuzzResponse): Client => ({ send: async (request) => respond(request), close() {} })
const run = (respond: (request: FuzzRequest) => FuzzResponse) => fuzz(routes, [clientOf(respond)], 1_000, 1, async () => {})

describe('the fuzzer', () => {
  it('finds nothing in an app that refuses everything with an error body', async () => {
    assert.deepEqual((await run(() => refused)).findings, [])
  })

  it('finds a body that causes a 500, and shrinks it to the smallest one', async () => {
    const { findings } = await run((request) => (request.body?.includes('"size":0') ? { ...refused, status: 500 } : refused))
    const [finding, ...others] = findings
    assert.deepEqual([finding?.route, finding?.what, others], ['PUT /things/{name}', 'status 500 NO', []])
    assert.match(String((finding?.request as FuzzRequest).body), /^\{"size":0\}$/)
  })

  it('finds an error whose body is not JSON, and one without a code', async () => {
    const html = await run(() => ({ ...refused, headers: { 'content-type': 'text/html' } }))
    assert.match(String(html.findings[0]?.what), /status 400 with a body that is not JSON: text\/html/)
    const bare = await run(() => ({ ...refused, body: '{"error":"Bad request"}' }))
    assert.match(String(bare.findings[0]?.what), /without error, message and code/)
  })

  it('names the request that ended the app, and not one that came after it', async () => {
    let ended = false
    const { findings, gone } = await run((request) => {
      if (ended) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
      if (!request.body?.includes('"size":7')) return refused
      ended = true
      throw new Error('socket hang up')
    })
    assert.deepEqual([gone, findings.map(({ what }) => what)], [true, ['socket hang up']])
    assert.match(String((findings[0]?.request as FuzzRequest).body), /"size":7/)
  })

  it('sends each kind of value that no JSON text of JavaScript contains, and empty chunked bodies', async () => {
    const sent: FuzzRequest[] = []
    await run((request) => (sent.push(request), refused))
    const bodies = sent.map(({ body = '', encoding = 'utf8' as const }) => Buffer.from(body, encoding as BufferEncoding).toString('latin1'))
    const forms = ['"size":true', '"size":1e999', '"size":"\\ud800"', '"size":"\xff"', '"size":{"__proto__":1}', '"size":"wait"']
    assert.deepEqual(
      forms.filter((form) => !bodies.some((body) => body.includes(form))),
      [],
    )
    assert.ok(sent.some(({ body, chunked }) => body === '' && chunked === true))
    for (const path of ['%ED%A0%80', '1e999', '__proto__'])
      assert.ok(
        sent.some(({ target }) => target.startsWith(`/things/${path}`)),
        path,
      )
  })

  it('finds a request whose connection breaks', async () => {
    const { findings } = await run(() => {
      throw new Error('socket hang up')
    })
    assert.equal(findings[0]?.what, 'socket hang up')
  })
})
