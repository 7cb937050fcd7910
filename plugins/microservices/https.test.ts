import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { httpsServer } from './testing/https-server.js'
import { servicesApp } from './testing/services-app.js'

const detailsOf = (error: unknown): string => JSON.stringify([(error as Error).message, (error as { details?: unknown }).details])

describe('services at https addresses', () => {
  it('are called only if the given authority signed their certificate and the host name matches', async (t) => {
    const seen: unknown[] = []
    const { ca, port } = await httpsServer(t, ({ headers, url }, response) => {
      seen.push([url, headers.host, headers['x-api-key']])
      response.setHeader('content-type', 'application/json').end('{"ok":true}')
    })
    const { services } = await servicesApp(t, {
      env: { SERVICE_API_KEY: 'the-key' },
      options: {
        services: {
          known: { url: `https://localhost:${port}`, ca, auth: 'api-key' },
          unknown: { url: `https://localhost:${port}`, auth: 'api-key' },
          misnamed: { url: `https://127.0.0.1:${port}`, ca, auth: 'api-key' },
        },
      },
    })
    assert.deepEqual((await services.callService('known', { path: '/x?y=1' })).data, { ok: true })
    assert.deepEqual(seen, [['/x?y=1', `localhost:${port}`, 'the-key']])
    await assert.rejects(services.callService('unknown', { path: '/x' }), {
      code: 'SERVICE_UNREACHABLE',
      message: /its certificate is not signed by a trusted authority; pass the file of one as ca in the option services/,
    })
    await assert.rejects(services.callService('misnamed', { path: '/x' }), {
      code: 'SERVICE_UNREACHABLE',
      message: /its certificate is for another host .*127\.0\.0\.1/,
    })
    assert.equal(seen.length, 1)
  })

  it('refuse to boot if the authority file is unreadable or not a certificate', async (t) => {
    const services = {
      a: { url: 'https://a.test', ca: 'missing.pem' },
      b: { url: 'https://b.test', ca: 'src/services/no.pem' },
    }
    await assert.rejects(servicesApp(t, { files: { 'no.pem': 'no certificate' }, options: { services } }), (error) => {
      for (const line of [
        'option services.a.ca: missing.pem is not a readable PEM certificate',
        'option services.b.ca: src/services/no.pem is not',
      ])
        assert.ok(detailsOf(error).includes(line), detailsOf(error))
      return true
    })
  })
})
