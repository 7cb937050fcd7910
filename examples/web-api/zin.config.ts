import { defineConfig, env } from 'zin'
import {
  bulletproof,
  cluster,
  cors,
  database,
  health,
  jwt,
  kv,
  login,
  ops,
  queues,
  rateLimit,
  securityHeaders,
  sessions,
  staticFiles,
  uploads,
  websocket,
  workers,
} from 'zin/plugins'
import { accounts } from './accounts.js'
import { orders } from './orders.js'
import { products } from './products.js'
import { reports } from './reports.js'

/** With the other data of the app. */
const pictures = `${env.string('ZIN_DATA_DIR', '.zin/data')}/pictures`
/** Origin of the front end's pages. */
const frontEnd = 'http://localhost:5173'

// Data is stored in .zin/data until REDIS_URL and DB_* are set; nothing else needs to change.
export default defineConfig({
  plugins: [
    cors({ origins: [frontEnd], credentials: true, exposedHeaders: ['x-csrf-token', 'retry-after'] }),
    securityHeaders(),
    rateLimit({
      limit: 300,
      windowMs: 60_000,
      limits: { signUp: { limit: 5, windowMs: 3_600_000 }, order: { limit: 20, windowMs: 60_000, by: 'user' } },
    }),
    database(),
    kv(),
    cluster(),
    queues(),
    health(),
    jwt(),
    bulletproof(),
    login({ seed: { email: 'admin@example.com', role: 'admin', passwordSetting: 'DEMO_PASSWORD' } }),
    sessions(),
    ops(),
    workers(),
    uploads({ maxFileSize: 2_000_000, maxFiles: 1 }),
    websocket({ origins: [frontEnd] }),
    accounts(),
    products({ pictures }),
    orders(),
    reports(),
    staticFiles({ root: pictures, prefix: '/pictures', maxAgeSeconds: 86_400 }),
  ],
})
