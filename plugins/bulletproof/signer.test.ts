import assert from 'node:assert/strict'
import { it } from 'node:test'
import { describeSigner, exampleUrl } from './signer.contract.js'
import { loggedIn } from './testing/signer-app.js'
import { signerCases } from './testing/signer-client.js'

describeSigner(
  'Node',
  async () => ({
    runCase: async (index, app) => signerCases[index]?.run(app),
    stop: async () => {},
  }),
  (_runtime, app) => {
    it('runs the example of the README: with its own key', async () => {
      const { url, email, password } = app()
      const { result } = await import(await exampleUrl('With its own key', 'me', { origin: url, email, password }))
      assert.equal(result.email, email)
    })

    it('runs the example of the README: with any HTTP client', async () => {
      const values = { origin: app().url, ...(await loggedIn(app())) }
      const { result } = await import(await exampleUrl('In Node, with any HTTP client', 'response', values))
      assert.equal(result.status, 200)
    })
  },
)
