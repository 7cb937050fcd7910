import { defineConfig } from 'zin'
import { database } from 'zin/plugins'
import { routeCount } from './command.js'
import { guestbook } from './guestbook.js'
import { greeter, greetingCount } from './hook.js'
import { tenants } from './middleware.js'
import { notes } from './migration.js'
import { postman, welcome } from './service.js'

export default defineConfig({
  plugins: [database(), greeter(), greetingCount(), postman(), welcome(), tenants(), routeCount(), notes(), guestbook()],
})
