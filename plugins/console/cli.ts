import { type Command, defineCommand, messageOf } from 'zin'

const defaultPort = 7790

/** `zin monitor`: serves the console of a local or remote app. */
export const consoleCommands: readonly Command[] = [
  defineCommand({
    name: 'monitor',
    summary: 'Serve the console locally for the running app, or for the app at --url',
    needs: 'running app',
    serves: true,
    options: {
      'console-port': { type: 'int', summary: 'Port to listen on; 0 picks a free port', default: defaultPort, min: 0, max: 65_535 },
      'read-only': { type: 'boolean', summary: 'Reject all requests that change something' },
    },
    async run({ app, host, options, print, signal }) {
      const [{ startStandalone }, { loadAssets }, { consoleErrors }, { LinkAccess }] = await Promise.all([
        import('./standalone-server.js'),
        import('./assets.js'),
        import('./errors.js'),
        import('./link-access.js'),
      ])
      const assets = await loadAssets()
      const links = new LinkAccess()
      const server = await startStandalone({
        host: '127.0.0.1',
        port: options['console-port'],
        target: () => app.baseUrl,
        appName: host.app.name,
        index: async () => assets.index,
        file: async (name) => {
          const found = assets.file(name)
          if (found === undefined) throw consoleErrors.CONSOLE_FILE_NOT_FOUND(name)
          return found
        },
        auth: undefined,
        links,
        onLinkUsed: () => print.line(`For another browser: ${links.link(server.url)}`),
        readOnly: options['read-only'] === true,
        authorize: app.authorize,
        onError: (error, request) => print.error(`${request} failed: ${messageOf(error)}`),
      })
      print.line(`Console of ${app.baseUrl} (link for one browser): ${links.link(server.url)}`)
      if (!signal.aborted) await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
      await server.close()
    },
  }),
]
