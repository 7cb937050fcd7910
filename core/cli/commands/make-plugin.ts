import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { configErrors } from '../../config/errors.js'
import { findConfig } from '../../config/load.js'
import { defineCommand } from '../../host/command.js'
import { factoryName } from '../../util/factory-name.js'
import { cliErrors, UsageError } from '../errors.js'
import { canNameFactory, pluginFiles, pluginNamePattern } from '../plugin-template.js'

export const makePluginCommand = defineCommand({
  name: 'make:plugin',
  summary: 'Create a plugin with a test in plugins/<name>',
  needs: 'nothing',
  args: [{ name: 'name', summary: 'kebab-case: slow-jobs, or in a folder: shop/slow-jobs' }],
  async run({ args, cwd, print }) {
    const path = args.name ?? ''
    const parts = path.split('/')
    if (path.length > 60 || parts.length > 4 || !parts.every((part) => pluginNamePattern.test(part))) throw cliErrors.ZIN_PLUGIN_NAME(path)
    const name = parts.at(-1) as string
    if (!canNameFactory(name)) {
      throw new UsageError(
        `a plugin cannot be named "${name}": the identifier ${factoryName(name)} is reserved or already used in its code; choose another name`,
      )
    }
    const found = await findConfig(cwd)
    if (found === undefined) throw configErrors.ZIN_CONFIG_MISSING(cwd)
    const folder = join(found.rootDir, 'plugins', path)
    await makeFolder(folder)
    for (const [fileName, text] of Object.entries(pluginFiles(name))) {
      await writeFile(join(folder, fileName), text, { flag: 'wx' })
      print.line(`created plugins/${path}/${fileName}`)
    }
    const factory = factoryName(name)
    print.line('Add it to zin.config.ts:')
    print.line(`  import { ${factory} } from './plugins/${path}/index.js'`, { verbatim: true })
    print.line(`  plugins: [${factory}()]`)
    print.line(`and run its test: npx zin test plugins/${path}`)
  },
})

async function makeFolder(folder: string): Promise<void> {
  await mkdir(dirname(folder), { recursive: true })
  try {
    await mkdir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    throw cliErrors.ZIN_PLUGIN_EXISTS(folder)
  }
}
