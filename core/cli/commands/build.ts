import { relative } from 'node:path'
import { buildFolder } from '../../config/build.js'
import { configErrors } from '../../config/errors.js'
import { findConfig } from '../../config/load.js'
import { isCommonJs } from '../../config/package-type.js'
import { defineCommand } from '../../host/command.js'

export const buildCommand = defineCommand({
  name: 'build',
  summary: `Compile the app to ${buildFolder}/, which "zin start" runs without TypeScript, tsx and esbuild`,
  needs: 'nothing',
  async run({ cwd, print }) {
    const found = await findConfig(cwd)
    if (found === undefined || relative(found.rootDir, found.file).startsWith(buildFolder)) throw configErrors.ZIN_CONFIG_MISSING(cwd)
    if (await isCommonJs(found.file)) throw configErrors.ZIN_CONFIG_COMMONJS(found.file)
    const began = performance.now()
    const { buildApp } = await import('../build-app.js')
    const { compiled, copied } = await buildApp(found)
    const ms = Math.round(performance.now() - began)
    print.line(`Built ${buildFolder}/ in ${ms} ms: ${compiled} compiled and ${copied} copied files. "zin start" runs it`)
  },
})
