import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import type { Browser } from 'playwright-core'
import { compression } from 'zin/plugins/compression'
import { securityHeaders } from 'zin/plugins/security-headers'
import { createTestHost, type TestHost } from 'zin/testing'
import { launch } from '../../scripts/testing/chromium.js'
import { staticFiles } from './index.js'

const script = `
const shown = document.querySelector('h1')
shown.textContent = location.pathname
fetch('/api/greeting').then((response) => response.json()).then(({ hello }) => { document.querySelector('p').textContent = hello })`

const files: Readonly<Record<string, string | Buffer>> = {
  'index.html':
    '<!doctype html><html lang="en"><title>Shop</title><link rel="stylesheet" href="/assets/style.css"><h1></h1><p></p>' +
    '<script type="module" src="/assets/app.js"></script><script>window.inlined = true</script>',
  'assets/app.js': 'throw new Error("the plain form is outdated")',
  'assets/app.js.br': brotliCompressSync(script),
  'assets/app.js.gz': gzipSync(script),
  'assets/style.css': `h1 { color: rgb(1, 2, 3) } ${'/* long */'.repeat(500)}`,
}

describe('a front end served by static-files, in Chromium', () => {
  let folder: string
  let host: TestHost
  let browser: Browser
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'zin-front-end-'))
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), content)
    }
    host = await createTestHost({
      listen: true,
      plugins: [staticFiles({ root: folder, spa: true, immutable: ['assets/'] }), compression(), securityHeaders()],
      routes: [{ method: 'GET', path: '/api/greeting', summary: 'x', handler: () => ({ hello: 'world '.repeat(300) }) }],
    })
    browser = await launch()
  })
  after(async () => {
    await browser?.close()
    await host?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  it('runs its script and style from every path, calls the API, and runs nothing inline', async () => {
    const page = await browser.newPage()
    const failures: string[] = []
    page.on('pageerror', (error) => failures.push(error.message))
    page.on('requestfailed', (request) => failures.push(request.url()))
    await page.goto(`${host.url}/orders/4711`)
    await page.waitForFunction(() => document.querySelector('p')?.textContent?.startsWith('world') === true)
    const seen = await page.evaluate(() => ({
      title: document.querySelector('h1')?.textContent,
      color: getComputedStyle(document.querySelector('h1') as Element).color,
      inlined: 'inlined' in globalThis,
    }))
    assert.deepEqual(seen, { title: '/orders/4711', color: 'rgb(1, 2, 3)', inlined: false })
    assert.deepEqual(failures, [])
    await page.close()
  })
})
