import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { defineRoute } from '../http/route.js'
import { createTestHost } from '../testing/test-host.js'

const hello = defineRoute({ method: 'GET', path: '/hello', summary: 'Greets', handler: () => ({ hello: true }) })

test('the OpenAPI document has the name and the version of the app', async (t) => {
  const rootDir = await mkdtemp(join(tmpdir(), 'zin-version-'))
  t.after(() => rm(rootDir, { recursive: true }))
  const infoOf = async () => {
    const host = await createTestHost({ rootDir, app: { name: 'shop' }, routes: [hello] })
    const { body } = await host.inject({ path: '/openapi.json' })
    await host.stop()
    return body.info
  }
  assert.deepEqual(await infoOf(), { title: 'shop', version: '0.0.0' })
  await writeFile(join(rootDir, 'package.json'), '{"version":"2.3.4"}')
  assert.deepEqual(await infoOf(), { title: 'shop', version: '2.3.4' })
})

test('LOG_REQUESTS controls whether requests are logged', async () => {
  for (const LOG_REQUESTS of ['true', 'false']) {
    const host = await createTestHost({ routes: [hello], env: { LOG_REQUESTS } })
    await host.inject({ path: '/hello' })
    await host.stop()
    assert.equal(host.logs.filter(({ msg }) => msg === 'request').length, LOG_REQUESTS === 'true' ? 1 : 0)
  }
})
