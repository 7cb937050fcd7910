import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Miniflare } from 'miniflare'
import { bundle, casesModule, describeSigner } from './signer.contract.js'
import { readmeExample } from './testing/readme-example.js'
import { loggedIn } from './testing/signer-app.js'

const worker = `${casesModule}
export default {
  async fetch(request) {
    const { index, app } = await request.json()
    try {
      await signerCases[index].run(app)
      return new Response('')
    } catch (error) {
      return new Response(error.stack, { status: 500 })
    }
  },
}`

async function inWorkerd(script: string, bindings: Record<string, string> = {}): Promise<Miniflare> {
  const miniflare = new Miniflare({ modules: true, script: await bundle(script), compatibilityDate: '2025-01-01', bindings })
  await miniflare.ready
  return miniflare
}

describeSigner(
  'workerd',
  async () => {
    const miniflare = await inWorkerd(worker)
    return {
      runCase: async (index, app) => {
        const response = await miniflare.dispatchFetch('http://worker/', { method: 'POST', body: JSON.stringify({ index, app }) })
        const problem = await response.text()
        if (!response.ok) throw new Error(problem)
      },
      stop: () => miniflare.dispose(),
    }
  },
  (_runtime, app) => {
    it('runs the example of the README: at the edge', async () => {
      const { jwt, deviceId, deviceSecret } = await loggedIn(app())
      const bindings = { API: app().url, DEVICE_ID: deviceId, DEVICE_SECRET: deviceSecret, JWT: jwt }
      const miniflare = await inWorkerd(readmeExample('At the edge'), bindings)
      try {
        const response = await miniflare.dispatchFetch('http://worker/')
        const { email } = (await response.json()) as { email: string }
        assert.deepEqual([response.status, email], [200, app().email])
      } finally {
        await miniflare.dispose()
      }
    })
  },
)
