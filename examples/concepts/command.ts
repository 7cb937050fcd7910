// A CLI command: `npx zin routes:count --prefix /api`, with `--json` for scripts.
import { defineCommand, definePlugin } from 'zin'

const count = defineCommand({
  name: 'routes:count',
  summary: 'Count the routes of the app',
  // `config` sets the plugins up without starting them, `services` starts the plugin, and `running app` talks to the running process.
  needs: 'config',
  json: true,
  options: { prefix: { type: 'string', default: '/', summary: 'Only routes whose path starts with this prefix' } },
  run({ host, options, print }) {
    const routes = host.routes().filter(({ path }) => path.startsWith(options.prefix))
    if (print.json) print.record({ routes: routes.length })
    else print.line(`${routes.length} routes`)
  },
})

export const routeCount = definePlugin({
  name: 'route-count',
  version: '1.0.0',
  setup: ({ command }) => command(count),
})
