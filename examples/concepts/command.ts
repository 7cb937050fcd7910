// A command of the CLI: `npx zin routes:count --prefix /api`, with `--json` for scripts.
import { defineCommand, definePlugin } from 'zin'

const count = defineCommand({
  name: 'routes:count',
  summary: 'Counts the routes of the app',
  // The plugins are set up and nothing is started. `services` starts the plugin, `running app` talks to the running process.
  needs: 'config',
  json: true,
  options: { prefix: { type: 'string', default: '/', summary: 'Only routes whose path begins with this' } },
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
