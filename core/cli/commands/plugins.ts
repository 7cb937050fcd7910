import { defineCommand, type Printer } from '../../host/command.js'
import { hostErrors } from '../../host/errors.js'
import type { BootPlan } from '../../host/report.js'
import type { PluginReport } from '../../host/view.js'
import { openApp } from '../open-app.js'

export const pluginsCommand = defineCommand({
  name: 'plugins',
  summary: 'List plugins in boot order, explain the order, or show the boot plan',
  // It opens the app itself, because the boot plan is not part of the context of commands.
  needs: 'nothing',
  json: true,
  options: {
    why: { type: 'string', summary: 'Explain the position of this plugin in the boot order' },
    plan: { type: 'boolean', summary: 'Show what a boot would do, without booting' },
  },
  async run({ cwd, options, print }) {
    const app = await openApp({ cwd, environment: process.env, roles: [] })
    try {
      const plan = app.host.plan()
      const reports = inOrder(app.host.view.plugins(), plan.order)
      if (options.plan) printPlan(plan, print)
      else if (options.why !== undefined) explain(options.why, reports, print)
      else printAll(reports, print)
    } finally {
      await app.close()
    }
  },
})

/** Sorts plugins in boot order; those that are only registered come last. */
function inOrder(reports: readonly PluginReport[], order: readonly string[]): PluginReport[] {
  const rank = (name: string): number => (order.includes(name) ? order.indexOf(name) : order.length)
  return [...reports].sort((a, b) => rank(a.name) - rank(b.name))
}

function printAll(reports: readonly PluginReport[], print: Printer): void {
  if (print.json) {
    print.table(reports)
    return
  }
  const rows = reports.map(({ name, version, level, after, provides, description, state }) => ({
    plugin: name,
    version,
    level: level < 0 ? '' : level,
    after,
    provides,
    description: state === 'registered' ? `(registered, not enabled) ${description}` : description,
  }))
  print.table(rows, ['plugin', 'version', 'level', 'after', 'provides', 'description'])
}

function explain(name: string, reports: readonly PluginReport[], print: Printer): void {
  const report = reports.find((one) => one.name === name)
  if (report === undefined) {
    const names = reports.map((one) => one.name)
    throw hostErrors.ZIN_PLUGIN_UNKNOWN(name, names)
  }
  const needed = reports.filter((one) => one.after.includes(name)).map((one) => one.name)
  if (print.json) {
    print.record({ name, level: report.level, why: report.why, neededBy: needed })
    return
  }
  print.line(`${name} is on level ${report.level}:`)
  for (const reason of report.why) print.line(`  ${reason}`)
  print.line(needed.length === 0 ? '  no plugin depends on it' : `  required by ${needed.join(', ')}`)
}

function printPlan(plan: BootPlan, print: Printer): void {
  if (print.json) {
    print.record(plan)
    return
  }
  print.line(`${plan.app} would boot these plugins, level by level:`)
  for (const [index, level] of plan.levels.entries()) print.line(`  ${index}  ${level.join(', ')}`)
  const heard = plan.hooks.filter((hook) => hook.listeners.length > 0).length
  const { routes, hooks, commands, migrations, settings } = plan
  print.line(
    `routes ${routes.length}, hooks ${hooks.length} (${heard} with listeners), commands ${commands.length}, migrations ${migrations.length}, settings ${settings.length}`,
  )
  print.line('for details: --plan --json')
}
