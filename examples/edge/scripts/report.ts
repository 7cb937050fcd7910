// npm run report -- <word>: calls registered statements of the proxy directly, without the app.
import { createProxyClient } from 'zin/clients'

process.loadEnvFile('.env')
const { EDGE_REMOTE_URL = '', EDGE_REMOTE_KEY_ID = '', EDGE_REMOTE_SECRET = '' } = process.env
const edge = createProxyClient({ url: EDGE_REMOTE_URL, proxy: 'edge', keyId: EDGE_REMOTE_KEY_ID, secret: EDGE_REMOTE_SECRET })

const [count] = (await edge.statement('notes.count', [])).rows
console.log(`${String(count?.notes)} notes`)
const found = await edge.statement('notes.search', [process.argv[2] ?? ''])
for (const { id, text } of found.rows) console.log(`${String(id)}: ${String(text)}`)
