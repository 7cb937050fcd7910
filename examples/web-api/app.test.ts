import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { WebSocket } from 'ws'
import { workersService } from 'zin/plugins/workers'
import { createTestHost, type TestHost } from 'zin/testing'
import { type ShopClient, shopClient } from './web/shop.js'
import config from './zin.config.js'

const frontEnd = 'http://localhost:5173'
const png = new Uint8Array(
  Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64'),
)
const env = {
  APP_KEY: 'a key that is long enough for tests only',
  BULLETPROOF_SIGNING_SECRET: 'a secret that is long enough for tests only',
  DEMO_PASSWORD: 'correct horse battery staple',
  WORKER_PERSISTENCE_DRIVER: 'db',
  WORKER_AUTO_START: 'true',
}

let app: TestHost
let admin: ShopClient
let customer: ShopClient
let token = ''
const ended = new Map<string, (result: unknown) => void>()

const clientWith = (headers: Record<string, string>) =>
  shopClient(app.url, (url, init) => fetch(url, { ...init, headers: { ...init.headers, ...headers } }))

async function tokenOf(email: string, password: string): Promise<string> {
  const login = await shopClient(app.url).postAuthLogin({ body: { email, password } })
  assert.ok(login.ok, JSON.stringify(login.data))
  return login.data.jwt
}

/** The next job of a worker that completes. */
const completed = (worker: string) => new Promise((resolve) => ended.set(worker, resolve))

async function addProduct(name: string, stock: number): Promise<string> {
  const added = await admin.postProducts({ body: { name, price: 1250, stock } })
  assert.ok(added.ok, JSON.stringify(added.data))
  return added.data.id
}

before(async () => {
  app = await createTestHost({
    ...config,
    env,
    listen: true,
    hooks: { onJobComplete: (worker) => ended.get(worker)?.(undefined) },
  })
  admin = clientWith({ authorization: `Bearer ${await tokenOf('admin@example.com', env.DEMO_PASSWORD)}` })
  const account = { email: 'ada@example.com', password: 'a long password' }
  assert.equal((await shopClient(app.url).postSignUp({ body: account })).status, 201)
  token = await tokenOf(account.email, account.password)
  customer = clientWith({ authorization: `Bearer ${token}` })
})
after(() => app.stop())

test('admins change products, everybody reads them', async () => {
  const id = await addProduct('lamp', 3)
  const body = { name: 'lamp', price: 990, stock: 3 }
  assert.equal((await customer.postProducts({ body })).status, 403)
  assert.equal((await shopClient(app.url).postProducts({ body })).status, 401)
  const twin = await admin.postProducts({ body })
  assert.deepEqual([twin.status, !twin.ok && twin.data.code], [409, 'PRODUCT_EXISTS'])
  assert.equal((await admin.putProductsId({ params: { id }, body })).status, 200)
  const read = await shopClient(app.url).getProductsId({ params: { id } })
  assert.deepEqual(read.data, { id, ...body, picture: null })
  assert.equal((await admin.deleteProductsId({ params: { id } })).status, 204)
  assert.equal((await admin.getProductsId({ params: { id } })).status, 404)
})

test('a picture is what it says, and is served under a new name', async () => {
  const id = await addProduct('vase', 1)
  const upload = (content: Uint8Array<ArrayBuffer> | string) => {
    const body = new FormData()
    body.set('picture', new Blob([content], { type: 'image/png' }), 'vase.png')
    return admin.putProductsIdPicture({ params: { id }, body })
  }
  assert.equal((await upload('<script>alert(1)</script>')).status, 415)
  const uploaded = await upload(png)
  assert.ok(uploaded.ok)
  const served = await fetch(`${app.url}/pictures/${uploaded.data.picture}`)
  assert.deepEqual([served.status, served.headers.get('content-type')], [200, 'image/png'])
  assert.deepEqual(new Uint8Array(await served.arrayBuffer()), png)
  await upload(png)
  assert.equal((await fetch(`${app.url}/pictures/${uploaded.data.picture}`)).status, 404)
})

test('an order takes from the stock, sends a mail, and can be followed by its customer', async () => {
  const productId = await addProduct('chair', 2)
  const mailed = completed('order-mails')
  const order = await customer.postOrders({ body: { productId, quantity: 2 } })
  assert.ok(order.ok, JSON.stringify(order.data))
  assert.equal(order.data.total, 2500)
  const more = await customer.postOrders({ body: { productId, quantity: 1 } })
  assert.deepEqual([more.status, !more.ok && more.data.code], [409, 'ORDER_OUT_OF_STOCK'])
  await mailed
  const mail = await readFile(join(app.host.view.app.dataDir, 'mails', `${order.data.id}.txt`), 'utf8')
  assert.match(mail, /^To: ada@example.com\n[\s\S]*Total: 25\.00\n$/)

  const live = (jwt: string) =>
    new WebSocket(`${app.url.replace('http', 'ws')}/orders/live`, ['zin', `bearer.${jwt}`], { origin: frontEnd })
  const next = async (socket: WebSocket): Promise<unknown> => JSON.parse(String((await once(socket, 'message'))[0]))
  const socket = live(token)
  await once(socket, 'open')
  socket.send(JSON.stringify({ follow: order.data.id }))
  assert.deepEqual(await next(socket), order.data)
  const change = next(socket)
  const shipped = await admin.putOrdersIdStatus({ params: { id: order.data.id }, body: { status: 'shipped' } })
  assert.deepEqual(
    [await change, shipped.data],
    [
      { ...order.data, status: 'shipped' },
      { ...order.data, status: 'shipped' },
    ],
  )
  socket.send(JSON.stringify({ follow: 'of-someone-else' }))
  assert.equal(((await next(socket)) as { code: string }).code, 'ORDER_NOT_FOUND')
  socket.close()
  await once(socket, 'close')
  assert.deepEqual((await customer.getOrders()).data, { orders: [shipped.data] })
  assert.deepEqual((await admin.getOrders()).data, { orders: [] })
})

test('the sales are reported each night', async () => {
  const workers = app.service(workersService)
  const [nightly] = await workers.schedules('sales-report')
  assert.equal(nightly?.id, 'nightly')
  const productId = await addProduct('table', 1)
  await customer.postOrders({ body: { productId, quantity: 1 } })
  const reported = completed('sales-report')
  const { id } = await workers.enqueue('sales-report', {})
  await reported
  const { result } = await workers.job('sales-report', id)
  assert.ok((result as { total: number }).total >= 1250, JSON.stringify(result))
})

test('a page of the front end logs in by a cookie, and changes nothing without its CSRF token', async () => {
  const productId = await addProduct('sofa', 5)
  const login = await shopClient(app.url, (url, init) =>
    fetch(url, { ...init, headers: { ...init.headers, origin: frontEnd } }),
  ).postAuthLogin({ body: { email: 'ada@example.com', password: 'a long password' } })
  assert.equal(login.headers.get('access-control-allow-origin'), frontEnd)
  assert.equal(login.headers.get('access-control-allow-credentials'), 'true')
  const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? ''
  const csrf = login.headers.get('x-csrf-token') ?? ''
  const page = clientWith({ cookie, origin: frontEnd })
  const body = { productId, quantity: 1 }
  const refused = await page.postOrders({ body })
  assert.deepEqual([refused.status, !refused.ok && refused.data.code], [403, 'CSRF_TOKEN_INVALID'])
  assert.equal((await page.postOrders({ body, headers: { 'x-csrf-token': csrf } })).status, 201)
  assert.equal((await page.deleteAuthSession({ headers: { 'x-csrf-token': csrf } })).status, 200)
  assert.equal((await page.getOrders()).status, 401)
})

test('a refresh token is valid once', async () => {
  const login = await shopClient(app.url).postAuthLogin({ body: { email: 'ada@example.com', password: 'a long password' } })
  assert.ok(login.ok)
  const body = { refreshToken: String(login.data.refreshToken) }
  assert.equal((await shopClient(app.url).postAuthRefresh({ body })).status, 200)
  assert.equal((await shopClient(app.url).postAuthRefresh({ body })).status, 401)
})

test('other origins, script in responses, and floods are refused', async () => {
  const preflight = (origin: string) =>
    fetch(`${app.url}/orders`, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST' } })
  assert.equal((await preflight(frontEnd)).headers.get('access-control-allow-origin'), frontEnd)
  assert.equal((await preflight('https://evil.example')).headers.get('access-control-allow-origin'), null)
  const response = await fetch(`${app.url}/products`)
  assert.match(response.headers.get('content-security-policy') ?? '', /default-src 'none'/)
  const body = { email: 'bob@example.com', password: 'a long password' }
  const statuses: number[] = []
  for (let n = 0; n < 6; n += 1) statuses.push((await shopClient(app.url).postSignUp({ body })).status)
  assert.deepEqual([statuses[0], statuses[1], statuses.at(-1)], [201, 409, 429])
})
