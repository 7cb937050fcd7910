import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { autoscale } from 'zin/plugins/autoscale'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { decisions } from 'zin/plugins/decisions'
import { jwt, tokensService } from 'zin/plugins/jwt'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queuesService } from 'zin/plugins/queues'
import { workers } from 'zin/plugins/workers'
import { createTestHost, fake } from 'zin/testing'
import { resources } from './index.js'

const noQueues = fake(queuesService, { backend: 'embedded', addCanceller: () => () => undefined })
const owners = ['resources', 'autoscale']
const plugins = () => [database(), kv(), cluster(), jwt(), ops(), decisions(), workers(), resources(), autoscale()]

describe('the routes of resources and autoscale', () => {
  it('are all guarded', async () => {
    const env = { OPS_AUTH: 'required', JWT_SECRET: 'a-secret-of-more-than-thirty-two-characters' }
    const host = await createTestHost({ services: [noQueues], plugins: plugins(), env })
    const { token } = await host.service(tokensService).issue({ sub: 'somebody', role: 'reader' })
    const routes = host.host.view.routes().filter(({ plugin }) => owners.includes(plugin))
    assert.equal(routes.length, 8)
    for (const { method, path } of routes) {
      const target = { method, path: path.replaceAll(/:\w+/g, 'known') }
      assert.equal((await host.inject(target)).status, 401, `${method} ${path}`)
      assert.equal((await host.inject({ ...target, headers: { authorization: `Bearer ${token}` } })).status, 403, `${method} ${path}`)
    }
    await host.stop()
  })

  it('and the command are not registered with WORKERS_ENABLED=false', async () => {
    const host = await createTestHost({ services: [noQueues], plugins: plugins(), env: { WORKERS_ENABLED: 'false' } })
    assert.deepEqual(
      host.host.view.routes().filter(({ plugin }) => owners.includes(plugin)),
      [],
    )
    assert.deepEqual(
      host.host.commands().filter(({ command }) => command.name === 'resource:monitor'),
      [],
    )
    await host.stop()
  })
})
