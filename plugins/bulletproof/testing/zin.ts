import { type AppFolder, appFolder } from '../../../scripts/testing/app-folder.js'

const login = `async (email, password) => (password === 'letmein-0123' ? { id: email.split('@')[0], email, role: 'user' } : undefined)`

/** A configuration with all authentication plugins and their tables. */
export const config = `
import { defineConfig } from 'zin'
import { bulletproof } from 'zin/plugins/bulletproof'
import { database } from 'zin/plugins/database'
import { jwt } from 'zin/plugins/jwt'
import { kv } from 'zin/plugins/kv'
import { login } from 'zin/plugins/login'
export default defineConfig({
  app: { name: 'corner-shop', port: 0 },
  plugins: [database(), kv(), jwt(), bulletproof(), login({ verifyCredentials: ${login} })],
})
`

/** @param configuration text of `zin.config.mjs`; default: all authentication plugins, with `verifyCredentials`. */
export async function withFolder(env: string, test: (app: AppFolder) => Promise<void>, configuration = config): Promise<void> {
  const app = await appFolder({ 'zin.config.mjs': configuration, '.env': env })
  try {
    await test(app)
  } finally {
    await app.remove()
  }
}
