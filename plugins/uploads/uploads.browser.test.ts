import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser } from 'playwright-core'
import { definePlugin, Type } from 'zin'
import { createTestHost, type TestHost } from 'zin/testing'
import { launch } from '../../scripts/testing/chromium.js'
import { uploads } from './index.js'

/** Lets pages of one origin read the responses, as a plugin for CORS does. */
const allow = (origin: () => string) =>
  definePlugin({
    name: 'allow',
    version: '1.0.0',
    setup: ({ use }) =>
      use(async (ctx, next) => {
        ctx.set('Access-Control-Allow-Origin', origin())
        await next()
      }),
  })()

describe('uploads from a page in Chromium', () => {
  let browser: Browser
  let app: TestHost
  let other: TestHost
  before(async () => {
    browser = await launch()
    app = await createTestHost({
      plugins: [
        allow(() => other.url),
        uploads({ maxFileSize: 1_000_000, types: ['image/png', 'text/plain'] }),
        definePlugin({
          name: 'shop',
          version: '1.0.0',
          setup: ({ route }) =>
            route({
              method: 'POST',
              path: '/products',
              summary: 'x',
              bodyType: 'form',
              body: Type.Object({ name: Type.String(), price: Type.Integer() }),
              files: { image: {}, extra: { maxCount: 3, optional: true } },
              handler: ({ input, request: { files } }) => ({
                ...input.body,
                image: [files.image.originalFilename, files.image.mimetype, files.image.size],
                extra: files.extra?.length ?? 0,
              }),
            }),
        })(),
      ],
      listen: true,
    })
    other = await createTestHost({
      routes: [
        {
          method: 'GET',
          path: '/page',
          summary: 'x',
          handler: (ctx: { type: string }) => {
            ctx.type = 'text/html'
            return `<form action="${app.url}/products" method="post" enctype="multipart/form-data">
              <input name="name" value="Lamp &quot;ä&quot;"><input name="price" value="42">
              <input type="file" name="image"><input type="file" name="extra" multiple><button>Send</button></form>`
          },
        },
      ] as never,
      listen: true,
    })
  })
  after(async () => {
    await browser.close()
    await app.stop()
    await other.stop()
  })

  const png = Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex')

  it('a form of another origin is received as it is, with inputs in which nothing was selected', async () => {
    const page = await browser.newPage()
    await page.goto(`${other.url}/page`)
    await page.setInputFiles('[name=image]', { name: 'Bild "ä".png', mimeType: 'image/png', buffer: png })
    await Promise.all([page.waitForURL(`${app.url}/products`), page.click('button')])
    assert.deepEqual(JSON.parse((await page.textContent('body')) ?? ''), {
      name: 'Lamp "ä"',
      price: 42,
      image: ['Bild ä.png', 'image/png', png.length],
      extra: 0,
    })
    await page.close()
  })

  it('a script of another origin reads why an upload is refused, also while it is still sending', async () => {
    const page = await browser.newPage()
    await page.goto(`${other.url}/page`)
    const send = (bytes: number, type: string) =>
      page.evaluate(
        async ([url, size, kind]) => {
          const form = new FormData()
          form.append('name', 'x')
          form.append('price', '1')
          form.append('image', new File([kind === 'text' ? 'x'.repeat(size) : new Uint8Array(size)], 'a.txt', { type: 'text/plain' }))
          const response = await fetch(url, { method: 'POST', body: form })
          const body = await response.json()
          return [response.status, body.code ?? body.image]
        },
        [`${app.url}/products`, bytes, type] as const,
      )
    assert.deepEqual(await send(1_000_000, 'text'), [200, ['a.txt', 'text/plain', 1_000_000]])
    assert.deepEqual(await send(1_000_001, 'text'), [413, 'UPLOAD_TOO_LARGE'])
    assert.deepEqual(await send(5000, 'bytes'), [415, 'UPLOAD_TYPE_REFUSED'])
    await page.close()
  })
})
