import { defineCommand } from '../../host/command.js'

export const routesCommand = defineCommand({
  name: 'routes',
  summary: 'List routes with their plugin and middleware keys',
  needs: 'config',
  json: true,
  run({ host, print }) {
    const rows = host.routes().map(({ method, path, plugin, use, summary, probe, upgrade }) => ({
      method,
      path,
      plugin,
      use,
      summary: upgrade === undefined ? summary : `${summary} (${upgrade})`,
      probe,
      ...(upgrade !== undefined && { upgrade }),
    }))
    print.table(rows, ['method', 'path', 'plugin', 'use', 'summary'])
  },
})
