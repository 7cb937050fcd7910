import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { appFolder } from '../../scripts/testing/app-folder.js'
import { cleanUp } from '../../scripts/testing/clean-up.js'
import { eventually } from '../../scripts/testing/eventually.js'
import { freePort } from '../../scripts/testing/free-port.js'
import { isAlive } from '../../scripts/testing/is-alive.js'
import type { ServiceView } from './contract.js'
import { httpsServer } from './testing/https-server.js'

const jwtSecret = 'a-secret-of-services-with-32-bytes!'

const config = `import { defineConfig } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { decisions } from 'zin/plugins/decisions'
import { microservices } from 'zin/plugins/microservices'
import { ops } from 'zin/plugins/ops'
export default defineConfig({
  plugins: [cluster(), ops(), decisions(), microservices({ basePort: Number(process.env.BASE_PORT ?? 3001), services: { orders: { process: 'own', instances: 2 }, secure: { url: process.env.SECURE_URL } } })],
})
`

const foreignText = 'export const own = 1\n'

describe('a service in child processes', () => {
  it('is created, started, called, restarted after kill -9, and exits with the app', async (t) => {
    const later = cleanUp(t)
    const { ca, port } = await httpsServer(t, (_request, response) => void response.setHeader('content-type', 'text/plain').end('trusted'))
    const app = await appFolder({ 'zin.config.mjs': config, 'src/foreign.ts': foreignText })
    later(() => app.remove())
    const made = await app.zin(['make:service', 'shop/orders'])
    assert.equal(made.code, 0, made.err)
    const file = join(app.folder, 'src/services/shop/orders/service.config.json')
    const text = readFileSync(file, 'utf8')
    const again = await app.zin(['make:service', 'shop/orders'])
    assert.notEqual(again.code, 0)
    assert.match(again.err, /overwrites nothing/)
    assert.equal(readFileSync(file, 'utf8'), text)
    for (const name of ['orders', 'a/b/c', '../x/y', 'Shop/orders']) {
      const refused = await app.zin(['make:service', name])
      assert.match(refused.err, /is not <domain>\/<name>|wrong|Unknown/i, name)
    }
    assert.deepEqual(readdirSync(join(app.folder, 'src')).sort(), ['foreign.ts', 'services'])
    assert.deepEqual(readdirSync(join(app.folder, 'src/services')), ['shop'])

    const env = {
      MICROSERVICES: 'true',
      PORT: String(await freePort()),
      BASE_PORT: String(await freePort(2)),
      NODE_ENV: 'development',
      SECURE_URL: `https://localhost:${port}`,
      NODE_EXTRA_CA_CERTS: ca,
    }
    const refused = await app.zin(['start'], env)
    assert.notEqual(refused.code, 0)
    assert.match(refused.out + refused.err, /SERVICE_JWT_SECRET is empty, and service "orders" has the strategy jwt/)

    const running = await app.start({ ...env, SERVICE_JWT_SECRET: jwtSecret })
    const list = async (): Promise<ServiceView> => {
      const { code, err, out } = await app.zin(['service:list', '--json'], env)
      assert.equal(code, 0, err)
      return (JSON.parse(out) as ServiceView[])[0] as ServiceView
    }
    const api = async (): Promise<ServiceView> =>
      ((await (await fetch(`${running.url}/api/services`)).json()) as { services: [ServiceView] }).services[0]
    const [first, second] = (await list()).instances
    assert.ok(first?.pid && second?.pid && first.pid !== second.pid && first.url !== second.url)
    const call = await app.zin(['service:call', 'orders', '/orders'], env)
    assert.deepEqual([call.code, JSON.parse(call.out.slice(call.out.indexOf('{')))], [0, { name: 'orders', version: '0.1.0' }], call.err)
    assert.equal((await fetch(`${first.url}/orders`)).status, 401)
    assert.match((await app.zin(['service:call', 'secure', '/'], env)).out, /trusted/)

    const types = (...args: readonly string[]) => app.zin(['service:types', 'orders', ...args], env)
    const client = join(app.folder, 'clients/orders.ts')
    assert.equal((await types('--out', 'clients/orders.ts', '--check')).code, 1)
    assert.ok(!existsSync(client))
    const written = await types('--out', 'clients/orders.ts')
    assert.equal(written.code, 0, written.err)
    assert.match(
      readFileSync(client, 'utf8'),
      /readonly getOrders: ServiceOperation<[\s\S]*readonly name: string; readonly version: string/,
    )
    assert.equal((await types('--out', 'clients/orders.ts', '--check')).code, 0)
    // With the credential of the strategy, the document can be read at the address of the service.
    const direct = await types('--from', `${first.url}/openapi.json`, '--out', 'clients/orders.ts', '--check')
    assert.equal(direct.code, 1, 'without the secret it is refused')
    const secret = { ...env, SERVICE_JWT_SECRET: jwtSecret }
    const opened = await app.zin(
      ['service:types', 'orders', '--from', `${first.url}/openapi.json`, '--out', 'clients/orders.ts', '--check'],
      secret,
    )
    assert.equal(opened.code, 0, opened.err)
    const foreign = await types('--out', 'src/foreign.ts')
    assert.match(foreign.err, /SERVICE_TYPES_FOREIGN/)
    assert.equal(readFileSync(join(app.folder, 'src/foreign.ts'), 'utf8'), foreignText)
    assert.match((await types('--check')).err, /--check requires --out/)

    process.kill(first.pid, 'SIGKILL')
    await running.said(/orders-1 is lost: its process ended by SIGKILL/)
    assert.equal((await api()).state, 'running')
    await eventually('it runs again', async () => {
      const [healed] = (await api()).instances
      return healed?.state === 'running' && healed.pid !== first.pid && healed.restarts === 1
    })
    const { decisions } = (await (await fetch(`${running.url}/api/decisions?subject=service:orders`)).json()) as {
      decisions: { kind: string; reason: string }[]
    }
    assert.match(decisions[0]?.reason ?? '', /orders-1 is lost .*orders-2 takes its calls/)
    assert.equal((await app.zin(['service:call', 'orders', '/orders'], env)).code, 0)

    const stopped = await app.zin(['service:stop', 'orders'], env)
    assert.match(stopped.out, /orders is stopped/)
    assert.equal((await app.zin(['service:call', 'orders', '/orders'], env)).code, 1)
    assert.match((await app.zin(['service:start', 'orders'], env)).out, /orders is running/)
    assert.match((await app.zin(['service:list'], env)).out, /orders.*running/)

    const pids = (await api()).instances.map(({ pid }) => pid as number)
    await running.kill()
    await eventually('nothing is left behind', () => pids.every((pid) => !isAlive(pid)))

    const next = await app.start({ ...env, SERVICE_JWT_SECRET: jwtSecret })
    const alive = ((await (await fetch(`${next.url}/api/services`)).json()) as { services: [ServiceView] }).services[0].instances
    assert.equal(await next.end(), 0, next.output())
    assert.ok(alive.every(({ pid }) => !isAlive(pid as number)))
  })
})
