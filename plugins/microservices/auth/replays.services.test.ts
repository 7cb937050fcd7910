import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { cleanUp } from '../../../scripts/testing/clean-up.js'
import { freePort } from '../../../scripts/testing/free-port.js'
import { moduleText, serve } from '../testing/servers.js'
import { type ServicesAppOptions, servicesApp } from '../testing/services-app.js'

const secret = { SERVICE_SIGNING_SECRET: 'signing' }

/** Captures the headers of one signed call to the service `safe`. */
async function signedHeaders(t: TestContext): Promise<Record<string, string>> {
  let seen: Record<string, string> = {}
  const eavesdropper = await serve(t, ({ headers }, response) => {
    seen = Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('x-sig-'))) as Record<string, string>
    response.end()
  })
  const { services } = await servicesApp(t, { env: secret, options: { services: { safe: { url: eavesdropper.url, auth: 'signed' } } } })
  await services.callService('safe', { path: '/who' })
  return seen
}

/** Starts apps that run `safe`, each at its own address. */
async function startSafe(t: TestContext, given: ServicesAppOptions = {}): Promise<readonly string[]> {
  const { services } = await servicesApp(t, {
    files: {
      'a/safe/service.config.json': { name: 'safe', port: await freePort(2), auth: { strategy: 'signed' } },
      'a/safe/index.mjs': moduleText(),
    },
    ...given,
    env: { ...secret, ...given.env },
  })
  const [service] = services.list()
  assert.equal(service?.state, 'running', service?.instances[0]?.reason)
  return service.instances.map(({ url }) => url)
}

async function statuses(urls: readonly string[], headers: Record<string, string>): Promise<readonly number[]> {
  const found: number[] = []
  for (const url of urls) found.push((await fetch(`${url}/who`, { headers })).status)
  return found
}

describe('a signed call replayed to another process', () => {
  it('is refused if the app has a kv store in Redis', async (t) => {
    const given = {
      plugins: [kv()],
      env: { APP_NAME: `replays-${randomUUID().slice(0, 8)}`, REDIS_URL: process.env.TEST_REDIS_URL ?? '' },
    }
    const urls = [...(await startSafe(t, given)), ...(await startSafe(t, given))]
    assert.deepEqual(await statuses(urls, await signedHeaders(t)), [200, 401])
  })

  it('is refused if the app has a kv store in its database', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'zin-replays-'))
    cleanUp(t)(() => rm(folder, { recursive: true, force: true }))
    const given = () => ({ plugins: [database(), kv()], env: { APP_NAME: 'replays', ZIN_DATA_DIR: folder } })
    const urls = [...(await startSafe(t, given())), ...(await startSafe(t, given()))]
    assert.deepEqual(await statuses(urls, await signedHeaders(t)), [200, 401])
  })

  it('is refused by all processes of one app without a store', async (t) => {
    const urls = await startSafe(t, { options: { services: { safe: { process: 'own', instances: 2 } } } })
    assert.deepEqual(await statuses(urls, await signedHeaders(t)), [200, 401])
  })
})
