import assert from 'node:assert/strict'
import { it } from 'node:test'
import { chromium, type Page } from 'playwright-core'
import { bundle, casesModule, describeSigner, exampleUrl, type SignerRuntime } from './signer.contract.js'
import type { SignerApp } from './testing/signer-app.js'
import { loggedIn } from './testing/signer-app.js'

const executablePath = process.env.TEST_CHROMIUM
assert.ok(executablePath, 'TEST_CHROMIUM is not set; run: npm test -- signer.browser')

interface Chromium extends SignerRuntime {
  readonly page: Page
  /** A second page, over plain http and not on localhost. */
  insecurePage(): Promise<Page>
}

const script = `${casesModule}
import * as signer from 'zin/signer'
Object.assign(globalThis, { signerCases, signer })`

/** Runs the script in a page. A module runs after its tag is added. */
async function addModule(page: Page, content: string): Promise<void> {
  await page.addScriptTag({ type: 'module', content })
  await page.waitForFunction(() => 'signer' in globalThis)
}

/** The result that the script leaves in a page. */
interface Globals {
  readonly signerCases: readonly { run(app: unknown): Promise<void> }[]
  readonly signer: typeof import('zin/signer')
}

async function startChromium(app: SignerApp): Promise<Chromium> {
  const browser = await chromium.launch({
    executablePath: executablePath as string,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  })
  const content = await bundle(script)
  const page = await browser.newPage()
  await page.goto(`${app.url}/page`)
  await addModule(page, content)
  return {
    page,
    insecurePage: async () => {
      const other = await browser.newPage()
      await other.route('http://insecure.test/', (route) => route.fulfill({ contentType: 'text/html', body: '<!doctype html>' }))
      await other.goto('http://insecure.test/')
      await addModule(other, content)
      return other
    },
    runCase: async (index, at) =>
      page.evaluate(([position, target]) => (globalThis as unknown as Globals).signerCases[position]?.run(target), [index, at] as const),
    stop: () => browser.close(),
  }
}

describeSigner('Chromium', startChromium, (runtime, app) => {
  for (const title of ['In a page', 'With its own key'] as const) {
    it(`runs the example of the README: ${title.toLowerCase()}`, async () => {
      const { url, email, password } = app()
      const example = await exampleUrl(title, 'me', { origin: url, email, password })
      const me = await runtime().page.evaluate((address) => import(address).then(({ result }) => result), example)
      assert.equal(me.email, email)
    })
  }

  for (const profile of ['v1', 'rfc9421'] as const) {
    it(`signs an address relative to the page's <base>, by ${profile}`, async () => {
      const { jwt, deviceId, deviceSecret } = await loggedIn(app())
      const options = { profile, keyId: deviceId, secret: deviceSecret, token: jwt }
      const response = await runtime().page.evaluate(async (given) => {
        const { createHeaders, signedFetch } = (globalThis as unknown as Globals).signer
        const fetched = await signedFetch(given)('echo?a=1')
        const authorization = `Bearer ${given.token}`
        const headers = await createHeaders({ ...given, method: 'GET', url: 'echo?a=2', authorization })
        const own = await fetch('echo?a=2', { headers: { ...headers, authorization } })
        return [fetched.status, (await fetched.json()).target, own.status, (await own.json()).target]
      }, options)
      assert.deepEqual(response, [200, '/base/echo?a=1', 200, '/base/echo?a=2'])
    })

    it(`reports what a page on plain http lacks, by ${profile}`, async () => {
      const page = await runtime().insecurePage()
      const order = { profile, method: 'GET', url: '/', keyId: 'dev_1', secret: 'secret' }
      const problem = page.evaluate((given) => (globalThis as unknown as Globals).signer.createHeaders(given), order)
      await assert.rejects(problem, /crypto\.subtle is not available: browsers provide it on https and localhost pages only/)
      await page.close()
    })
  }
})
