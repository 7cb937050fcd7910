import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { appFolder } from '../../scripts/testing/app-folder.js'

/** The example under "Enable" in the README of a plugin. */
async function enableExample(plugin: string): Promise<string> {
  const readme = await readFile(new URL(`../${plugin}/README.md`, import.meta.url), 'utf8')
  const code = readme.split('\n## Enable\n')[1]?.match(/```ts\n([\s\S]*?)```/)?.[1]
  assert.ok(code, `the README of ${plugin} has no example`)
  return code
}

describe('the example under "Enable" starts unchanged', () => {
  for (const plugin of ['ops', 'bulletproof', 'jwt', 'login', 'queues', 'health']) {
    it(`in the README of ${plugin}`, async () => {
      // As JavaScript, which it is as well: TypeScript would take each app a second longer.
      const app = await appFolder({ 'zin.config.mjs': await enableExample(plugin) })
      try {
        const running = await app.start({ PORT: '0', QUEUE_FSYNC: 'off' })
        assert.equal((await fetch(`${running.url}/openapi.json`)).status, 200)
        await running.end()
      } finally {
        await app.remove()
      }
    })
  }
})
