import { defineErrors, messageOf } from '../errors.js'
import { suggest } from '../util/suggest.js'

/** The errors of the plugin host. A boot that fails lists them in a `BootError`. */
export const hostErrors = defineErrors({
  ZIN_BOOT_FAILED: {
    message: (problems: readonly string[], _first: Error | undefined) => problems.join('\n'),
    details: (problems: readonly string[]) => problems,
    cause: (_problems: readonly string[], first: Error | undefined) => first,
    when: 'The app could not be started; everything that had been set up was undone',
    fix: 'Fix every problem that the message lists',
  },
  ZIN_BOOT_STOPPED: {
    message: () => 'the app was stopped while it was starting',
    when: 'The app was stopped before it had finished starting',
    fix: 'Start it again',
  },
  ZIN_HOST_STATE: {
    message: (what: string, state: string) => `the host cannot ${what}: it is ${state}`,
    when: 'A method of a host, or of an app from `createApp`, was called in a state that does not allow it',
    fix: 'Call `start` once; create a new one to start again',
  },
  ZIN_PACKAGE_MISSING: {
    message: (names: readonly string[], command?: string) => {
      const one = names.length === 1
      return `the package${one ? '' : 's'} ${names.map((name) => `"${name}"`).join(', ')} ${one ? 'is' : 'are'} not installed: run "${command ?? `npm install ${names.join(' ')}`}"`
    },
    details: (names: readonly string[], _command?: string) => names,
    when: 'A plugin needs a package that only apps with this plugin install',
    fix: 'Run the command that the message names',
  },
  ZIN_METHOD_MISSING: {
    message: (user: string, name: string, owner: string) =>
      `${user}: ctx.${name} comes from the plugin "${owner}", which is not enabled, or is set up later; add dependencies: ['${owner}'] to "${user}"`,
    when: 'A plugin uses a method that another plugin adds to its context, before that one is set up',
    fix: 'Add the plugin that the message names to `dependencies`, and enable it',
  },
  ZIN_METHOD_TAKEN: {
    message: (plugin: string, name: string) => `${plugin}: its method "${name}" is a member of every context; rename it`,
    when: 'A plugin declares a method with the name of a member of every context',
    fix: 'Rename the method',
  },
  ZIN_METHOD_UNDECLARED: {
    message: (plugin: string, name: string) => `${plugin}: ctx.addMethod('${name}', …) needs an entry "${name}" in the plugin's "methods"`,
    when: 'A plugin adds a method to the contexts of others that its `methods` do not list',
    fix: 'Add it to `methods` in definePlugin',
  },
  ZIN_PLUGIN_ENABLE_FAILED: {
    message: (plugin: string, error: unknown) => `${plugin}: could not be enabled: ${messageOf(error)}`,
    cause: (_plugin: string, error: unknown) => error,
    when: 'A plugin failed while it was enabled at run time; the change was rolled back',
    fix: 'Fix the cause named in the message, then enable the plugin again',
  },
  ZIN_PLUGIN_IN_USE: {
    status: 409,
    message: (plugin: string, why: string) => `${plugin}: cannot be disabled while ${why}`,
    when: 'Other plugins depend on the plugin to be disabled',
    fix: 'Disable the dependent plugins first',
  },
  ZIN_PLUGIN_SKIPPED: {
    message: (plugin: string, failed: string) => `${plugin}: skipped, because ${failed} failed`,
    when: 'A plugin that this one depends on failed, and the app runs without both',
    fix: 'Fix the cause of the other failure',
  },
  ZIN_PLUGIN_START_DENIED: {
    message: (by: string, reason: string) => `${by} denied the start: ${reason}`,
    when: 'A listener of `beforePluginStart` denied the start',
    fix: 'Follow the reason in the message',
  },
  ZIN_PLUGIN_STATE: {
    message: (plugin: string, from: string, to: string) => `${plugin}: is ${from} and cannot become ${to}`,
    when: 'A state transition of a plugin is not allowed; this is a bug in the host',
    fix: 'Report it with the steps to reproduce it',
  },
  ZIN_PLUGIN_STOP_FAILED: {
    message: (plugin: string, outcome: string, why: string) => `${plugin}: is disabled, but ${outcome} while stopping: ${why}`,
    when: 'A plugin was disabled but did not stop cleanly',
    fix: 'Check the error named in the message; what the plugin left open is released when the process exits',
  },
  ZIN_PLUGIN_UNKNOWN: {
    status: 404,
    message: (name: string, known: readonly string[]) => {
      const near = suggest(name, known)
      return `no plugin named "${name}" is registered; ${near === undefined ? `available: ${known.join(', ')}` : `did you mean "${near}"?`}`
    },
    when: 'No plugin with this name is registered',
    fix: 'Use one of the names in the message',
  },
})
