import { once } from 'node:events'
import { join } from 'node:path'
import { defineCommand } from '../../host/command.js'
import type { Host } from '../../host/host.js'
import { openApp } from '../open-app.js'

export const replCommand = defineCommand({
  name: 'repl',
  summary: 'Start the plugins without HTTP and workers, and read JavaScript: app, services, and await',
  // It opens the app itself: all plugins are started, and not only that of a command.
  needs: 'nothing',
  async run({ cwd, print, signal }) {
    const opened = await openApp({ cwd, environment: process.env, roles: [] })
    try {
      const { host } = opened
      await print.waiting('the plugins to start', host.startOnly(host.plan().order))
      const { name, rootDir, dataDir } = host.view.app
      const isTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true
      if (isTerminal) {
        print.line(
          `${name}, with the data in ${dataDir}. Known here: app (inject, service, slot, view), services, await; .exit or Ctrl-D ends`,
        )
      }
      const { start } = await import('node:repl')
      const repl = start({ prompt: isTerminal ? `${name}> ` : '', terminal: isTerminal, ignoreUndefined: true })
      const known = { app: appOf(host), services: servicesOf(host) }
      Object.assign(repl.context, known)
      repl.on('reset', (context) => Object.assign(context, known))
      if (isTerminal) repl.setupHistory(join(rootDir, '.zin', 'repl-history'), () => undefined)
      signal.addEventListener('abort', () => repl.close(), { once: true })
      await once(repl, 'exit')
    } finally {
      await opened.close()
    }
  },
})

function appOf(host: Host) {
  return {
    view: host.view,
    inject: host.http.inject.bind(host.http),
    service: host.service.bind(host),
    slot: host.slot.bind(host),
  }
}

/** Each service by its id: `services.kv`, `services['jwt.tokens']`. */
function servicesOf(host: Host): object {
  const ids = host.view.plugins().flatMap(({ provides }) => provides)
  const services = {}
  for (const id of ids) Object.defineProperty(services, id, { enumerable: true, get: () => host.service({ id, optional: false }) })
  return services
}
