import { checkConfig } from '../../host/check-config.js'
import { defineCommand } from '../../host/command.js'
import { pluginsOf } from '../../host/plugin-list.js'
import { runningAddress } from '../../host/run-file.js'
import { urlOf } from '../../util/address.js'
import { openApp } from '../open-app.js'
import { zinPackage } from '../package-root.js'
import { storesOf } from '../stores-of.js'

export const infoCommand = defineCommand({
  name: 'info',
  summary: 'Show versions, the app, its plugins, and where its data is; without secrets, for a report',
  // It opens the app itself, because the packages of plugins are not part of the context of commands.
  needs: 'nothing',
  json: true,
  async run({ cwd, print }) {
    const app = await openApp({ cwd, environment: process.env, roles: [] })
    try {
      const { host, loaded } = app
      const { packageVersions } = await import('../doctor.js')
      const specs = pluginsOf(checkConfig(loaded.exported, loaded.file)).map(({ spec }) => spec)
      const { name, environment, rootDir, dataDir } = host.view.app
      const running = await runningAddress(dataDir)
      const { stores } = await storesOf((hook) => host.slot(hook))
      const plugins = host.view.plugins().filter(({ state }) => state !== 'registered')
      const packages = (await packageVersions(specs, rootDir)).map((one) => [one.name, one.version])
      print.record({
        versions: { zin: zinPackage().version, node: process.versions.node, system: `${process.platform} ${process.arch}` },
        app: { name, environment, folder: rootDir, configuration: loaded.file, running: running === undefined ? 'no' : urlOf(running) },
        plugins: Object.fromEntries(plugins.map((one) => [one.name, one.version])),
        packages: Object.fromEntries(packages),
        data: { directory: dataDir, stores: [...new Set(stores.map(({ where }) => where))] },
      })
    } finally {
      await app.close()
    }
  },
})
